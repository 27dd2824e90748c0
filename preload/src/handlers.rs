//! `sigaction` and related functions: keep the program's signal handlers out of furwock's calls.
//!
//! A handler may leave the interrupted code for good (`siglongjmp`, `pthread_exit`, a
//! cancellation). So no handler may run where a thread inside furwock owes other threads the rest
//! of a call: in the stretches that `furwock::unstable::signals` closes.
//!
//! The kernel therefore calls an *entrance* in place of each handler. The entrance checks where its
//! thread is. It then jumps to the handler, with the kernel's arguments and stack unchanged; or, in
//! a closed stretch, queues the signal again and returns. Each handler has two entrances of its
//! own, one for each of the two kinds (`SA_SIGINFO` or not), so that the entrance alone identifies
//! the handler. When the program asks, the kernel's record is translated back, even if it was
//! installed elsewhere, or a forked child or a library with its own system calls has changed it.
//! Masks, flags and errors are the kernel's.

use crate::entrances::{entrance_for, handler, has_info, number};
use crate::{glibc, layout};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furwock::unstable::signals;
use libc::{SA_NODEFER, SA_RESETHAND, SA_RESTART, SA_SIGINFO, SIG_DFL, SIG_ERR, SIG_IGN};
use libc::{sighandler_t, sigset_t};

/// Replaces the handler in `action` by its entrance.
fn lead_in(action: &mut libc::sigaction) {
    let handler = action.sa_sigaction;
    if handler == SIG_DFL || handler == SIG_IGN {
        return;
    }
    let entrance = match number(handler) {
        // The program got the address from the kernel itself.
        Some(_) => Some(handler),
        None => entrance_for(handler, action.sa_flags & SA_SIGINFO != 0),
    };
    if let Some(entrance) = entrance {
        action.sa_sigaction = entrance;
        action.sa_flags |= SA_SIGINFO;
    }
}

/// Replaces the entrance in `action` by its handler.
fn lead_out(action: &mut libc::sigaction) {
    if let Some(number) = number(action.sa_sigaction) {
        action.sa_sigaction = handler(number);
        if !has_info(number) {
            action.sa_flags &= !SA_SIGINFO;
        }
    }
}

/// POSIX `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if layout::is_off() {
        // SAFETY: by this function's contract.
        return unsafe { glibc::sigaction(signal, new, old) };
    }
    let mut own = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the program's actions, if not null.
    unsafe {
        let mut passed = new;
        if !new.is_null() {
            own.as_mut_ptr().copy_from_nonoverlapping(new, 1);
            lead_in(own.assume_init_mut());
            passed = own.as_ptr();
        }
        let result = glibc::sigaction(signal, passed, old);
        if result == 0 && !old.is_null() {
            lead_out(&mut *old);
        }
        result
    }
}

/// glibc's other name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sigaction(signal, new, old) }
}

/// The signals whose handlers interrupt system calls, as set by `siginterrupt` for `signal`.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Signals are numbered from 1 to this.
const LAST_SIGNAL: c_int = 64;

fn is_signal(signal: c_int) -> bool {
    (1..=LAST_SIGNAL).contains(&signal)
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// BSD `siginterrupt`: sets whether `signal`'s handler interrupts system calls, now and when
/// `signal` installs another.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    let mut action = MaybeUninit::uninit();
    // SAFETY: `action` is written before it is read.
    unsafe {
        if glibc::sigaction(signal, core::ptr::null(), action.as_mut_ptr()) != 0 {
            return -1;
        }
        let action = action.assume_init_mut();
        if interrupts != 0 {
            INTERRUPTS.fetch_or(bit(signal), Ordering::Relaxed);
            action.sa_flags &= !SA_RESTART;
        } else {
            INTERRUPTS.fetch_and(!bit(signal), Ordering::Relaxed);
            action.sa_flags |= SA_RESTART;
        }
        glibc::sigaction(signal, action, core::ptr::null_mut())
    }
}

/// Installs `handler`. Returns the one before, or `SIG_ERR`.
fn install(signal: c_int, handler: sighandler_t, flags: c_int, mask: sigset_t) -> sighandler_t {
    // SAFETY: zero is a valid action.
    let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    new.sa_mask = mask;
    let mut old = MaybeUninit::uninit();
    // SAFETY: `old` is written if the call succeeds.
    unsafe {
        match sigaction(signal, &new, old.as_mut_ptr()) {
            0 => old.assume_init().sa_sigaction,
            _ => SIG_ERR,
        }
    }
}

fn no_signals() -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: writes a set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn only(signal: c_int) -> sigset_t {
    let mut set = no_signals();
    // SAFETY: changes a set.
    unsafe { libc::sigaddset(&mut set, signal) };
    set
}

fn refused() -> sighandler_t {
    glibc::failed(libc::EINVAL);
    SIG_ERR
}

