//! Waits for locks that are known by the waiting function only.

use super::{EndsBy, Kind, Wait};
use crate::symbols::functions::{Lock, Maker};

/// A wait for a lock that keeps no owner.
pub fn wait_without_owner(maker: Maker, lock: Lock, word: u64) -> Wait {
    let kind = match lock {
        Lock::Mutex => Kind::Mutex,
        Lock::Read => Kind::RwLockRead,
        Lock::Write => Kind::RwLockWrite,
        Lock::Condvar => Kind::Condvar,
        Lock::Semaphore => Kind::Semaphore,
        Lock::Barrier => Kind::Barrier,
        Lock::Join => Kind::Join,
        Lock::Once => Kind::Once,
        Lock::Park => Kind::Word,
    };
    let wait = Wait::new(kind, EndsBy::AnyThread);
    match (maker, lock) {
        (Maker::RustStd, Lock::Mutex | Lock::Read | Lock::Write) => {
            wait.at(word).noting("Rust's std keeps no owner")
        }
        (Maker::RustStd, Lock::Park) => wait.at(word).noting("parked until another unparks it"),
        // It sleeps on a word of the thread's own.
        (Maker::ParkingLot, _) => {
            wait.noting("parking_lot keeps no owner, and its word no address")
        }
        _ => wait.at(word),
    }
}
