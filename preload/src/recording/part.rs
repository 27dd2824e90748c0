//! The process's part of the file: claimed at the start or by a forked child's first operation,
//! mapped, and given memory as it is needed.

use super::kernel::{self, Allocated, Descriptor, call};
use super::{clock, ends, order, stack, thread, wait};
use crate::environment::Environment;
use crate::say::say;
use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use furwock_record::{
    Edge, Event, File, Lock, MAGIC, Module, PAGE, PART_MAGIC, PART_SIZE_AT_LEAST, Part, Section,
    Sections, Site, Stack, Thread, VERSION,
};

/// What the process is about. In a page of its own that the kernel empties in every child, however
/// it is made: there it says "not begun", and what the parent had is looked at no more.
#[repr(C, align(4096))]
pub(super) struct Process {
    state: AtomicU32,
    /// Whether all of the part has memory.
    has_grown: AtomicU32,
    pub(super) id: AtomicU32,
    /// How many threads have taken an entry that was never used.
    pub(super) threads: AtomicU32,
    pub(super) events: AtomicU64,
    /// One thread at a time looks for modules.
    pub(super) looks_for_modules: AtomicU32,
    pub(super) modules: AtomicU32,
    /// So many more threads come before it is asked again which have ended.
    pub(super) newcomers_unasked: AtomicU32,
    /// The entry behind the last that was found to be of a thread that has ended.
    pub(super) looked_at: AtomicU32,
    /// Whether the room for more stacks has memory.
    has_more_stacks: AtomicU32,
    _rest: [u8; PAGE - 48],
}

const _: () = assert!(size_of::<Process>() == PAGE);

const NOT_BEGUN: u32 = 0;
const BEGINS: u32 = 1;
const READY: u32 = 2;
const OFF: u32 = 3;

pub(super) static PROCESS: Process = Process {
    state: AtomicU32::new(NOT_BEGUN),
    has_grown: AtomicU32::new(0),
    id: AtomicU32::new(0),
    threads: AtomicU32::new(0),
    events: AtomicU64::new(0),
    looks_for_modules: AtomicU32::new(0),
    modules: AtomicU32::new(0),
    newcomers_unasked: AtomicU32::new(0),
    looked_at: AtomicU32::new(0),
    has_more_stacks: AtomicU32::new(0),
    _rest: [0; PAGE - 48],
};

/// Where the part is mapped: in the child at the parent's address.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// Where it begins in the file.
static OFFSET: AtomicUsize = AtomicUsize::new(0);
static PART_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Where the sections are in the part: of the process's own, since what else may write to the file
/// must not say where this process writes.
// SAFETY: of numbers alone.
static SECTIONS: Known = Known(UnsafeCell::new(unsafe { core::mem::zeroed() }));

struct Known(UnsafeCell<Sections>);

// SAFETY: written by the thread that begins the part, before others find that it is ready.
unsafe impl Sync for Known {}

/// Once the part is ready.
#[inline]
fn known_sections() -> &'static Sections {
    // SAFETY: as at `Known`.
    unsafe { &*SECTIONS.0.get() }
}

const PATH_MAX: usize = 4096;
/// The file's path, with NUL. Written once, before any other thread is there.
static mut PATH: [u8; PATH_MAX] = [0; PATH_MAX];
static PATH_LEN: AtomicUsize = AtomicUsize::new(0);

fn path() -> &'static [u8] {
    let length = PATH_LEN.load(Ordering::Acquire);
    // SAFETY: so much was written before the length was.
    unsafe { core::slice::from_raw_parts((&raw const PATH).cast(), length) }
}

/// Begins to record if the environment asks for it.
pub(crate) fn start(environment: &Environment) {
    let Some(path) = environment.asked(c"FURWOCK_RECORD") else { return };
    let path = path.to_bytes_with_nul();
    if path.len() < 2 || path.len() > PATH_MAX {
        return;
    }
    // SAFETY: no other thread is there yet, and the length says that there is nothing.
    unsafe { (&raw mut PATH).cast::<u8>().copy_from_nonoverlapping(path.as_ptr(), path.len()) };
    PATH_LEN.store(path.len(), Ordering::Release);
    kernel::wipe_on_fork((&raw const PROCESS).expose_provenance(), PAGE);
    stack::start();
    order::start(environment);
    ends::start();
    if let Err(why) = begin_once() {
        say(why);
    }
}

