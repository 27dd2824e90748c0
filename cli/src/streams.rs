//! What a command writes: none of it is worth a panic.

use std::io::{self, ErrorKind, Write};

use crate::failure::{Failure, STATUS_FAILED};

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
