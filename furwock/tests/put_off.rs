//! A signal handler that comes in a closed call is put off, and ends the call's sleep as it would
//! have ended the kernel's, had it come a moment later.

use furwock::Deadline;
use furwock::lock::RawSemaphore;
use furwock::unstable::inspect::watch_long_waits;
use furwock::unstable::semaphore::{PermitWaited, acquire_interruptible};
use furwock::unstable::signals::{closed, postpone};
use libc::{SA_RESTART, SA_SIGINFO, c_int};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// After which a wait that no handler ends is over.
const PATIENCE: Duration = Duration::from_secs(10);

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: first thing, with the kernel's arguments.
    if !unsafe { postpone(signal, info, context, handle as *const () as usize) } {
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
}

fn install(signal: c_int, flags: c_int) {
    // SAFETY: zero is a valid action, and the handler touches an atomic only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = SA_SIGINFO | flags;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// How a wait ended in which the thread had sent itself `signals` before it slept. There is a
/// permit after a while.
fn wait_after(
    signals: &[c_int],
    deadline: Option<&Deadline>,
    release_in: Duration,
) -> PermitWaited {
    let semaphore = RawSemaphore::new(0).unwrap();
    let handled = HANDLED.load(Ordering::Relaxed);
    let ended = thread::scope(|scope| {
        let late = scope.spawn(|| {
            thread::park_timeout(release_in);
            semaphore.release().unwrap();
        });
        let ended = wait(&semaphore, signals, deadline);
        late.thread().unpark();
        ended
    });
    assert_eq!(HANDLED.load(Ordering::Relaxed), handled + signals.len() as u32);
    ended
}

/// (It has nothing to drop.)
#[inline(never)]
fn wait(semaphore: &RawSemaphore, signals: &[c_int], deadline: Option<&Deadline>) -> PermitWaited {
    closed(|| {
        send_itself(signals);
        acquire_interruptible(semaphore, deadline)
    })
}

/// How a wait within an outer stretch ended, in which the signal came.
#[inline(never)]
fn wait_within(semaphore: &RawSemaphore, signal: c_int) -> PermitWaited {
    closed(|| {
        send_itself(&[signal]);
        closed(|| acquire_interruptible(semaphore, None))
    })
}

fn send_itself(signals: &[c_int]) {
    // SAFETY: the signals have handlers.
    signals.iter().for_each(|&signal| assert_eq!(unsafe { libc::raise(signal) }, 0));
}

/// One test, since the handlers are the process's.
#[test]
fn a_handler_that_was_put_off_ends_a_sleep_as_in_the_kernel() {
    let (ends, restarts) = (libc::SIGUSR1, libc::SIGUSR2);
    install(ends, 0);
    install(restarts, SA_RESTART);
    let far = Deadline::after(6 * PATIENCE);
    let soon = Duration::from_millis(20);
    assert_eq!(wait_after(&[ends], None, PATIENCE), PermitWaited::Signalled);
    assert_eq!(wait_after(&[restarts], None, soon), PermitWaited::Permit);
    assert_eq!(wait_after(&[restarts, ends], None, PATIENCE), PermitWaited::Signalled);
    assert_eq!(wait_after(&[ends, restarts], None, PATIENCE), PermitWaited::Signalled);
    assert_eq!(wait_after(&[ends], Some(&far), PATIENCE), PermitWaited::Signalled);
    assert_eq!(wait_after(&[restarts], Some(&far), PATIENCE), PermitWaited::Signalled);

    // At an inner stretch's end the handler wouldn't run, and each further wait would end at once.
    let semaphore = RawSemaphore::new(0).unwrap();
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(soon);
            semaphore.release().unwrap();
        });
        wait_within(&semaphore, ends)
    });
    assert_eq!(ended, PermitWaited::Permit);

    // A watcher looks at long waits, for which they have a deadline.
    watch_long_waits(Duration::from_secs(60), |_| {});
    assert_eq!(wait_after(&[restarts], None, soon), PermitWaited::Permit);
    assert_eq!(wait_after(&[ends], None, PATIENCE), PermitWaited::Signalled);
    assert_eq!(wait_after(&[restarts], Some(&far), PATIENCE), PermitWaited::Signalled);
}