/// In a forked child: what the kernel does where it can.
pub(crate) fn forked() {
    thread::forget();
    if PROCESS.id.load(Ordering::Relaxed) != kernel::ids().0 {
        PROCESS.state.store(NOT_BEGUN, Ordering::Relaxed);
        PROCESS.has_grown.store(0, Ordering::Relaxed);
        PROCESS.threads.store(0, Ordering::Relaxed);
        PROCESS.events.store(0, Ordering::Relaxed);
        PROCESS.looks_for_modules.store(0, Ordering::Relaxed);
        PROCESS.modules.store(0, Ordering::Relaxed);
        PROCESS.newcomers_unasked.store(0, Ordering::Relaxed);
        PROCESS.looked_at.store(0, Ordering::Relaxed);
        PROCESS.has_more_stacks.store(0, Ordering::Relaxed);
    }
}

/// Whether the part is there to be written.
#[inline(always)]
pub(super) fn is_ready() -> bool {
    PROCESS.state.load(Ordering::Acquire) == READY
}

/// Whether nothing is recorded.
#[inline(always)]
pub(super) fn is_off() -> bool {
    PROCESS.state.load(Ordering::Relaxed) == OFF || PATH_LEN.load(Ordering::Relaxed) == 0
}

/// `is_ready` for a caller that finds that it isn't: begins it in a forked child.
#[cold]
pub(super) fn begin() -> bool {
    PATH_LEN.load(Ordering::Acquire) != 0
        && PROCESS.state.load(Ordering::Acquire) == NOT_BEGUN
        && begin_once().is_ok()
}

fn begin_once() -> Result<(), &'static str> {
    let (order, failure) = (Ordering::Acquire, Ordering::Acquire);
    if PROCESS.state.compare_exchange(NOT_BEGUN, BEGINS, order, failure).is_err() {
        return Err("");
    }
    PROCESS.id.store(kernel::ids().0, Ordering::Relaxed);
    thread::forget();
    let begun = claim();
    PROCESS.state.store(if begun.is_ok() { READY } else { OFF }, Ordering::Release);
    begun
}

/// Claims a part, and maps it.
fn claim() -> Result<(), &'static str> {
    let file = Descriptor::open(path(), libc::O_RDWR)
        .ok_or("the file of the record can't be opened: nothing is recorded")?;
    let header = header(&file)?;
    let size = header.part_size as usize;
    let sections = sections(size).ok_or("the record's parts are too small")?;
    let number = {
        let page = kernel::map(None, PAGE, Some((&file, 0)))
            .ok_or("the file of the record can't be mapped: nothing is recorded")?;
        // SAFETY: mapped just now, and the file has a whole page.
        let parts = unsafe {
            &*core::ptr::with_exposed_provenance::<AtomicU32>(page + offset_of!(File, parts))
        };
        let number = parts.fetch_add(1, Ordering::Relaxed);
        kernel::unmap(page, PAGE);
        number
    };
    if number >= header.parts_at_most {
        return Err("the record has no room for another process: this one isn't recorded");
    }
    let offset = PAGE + number as usize * size;
    let first = first_thread_end(&sections);
    let is_allocated = may_extend_to(offset + first)
        && match file.allocate(offset, first) {
            Allocated::Unknown => file.fill(offset, first) == Allocated::Yes,
            allocated => allocated == Allocated::Yes,
        };
    if !is_allocated {
        return Err("the file of the record has no room: nothing is recorded");
    }
    let known = MAPPED.load(Ordering::Relaxed);
    // A child's part takes the place of its parent's, and no more.
    if known != 0 && size != PART_SIZE.load(Ordering::Relaxed) {
        return Err("the record has changed: this process isn't recorded");
    }
    let at = kernel::map((known != 0).then_some(known), size, Some((&file, offset)))
        .ok_or("the file of the record can't be mapped: nothing is recorded")?;
    MAPPED.store(at, Ordering::Relaxed);
    OFFSET.store(offset, Ordering::Relaxed);
    PART_SIZE.store(size, Ordering::Relaxed);
    clock::set(header.ticks_per_second);
    if !thread::map_own(sections.threads.count as usize) {
        return Err("no memory: nothing is recorded");
    }
    // SAFETY: mapped and allocated just now, and known to no other thread.
    let part = unsafe { &mut *core::ptr::with_exposed_provenance_mut::<Part>(at) };
    part.pid = PROCESS.id.load(Ordering::Relaxed);
    // SAFETY: no arguments.
    part.parent = unsafe { call(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32;
    part.began = clock::now();
    part.began_at = clock::nanoseconds(libc::CLOCK_REALTIME);
    if let Some(line) = Descriptor::open(b"/proc/self/cmdline\0", libc::O_RDONLY) {
        part.command_len = line.read_at(&mut part.command, 0) as u32;
    }
    part.records = if order::orders() { furwock_record::ORDER } else { 0 };
    part.sections = sections;
    // SAFETY: as at `Known`: the process is BEGINS.
    unsafe { *SECTIONS.0.get() = sections };
    part.magic.store(PART_MAGIC, Ordering::Release);
    Ok(())
}

/// Reads and checks the file's header.
fn header(file: &Descriptor) -> Result<File, &'static str> {
    let mut bytes = [0; size_of::<File>()];
    let read = file.read_at(&mut bytes, 0);
    // SAFETY: any bytes are a valid header.
    let header = unsafe { bytes.as_ptr().cast::<File>().read_unaligned() };
    let size = header.part_size as usize;
    let is_one = read == bytes.len() && header.magic == MAGIC && header.version == VERSION;
    let is_sized = size >= PART_SIZE_AT_LEAST as usize && size.is_multiple_of(PAGE);
    if is_one && is_sized && header.ticks_per_second != 0 {
        Ok(header)
    } else {
        Err("FURWOCK_RECORD names no file that this version can record in")
    }
}

