//! The same where glibc has no `_dl_find_object`: before 2.35.
//!
//! The loader keeps a list of the files for debuggers (`_r_debug`). It is read without the loader's
//! lock, when an address lies in no file that is known. Another thread may unload a file meanwhile,
//! so it is read through the kernel, which refuses where there is no memory. And a file that is
//! known may have been replaced by another since: its headers and its entry in the list are
//! compared each time. An address on the caller's stack is in a file that stays until it is off it.

use super::{LinkMap, Loaded};
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, size_of};
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use libc::{Elf64_Ehdr, Elf64_Phdr};

/// glibc's list; null where `_dl_find_object` is there.
static LIST: AtomicPtr<Debug> = AtomicPtr::new(core::ptr::null_mut());
/// The kernel may be asked.
static MAY_READ: AtomicBool = AtomicBool::new(true);

/// The beginning of `struct r_debug`.
#[repr(C)]
struct Debug {
    version: c_int,
    first: usize,
    changed: usize,
    /// 0 while the list isn't being changed.
    state: c_int,
}

/// The part of `struct link_map` that <link.h> shows.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    base: usize,
    name: usize,
    dynamic: usize,
    next: usize,
    previous: usize,
}

/// A file. It is known by `mark`.
struct File {
    start: AtomicUsize,
    end: AtomicUsize,
    map: AtomicUsize,
    headers: AtomicUsize,
    table: AtomicUsize,
    mark: AtomicU64,
}

