//! Ctrl-C asks for the results so far; a second one ends furwock as usual.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    ASKED.store(true, Relaxed);
}

pub fn watch() {
    // SAFETY: all-zero is a valid sigaction (no flags, an empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // The default action returns once the handler ran.
    action.sa_flags = libc::SA_RESETHAND;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which a signal handler may.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

pub fn asked() -> bool {
    ASKED.load(Relaxed)
}
