//! How a lock is to be taken, and how it was.

use crate::sys::clock::Deadline;
use core::time::Duration;

/// How long a waiter waits before it asks for the lock to be handed over (Long 2017).
pub const HAND_OFF_AFTER: Duration = Duration::from_millis(5);

/// How a lock is to be taken by one call of `lock_with`. The default is what plain `lock` does.
///
/// ```
/// use furwock::lock::{How, Options, RawMutex};
///
/// let mutex = RawMutex::new();
/// let status = mutex.lock_with(&Options::new()).unwrap();
/// assert_eq!((status.how, status.sleeps), (How::Fast, 0));
/// mutex.unlock();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub(super) deadline: Option<Deadline>,
    pub(super) steal: bool,
    pub(super) spin: bool,
    pub(super) hand_off_after_ns: u64,
    pub(super) owner_death: bool,
    pub(super) recursive: bool,
}

pub(super) const HAND_OFF_AFTER_NS: u64 = HAND_OFF_AFTER.as_nanos() as u64;

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// What plain `lock` does: no deadline, steals, spins, asks for a hand-off after
    /// [`HAND_OFF_AFTER`] at most, doesn't look whether the owner is alive, reads behind writers
    /// that wait.
    pub const fn new() -> Self {
        Self {
            deadline: None,
            steal: true,
            spin: true,
            hand_off_after_ns: HAND_OFF_AFTER_NS,
            owner_death: false,
            recursive: false,
        }
    }

    /// Gives up at `deadline`. One that has passed still takes a lock that is free.
    #[must_use]
    pub const fn until(mut self, deadline: Deadline) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Whether the lock may be taken past a waiter that has been woken for it. Without stealing the
    /// caller queues up behind the others; it still takes a free lock that no other thread is about
    /// to take.
    #[must_use]
    pub const fn steal(mut self, yes: bool) -> Self {
        self.steal = yes;
        self
    }

    /// Whether to spin as the lock's top waiter, if it has none, before going to sleep.
    #[must_use]
    pub const fn spin(mut self, yes: bool) -> Self {
        self.spin = yes;
        self
    }

    /// How long to wait, from the first sleep on, before asking for the lock to be handed over. It
    /// then goes to the first in the queue, and no thread steals it. Asked by a waiter that was
    /// woken and found the lock taken once more. A thread asks at once at a mutex whose holders
    /// sleep or yield, or after 16 such wakes if the program keeps all its processors busy; not
    /// with a time above [`HAND_OFF_AFTER`], nor where eight wakes in a row found the mutex taken:
    /// there it looks now and then until the time has passed.
    #[must_use]
    pub const fn hand_off_after(mut self, time: Duration) -> Self {
        let nanos = time.as_nanos();
        self.hand_off_after_ns = if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 };
        self
    }

    /// Whether to look, while waiting, if the thread that holds the lock has ended, and to take it
    /// over if so: [`Status::owner_died`] then says that what the lock protects may be half done.
    ///
    /// A waiter looks about every 20 ms. Threads of this process only. A new thread that was given
    /// the dead one's kernel id looks like it for as long as it lives; a dead *reader* leaves no
    /// name and is not found. Of a dead *upgradable* reader, which has left nothing half done, no
    /// thread may be told: if a writer takes over from it, and its deadline comes before the other
    /// readers have left, the lock is released.
    #[must_use]
    pub const fn owner_death(mut self, yes: bool) -> Self {
        self.owner_death = yes;
        self
    }

    /// Whether a reader enters past all writers but one that is inside: for a thread that reads
    /// already, and mustn't wait for a writer that waits for it. Readers of a rwlock only.
    #[must_use]
    pub const fn recursive(mut self, yes: bool) -> Self {
        self.recursive = yes;
        self
    }

    /// Whether the caller leaves it to the lock how it waits, and for how long.
    pub(super) fn are_patient(&self) -> bool {
        let Self { deadline, steal, spin, hand_off_after_ns, .. } = *self;
        deadline.is_none() && steal && spin && hand_off_after_ns >= HAND_OFF_AFTER_NS
    }
}

/// How a lock was got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// It was free, and no thread waited for it.
    Fast,
    /// It was free, though others waited for it or had just had it: the caller overtook them.
    Stolen,
    /// The caller spun until it was free; at a rwlock, or on the only processor, it may have
    /// yielded.
    Spun,
    /// The caller slept, and took it once it ran again.
    Slept,
    /// It was handed to the caller as it slept; a reader that slept and was let in gets this, too.
    HandedOver,
}

/// How one call got a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// By which way.
    pub how: How,
    /// How often the caller went to sleep for it.
    pub sleeps: u32,
    /// Its owner had ended without releasing it ([`Options::owner_death`]).
    pub owner_died: bool,
}

impl Status {
    pub(super) const FAST: Status = Status::new(How::Fast);

    pub(super) const fn new(how: How) -> Self {
        Self { how, sleeps: 0, owner_died: false }
    }

    /// Of a lock that took two waits to get.
    pub(super) fn and_then(self, then: Self) -> Self {
        // The ways are in the order of how long they take.
        let how = if then.how as u8 > self.how as u8 { then.how } else { self.how };
        Self {
            how,
            sleeps: self.sleeps + then.sleeps,
            owner_died: self.owner_died || then.owner_died,
        }
    }
}
