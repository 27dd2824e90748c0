//! Stretches of a thread's code that no signal handler may interrupt.
//!
//! A handler may leave the code that it interrupted for good: by `siglongjmp`, by `pthread_exit`,
//! by a cancellation that it acts upon. Between the step in which a thread takes on an obligation
//! (a bucket's lock, a wake that it has claimed, its place as the spinner) and the step that
//! fulfils it, no other thread can take its place. So such a stretch is *closed*: a handler that
//! interrupts it is put off until the thread opens the stretch, at its end or while it sleeps in
//! the kernel.
//!
//! For this, handlers have to be called through [`postpone`], which the preload arranges. Otherwise
//! closing a stretch has no effect. ORDERING.md, D-2.

use super::slot::{PutOff, Slot, slot};
use super::syscall::{syscall, syscall_that_may_be_left};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{Ordering, compiler_fence};

/// Runs `call` as one stretch that no handler interrupts, except where it sleeps ([`open_for`]).
///
/// Must not be inlined into a function that has something to drop: a handler may leave this frame
/// at any instruction.
#[inline(always)]
pub(crate) fn closed<R>(call: impl FnOnce() -> R) -> R {
    const { assert!(!core::mem::needs_drop::<R>()) };
    close();
    let result = inside(call);
    reopen();
    result
}

/// Apart from `closed`, so that what `call` has to drop isn't that frame's.
#[inline(never)]
fn inside<R>(call: impl FnOnce() -> R) -> R {
    call()
}

#[inline(always)]
fn close() {
    let slot = slot();
    let closed = slot.closed.get();
    if closed == 0 {
        let here = 0_u8;
        slot.closed_at.set(core::ptr::from_ref(&here).addr());
    }
    slot.closed.set(closed + 1);
    compiler_fence(Ordering::SeqCst);
}

#[inline(always)]
fn reopen() {
    compiler_fence(Ordering::SeqCst);
    let slot = slot();
    let closed = slot.closed.get() - 1;
    slot.closed.set(closed);
    compiler_fence(Ordering::SeqCst);
    if closed == 0 && slot.has_signals.get() {
        deliver();
    }
}

/// Calls `sleep`, which sleeps in the kernel, and lets handlers run meanwhile, including those that
/// were put off. The caller holds no engine lock. A handler may leave from here: the unwind or the
/// jump then does what the thread has to do first.
///
/// A function of its own, with nothing to drop: a handler may leave it at any instruction, so that
/// `sleep` may make its system call in this frame. Callers expect an unwind, as `deliver` may end
/// with one.
#[inline(never)]
pub(crate) fn open_for<R>(sleep: impl FnOnce() -> R) -> R {
    const { assert!(!core::mem::needs_drop::<R>()) };
    let slot = slot();
    let (closed, closed_at) = (slot.closed.get(), slot.closed_at.get());
    compiler_fence(Ordering::SeqCst);
    slot.closed.set(0);
    compiler_fence(Ordering::SeqCst);
    if slot.has_signals.get() {
        deliver();
    }
    let result = sleep();
    compiler_fence(Ordering::SeqCst);
    slot.closed_at.set(closed_at);
    slot.closed.set(closed);
    compiler_fence(Ordering::SeqCst);
    result
}

/// Whether handlers wait for the end of the stretch, one of which at least would have ended a call
/// of the kernel's: any (`by_any`), or one that doesn't ask for interrupted calls to go on
/// (`SA_RESTART`). Never in a stretch within another, whose end they don't wait for.
#[inline]
pub(crate) fn is_call_ended(by_any: bool) -> bool {
    let slot = slot();
    slot.has_signals.get() && slot.closed.get() == 1 && is_ended_by_pending(slot, by_any)
}