const MOST: usize = 512;
static FILES: [File; MOST] = [const {
    File {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        map: AtomicUsize::new(0),
        headers: AtomicUsize::new(0),
        table: AtomicUsize::new(0),
        mark: AtomicU64::new(0),
    }
}; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Odd while a thread writes the files.
static VERSION: AtomicUsize = AtomicUsize::new(0);
static IS_READ: AtomicBool = AtomicBool::new(false);
/// When the list may be read again: CLOCK_MONOTONIC in nanoseconds.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Reading the list takes at most this share of the time, one in so many.
const PAUSE: u64 = 20;

/// At the start.
pub(super) fn look_up() {
    // SAFETY: a C string.
    let list = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_r_debug".as_ptr()) };
    LIST.store(list.cast(), Ordering::Release);
    read();
}

/// The kernel is asked no more.
#[cfg_attr(not(feature = "recording"), allow(dead_code, reason = "for the recorder's sandboxes"))]
pub(super) fn read_no_more() {
    MAY_READ.store(false, Ordering::Relaxed);
}

#[cold]
pub(super) fn find(address: usize) -> Option<Loaded> {
    if LIST.load(Ordering::Acquire).is_null() {
        return None;
    }
    known(address).or_else(|| if read() { known(address) } else { None })
}

/// By the files that are known.
fn known(address: usize) -> Option<Loaded> {
    let version = VERSION.load(Ordering::Acquire);
    if !version.is_multiple_of(2) {
        return None;
    }
    let get = |word: &AtomicUsize| word.load(Ordering::Relaxed);
    let files = &FILES[..get(&COUNT).min(MOST)];
    let file = files.iter().find(|file| (get(&file.start)..get(&file.end)).contains(&address))?;
    let found = Loaded {
        flags: 0,
        start: get(&file.start),
        end: get(&file.end),
        map: with_exposed_provenance::<LinkMap>(get(&file.map)),
        table: get(&file.table),
        reserved: [0; 7],
    };
    let (headers, mark) = (get(&file.headers), file.mark.load(Ordering::Relaxed));
    fence(Ordering::Acquire);
    if VERSION.load(Ordering::Relaxed) != version {
        return None;
    }
    let now = Headers::read(headers, found.map.expose_provenance())?;
    (now.mark() == mark).then_some(found)
}

/// Reads the list, unless another thread does, or it was read just now.
fn read() -> bool {
    let began = nanoseconds();
    if began < NEXT.load(Ordering::Relaxed) || IS_READ.swap(true, Ordering::Acquire) {
        return false;
    }
    let version = VERSION.load(Ordering::Relaxed);
    VERSION.store(version + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    let count = read_to(&FILES);
    COUNT.store(count, Ordering::Relaxed);
    VERSION.store(version + 2, Ordering::Release);
    let ended = nanoseconds();
    NEXT.store(ended + (ended - began) * PAUSE, Ordering::Relaxed);
    IS_READ.store(false, Ordering::Release);
    count != 0
}

fn read_to(files: &[File]) -> usize {
    // SAFETY: null, or the loader's, which stays. Another thread may be changing it.
    let Some(list) = (unsafe { LIST.load(Ordering::Acquire).as_ref() }) else { return 0 };
    // SAFETY: as above.
    let (state, first) = unsafe { ((&raw const list.state).read_volatile(), list.first) };
    if state != 0 {
        return 0;
    }
    let (mut count, mut at) = (0, first);
    // (A list that is changed meanwhile may lead astray, but not for ever.)
    for _ in 0..2 * MOST {
        let mut entry = MaybeUninit::<Entry>::uninit();
        let to = [(entry.as_mut_ptr().cast(), size_of::<Entry>())];
        if at == 0 || count == files.len() || copy(to, [at]) != size_of::<Entry>() {
            break;
        }
        // SAFETY: filled just now; any bytes are an entry.
        let entry = unsafe { entry.assume_init() };
        // The program's own, where that isn't loaded with an offset, is known from the kernel.
        // SAFETY: asks for a number.
        let own = || unsafe { libc::getauxval(libc::AT_PHDR) } as usize & !(PAGE - 1);
        let headers = if entry.base == 0 { own() } else { entry.base };
        if let Some(read) = Headers::read(headers, at)
            && let Some((start, end, table)) = read.extent()
        {
            let file = &files[count];
            for (to, value) in [
                (&file.start, start),
                (&file.end, end),
                (&file.map, at),
                (&file.headers, headers),
                (&file.table, table),
            ] {
                to.store(value, Ordering::Relaxed);
            }
            file.mark.store(read.mark(), Ordering::Relaxed);
            count += 1;
        }
        at = entry.next;
    }
    count
}

const PAGE: usize = 4096;

/// The headers that a file begins with, and what it is in the loader's list.
#[repr(C)]
struct Headers {
    bytes: [u64; 128],
    /// Without its neighbours, which come and go.
    listed: [usize; 3],
}

impl Headers {
    fn read(headers: usize, map: usize) -> Option<Self> {
        let mut read = MaybeUninit::<Self>::zeroed();
        let to = read.as_mut_ptr();
        // SAFETY: places in it.
        let to = unsafe {
            [
                ((&raw mut (*to).bytes).cast::<u8>(), size_of::<[u64; 128]>()),
                ((&raw mut (*to).listed).cast::<u8>(), size_of::<[usize; 3]>()),
            ]
        };
        let all = size_of::<Self>();
        // SAFETY: zeroes, or what was copied; any bytes are valid.
        (copy(to, [headers, map]) == all).then(|| unsafe { read.assume_init() })
    }

    fn mark(&self) -> u64 {
        let listed = self.listed.iter().map(|&word| word as u64);
        let words = self.bytes.iter().copied().chain(listed);
        words.fold(1, |mark, word| {
            let mixed = (mark ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 32
        })
    }

    /// Where the file's segments begin and end, and its table of functions; 0 without one.
    fn extent(&self) -> Option<(usize, usize, usize)> {
        const MAGIC: [u8; 4] = *b"\x7fELF";
        let first = self.bytes.as_ptr().cast::<u8>();
        // SAFETY: there are as many bytes, and any are a header.
        let header = unsafe { first.cast::<Elf64_Ehdr>().read_unaligned() };
        let (offset, count) = (header.e_phoff as usize, usize::from(header.e_phnum));
        let room = size_of::<[u64; 128]>();
        let fits = offset.checked_add(count * size_of::<Elf64_Phdr>())? <= room;
        if header.e_ident[..4] != MAGIC || !fits {
            return None;
        }
        let base = self.listed[0];
        let (mut start, mut end, mut table) = (usize::MAX, 0, 0);
        for at in 0..count {
            // SAFETY: within the bytes.
            let segment =
                unsafe { first.add(offset).cast::<Elf64_Phdr>().add(at).read_unaligned() };
            let from = base.wrapping_add(segment.p_vaddr as usize);
            match segment.p_type {
                libc::PT_LOAD => {
                    start = start.min(from & !(PAGE - 1));
                    end = end.max(from.checked_add(segment.p_memsz as usize)?);
                }
                libc::PT_GNU_EH_FRAME => table = from,
                _ => {}
            }
        }
        (start < end).then_some((start, end, table))
    }
}

/// Copies this process's memory; how many bytes, the first places first. errno stays.
fn copy<const N: usize>(to: [(*mut u8, usize); N], from: [usize; N]) -> usize {
    if !MAY_READ.load(Ordering::Relaxed) {
        return 0;
    }
    let local = to.map(|(at, length)| libc::iovec { iov_base: at.cast(), iov_len: length });
    let mut remote = local;
    for (place, at) in remote.iter_mut().zip(from) {
        place.iov_base = core::ptr::without_provenance_mut::<c_void>(at);
    }
    // SAFETY: writes to those places; this thread's own errno.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let count = N as libc::c_ulong;
        let process = libc::getpid();
        let copied =
            libc::process_vm_readv(process, local.as_ptr(), count, remote.as_ptr(), count, 0);
        *errno = before;
        usize::try_from(copied).unwrap_or(0)
    }
}

fn nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; doesn't fail with this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