/// C `signal`, as BSD has it: the handler stays, its signal is blocked while it runs, and
/// interrupted system calls go on.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if handler == SIG_ERR || !is_signal(signal) {
        return refused();
    }
    let interrupts = INTERRUPTS.load(Ordering::Relaxed) & bit(signal) != 0;
    install(signal, handler, if interrupts { 0 } else { SA_RESTART }, only(signal))
}

/// System V's `signal`: a handler for one call, which its own signal may interrupt.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sysv_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    /// What Linux once called the opposite of SA_RESTART.
    const SA_INTERRUPT: c_int = 0x2000_0000;
    if handler == SIG_ERR || !is_signal(signal) {
        return refused();
    }
    install(signal, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT, no_signals())
}

/// Other names for two of them.
macro_rules! other_names {
    ($($other:ident = $name:ident;)*) => {$(
        #[doc = concat!("The same as `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $other(which: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: by this function's contract.
            unsafe { $name(which, handler) }
        }
    )*};
}

other_names! {
    bsd_signal = signal;
    ssignal = signal;
    __sysv_signal = sysv_signal;
}

/// System V's `sigset`: installs a handler and unblocks the signal, or, for `SIG_HOLD`, blocks it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigset(signal: c_int, handler: sighandler_t) -> sighandler_t {
    const SIG_HOLD: sighandler_t = 2;
    if handler == SIG_ERR || !is_signal(signal) {
        return refused();
    }
    let (how, before) = if handler == SIG_HOLD {
        let mut action = MaybeUninit::uninit();
        // SAFETY: `action` is written if the call succeeds.
        match unsafe { sigaction(signal, core::ptr::null(), action.as_mut_ptr()) } {
            // SAFETY: it has.
            0 => (libc::SIG_BLOCK, unsafe { action.assume_init() }.sa_sigaction),
            _ => return SIG_ERR,
        }
    } else {
        (libc::SIG_UNBLOCK, install(signal, handler, 0, no_signals()))
    };
    if before == SIG_ERR {
        return SIG_ERR;
    }
    let mut mask = no_signals();
    // SAFETY: reads one set and writes another.
    unsafe {
        if libc::sigprocmask(how, &only(signal), &mut mask) != 0 {
            return SIG_ERR;
        }
        if libc::sigismember(&mask, signal) == 1 { SIG_HOLD } else { before }
    }
}

/// The signal with which glibc makes a thread of the asynchronous type act on a cancellation. glibc
/// installs the handler with the first cancellation, bypassing the functions above.
const SIGCANCEL: c_int = 32;

/// Whether any thread has ever set that type.
static ASYNCHRONOUS: AtomicBool = AtomicBool::new(false);

/// Whether the kernel calls glibc's handler through an entrance.
static LED_IN: AtomicBool = AtomicBool::new(false);

/// POSIX `pthread_setcanceltype`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if kind == glibc::PTHREAD_CANCEL_ASYNCHRONOUS {
        ASYNCHRONOUS.store(true, Ordering::Relaxed);
    }
    // SAFETY: by this function's contract. May unwind this frame, which has nothing to drop.
    unsafe { glibc::pthread_setcanceltype(kind, old) }
}

/// Called before a thread is cancelled: puts an entrance before glibc's handler, as before the
/// program's.
pub(crate) fn before_cancellation() {
    if !LED_IN.load(Ordering::Acquire) && ASYNCHRONOUS.load(Ordering::Relaxed) && !layout::is_off()
    {
        lead_cancellation_in();
    }
}

#[cold]
fn lead_cancellation_in() {
    let lead_in = || {
        signals::replace_handler(SIGCANCEL, |handler| match number(handler) {
            Some(_) => None,
            None => entrance_for(handler, true),
        })
    };
    if !lead_in() {
        // glibc installs the handler with the first cancellation, which would already meet it: so a
        // thread of our own is cancelled first.
        cancel_a_thread_of_our_own();
        lead_in();
    }
    LED_IN.store(true, Ordering::Release);
}

fn cancel_a_thread_of_our_own() {
    /// Calls no cancellation point.
    extern "C" fn wait(is_cancelled: *mut c_void) -> *mut c_void {
        // SAFETY: what is passed below, where the thread is waited for.
        let is_cancelled = unsafe { &*is_cancelled.cast::<AtomicBool>() };
        while !is_cancelled.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        core::ptr::null_mut()
    }
    let is_cancelled = AtomicBool::new(false);
    let (mut thread, mut all, mut mask) = (MaybeUninit::uninit(), no_signals(), no_signals());
    let argument = (&raw const is_cancelled).cast_mut().cast::<c_void>();
    // SAFETY: `thread` is written if the call succeeds, and what it is given outlives it. The
    // program's signals aren't for it.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut mask);
        if libc::pthread_create(thread.as_mut_ptr(), core::ptr::null(), wait, argument) == 0 {
            let thread = thread.assume_init();
            glibc::pthread_cancel(thread);
            is_cancelled.store(true, Ordering::Relaxed);
            libc::pthread_join(thread, core::ptr::null_mut());
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &mask, core::ptr::null_mut());
    }
}
