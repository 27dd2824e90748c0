//! What a command writes: none of it is worth a panic.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd};

use crate::failure::{Failure, STATUS_FAILED};
use crate::lines::WIDTH;

/// Nothing is made to fit less.
pub const NARROWEST: usize = 40;

/// How many letters a line to `stream` may have: as many as its terminal shows, but no more than
/// elsewhere.
pub fn width_of(stream: impl AsFd) -> usize {
    columns_of(stream).map_or(WIDTH, |width| width.clamp(NARROWEST, WIDTH))
}

/// How many letters a line of the terminal has, if it is one.
pub fn terminal_width(stream: impl AsFd) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the stream is open, and the kernel writes one structure.
    let asked = unsafe { libc::ioctl(stream.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    // A terminal without a size says 0.
    (asked == 0 && size.ws_col != 0).then_some(usize::from(size.ws_col))
}

/// COLUMNS, if it is set; else the terminal's width, if `stream` is one.
pub fn columns_of(stream: impl AsFd) -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    given.filter(|columns| *columns > 0).or_else(|| terminal_width(stream))
}

/// On standard error. Where it is closed, full or without a reader, nothing can be said.
pub fn say(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// A result on standard output. That its reader has gone is no failure, that the disk is full is.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(STATUS_FAILED, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
