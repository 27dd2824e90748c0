//! What can be seen of an object by a reference to it.

use super::waits::{Holders, Kind};
use crate::lock::pi::RawPiMutex;
use crate::lock::robust::{RawRobustMutex, RawRobustRwLock};
use crate::lock::{RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};
use crate::lot::names::{self, Name};
use crate::lot::{self, Key};
use crate::{
    Barrier, Condvar, Mutex, PiMutex, RobustMutex, RobustRwLock, RwLock, Semaphore, std_compat,
};
use core::ptr::from_ref;
use core::time::Duration;

/// What is counted of a named object.
///
/// Counted are waits in which the thread slept, as they end. A lock that was taken after some
/// spinning isn't counted: that would make the way to the lock longer.
///
/// ```
/// use furwock::Mutex;
/// use furwock::inspect::{Inspect, WithName};
///
/// let cache = Mutex::named("cache", 0);
/// drop(cache.lock());
/// assert_eq!(cache.inspect().statistics.unwrap().waits, 0, "it was free");
/// assert!(Mutex::new(0).inspect().statistics.is_none(), "it has no name");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// How many waits.
    pub waits: u64,
    /// The time that they took, together.
    pub waited: Duration,
    /// The time that the longest took.
    pub longest: Duration,
}

/// What a look at an object has found: see [`Inspect::inspect`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Which kind of object it is.
    pub kind: Kind,
    /// The threads that hold it.
    pub holders: Holders,
    /// The threads in its queue, in order, by the kernel's ids.
    pub waiters: Vec<u32>,
    /// Whether there may be waiters that `waiters` can't name, because they sleep in the kernel.
    pub may_have_others: bool,
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// What has been counted since it got the name.
    pub statistics: Option<Statistics>,
}

impl Status {
    fn of(kind: Kind, address: usize) -> Self {
        let named = names::find(address);
        Self {
            kind,
            holders: Holders::default(),
            waiters: Vec::new(),
            may_have_others: false,
            name: named.map(names::Named::name),
            statistics: named.map(|named| {
                let counts = named.counts();
                Statistics {
                    waits: counts.waits,
                    waited: Duration::from_nanos(counts.waited_ns),
                    longest: Duration::from_nanos(counts.longest_ns),
                }
            }),
        }
    }

    /// Of an object whose waiters queue at `key`.
    ///
    /// # Safety
    /// The object is there.
    unsafe fn queued(kind: Kind, key: Key) -> Self {
        let mut status = Self::of(kind, key.address());
        // SAFETY: by this function's contract.
        let look = || unsafe { Holders::of(key) };
        (status.holders, status.waiters) = lot::waiters(key, look);
        status
    }

