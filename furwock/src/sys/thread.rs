//! What a thread knows of itself: its kernel id and one pointer, in storage that a lock's fast path
//! can reach without a call.
//!
//! A shared library's ordinary thread-local costs a call to `__tls_get_addr`. On x86-64 the slot is
//! therefore declared in the initial-exec model, which Rust has no stable word for: the assembler
//! declares it, and two instructions find it.

use super::futex::futex;
use super::syscall::{Errno, syscall};
use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, compiler_fence};

/// This thread's own storage. All zero in a new thread.
#[repr(C)]
pub(crate) struct Slot {
    /// The kernel's thread id; 0 before anybody asked.
    pub(super) tid: Cell<u32>,
    /// Short locks that this thread holds or is about to take: a signal handler that finds any may
    /// not take one.
    pub(super) holding: Cell<u16>,
    /// A signal handler left something to be done once none is held.
    pub(crate) has_deferred: Cell<bool>,
    /// Read locks that it holds, as far as a caller counts them; 255 stands for that many or more.
    reads: Cell<u8>,
    /// What the layers above hang on a thread.
    pub(crate) data: Cell<*const c_void>,
    /// What signal handlers left to be done.
    pub(crate) deferred: AtomicPtr<c_void>,
    /// Where it publishes what it uses.
    pub(crate) row: Cell<*const c_void>,
    /// How many closed stretches it is in (`signals`).
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(super) closed: Cell<u32>,
    /// Handlers have been put off until it is in none.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) has_signals: Cell<bool>,
    /// An address in the frame of the outermost.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(super) closed_at: Cell<usize>,
    #[cfg(not(any(loom, shuttle)))]
    pub(super) signals: Cell<super::signals::Waiting>,
    /// What a face notes of the call that the thread is in.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(crate) noted: Cell<usize>,
}

const _: () = assert!(size_of::<Slot>() <= SLOT_BYTES);
const SLOT_BYTES: usize = 80;

#[cfg(all(target_arch = "x86_64", not(miri)))]
core::arch::global_asm!(
    ".pushsection .tbss.furwock_thread_slot_0_1,\"awT\",@nobits",
    ".hidden furwock_thread_slot_0_1",
    ".globl furwock_thread_slot_0_1",
    ".type furwock_thread_slot_0_1, @object",
    ".size furwock_thread_slot_0_1, 80",
    ".p2align 4",
    "furwock_thread_slot_0_1:",
    ".zero 80",
    ".popsection",
);

/// This thread's slot.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn slot<'thread>() -> &'thread Slot {
    let slot: *const Slot;
    // SAFETY: reads the slot's offset from the global offset table and adds the thread pointer,
    // which x86-64's ABI keeps at fs:0. The slot is zeroed, lives as long as its thread, and `Slot`
    // is neither Send nor Sync, so that no other thread gets at it.
    unsafe {
        core::arch::asm!(
            "mov {slot}, qword ptr [rip + furwock_thread_slot_0_1@GOTTPOFF]",
            "add {slot}, qword ptr fs:[0]",
            slot = out(reg) slot,
            options(pure, nomem, nostack),
        );
        &*slot
    }
}

/// This thread's slot.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn slot<'thread>() -> &'thread Slot {
    std::thread_local! {
        static SLOT: Slot = const {
            Slot {
                tid: Cell::new(0),
                holding: Cell::new(0),
                has_deferred: Cell::new(false),
                reads: Cell::new(0),
                data: Cell::new(core::ptr::null()),
                deferred: AtomicPtr::new(core::ptr::null_mut()),
                row: Cell::new(core::ptr::null()),
                closed: Cell::new(0),
                has_signals: Cell::new(false),
                closed_at: Cell::new(0),
                #[cfg(not(any(loom, shuttle)))]
                signals: Cell::new(super::signals::Waiting::NONE),
                noted: Cell::new(0),
            }
        };
    }
    // SAFETY: a const-initialised thread-local without a destructor lives as long as its thread.
    SLOT.with(|slot| unsafe { &*core::ptr::from_ref(slot) })
}

/// The kernel's id of this thread, or 0 if nobody has asked for it yet: without a call.
#[inline(always)]
pub(crate) fn known_tid() -> u32 {
    slot().tid.get()
}

/// The kernel's id of this thread.
#[inline(always)]
pub(crate) fn tid() -> u32 {
    match known_tid() {
        0 => first_tid(),
        tid => tid,
    }
}

/// By C's rules, which tell callers that it doesn't unwind: their fast paths are shorter for it.
#[cold]
#[inline(never)]
extern "C" fn first_tid() -> u32 {
    super::fork::watch();
    refresh_tid()
}

