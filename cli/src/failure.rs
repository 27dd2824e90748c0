//! How a command ends when it could not do what it was asked: a line for people, a status for
//! scripts.

use std::fmt;

use crate::obstacle::Blocked;
use crate::preload::PreloadError;
use crate::program::ProgramError;

/// A run or a check failed.
pub const STATUS_FAILED: i32 = 1;
/// The command line made no sense.
pub const STATUS_USAGE: i32 = 2;
/// Furwock itself failed, before any program ran.
pub const STATUS_OWN_FAILURE: i32 = 125;
/// The program exists, but cannot be executed.
const STATUS_NOT_EXECUTABLE: i32 = 126;
/// There is no such program.
const STATUS_NOT_FOUND: i32 = 127;

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

impl From<PreloadError> for Failure {
    fn from(error: PreloadError) -> Self {
        Failure::new(STATUS_OWN_FAILURE, error.to_string())
    }
}

impl From<Blocked> for Failure {
    fn from(blocked: Blocked) -> Self {
        Failure::new(STATUS_OWN_FAILURE, format!("{blocked} (--force runs it all the same)"))
    }
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        let status = match error {
            ProgramError::NotFound(_) => STATUS_NOT_FOUND,
            ProgramError::NotExecutable { .. } => STATUS_NOT_EXECUTABLE,
            ProgramError::NulByte => STATUS_OWN_FAILURE,
        };
        Failure::new(status, error.to_string())
    }
}
