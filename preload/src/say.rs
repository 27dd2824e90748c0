//! The preload's messages to the user: one line on stderr, or nothing under `FURWOCK_QUIET=1`.

use core::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

const LINE_MAX: usize = 512;

/// Prints nothing from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints `furwock: ` and the message, in one system call, so that the line stays in one piece, and
/// without allocating, since memory may be what is lacking.
pub(crate) fn say(message: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    let mut line = [0u8; LINE_MAX];
    let mut length = 0;
    for part in ["furwock: ", message, "\n"] {
        let taken = part.len().min(LINE_MAX - length);
        line[length..length + taken].copy_from_slice(&part.as_bytes()[..taken]);
        length += taken;
    }
    // Not with `write`, which a tool in the program may have replaced and not set up yet.
    // SAFETY: reads that many bytes of the buffer. If it fails, there is no way left to report it.
    unsafe { libc::syscall(libc::SYS_write, libc::STDERR_FILENO, line.as_ptr(), length) };
}
