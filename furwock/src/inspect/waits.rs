//! Threads that wait, and which threads hold what they wait for.

use crate::lock::rwlock::unstable::bits;
use crate::lock::slots;
use crate::lot::names::{self, Name};
use crate::lot::{self, Class, Key, Queued};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The kinds of object that threads wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A [`Mutex`](crate::Mutex).
    Mutex,
    /// A [`RwLock`](crate::RwLock).
    RwLock,
    /// A [`Condvar`](crate::Condvar).
    Condvar,
    /// A [`Semaphore`](crate::Semaphore).
    Semaphore,
    /// A [`Barrier`](crate::Barrier).
    Barrier,
    /// A [`Notify`](crate::Notify).
    Notify,
    /// A word, by [`futex`](crate::futex) or [`linux`](crate::linux).
    Word,
    /// A [`PiMutex`](crate::PiMutex).
    PiMutex,
    /// A [`RobustMutex`](crate::RobustMutex).
    RobustMutex,
    /// A [`RobustRwLock`](crate::RobustRwLock).
    RobustRwLock,
}

impl Kind {
    /// In words.
    ///
    /// ```
    /// assert_eq!(furwock::inspect::Kind::RwLock.as_str(), "rwlock");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::RwLock => "rwlock",
            Self::Condvar => "condvar",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Notify => "notification",
            Self::Word => "word",
            Self::PiMutex => "PI mutex",
            Self::RobustMutex => "robust mutex",
            Self::RobustRwLock => "robust rwlock",
        }
    }

    fn of(class: Class) -> Self {
        match class {
            Class::Mutex => Self::Mutex,
            Class::RwLock | Class::Slot => Self::RwLock,
            Class::Condvar => Self::Condvar,
            Class::Semaphore => Self::Semaphore,
            Class::Barrier => Self::Barrier,
            Class::Notify => Self::Notify,
            Class::Word | Class::None => Self::Word,
        }
    }
}

/// Threads that a look can name of one lock. Further readers are counted.
const MOST_NAMED: usize = 8;

/// The threads that hold a lock: one, or several readers.
///
/// ```
/// use furwock::inspect::Inspect;
///
/// let lock = furwock::RwLock::new(());
/// let _readers = (lock.read(), lock.read());
/// let holders = lock.inspect().holders;
/// assert!(!holders.is_empty());
/// assert_eq!(holders.threads().len() + holders.unnamed(), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    threads: [u32; MOST_NAMED],
    named: usize,
    unnamed: usize,
}

impl Holders {
    /// Their ids, as far as the lock or its readers' slots name them; [`TASK`](crate::lock::TASK)
    /// for a task.
    pub fn threads(&self) -> &[u32] {
        &self.threads[..self.named]
    }

    /// How many readers there are besides that the lock counts and doesn't name.
    pub fn unnamed(&self) -> usize {
        self.unnamed
    }

    /// Whether no thread holds it.
    pub fn is_empty(&self) -> bool {
        self.named + self.unnamed == 0
    }

    pub(super) fn add(&mut self, thread: u32) {
        if thread == 0 || self.threads().contains(&thread) {
            return;
        }
        match self.threads.get_mut(self.named) {
            Some(place) => {
                *place = thread;
                self.named += 1;
            }
            None => self.unnamed += 1,
        }
    }

    /// Besides `thread`, unless it is the only one.
    fn others_than(self, thread: u32) -> Self {
        if self.threads() == [thread] && self.unnamed == 0 {
            return self;
        }
        let mut others = Self { unnamed: self.unnamed, ..Self::default() };
        self.threads().iter().filter(|holder| **holder != thread).for_each(|tid| others.add(*tid));
        others
    }

    pub(super) fn one(thread: u32) -> Self {
        let mut holders = Self::default();
        holders.add(thread);
        holders
    }

    /// Of what lies at `key`'s address.
    ///
    /// # Safety
    /// It is there, as long as this runs.
    pub(super) unsafe fn of(key: Key) -> Self {
        let at = core::ptr::with_exposed_provenance::<()>(key.address());
        match key.class() {
            // SAFETY: by this function's contract a mutex, which is its word.
            Class::Mutex => unsafe { Self::of_mutex(&*at.cast()) },
            // SAFETY: by this function's contract a rwlock, which is its word.
            Class::RwLock => unsafe { Self::of_rwlock(&*at.cast()) },
            Class::Slot => Self::one(slots::published_in(key.address()).1),
            _ => Self::default(),
        }
    }

    fn of_mutex(word: &AtomicU32) -> Self {
        Self::one(word.load(Ordering::Relaxed) & bits::OWNER as u32)
    }

    fn of_rwlock(lock: &AtomicU64) -> Self {
        let word = lock.load(Ordering::Relaxed);
        let mut holders = Self::one((word & bits::OWNER) as u32);
        if word & bits::WRITER != 0 && word & bits::UPGRADING == 0 {
            // It has the lock to itself, unless it still waits for readers to leave their slots.
            if word & bits::REVOKED == 0 {
                return holders;
            }
        }
        if word & (bits::BIASED | bits::REVOKED) != 0 {
            slots::publishers(core::ptr::from_ref(lock).addr()).for_each(|tid| holders.add(tid));
        }
        holders.unnamed += ((word & bits::READERS) / bits::ONE_READER) as usize;
        holders
    }
}

