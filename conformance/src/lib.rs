//! Programs in C that check what POSIX and glibc promise, compiled here and run on two sides: on
//! glibc alone, which shows that a test asks no more than glibc gives, and on the preload. Also
//! random programs, of pthread calls and of futex calls on the kernel and on furwock, storms,
//! random patterns of locking that are measured on both sides, and instruction counts.

pub mod build;
pub mod check;
pub mod differential;
pub mod fresh;
pub mod hostile;
pub mod instructions;
mod last_words;
pub mod program;
pub mod random;
pub mod record;
pub mod seccomp;
pub mod seeds;
pub mod watchdog;

pub use build::{Artifact, built, preload, scratch, sources};
pub use program::{Clause, Ended, Side, Test, run};