/// (Signals that came after the first that was put off are pending only.)
#[cold]
#[inline(never)]
fn is_ended_by_pending(slot: &Slot, by_any: bool) -> bool {
    let mut pending = 0_u64;
    let arguments = [(&raw mut pending).expose_provenance(), SET_BYTES, 0, 0, 0, 0];
    // SAFETY: writes one set.
    if unsafe { syscall(libc::SYS_rt_sigpending, arguments) }.is_err() {
        return false;
    }
    let arrived = pending & !slot.signals.get().mask;
    let ends = |action: Action| {
        action.is_handled() && (by_any || action.flags & libc::SA_RESTART as usize == 0)
    };
    (1..=64).any(|signal| arrived & bit(signal) != 0 && action(signal).is_some_and(ends))
}

/// Runs the handlers that were put off. The thread is no longer in a closed stretch.
#[cold]
#[inline(never)]
pub(crate) fn deliver() {
    let slot = slot();
    if !slot.has_signals.get() {
        return;
    }
    let PutOff { mask, .. } = slot.signals.get();
    // All are blocked but faults, until the call below.
    slot.has_signals.set(false);
    compiler_fence(Ordering::SeqCst);
    let new = core::ptr::from_ref(&mask).expose_provenance();
    let arguments = [libc::SIG_SETMASK as usize, new, 0, SET_BYTES, 0, 0];
    // SAFETY: reads one set. The handlers run before it returns.
    _ = unsafe { syscall_that_may_be_left(libc::SYS_rt_sigprocmask, &arguments) };
}

/// The kernel's set of signals has a bit for each.
const SET_BYTES: usize = size_of::<u64>();

const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Signals that an instruction can raise. If blocked, they would end the process.
const FAULTS: u64 = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGFPE)
    | bit(libc::SIGILL)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS);

/// Whether the handler of `signal` has to wait because it has interrupted a closed stretch of its
/// thread. If so, it will be called with the same `info` once the stretch is open, and must return
/// now.
///
/// `handler` is the address that the kernel called.
///
/// # Safety
/// Called first thing in a signal handler, with the kernel's arguments.
#[inline]
pub(crate) unsafe fn postpone(
    signal: c_int,
    info: *const libc::siginfo_t,
    context: *mut c_void,
    handler: usize,
) -> bool {
    let slot = slot();
    if slot.closed.get() == 0 {
        return false;
    }
    // SAFETY: by this function's contract.
    unsafe { postpone_in(slot, signal, info, context.cast(), handler) }
}

/// # Safety
/// As `postpone`.
#[cold]
unsafe fn postpone_in(
    slot: &Slot,
    signal: c_int,
    info: *const libc::siginfo_t,
    context: *mut libc::ucontext_t,
    handler: usize,
) -> bool {
    // SAFETY: the kernel's.
    let code = unsafe { (*info).si_code };
    let is_fault = FAULTS & bit(signal) != 0 && code > 0;
    // A thread that aborts doesn't go on.
    let is_abort = signal == libc::SIGABRT && code == libc::SI_TKILL;
    if is_fault || is_abort || !slot.is_this_threads() {
        return false;
    }
    // From here on no other handler interrupts; one that did earlier has been put off already,
    // since it found the stretch closed, and has left a mask in the slot that this one corrects.
    let all = !FAULTS | bit(signal);
    let Some(before) = change_mask(libc::SIG_BLOCK, all) else { return false };
    if !(put_back_one_shot(signal, handler) && queue(signal, info)) {
        change_mask(libc::SIG_SETMASK, before);
        return false;
    }
    // SAFETY: the kernel's; it writes and reads one of its own sets there.
    let interrupted = unsafe { &mut *(&raw mut (*context).uc_sigmask).cast::<u64>() };
    let waiting = slot.signals.get();
    // After another in the same stretch, the mask to restore is known.
    let is_second = slot.has_signals.get() && *interrupted == waiting.blocked;
    let mask = if is_second { waiting.mask } else { *interrupted };
    *interrupted |= all;
    slot.signals.set(PutOff { mask, blocked: *interrupted });
    slot.has_signals.set(true);
    true
}

