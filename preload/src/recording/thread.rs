//! Each thread's entry in the part, and what it keeps for itself.

use super::part::{self, Lost, PROCESS, lost};
use super::{count, hold, kernel, order, pending, stack, wait};
use core::cell::{Cell, UnsafeCell};
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering, compiler_fence};
use furwock_record::Thread;

/// What a thread finds without a call. All zero in a new thread.
#[repr(C)]
pub(super) struct Slot {
    /// Its entry, if it has one.
    pub(super) thread: Cell<*const Thread>,
    /// What else it keeps.
    pub(super) own: Cell<*const Own>,
    /// How many holds it measures, and `wait::OVER`: what there is to do after a release.
    pub(super) holds: Cell<u32>,
    /// It is recording: a caller that finds this is a signal handler, or code that the recorder
    /// has called.
    records: Cell<bool>,
    /// There was no room for it.
    is_lost: Cell<bool>,
    /// An address in the frame of the wait that it is in.
    pub(super) waits_at: Cell<usize>,
}

const _: () = assert!(size_of::<Slot>() <= 64);

core::arch::global_asm!(
    ".pushsection .tbss.furwock_recording_slot,\"awT\",@nobits",
    ".hidden furwock_recording_slot",
    ".globl furwock_recording_slot",
    ".type furwock_recording_slot, @object",
    ".size furwock_recording_slot, 64",
    ".p2align 6",
    "furwock_recording_slot:",
    ".zero 64",
    ".popsection",
);

/// The calling thread's.
#[inline(always)]
pub(super) fn slot<'thread>() -> &'thread Slot {
    let slot: *const Slot;
    // SAFETY: as the engine finds its own (`sys/slot.rs`): the slot's offset in the initial-exec
    // model, and the thread pointer. The slot is zeroed and lives as long as its thread; `Slot`
    // isn't `Sync`.
    unsafe {
        core::arch::asm!(
            "mov {slot}, qword ptr [rip + furwock_recording_slot@GOTTPOFF]",
            "add {slot}, qword ptr fs:[0]",
            slot = out(reg) slot,
            options(pure, nomem, nostack),
        );
        &*slot
    }
}

/// What a thread keeps for itself, in memory of the process's own that a new process begins with
/// empty.
#[repr(C, align(64))]
pub(super) struct Own {
    pub(super) counts: count::Own,
    pub(super) holds: hold::Own,
    pub(super) pending: pending::Own,
    pub(super) wait: wait::Own,
    pub(super) order: order::Own,
    pub(super) stacks: UnsafeCell<stack::Cache>,
}

/// Where those of all threads are, in the order of their entries.
static OWN: AtomicUsize = AtomicUsize::new(0);

/// Maps them. A process that is made without libc's help finds them empty, too.
pub(super) fn map_own(threads: usize) -> bool {
    let known = OWN.load(Ordering::Relaxed);
    let length = threads * size_of::<Own>();
    let at = kernel::map((known != 0).then_some(known), length, None);
    if let Some(at) = at {
        kernel::wipe_on_fork(at, length);
    }
    OWN.store(at.unwrap_or(0), Ordering::Relaxed);
    at.is_some()
}

/// All threads that have or had an entry: their ids, and what they keep. Only what is made for it
/// may be looked at.
pub(super) fn all() -> impl Iterator<Item = (u32, &'static Own)> {
    let threads = part::entries::<Thread>(|sections| &sections.threads);
    let used = (PROCESS.threads.load(Ordering::Relaxed) as usize).min(threads.len());
    let with_id = threads[..used].iter().enumerate().map(|(at, thread)| {
        let own = OWN.load(Ordering::Relaxed) + at * size_of::<Own>();
        // SAFETY: mapped by `map_own`, for as many threads; the mapping stays.
        let own = unsafe { &*core::ptr::with_exposed_provenance::<Own>(own) };
        (thread.tid.load(Ordering::Acquire), own)
    });
    with_id.filter(|(tid, _)| !matches!(*tid, 0 | TAKEN))
}

/// The calling thread has no entry: the process is new, or not recorded yet.
pub(super) fn forget() {
    let slot = slot();
    slot.thread.set(null());
    slot.own.set(null());
    slot.holds.set(0);
    slot.is_lost.set(false);
    slot.waits_at.set(0);
}

/// The calling thread, while it records.
#[derive(Clone, Copy)]
pub(super) struct Me {
    pub(super) thread: &'static Thread,
    pub(super) own: &'static Own,
}

