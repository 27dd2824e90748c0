//! How a command ends when it could not do what it was asked: a line for people, a status for
//! scripts.

use std::fmt;

/// A run or a check failed.
pub const STATUS_FAILED: i32 = 1;
/// The command line made no sense.
pub const STATUS_USAGE: i32 = 2;
/// Furwock itself failed, before any program ran.
pub const STATUS_OWN_FAILURE: i32 = 125;
/// The program exists, but cannot be executed.
pub const STATUS_NOT_EXECUTABLE: i32 = 126;
/// There is no such program.
pub const STATUS_NOT_FOUND: i32 = 127;

#[derive(Debug)]
pub struct Failure {
    pub status: i32,
    message: String,
}

impl Failure {
    pub fn new(status: i32, message: impl Into<String>) -> Self {
        Failure { status, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