    /// Of an object whose waiters the kernel has.
    fn kernels(kind: Kind, address: usize, owner: u32, may_have_others: bool) -> Self {
        Self { holders: Holders::one(owner), may_have_others, ..Self::of(kind, address) }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An object that can be looked at, and named: each of the crate's types that threads wait for.
pub trait Inspect: sealed::Sealed {
    /// Which threads hold it, and which wait for it: see [the module](super).
    ///
    /// ```
    /// use furwock::RwLock;
    /// use furwock::inspect::{Inspect, Kind};
    ///
    /// let map = RwLock::new([1, 2]);
    /// let _writer = map.write();
    /// let status = map.inspect();
    /// assert_eq!(status.kind, Kind::RwLock);
    /// assert_eq!(status.holders.threads(), [furwock::lock::thread_id()]);
    /// assert!(status.waiters.is_empty());
    /// ```
    fn inspect(&self) -> Status;

    /// Its address, by which other looks name it.
    ///
    /// ```
    /// use furwock::inspect::{self, Inspect};
    ///
    /// let mutex = furwock::Mutex::new(0);
    /// assert!(!inspect::waits().iter().any(|wait| wait.address == mutex.address()));
    /// ```
    fn address(&self) -> usize;
}

/// Objects with a queue in furwock's table.
macro_rules! queued {
    ($($raw:ident: $kind:ident, $key:ident;)*) => {$(
        impl sealed::Sealed for $raw {}

        impl Inspect for $raw {
            fn inspect(&self) -> Status {
                let address = from_ref(self).expose_provenance();
                // SAFETY: it is borrowed.
                unsafe { Status::queued(Kind::$kind, Key::$key(address)) }
            }

            fn address(&self) -> usize {
                from_ref(self).addr()
            }
        }
    )*};
}

queued! {
    RawMutex: Mutex, mutex;
    RawRwLock: RwLock, rwlock;
    RawCondvar: Condvar, condvar;
    RawSemaphore: Semaphore, semaphore;
    RawBarrier: Barrier, barrier;
}

impl sealed::Sealed for RawPiMutex {}

impl Inspect for RawPiMutex {
    fn inspect(&self) -> Status {
        Status::kernels(Kind::PiMutex, self.address(), self.owner(), self.may_have_waiters())
    }

    fn address(&self) -> usize {
        from_ref(self).addr()
    }
}

impl sealed::Sealed for RawRobustMutex {}

impl Inspect for RawRobustMutex {
    fn inspect(&self) -> Status {
        let owner = if self.is_not_recoverable() { 0 } else { self.owner() };
        Status::kernels(Kind::RobustMutex, self.address(), owner, self.may_have_waiters())
    }

    fn address(&self) -> usize {
        from_ref(self).addr()
    }
}

impl<const READERS: usize> sealed::Sealed for RawRobustRwLock<READERS> {}

impl<const READERS: usize> Inspect for RawRobustRwLock<READERS> {
    fn inspect(&self) -> Status {
        let (address, others) = (self.address(), self.may_have_waiters());
        let mut status = Status::kernels(Kind::RobustRwLock, address, self.writer(), others);
        self.reading_threads().for_each(|reader| status.holders.add(reader));
        status
    }

    fn address(&self) -> usize {
        from_ref(self).addr()
    }
}

/// Types with data, or with another interface, over a raw one.
macro_rules! over {
    ($([$($parameters:tt)*] $type:ty, $self:ident => $raw:expr;)*) => {$(
        impl<$($parameters)*> sealed::Sealed for $type {}

        impl<$($parameters)*> Inspect for $type {
            fn inspect(&self) -> Status {
                let $self = self;
                $raw.inspect()
            }

            fn address(&self) -> usize {
                let $self = self;
                Inspect::address($raw)
            }
        }
    )*};
}

over! {
    // SAFETY: it is looked at, not unlocked.
    [T: ?Sized] Mutex<T>, this => unsafe { this.raw() };
    // SAFETY: it is looked at, not unlocked.
    [T: ?Sized] RwLock<T>, this => unsafe { this.raw() };
    // SAFETY: it is looked at, not unlocked.
    [T: ?Sized] PiMutex<T>, this => unsafe { this.raw() };
    [] Condvar, this => this.raw();
    [] Semaphore, this => this.raw();
    [] Barrier, this => this.raw();
    [T] RobustMutex<T>, this => this.raw();
    [T, const READERS: usize] RobustRwLock<T, READERS>, this => this.raw();
}

over! {
    [T: ?Sized] std_compat::Mutex<T>, this => this.raw();
    [T: ?Sized] std_compat::RwLock<T>, this => this.raw();
    [] std_compat::Condvar, this => this.raw();
    [] std_compat::Barrier, this => this.raw();
}

#[cfg(feature = "lock_api_0_5")]
over! {
    // SAFETY: it is looked at, not unlocked.
    [T: ?Sized] crate::lock_api_0_5::Mutex<T>, this => unsafe { this.raw() };
    // SAFETY: it is looked at, not unlocked.
    [T: ?Sized] crate::lock_api_0_5::RwLock<T>, this => unsafe { this.raw() };
    [] crate::lock_api_0_5::Condvar, this => this.raw();
}