/// Whether the process's limit lets a file be so long: otherwise an attempt raises SIGXFSZ.
fn may_extend_to(end: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let to = (&raw mut limit).expose_provenance();
    let which = libc::RLIMIT_FSIZE as usize;
    // SAFETY: writes one limit.
    let asked = unsafe { call(libc::SYS_prlimit64, [0, which, 0, to, 0, 0]) };
    asked.is_ok() && limit.rlim_cur >= end as u64
}

/// Where the sections are in a part of `size` bytes: as large as fit.
fn sections(size: usize) -> Option<Sections> {
    (0..8).map(sections_halved).find(|&(_, end)| end <= size).map(|(sections, _)| sections)
}

/// Sections with room for a large program's figures, or a half of it, or a quarter, ...; and where
/// they end. Threads come first: a process with one thread touches the first of them only. Stacks
/// come last: most programs touch the first of them only (`STACKS`).
const fn sections_halved(times: u32) -> (Sections, usize) {
    const fn section<T>(begin: &mut usize, count: u32) -> Section {
        let offset = begin.next_multiple_of(64);
        *begin = offset + count as usize * size_of::<T>();
        Section { offset: offset as u32, size: size_of::<T>() as u32, count, reserved: 0 }
    }
    let mut end = size_of::<Part>();
    let threads = section::<Thread>(&mut end, 1024 >> times);
    let modules = section::<Module>(&mut end, 256 >> times);
    let locks = section::<Lock>(&mut end, 4096 >> times);
    let sites = section::<Site>(&mut end, 8192 >> times);
    let events = section::<Event>(&mut end, 8192 >> times);
    let edges = section::<Edge>(&mut end, 4096 >> times);
    let stacks = section::<Stack>(&mut end, (STACKS * FIRST_STACKS) >> times);
    (Sections { locks, threads, stacks, sites, events, modules, edges }, end)
}

/// One in so many of the stacks that there is room for has memory from the beginning.
const FIRST_STACKS: u32 = 8;
/// How many those are in a part that has room for a large program's figures.
const STACKS: u32 = 4096;

/// How many stacks may be touched once the part has grown; the others once `grow_stacks` says so.
pub(super) fn first_stacks() -> usize {
    (known_sections().stacks.count / FIRST_STACKS) as usize
}

const _: () = assert!(sections_halved(0).1 <= furwock_record::PART_SIZE as usize);
const _: () = assert!(sections_halved(7).1 <= PART_SIZE_AT_LEAST as usize);

/// Has the part allocated: all but its later stacks may be touched then. Before, only its first
/// thread may be.
#[inline]
pub(super) fn grow() -> bool {
    match PROCESS.has_grown.load(Ordering::Acquire) {
        GROWN => true,
        0 => grow_now(),
        _ => false,
    }
}

const GROWN: u32 = 1;
const CANT_GROW: u32 = 2;
/// A thread fills it.
const GROWS: u32 = 3;

/// Whether it has.
#[inline]
pub(super) fn is_grown() -> bool {
    PROCESS.has_grown.load(Ordering::Acquire) == GROWN
}

