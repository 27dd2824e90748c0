//! Stands behind the raw lock of lock_api's own tests. That lock only notes what it is told; here
//! each step is one of furwock's raw locks, too, and both agree on whether it could be made.
//! `scripts/yardstick.sh` puts the tests behind this file.
#![allow(warnings)]

use furwock::lock::{RawMutex as FurwockMutex, RawRwLock as FurwockRwLock};

/// The tests take one raw lock as a mutex and as a rwlock.
struct Furwock {
    mutex: FurwockMutex,
    rwlock: FurwockRwLock,
}

impl Furwock {
    const INIT: Self = Self { mutex: FurwockMutex::new(), rwlock: FurwockRwLock::new() };

    fn try_take(&self, mode: Mode) -> bool {
        match mode {
            Mode::Shared => self.rwlock.try_lock_shared(),
            Mode::Upgradable => self.rwlock.try_lock_upgradable(),
            Mode::Exclusive => {
                let taken = self.rwlock.try_lock_exclusive();
                assert!(!taken || self.mutex.try_lock(), "the mutex is held by no thread");
                taken
            }
        }
    }

    fn release(&self, mode: Mode) {
        match mode {
            Mode::Shared => _ = self.rwlock.unlock_shared(),
            Mode::Upgradable => _ = self.rwlock.unlock_upgradable(),
            Mode::Exclusive => {
                assert!(self.mutex.is_locked() && self.rwlock.is_locked_exclusive());
                self.mutex.unlock();
                self.rwlock.unlock_exclusive();
            }
        }
    }

    fn try_change(&self, from: Mode, to: Mode) -> bool {
        match (from, to) {
            (Mode::Upgradable, Mode::Exclusive) => {
                let upgraded = self.rwlock.try_upgrade();
                assert!(!upgraded || self.mutex.try_lock());
                return upgraded;
            }
            (Mode::Exclusive, Mode::Shared) => self.rwlock.downgrade(),
            (Mode::Exclusive, Mode::Upgradable) => self.rwlock.downgrade_to_upgradable(),
            (Mode::Upgradable, Mode::Shared) => self.rwlock.downgrade_upgradable(),
            _ => unreachable!("{from:?} to {to:?}"),
        }
        if from == Mode::Exclusive {
            self.mutex.unlock();
        }
        true
    }
}

impl Raw {
    fn acquire(&self, mode: Mode) -> Option<Token> {
        let token = self.acquire_noted(mode);
        assert_eq!(self.furwock.try_take(mode), token.is_some(), "{mode:?}");
        token
    }

    /// Released first: what notes it may panic.
    fn release(&self, token: Token, mode: Mode) {
        self.furwock.release(mode);
        self.release_noted(token, mode);
    }

    /// Changed first: what notes it may panic, and releases the lock then as it has become.
    fn transition(&self, token: Token, from: Mode, to: Mode) -> Result<Token, Token> {
        let changed = self.furwock.try_change(from, to);
        let result = self.transition_noted(token, from, to);
        assert_eq!(changed, result.is_ok(), "{from:?} to {to:?}");
        result
    }
}

