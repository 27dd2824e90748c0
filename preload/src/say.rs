//! The preload's messages to the user: on stderr, or nothing under `FURWOCK_QUIET=1`.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Room for a message: for the longest chain of waits whose names are of usual length.
const MOST_BYTES: usize = 2048;

/// Prints nothing from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints `furwock: ` and the message.
pub(crate) fn say(message: &str) {
    if is_quiet() {
        return;
    }
    let mut line = Line::new();
    for part in ["furwock: ", message, "\n"] {
        _ = line.write_str(part);
    }
    line.print();
}

/// A message in memory of its own, since the allocator may be what lacks memory, or waits. What
/// exceeds it is cut.
pub(crate) struct Line {
    bytes: [u8; MOST_BYTES],
    length: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; MOST_BYTES], length: 0 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// In one system call, so that it stays in one piece.
    pub(crate) fn print(&self) {
        let stderr = libc::STDERR_FILENO;
        // Not with `write`, which a tool in the program may have replaced and not set up yet.
        // SAFETY: reads that many bytes. If it fails, there is no way left to report it.
        unsafe { libc::syscall(libc::SYS_write, stderr, self.bytes.as_ptr(), self.length) };
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Without anything that could panic: some callers must not be unwound.
        let room = self.bytes.iter_mut().skip(self.length);
        let mut taken = 0;
        for (place, byte) in room.zip(text.bytes()) {
            *place = byte;
            taken += 1;
        }
        self.length += taken;
        Ok(())
    }
}
