//! The types that people know from std and parking_lot.

mod condvar;
mod mutex;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
