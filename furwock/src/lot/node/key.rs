//! What a waiter queues at: an address, and what kind of object lies there.
//!
//! An address outlives the object that lies at it. A waiter can be left behind there by what safe
//! code may do: a thread that a requeue moved to a word that is gone by now, a future that was
//! forgotten, a registration that no thread waits in. If a lock's memory comes to lie at that
//! address, its releases must reach its own waiters and no others. So each kind of object has keys
//! of its own, and a queue is searched by key: a release of a mutex doesn't see what waits for a
//! word, and a wake of a word doesn't see what waits for a mutex (ORDERING.md, K-1).
//!
//! Within one kind no thread is left behind: it waits for a lock, a condvar, a semaphore or a
//! barrier only inside a call that borrows it. A task's future may be, if it is forgotten.

use crate::prim::mutant::{self, Mutant};
use core::fmt;

/// The kinds of object that have waiters. The number stands in the key's top bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Class {
    Word = 0,
    Mutex = 1,
    RwLock = 2,
    Condvar = 3,
    Semaphore = 4,
    Barrier = 5,
    /// A slot in which a reader has published itself.
    Slot = 6,
    Notify = 7,
    /// No object: see the constants.
    None = 15,
}

/// The lowest bit of the class. No address of a user's reaches that far: Linux gives out 57 bits at
/// most.
const CLASS_AT: u32 = 60;
const ADDRESS: u64 = (1 << CLASS_AT) - 1;

/// An address with the kind of object that waiters there wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Key(u64);

macro_rules! keys {
    ($($name:ident: $class:ident, $what:literal;)*) => {$(
        #[doc = concat!("The key of ", $what, " at `address`.")]
        #[inline(always)]
        pub(crate) fn $name(address: usize) -> Self {
            Self::new(Class::$class, address)
        }
    )*};
}

impl Key {
    /// The key of a node that is in no queue. (Not 0: a requeue may name the null address.)
    pub(in crate::lot) const NOWHERE: Self = Self(u64::MAX);

    /// The key of the head of a wait on many words.
    pub(in crate::lot) const MANY: Self = Self(u64::MAX - 1);

    /// The key of a word at `address`: for whatever waits by the operations on words.
    #[inline(always)]
    pub(crate) fn word(address: usize) -> Self {
        Self(address as u64)
    }

    keys! {
        mutex: Mutex, "a mutex";
        rwlock: RwLock, "a rwlock";
        condvar: Condvar, "a condvar";
        semaphore: Semaphore, "a semaphore";
        barrier: Barrier, "a barrier";
        slot: Slot, "a reader's slot";
        notify: Notify, "a notification";
    }

    #[inline(always)]
    fn new(class: Class, address: usize) -> Self {
        if mutant::active(Mutant::ForeignWaiterChosen) {
            return Self::word(address);
        }
        Self((address as u64 & ADDRESS) | (class as u64) << CLASS_AT)
    }

    /// As a number, for atomics and hashes.
    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// The key with this number.
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// What kind of object lies there.
    pub(crate) fn class(self) -> Class {
        match self.0 >> CLASS_AT {
            1 => Class::Mutex,
            2 => Class::RwLock,
            3 => Class::Condvar,
            4 => Class::Semaphore,
            5 => Class::Barrier,
            6 => Class::Slot,
            7 => Class::Notify,
            15 => Class::None,
            _ => Class::Word,
        }
    }
}

impl Key {
    /// Where the object lies.
    #[inline(always)]
    pub(crate) fn address(self) -> usize {
        (self.0 & ADDRESS) as usize
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:#x}", self.class(), self.0 & ADDRESS)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn objects_of_different_kinds_at_one_address_have_different_keys() {
        for address in [0, 0x1000, 0x7fff_ffff_fff8, (1 << 57) - 8] {
            let keys = [
                Key::word(address),
                Key::mutex(address),
                Key::rwlock(address),
                Key::condvar(address),
                Key::semaphore(address),
                Key::barrier(address),
                Key::slot(address),
                Key::notify(address),
                Key::NOWHERE,
                Key::MANY,
            ];
            for (at, key) in keys.iter().enumerate() {
                assert!(!keys[at + 1..].contains(key), "{key:?}");
            }
        }
    }

    #[test]
    fn a_key_says_what_it_is_of() {
        assert_eq!(format!("{:?}", Key::mutex(0x1234)), "Mutex at 0x1234");
        assert_eq!(format!("{:?}", Key::word(0x1234)), "Word at 0x1234");
    }
}