/// Whether it hasn't yet, and may.
pub(super) fn may_grow_later() -> bool {
    matches!(PROCESS.has_grown.load(Ordering::Acquire), 0 | GROWS)
}

#[cold]
fn grow_now() -> bool {
    // The last page as well, and first: a file that ends before was cut off.
    let size = PART_SIZE.load(Ordering::Relaxed);
    let start = first_thread_end(known_sections());
    let ranges = [(size - PAGE, PAGE), (start, first_stacks_end() - start)];
    grow_by(&PROCESS.has_grown, &ranges)
}

/// Where the first thread's entry ends in the part, rounded up to a page: a part begins with so
/// much.
fn first_thread_end(sections: &Sections) -> usize {
    (sections.threads.offset as usize + size_of::<Thread>()).next_multiple_of(PAGE)
}

/// Has the memory for the later stacks allocated, or says that there is none.
pub(super) fn grow_stacks() -> bool {
    match PROCESS.has_more_stacks.load(Ordering::Acquire) {
        GROWN => true,
        0 => {
            let end = PART_SIZE.load(Ordering::Relaxed);
            let start = first_stacks_end();
            grow_by(&PROCESS.has_more_stacks, &[(start, end - start)])
        }
        _ => false,
    }
}

/// Where the first stacks end in the part, rounded up to a page.
fn first_stacks_end() -> usize {
    let end = known_sections().stacks.offset as usize + first_stacks() * size_of::<Stack>();
    end.next_multiple_of(PAGE)
}

/// Several threads may allocate at once; it comes to the same. One alone fills, before any of them
/// writes there: the others do without meanwhile.
#[cold]
fn grow_by(has_grown: &AtomicU32, ranges: &[(usize, usize)]) -> bool {
    let (order, failure) = (Ordering::AcqRel, Ordering::Acquire);
    let offset = OFFSET.load(Ordering::Relaxed);
    let each = |allocate: &dyn Fn(usize, usize) -> Allocated| {
        let ranges = ranges.iter().map(|&(start, length)| match offset + start {
            start if may_extend_to(start + length) => allocate(start, length),
            _ => Allocated::No,
        });
        { ranges }.find(|&allocated| allocated != Allocated::Yes).unwrap_or(Allocated::Yes)
    };
    let mut before = 0;
    let mut allocated = Allocated::No;
    if let Some(file) = Descriptor::open(path(), libc::O_RDWR) {
        allocated = each(&|start, length| file.allocate(start, length));
        if allocated == Allocated::Unknown {
            if has_grown.compare_exchange(before, GROWS, order, failure).is_err() {
                return has_grown.load(Ordering::Acquire) == GROWN;
            }
            before = GROWS;
            allocated = each(&|start, length| file.fill(start, length));
        }
    }
    if allocated == Allocated::Yes {
        has_grown.store(GROWN, Ordering::Release);
        return true;
    }
    // Unless another thread had more luck.
    has_grown.compare_exchange(before, CANT_GROW, order, failure) == Err(GROWN)
}

/// The part. Once it is ready.
#[inline]
pub(super) fn part() -> &'static Part {
    // SAFETY: mapped until the process ends, and nothing but atomics changes in it.
    unsafe { &*core::ptr::with_exposed_provenance(MAPPED.load(Ordering::Relaxed)) }
}

/// A section's entries. Those of `threads` apart, the part has grown. The later stacks may have no
/// memory.
#[inline]
pub(super) fn entries<T>(section: impl FnOnce(&Sections) -> &Section) -> &'static [T] {
    let section = section(known_sections());
    let start = MAPPED.load(Ordering::Relaxed) + section.offset as usize;
    // SAFETY: within the mapping; entries consist of atomics, for which any bytes are valid.
    unsafe {
        core::slice::from_raw_parts(
            core::ptr::with_exposed_provenance(start),
            section.count as usize,
        )
    }
}

/// An index into `Part::lost`.
#[derive(Clone, Copy)]
pub(super) enum Lost {
    Lock = 0,
    Thread = 1,
    Stack = 2,
    Site = 3,
    Module = 5,
    Edge = 6,
}

/// Counts what there was no room for.
#[cold]
pub(super) fn lost(what: Lost) {
    part().lost[what as usize].fetch_add(1, Ordering::Relaxed);
}

/// In `.fini_array`: the process ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

pub(super) extern "C" fn end() {
    if is_ready() && PROCESS.id.load(Ordering::Relaxed) == kernel::ids().0 {
        wait::settle_own();
        part().ended.store(clock::now(), Ordering::Relaxed);
    }
}