/// Calls `record` with the calling thread's entry. `None` if it has none, nothing is recorded, or
/// the caller has interrupted a call of this.
///
/// No handler of the program leaves it: it is a closed stretch.
#[inline]
pub(super) fn record<R>(record: impl FnOnce(Me) -> Option<R>) -> Option<R>
where
    R: Copy,
{
    furwock::unstable::signals::closed(|| {
        let slot = slot();
        if slot.records.get() {
            return None;
        }
        slot.records.set(true);
        compiler_fence(Ordering::SeqCst);
        let result = me(slot).and_then(record);
        compiler_fence(Ordering::SeqCst);
        slot.records.set(false);
        result
    })
}

#[inline]
fn me(slot: &Slot) -> Option<Me> {
    if !part::is_ready() && !part::begin() {
        return None;
    }
    if slot.thread.get().is_null() && (slot.is_lost.get() || !enter(slot)) {
        return None;
    }
    // SAFETY: set by `enter`, to what stays.
    unsafe { Some(Me { thread: &*slot.thread.get(), own: &*slot.own.get() }) }
}

/// Gives the thread an entry.
#[cold]
fn enter(slot: &Slot) -> bool {
    let (process, tid) = kernel::ids();
    let threads = part::entries::<Thread>(|sections| &sections.threads);
    let order = Ordering::Relaxed;
    let found = if PROCESS.threads.compare_exchange(0, 1, order, order).is_ok() {
        Some(0)
    } else if part::grow() {
        let next = PROCESS.threads.fetch_add(1, order) as usize;
        if next < threads.len() {
            Some(next)
        } else {
            PROCESS.threads.store(threads.len() as u32, order);
            claim_of_ended(threads, process, tid)
        }
    } else if part::may_grow_later() {
        return false;
    } else {
        None
    };
    let Some(at) = found else {
        slot.is_lost.set(true);
        lost(Lost::Thread);
        return false;
    };
    let thread = &threads[at];
    let mut name = [0_u8; 16];
    let to = name.as_mut_ptr().expose_provenance();
    // SAFETY: writes 16 bytes at most.
    _ = unsafe { kernel::call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, to, 0, 0, 0, 0]) };
    for (to, byte) in thread.name.iter().zip(name) {
        to.store(byte, Ordering::Relaxed);
    }
    for field in [&thread.waited, &thread.idle, &thread.waits_for] {
        field.store(0, Ordering::Relaxed);
    }
    let own = OWN.load(Ordering::Relaxed) + at * size_of::<Own>();
    slot.thread.set(thread);
    slot.own.set(core::ptr::with_exposed_provenance(own));
    thread.tid.store(tid, Ordering::Release);
    true
}

/// A thread that takes over another's entry.
const TAKEN: u32 = u32::MAX;

/// An entry whose thread has ended, handed in. Asks the kernel for one after another; if all of
/// them exist, not again before there have been as many newcomers as an eighth of them.
fn claim_of_ended(threads: &'static [Thread], process: u32, own: u32) -> Option<usize> {
    let waits = PROCESS.newcomers_unasked.load(Ordering::Relaxed);
    if waits != 0 {
        PROCESS.newcomers_unasked.store(waits - 1, Ordering::Relaxed);
        return None;
    }
    let has_ended = |tid| tid == own || !kernel::has_thread(process, tid);
    let start = PROCESS.looked_at.load(Ordering::Relaxed) as usize;
    for at in (0..threads.len()).map(|at| (start + at) % threads.len()) {
        let tid = threads[at].tid.load(Ordering::Acquire);
        if matches!(tid, 0 | TAKEN) || !has_ended(tid) {
            continue;
        }
        let (order, failure) = (Ordering::Acquire, Ordering::Relaxed);
        if threads[at].tid.compare_exchange(tid, TAKEN, order, failure).is_err() {
            continue;
        }
        PROCESS.looked_at.store(at as u32 + 1, Ordering::Relaxed);
        let own = OWN.load(Ordering::Relaxed) + at * size_of::<Own>();
        // SAFETY: mapped by `map_own`; the thread that used it has ended.
        let own = unsafe { &*core::ptr::with_exposed_provenance::<Own>(own) };
        let ended = Me { thread: &threads[at], own };
        wait::settle_of_ended(ended);
        pending::hand_in_all(ended);
        count::hand_in_all(ended);
        hold::forget(ended);
        order::forget(ended);
        return Some(at);
    }
    PROCESS.newcomers_unasked.store(threads.len() as u32 / 8, Ordering::Relaxed);
    None
}
