//! Records of what a program's locks cost, as the recording library leaves them: the crate
//! `furwock-record` has their layout.
//!
//! A record may be written while it is read, and may be damaged. So it is copied piece by piece
//! instead of being mapped (a file that shrinks meanwhile can't end the command), and no size,
//! offset or index in it is trusted.

mod bytes;
pub mod entries;
mod file;
mod live;
mod part;
mod section;
mod watched;

#[cfg(test)]
#[path = "../../tests/common/sample.rs"]
#[allow(dead_code, reason = "the tests of the command use the rest")]
pub mod sample;
#[cfg(test)]
mod tests;

pub use file::{File, Record};
pub use live::{boot_id, of_process};
pub use part::{Part, State};
pub use watched::{Wanted, Watched};
