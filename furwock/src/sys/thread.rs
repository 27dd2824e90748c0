//! Threads as the kernel knows them: ids, which of them exist, and naps.

pub(crate) use super::slot::{known_tid, refresh_tid, slot};

use super::futex::futex;
use super::syscall::{Errno, syscall};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// The kernel's id of this thread.
#[inline(always)]
pub(crate) fn tid() -> u32 {
    match known_tid() {
        0 => first_tid(),
        tid => tid,
    }
}

/// By C's rules, which tell callers that it doesn't unwind: their fast paths are shorter for it.
///
/// What it calls is inlined or goes by C's rules, too. The compiler would guard another call, and
/// the guard's table ends a process whose signal handler leaves in between, say by pthread_exit.
#[cold]
#[inline(never)]
extern "C" fn first_tid() -> u32 {
    super::fork::watch();
    refresh_tid()
}

/// This thread's id, and above its bits what it expects of the next mutex's word (`expect`); 0 as
/// long as its id isn't known.
#[inline(always)]
pub(crate) fn known_claim() -> u32 {
    slot().claim.get()
}

/// `known_claim` by a thread that asks for its id if it isn't known.
#[inline(always)]
pub(crate) fn claim() -> u32 {
    match known_claim() {
        0 => first_tid(),
        claim => claim,
    }
}

/// Wrong expectations cost a failed exchange each: a thread that has had one has no other for so
/// many stolen locks.
const DISTRUST: u8 = 16;

/// Notes what this thread expects the next mutex's word to hold: nothing if its last expectation
/// was `wrong`.
///
/// A signal handler that comes in between may fork, and return in the child too, whose id is
/// another. So the id is compared after the claim was written.
#[inline(always)]
pub(crate) fn expect(bits: u32, wrong: bool) {
    let slot = slot();
    let distrust = slot.distrust.get();
    let mut expected = 0;
    if wrong {
        slot.distrust.set(DISTRUST);
    } else if bits != 0 && distrust != 0 {
        slot.distrust.set(distrust - 1);
    } else {
        expected = bits;
    }
    loop {
        let tid = slot.tid.get();
        slot.claim.set(tid | expected);
        compiler_fence(Ordering::SeqCst);
        if slot.tid.get() == tid {
            return;
        }
    }
}

/// The process's id and this thread's, from the kernel: in a child that was forked without the
/// handlers the cached ids may be the parent's. `None` if a sandbox refuses the calls.
pub(crate) fn ids() -> Option<(u32, u32)> {
    #[cfg(simulated)]
    if machine::is_simulated() {
        return Some((std::process::id(), machine::thread_id()));
    }
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

/// Notes that it has released one. Returns what signal handlers left to be called, once it holds
/// none.
#[inline(always)]
pub(crate) fn has_released() -> Option<fn()> {
    compiler_fence(Ordering::SeqCst);
    let slot = slot();
    let holding = slot.holding.get() - 1;
    slot.holding.set(holding);
    compiler_fence(Ordering::SeqCst);
    slot.on_release.get().filter(|_| holding == 0)
}

/// Whether this thread holds a short lock: then the caller is a signal handler that interrupted it.
#[inline(always)]
pub(crate) fn holds() -> bool {
    slot().holding.get() != 0
}

/// How many read locks this thread has counted in; 255 means that many or more.
#[inline(always)]
pub(crate) fn counted_reads() -> u8 {
    slot().reads.get()
}

/// Counts a read lock in.
#[inline(always)]
pub(crate) fn began_to_read() {
    let reads = &slot().reads;
    // Most threads hold one at a time. A constant, unlike a sum, doesn't have to wait for the load,
    // and the next locked instruction waits for the store.
    if reads.get() == 0 { reads.set(1) } else { count_in(reads) }
}

/// Counts a read lock out. (Once there have been too many to count, the thread counts as a reader
/// for good.)
#[inline(always)]
pub(crate) fn ended_reading() {
    let reads = &slot().reads;
    if reads.get() == 1 { reads.set(0) } else { count_out(reads) }
}

/// The same for a thread whose count is 1. (A signal handler leaves the count as it found it.)
#[inline(always)]
pub(crate) fn ended_only_read() {
    slot().reads.set(0);
}

#[cold]
#[inline(never)]
fn count_in(reads: &Cell<u8>) {
    reads.set(reads.get().saturating_add(1));
}

#[cold]
#[inline(never)]
fn count_out(reads: &Cell<u8>) {
    if !matches!(reads.get(), 0 | u8::MAX) {
        reads.set(reads.get() - 1);
    }
}

/// Whether thread `tid` is one of this process, or may be: only "no such thread" is a no.
pub(crate) fn is_ours(tid: u32) -> bool {
    #[cfg(all(test, any(loom, shuttle)))]
    if let Some(answer) = super::pretend::is_ours(tid) {
        return answer;
    }
    exists(std::process::id(), tid)
}

/// Whether the process `process` has a thread `tid`, or may have: only "no such thread" is a no.
pub(crate) fn exists(process: u32, tid: u32) -> bool {
    #[cfg(simulated)]
    if machine::is_simulated() {
        return machine::thread_exists(tid);
    }
    let arguments = [process as usize, tid as usize, 0, 0, 0, 0];
    // SAFETY: signal 0 only asks whether the thread is there.
    let answer = unsafe { syscall(libc::SYS_tgkill, arguments) };
    answer != Err(Errno(libc::ESRCH))
}

/// pthread's own name for this thread.
pub(crate) fn pthread() -> usize {
    #[cfg(simulated)]
    if machine::is_simulated() {
        return machine::thread_id() as usize;
    }
    // SAFETY: always succeeds, no arguments.
    unsafe { libc::pthread_self() as usize }
}

/// Lets other threads run; for the rare wait that has nothing to sleep on.
pub(crate) fn nap() {
    _ = nap_for(1_000_000);
}

/// Sleeps for this long, less than a second; less if a signal handler runs. Unlike libc's sleep it
/// is no cancellation point. It waits on a word of its own, so that a sandbox that allows locks
/// allows it. Returns whether it has slept for so long.
pub(crate) fn nap_for(nanoseconds: u32) -> bool {
    #[cfg(all(shuttle, not(loom)))]
    if nanoseconds != 0 {
        // A model has no time, only order.
        shuttle::thread::yield_now();
        return true;
    }
    sleep(libc::FUTEX_WAIT, nanoseconds)
}

/// Gives the processor away for some 20 us: a sleep whose deadline has passed.
pub(crate) fn yield_now() {
    // This operation's timeout is absolute, counted from the start of the system.
    _ = sleep(libc::FUTEX_WAIT_BITSET, 0);
}

/// False if a signal handler ran.
fn sleep(operation: i32, nanoseconds: u32) -> bool {
    #[cfg(simulated)]
    if machine::is_simulated() {
        machine::nap_ns(nanoseconds.into());
        return true;
    }
    let word = AtomicU32::new(0);
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds.into() };
    let time = core::ptr::from_ref(&time).expose_provenance();
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let any = libc::FUTEX_BITSET_MATCH_ANY as u32;
    // SAFETY: the word and the time outlive the call, which only reads them. Ending early is no
    // failure.
    let ended = unsafe { futex(word.as_ptr(), operation, 0, time, core::ptr::null(), any) };
    !matches!(ended, Err(Errno(libc::EINTR)))
}

