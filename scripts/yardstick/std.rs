//! Stands for std in std's own tests of `std::sync`: what those name `std::sync` is this file's
//! `sync`. `scripts/yardstick.sh` puts the tests behind it.
//!
//! std's `poison` is `furwock::std_compat`, std's `nonpoison` the crate's main types.
#![allow(warnings)]

pub mod sync {
    pub use furwock::ReentrantMutex as ReentrantLock;
    pub use furwock::std_compat::*;

    // Imported by the files, and used by tests that are left out.
    pub struct MappedMutexGuard;
    pub struct MappedRwLockReadGuard;
    pub struct MappedRwLockWriteGuard;

    pub mod poison {
        pub use furwock::std_compat::*;
    }

    pub mod nonpoison {
        use furwock::WaitTimeoutResult;
        pub use furwock::{
            MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
            RwLock, RwLockReadGuard, RwLockWriteGuard,
        };
        use std::time::Duration;

        /// The condvar with the names that std has for timed waits.
        pub struct Condvar(furwock::Condvar);

        impl Condvar {
            pub const fn new() -> Self {
                Self(furwock::Condvar::new())
            }

            pub fn wait_timeout<T>(
                &self,
                guard: &mut MutexGuard<'_, T>,
                time: Duration,
            ) -> WaitTimeoutResult {
                self.0.wait_for(guard, time)
            }

            pub fn wait_timeout_while<T>(
                &self,
                guard: &mut MutexGuard<'_, T>,
                time: Duration,
                condition: impl FnMut(&mut T) -> bool,
            ) -> WaitTimeoutResult {
                self.0.wait_while_for(guard, condition, time)
            }
        }

        impl std::ops::Deref for Condvar {
            type Target = furwock::Condvar;

            fn deref(&self) -> &furwock::Condvar {
                &self.0
            }
        }
    }
}

pub fn unwrap<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    result.unwrap()
}

/// One flavour of a test. std makes names by concatenation, which only nightly compilers have.
macro_rules! flavour {
    ($flavour:ident, $unwrap:path, $($body:tt)*) => {
        #[test]
        fn $flavour() {
            use $unwrap as maybe_unwrap;
            use crate::sync::$flavour as locks;

            $($body)*
        }
    };
}

macro_rules! nonpoison_unwrap_test {
    (name: $name:ident, test_body: {$($body:tt)*}) => {
        mod $name {
            use super::*;
            flavour!(nonpoison, std::convert::identity, $($body)*);
        }
    };
}

macro_rules! poison_unwrap_test {
    (name: $name:ident, test_body: {$($body:tt)*}) => {
        mod $name {
            use super::*;
            flavour!(poison, crate::unwrap, $($body)*);
        }
    };
}

macro_rules! nonpoison_and_poison_unwrap_test {
    (name: $name:ident, test_body: {$($body:tt)*}) => {
        mod $name {
            use super::*;
            flavour!(nonpoison, std::convert::identity, $($body)*);
            flavour!(poison, crate::unwrap, $($body)*);
        }
    };
}

#[path = "../random.rs"]
mod rand;

mod common {
    pub fn test_rng() -> crate::rand::ThreadRng {
        crate::rand::thread_rng()
    }
}
