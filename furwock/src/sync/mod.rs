//! The types that people know from std and parking_lot.

mod condvar;
mod mutex;
mod pi_condvar;
mod pi_mutex;

pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use pi_condvar::PiCondvar;
pub use pi_mutex::{PiMutex, PiMutexGuard};