#[cfg(all(test, target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use core::ffi::c_void;
    use core::sync::atomic::AtomicI32;

    /// How many instructions the handler lets pass before it forks, and what `fork` returned.
    static LEFT: AtomicI32 = AtomicI32::new(0);
    static FORKED: AtomicI32 = AtomicI32::new(NOT_YET);
    const NOT_YET: i32 = -1;

    const TRAPS: i64 = 0x100;

    extern "C" fn after_each_instruction(_: i32, _: *mut c_void, context: *mut libc::ucontext_t) {
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            // SAFETY: the kernel's; its flags alone are changed. The child does little, and ends.
            unsafe {
                (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAPS;
                FORKED.store(libc::fork(), Ordering::Relaxed);
            }
        }
    }

    fn trap_after_each_instruction() {
        // SAFETY: sets a flag for which there is a handler.
        unsafe { core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    }

    fn trap_no_more() {
        // SAFETY: clears that flag.
        unsafe { core::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    }

    /// A handler forks after 0, 1, 2, ... instructions, and returns in both processes.
    #[test]
    fn a_child_that_a_handler_forked_claims_by_its_own_id() {
        const BITS: u32 = 1 << 22 | 1 << 25;
        // SAFETY: an all-zero action, completed.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = after_each_instruction as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGTRAP, &action, core::ptr::null_mut());
        }
        tid();
        let mut forks = 0;
        loop {
            LEFT.store(forks, Ordering::Relaxed);
            FORKED.store(NOT_YET, Ordering::Relaxed);
            trap_after_each_instruction();
            expect(BITS, false);
            trap_no_more();
            let mut status = 0;
            let child = match FORKED.load(Ordering::Relaxed) {
                NOT_YET => break,
                // SAFETY: the child only looks at its claim.
                0 => unsafe {
                    let owner = known_claim() & !BITS;
                    libc::_exit(if owner == libc::gettid() as u32 { 7 } else { 1 })
                },
                child => child,
            };
            // SAFETY: writes one int.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert!(libc::WIFEXITED(status), "{status} after {forks} instructions");
            assert_eq!(libc::WEXITSTATUS(status), 7, "after {forks} instructions");
            forks += 1;
        }
        assert!(forks > 3, "{forks}");
        expect(0, false);
    }
}
