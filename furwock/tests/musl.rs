//! What furwock says on musl of what isn't to be had there.

#![cfg(target_env = "musl")]

use furwock::{RobustError, RobustMutex, RobustRwLock};
use std::pin::pin;

/// musl registers its robust list when the first of its own robust mutexes is locked, and with
/// another layout: a lock that relied on it would lose its holder's death.
#[test]
fn robust_locks_refuse() {
    let mutex = pin!(RobustMutex::new(()));
    let rwlock = pin!(RobustRwLock::<_, 4>::new(()));
    let (mutex, rwlock) = (mutex.as_ref(), rwlock.as_ref());
    assert!(matches!(mutex.lock(), Err(RobustError::Unsupported(_))));
    assert!(matches!(rwlock.read(), Err(RobustError::Unsupported(_))));
    assert!(matches!(rwlock.write(), Err(RobustError::Unsupported(_))));
}