/// Changes the thread's mask. Returns what it was.
fn change_mask(how: c_int, set: u64) -> Option<u64> {
    let mut old = 0_u64;
    let (set, old_at) =
        (core::ptr::from_ref(&set).expose_provenance(), (&raw mut old).expose_provenance());
    // SAFETY: reads one set and writes one.
    let done =
        unsafe { syscall(libc::SYS_rt_sigprocmask, [how as usize, set, old_at, SET_BYTES, 0, 0]) };
    done.is_ok().then_some(old)
}

/// Queues `signal` to the calling thread, as if it came only now.
fn queue(signal: c_int, info: *const libc::siginfo_t) -> bool {
    let (process, thread) = (std::process::id() as usize, this_thread() as usize);
    let arguments = [process, thread, signal as usize, info.expose_provenance(), 0, 0];
    // SAFETY: reads what the kernel wrote. To itself a thread may send whatever it likes.
    unsafe { syscall(libc::SYS_rt_tgsigqueueinfo, arguments) }.is_ok()
}

fn this_thread() -> u32 {
    // SAFETY: always succeeds, no arguments.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) }.map_or(0, |tid| tid as u32)
}

impl Slot {
    /// Whether the slot is the calling thread's: not in a child that was cloned without
    /// thread-locals of its own.
    fn is_this_threads(&self) -> bool {
        let known = self.tid.get();
        known == 0 || known == this_thread()
    }
}

/// What the kernel keeps of a signal's action.
#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: usize,
    #[cfg(not(target_arch = "riscv64"))]
    restorer: usize,
    mask: u64,
}

impl Action {
    fn is_handled(&self) -> bool {
        !matches!(self.handler, libc::SIG_DFL | libc::SIG_IGN)
    }
}

/// To the kernel, a handler for one call only (`SA_RESETHAND`) has had its call: puts it back.
/// `false` if that is refused.
fn put_back_one_shot(signal: c_int, handler: usize) -> bool {
    let Some(action) = action(signal) else { return false };
    let has_been_reset =
        action.handler == libc::SIG_DFL && action.flags & libc::SA_RESETHAND as usize != 0;
    !has_been_reset || set_action(signal, &Action { handler, ..action })
}

fn action(signal: c_int) -> Option<Action> {
    // SAFETY: zero is a valid action.
    let mut action: Action = unsafe { core::mem::zeroed() };
    let old = (&raw mut action).expose_provenance();
    // SAFETY: writes one action.
    let done =
        unsafe { syscall(libc::SYS_rt_sigaction, [signal as usize, 0, old, SET_BYTES, 0, 0]) };
    done.is_ok().then_some(action)
}

fn set_action(signal: c_int, action: &Action) -> bool {
    let new = core::ptr::from_ref(action).expose_provenance();
    // SAFETY: an action that the kernel gave, with a handler that it has called.
    unsafe { syscall(libc::SYS_rt_sigaction, [signal as usize, new, 0, SET_BYTES, 0, 0]) }.is_ok()
}

/// Replaces `signal`'s handler, if it has one, by `instead(handler)`, bypassing libc. Returns
/// whether it has one.
pub(crate) fn replace_handler(signal: c_int, instead: impl FnOnce(usize) -> Option<usize>) -> bool {
    let Some(action) = action(signal).filter(Action::is_handled) else { return false };
    match instead(action.handler) {
        None => true,
        Some(handler) => set_action(signal, &Action { handler, ..action }),
    }
}

/// Opens the closed stretch that the calling thread is about to leave with a jump, out of a handler
/// that couldn't be put off: a fault's. `is_left` decides by an address in the stretch's frame.
#[inline]
pub(crate) fn leave(is_left: impl Fn(usize) -> bool) {
    let slot = slot();
    if slot.closed.get() != 0 && is_left(slot.closed_at.get()) {
        slot.closed.set(0);
        slot.holding.set(0);
        deliver();
    }
}