/// A thread's wait, as a look found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The thread that waits, by the kernel's id.
    pub thread: u32,
    /// What it waits for.
    pub kind: Kind,
    /// Where that lies.
    pub address: usize,
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// The mutex that a condvar's waiter released, if it is furwock's.
    pub mutex: Option<usize>,
    /// The threads that hold it.
    pub holders: Holders,
}

impl Wait {
    /// # Safety
    /// What lies at the address is there, as long as this runs.
    pub(super) unsafe fn new(thread: u32, key: Key, token: usize) -> Self {
        let address = match key.class() {
            Class::Slot => slots::published_in(key.address()).0,
            _ => key.address(),
        };
        let is_condvars = key.class() == Class::Condvar;
        Self {
            thread,
            kind: Kind::of(key.class()),
            address,
            name: names::find(address).map(names::Named::name),
            mutex: (is_condvars && token != 0).then_some(token),
            // A writer that waits for readers to leave their slots has the lock already.
            // SAFETY: by this function's contract.
            holders: unsafe { Holders::of(key) }.others_than(thread),
        }
    }

    /// Of a waiter that was found in its queue.
    fn of(queued: Queued<'_>) -> Self {
        // SAFETY: the waiter stands in the object's queue, whose lock is held: its thread's call,
        // which borrows the object, isn't over. (A word may be gone; it isn't looked at.)
        unsafe { Self::new(queued.tid(), queued.key(), queued.token()) }
    }
}

/// All threads of the process that wait at this moment for one of furwock's objects or words.
///
/// Takes a time that grows with the number of threads that ever waited. Each wait is shown as it
/// was when the look came to it: see [the module](crate::inspect).
///
/// ```
/// use furwock::inspect::{self, Kind};
///
/// let ready = furwock::Semaphore::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.acquire());
///     while !inspect::waits().iter().any(|wait| wait.kind == Kind::Semaphore) {
///         std::thread::yield_now();
///     }
///     ready.release()
/// })?;
/// # Ok::<(), furwock::TooManyPermits>(())
/// ```
pub fn waits() -> Vec<Wait> {
    let mut waits = Vec::new();
    lot::for_each_wait(|_| true, Wait::of, |wait| waits.push(wait));
    waits
}

/// What the thread with the kernel's id `thread` waits for; `None` if that is nothing of furwock's.
///
/// ```
/// assert_eq!(furwock::inspect::wait_of(furwock::lock::thread_id()), None);
/// ```
pub fn wait_of(thread: u32) -> Option<Wait> {
    let mut found = None;
    lot::for_each_wait(|tid| tid == thread, Wait::of, |wait| found = Some(wait));
    found
}

/// What `thread` waits for, what the holder of that waits for, and so on. Ends with a lock whose
/// holder waits for nothing of furwock's, with an object that has no holder, or before a thread
/// that has come before: then the threads wait for each other, if they still do in a second look.
///
/// Of several holders the chain follows the first that waits.
///
/// ```
/// use furwock::{Mutex, inspect};
///
/// let (first, second) = (Mutex::new(()), Mutex::new(()));
/// let held = first.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let _held = second.lock();
///         drop(first.lock());
///     });
///     scope.spawn(|| {
///         while !second.is_locked() {
///             std::thread::yield_now();
///         }
///         drop(second.lock());
///     });
///     // One thread waits for `second`; its holder waits for `first`, which this thread holds.
///     let is_seen = || inspect::waits().iter().any(|wait| {
///         let chain: Vec<_> = inspect::chain(wait.thread).collect();
///         chain.len() == 2 && chain[1].holders.threads() == [furwock::lock::thread_id()]
///     });
///     while !is_seen() {
///         std::thread::yield_now();
///     }
///     drop(held);
/// });
/// ```
pub fn chain(thread: u32) -> Chain {
    Chain { next: wait_of(thread), seen: Holders::default() }
}

/// The links of [`chain`], at most eight.
#[derive(Clone, Debug)]
pub struct Chain {
    next: Option<Wait>,
    seen: Holders,
}

impl Chain {
    /// That begins with a wait that the caller knows.
    pub(super) fn from(wait: Wait) -> Self {
        Self { next: Some(wait), seen: Holders::default() }
    }
}

impl Iterator for Chain {
    type Item = Wait;

    fn next(&mut self) -> Option<Wait> {
        let wait = self.next.take()?;
        self.seen.add(wait.thread);
        let is_new = |thread: &&u32| !self.seen.threads().contains(thread);
        if self.seen.threads().len() < MOST_NAMED {
            self.next =
                wait.holders.threads().iter().filter(is_new).find_map(|holder| wait_of(*holder));
        }
        Some(wait)
    }
}
