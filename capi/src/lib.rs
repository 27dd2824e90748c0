//! The C face of furwock: `furwock.h`, `libfurwock.so` and `libfurwock.a`.
//!
//! The doc comments of exported items become the header's: they address a reader of C.
//! `tests/header.rs` generates the header from them.
//!
//! Nothing here panics, whatever the arguments: `extern "C"` would abort the process.

#![deny(missing_docs)]
#![allow(non_camel_case_types, reason = "C's names")]
#![allow(clippy::missing_safety_doc, reason = "the contracts stand in the header, in C's terms")]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("the C face passes struct timespec and futex words as 64-bit Linux has them");

mod attempt;
mod barrier;
mod condvar;
mod deadline;
mod fd;
mod kernel;
mod many;
mod mutex;
mod name;
mod options;
mod pi_condvar;
mod pi_mutex;
mod prepare;
mod robust_mutex;
mod robust_rwlock;
mod rwlock;
mod semaphore;
mod shared;
mod unwinder;
mod version;
mod wait;
mod wake;
mod word;