/// Asks the kernel for this thread's id again: a forked child's only thread has a new one.
pub(crate) fn refresh_tid() -> u32 {
    // SAFETY: always succeeds, no arguments.
    let tid = unsafe { libc::gettid() } as u32;
    slot().tid.set(tid);
    tid
}

/// The process's id and this thread's, from the kernel: what is known may be a parent's, in a child that
/// was forked without its handlers. `None` where a sandbox refuses to say.
pub(crate) fn ids() -> Option<(u32, u32)> {
    // SAFETY: no arguments.
    let [process, tid] = [libc::SYS_getpid, libc::SYS_gettid]
        .map(|call| unsafe { syscall(call, [0; 6]) }.unwrap_or_default() as u32);
    (process != 0 && tid != 0).then_some((process, tid))
}

/// Notes that this thread is about to take a short lock.
#[inline(always)]
pub(crate) fn will_hold() {
    let holding = &slot().holding;
    holding.set(holding.get() + 1);
    compiler_fence(Ordering::SeqCst);
}

/// Notes that it has released one. `true` if it holds none any more and something was deferred.
#[inline(always)]
pub(crate) fn has_released() -> bool {
    compiler_fence(Ordering::SeqCst);
    let slot = slot();
    let holding = slot.holding.get() - 1;
    slot.holding.set(holding);
    compiler_fence(Ordering::SeqCst);
    slot.has_deferred.get() && holding == 0
}

/// Whether this thread holds a short lock: then the caller is a signal handler that came upon it.
#[inline(always)]
pub(crate) fn holds() -> bool {
    slot().holding.get() != 0
}

/// Whether this thread holds a read lock, as far as it was counted.
#[inline(always)]
pub(crate) fn reads() -> bool {
    slot().reads.get() != 0
}

/// Counts a read lock in.
#[inline(always)]
pub(crate) fn began_to_read() {
    let reads = &slot().reads;
    reads.set(reads.get().saturating_add(1));
}

/// Counts a read lock out. (Once there were too many to count, the thread is taken for a reader for
/// good.)
#[inline(always)]
pub(crate) fn ended_reading() {
    let reads = &slot().reads;
    if !matches!(reads.get(), 0 | u8::MAX) {
        reads.set(reads.get() - 1);
    }
}

/// Whether thread `tid` is one of this process, or may be: only "no such thread" is a no.
pub(crate) fn is_ours(tid: u32) -> bool {
    #[cfg(all(test, shuttle))]
    if tid != 0 {
        return tid != super::fork::pretend::PARENTS_THREAD && crate::prim::model_thread_lives(tid);
    }
    #[cfg(all(test, loom))]
    if super::fork::pretend::CHILD.get() {
        return tid != super::fork::pretend::PARENTS_THREAD;
    }
    exists(std::process::id(), tid)
}

/// Whether the process `process` has a thread `tid`, or may have: only "no such thread" is a no.
pub(crate) fn exists(process: u32, tid: u32) -> bool {
    let arguments = [process as usize, tid as usize, 0, 0, 0, 0];
    // SAFETY: signal 0 only asks whether the thread is there.
    let answer = unsafe { syscall(libc::SYS_tgkill, arguments) };
    answer != Err(Errno(libc::ESRCH))
}

/// pthread's own name for this thread.
pub(crate) fn pthread() -> usize {
    // SAFETY: always succeeds, no arguments.
    unsafe { libc::pthread_self() as usize }
}

/// Lets other threads run; for the rare wait that has nothing to sleep on.
pub(crate) fn nap() {
    nap_for(1_000_000);
}

/// Sleeps for that long, below a second; less if a signal handler runs. Unlike libc's it is no
/// cancellation point. A wait on a word of its own: a sandbox that allows locks allows it.
pub(crate) fn nap_for(nanoseconds: u32) {
    #[cfg(all(shuttle, not(loom)))]
    if nanoseconds != 0 {
        // A model has no time, only order.
        return crate::prim::give_way();
    }
    sleep(libc::FUTEX_WAIT, nanoseconds);
}

/// Gives the processor away for an instant, some 20 us: a sleep whose end has come.
pub(crate) fn yield_now() {
    // This operation's time is one since the start of the system, not from now.
    sleep(libc::FUTEX_WAIT_BITSET, 0);
}

fn sleep(operation: i32, nanoseconds: u32) {
    let word = AtomicU32::new(0);
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds.into() };
    let time = core::ptr::from_ref(&time).expose_provenance();
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let any = libc::FUTEX_BITSET_MATCH_ANY as u32;
    // SAFETY: the word and the time outlive the call, which only reads them. Ending early is no failure.
    _ = unsafe { futex(word.as_ptr(), operation, 0, time, core::ptr::null(), any) };
}
