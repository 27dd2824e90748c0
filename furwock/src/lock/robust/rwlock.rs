//! The robust rwlock: a robust mutex for writers, and a robust word for each reader.
//!
//! A reader writes its thread id into a free *slot*, looks whether there is a writer, and is in if
//! there is none: with many readers no two write the same word. A writer holds the mutex, says so
//! in the *phase*, and waits until no slot is held. The kernel marks a dead reader's slot, and
//! wakes the writer that sleeps on it: so a death among readers is no event. A death with the phase
//! at WRITING is, and the next thread that takes the mutex learns of it.
//!
//! | phase | meaning | if the mutex's holder dies |
//! |---|---|---|
//! | IDLE | readers enter | nothing was changed: the next one goes on |
//! | DRAINING | no reader enters any more; some may be inside | nothing was changed: the next one goes on |
//! | WRITING | the writer is alone | the next one learns of it, and the phase stays |
//!
//! Only the mutex's holder writes the phase. A reader that may not enter leaves its slot and waits
//! at the mutex, in line with the writers; once it has the mutex it takes a slot, and passes the
//! mutex on.
//!
//! The ordering arguments are in ORDERING.md (RB-3, RB-4).

use super::entry::{Entry, Me, Patience};
use super::mutex::RawRobustMutex;
use super::state::{is_free, owner};
use super::{Held, Refused};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{full_fence, full_fence_after_rmw};
use crate::sys::clock::Deadline;
use core::time::Duration;

const IDLE: u32 = 0;
const DRAINING: u32 = 1;
const WRITING: u32 = 2;

/// How long a reader that finds all slots taken sleeps on one of them.
const TURN: Duration = Duration::from_millis(2);

/// A reader's word, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Slot(Entry);

/// How a lock was had by a caller that wants to read.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum ReadHeld {
    /// Shared with other readers. [`RawRobustRwLock::unlock_read`] takes the slot back.
    Shared(ReadSlot),
    /// A writer died. The caller has the lock *exclusively*, in order to repair, as
    /// [`Held::OwnerDied`] from a write lock: it ends with [`RawRobustRwLock::unlock_write`].
    OwnerDied,
}

/// Where a reader stands. Good for one unlock.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadSlot(usize);

/// A reader-writer lock that survives the death of any of its users, between processes or threads.
/// All zero when free.
///
/// Like [`RawRobustMutex`] it may lie in memory that several processes map, as long as they agree
/// on `READERS`; what is said there of the robust list, of forks and signal handlers goes for it
/// too, and what is said at [`RawRobustMutex::unlock`] of memory that is reused.
///
/// # Promises
/// - When a reader dies the lock forgets it. Others notice nothing: it can't have changed anything.
/// - When a writer dies the next one in, reader or writer, gets the lock exclusively, as
///   [`Held::OwnerDied`] or [`ReadHeld::OwnerDied`], and makes the data consistent, or else the
///   lock is lost: [`Refused::NotRecoverable`]. A writer that died before it had the lock is no
///   such event.
/// - Writers are not put behind readers: once a writer has reached the front, no reader enters
///   before it.
/// - Readers are not put behind writers: one that finds a writer waits in the writers' line, like
///   any other there. What that promises, and doesn't, is said at [`RawRobustMutex`].
/// - Up to `READERS` readers are inside at once. One more waits at the head of the line, and all
///   others behind it. It is in at most about 2 ms after any reader has left or died.
///
/// A thread that reads may read again, into another slot. It waits for itself then if a writer
/// waits, or if it and others have taken all slots.
#[derive(Debug)]
#[repr(C)]
pub struct RawRobustRwLock<const READERS: usize = 64> {
    writers: RawRobustMutex,
    phase: AtomicU32,
    slots: [Slot; READERS],
}

impl<const READERS: usize> Default for RawRobustRwLock<READERS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const READERS: usize> RawRobustRwLock<READERS> {
    const HAS_SLOTS: () = assert!(READERS > 0, "a lock for no readers is a mutex");

    /// A free lock.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        () = Self::HAS_SLOTS;
        Self {
            writers: RawRobustMutex::new(),
            phase: AtomicU32::new(IDLE),
            slots: [const { Slot(Entry::new()) }; READERS],
        }
    }

    /// A free lock.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self {
            writers: RawRobustMutex::new(),
            phase: AtomicU32::new(IDLE),
            slots: core::array::from_fn(|_| Slot::default()),
        }
    }

    /// Takes the lock for reading, waiting as long as it takes. Acquire.
    ///
    /// # Safety
    /// From a successful call on, until it is unlocked or its thread has ended, the lock stays
    /// where it is, mapped, and nothing else writes its memory: the kernel and the C library hold
    /// its address.
    ///
    /// All processes that use it are in one PID namespace, as for [`RawRobustMutex::lock`].
    #[inline]
    pub unsafe fn read(&self) -> Result<ReadHeld, Refused> {
        self.read_within(Patience::Endless)
    }

    /// Takes the lock for reading if that is possible without waiting, or says
    /// [`Refused::WouldBlock`].
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn try_read(&self) -> Result<ReadHeld, Refused> {
        self.read_within(Patience::None)
    }

    /// Takes the lock for reading, or says [`Refused::TimedOut`] at `deadline`.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn read_until(&self, deadline: &Deadline) -> Result<ReadHeld, Refused> {
        self.read_within(Patience::Until(deadline))
    }

    /// Takes the lock for writing, waiting as long as it takes. Acquire.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn write(&self) -> Result<Held, Refused> {
        self.write_within(Patience::Endless)
    }

    /// Takes the lock for writing if that is possible without waiting, or says
    /// [`Refused::WouldBlock`]: also for the moment in which a reader that had to wait passes.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn try_write(&self) -> Result<Held, Refused> {
        self.write_within(Patience::None)
    }

    /// Takes the lock for writing, or says [`Refused::TimedOut`] at `deadline`.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn write_until(&self, deadline: &Deadline) -> Result<Held, Refused> {
        self.write_within(Patience::Until(deadline))
    }

    /// Releases a read lock. Release. Does nothing in a forked child.
    ///
    /// # Safety
    /// The calling thread, or its forked parent's, has got `slot` from this lock.
    #[inline]
    pub unsafe fn unlock_read(&self, slot: ReadSlot) {
        let entry = &self.slots[slot.0].0;
        if let Some(me) = Me::new().ok().filter(|&me| entry.is_held_by(me)) {
            entry.unclaim(me);
        }
    }

    /// Releases a write lock. Release. Does nothing in a forked child.
    ///
    /// If it was had as [`Held::OwnerDied`] or [`ReadHeld::OwnerDied`] and not made consistent
    /// since, no thread will ever have the lock again.
    ///
    /// # Safety
    /// The calling thread, or its forked parent's, holds the lock exclusively.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        if let Some(me) = Me::new().ok().filter(|&me| self.writers.is_held_by(me)) {
            self.release(me);
        }
    }

    /// The caller has the lock exclusively.
    #[inline]
    fn release(&self, me: Me) {
        // A lock that is lost keeps its phase: readers have to find out.
        if !self.writers.is_inconsistent() {
            self.let_readers_in();
        }
        self.writers.release(me);
    }

    /// The data is in order again. Does nothing unless the calling thread has the lock exclusively
    /// after a writer's death. Returns whether it did something.
    pub fn make_consistent(&self) -> bool {
        self.writers.make_consistent()
    }

    /// Whether no thread can ever lock it again.
    pub fn is_not_recoverable(&self) -> bool {
        self.writers.is_not_recoverable()
    }

    /// The kernel's id of the thread that writes, or is at the head of the line; 0 if none is.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn writer(&self) -> u32 {
        if self.is_not_recoverable() { 0 } else { self.writers.owner() }
    }

    /// The kernel's ids of the threads that have taken slots.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn reading_threads(&self) -> impl Iterator<Item = u32> {
        let words = self.slots.iter().map(|slot| slot.0.word.load(Ordering::Relaxed));
        words.filter(|word| !is_free(*word)).map(owner)
    }

    /// Whether threads may sleep in the kernel for it.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn may_have_waiters(&self) -> bool {
        self.writers.may_have_waiters()
    }

    /// How many readers are inside, or on the way in or out. Old news at once.
    pub fn readers(&self) -> usize {
        self.slots.iter().filter(|slot| !is_free(slot.0.word.load(Ordering::Relaxed))).count()
    }

    /// The calling thread dies: the kernel's part.
    #[cfg(all(test, loom))]
    pub(crate) fn die(&self) {
        for slot in &self.slots {
            crate::prim::kernel_marks_death(&slot.0.word, crate::lot::tid());
        }
        self.writers.die();
    }

    /// Before the lock's memory goes: takes out of the list what the calling thread has forgotten
    /// to unlock. Returns the thread ids of the holders that remain; 0 names no thread.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn abandon(&self) -> impl Iterator<Item = u32> + '_ {
        if let Ok(me) = Me::new() {
            let mine = self.slots.iter().filter(|slot| slot.0.is_linked_by(me));
            mine.for_each(|slot| slot.0.unclaim(me));
            if self.writers.is_linked_by(me) {
                self.release(me);
            }
        }
        let readers = self.slots.iter().map(|slot| owner(slot.0.word.load(Ordering::Relaxed)));
        readers.chain([self.writers.owner()])
    }

    #[inline]
    fn read_within(&self, patience: Patience<'_>) -> Result<ReadHeld, Refused> {
        let me = Me::new()?;
        let idle = self.phase.load(Ordering::Relaxed) == IDLE;
        if let Some(slot) = idle.then(|| self.claim(me)).flatten() {
            if !mutant::active(Mutant::ReaderWithoutFence) {
                full_fence_after_rmw();
            }
            // RB-3. Acquire: the last writer's release.
            if self.phase.load(Ordering::Acquire) == IDLE {
                return Ok(ReadHeld::Shared(ReadSlot(slot)));
            }
            self.slots[slot].0.unclaim(me);
        }
        self.read_slow(me, patience)
    }

    /// Takes a free slot. Each thread begins to look where its id sends it.
    #[inline]
    fn claim(&self, me: Me) -> Option<usize> {
        let first = home::<READERS>(me.tid);
        for slot in (first..READERS).chain(0..first) {
            let entry = &self.slots[slot].0;
            if !is_free(entry.word.load(Ordering::Relaxed)) {
                continue;
            }
            entry.begin(me);
            if entry.claim(me) {
                entry.link(me);
                me.list.end();
                return Some(slot);
            }
        }
        me.list.end();
        None
    }

    #[cold]
    fn read_slow(&self, me: Me, patience: Patience<'_>) -> Result<ReadHeld, Refused> {
        if self.enter(me, patience)? == Held::OwnerDied {
            return Ok(ReadHeld::OwnerDied);
        }
        // No thread writes while the caller holds the mutex.
        let slot = match self.claim(me) {
            Some(slot) => Ok(slot),
            None => {
                self.phase.store(DRAINING, Ordering::Relaxed);
                full_fence();
                let slot = self.wait_for_a_slot(me, patience);
                self.let_readers_in();
                slot
            }
        };
        self.writers.release(me);
        Ok(ReadHeld::Shared(ReadSlot(slot?)))
    }

    /// Sleeps on one slot after the other, on each for a short time: any may become free. A WAITERS
    /// that stays behind costs the slot's reader a needless wake.
    fn wait_for_a_slot(&self, me: Me, patience: Patience<'_>) -> Result<usize, Refused> {
        let mut at = home::<READERS>(me.tid);
        loop {
            if let Some(slot) = self.claim(me) {
                return Ok(slot);
            }
            if let Err(refused) = self.wait_a_turn_at(&self.slots[at].0, patience) {
                return self.claim(me).ok_or(refused);
            }
            at = (at + 1) % READERS;
        }
    }

    fn wait_a_turn_at(&self, slot: &Entry, patience: Patience<'_>) -> Result<(), Refused> {
        let is_last = match patience {
            Patience::None => true,
            Patience::Until(deadline) => deadline.is_within(TURN),
            // In a model a deadline has always passed: turns would never end.
            Patience::Endless => cfg!(any(loom, shuttle)),
        };
        if is_last {
            return self.wait_at(slot, patience);
        }
        match self.wait_at(slot, Patience::Until(&Deadline::after(TURN))) {
            Err(Refused::TimedOut) => Ok(()),
            other => other,
        }
    }

    fn write_within(&self, patience: Patience<'_>) -> Result<Held, Refused> {
        let me = Me::new()?;
        if self.enter(me, patience)? == Held::OwnerDied {
            return Ok(Held::OwnerDied);
        }
        self.phase.store(DRAINING, Ordering::Relaxed);
        if !mutant::active(Mutant::WriterWithoutFence) {
            full_fence();
        }
        for slot in &self.slots {
            if let Err(refused) = self.drain(&slot.0, patience) {
                self.let_readers_in();
                self.writers.release(me);
                return Err(refused);
            }
        }
        self.phase.store(WRITING, Ordering::Relaxed);
        Ok(Held::Acquired)
    }

    /// Takes the mutex. A death that it tells of is one only if data may have changed (RB-4).
    fn enter(&self, me: Me, patience: Patience<'_>) -> Result<Held, Refused> {
        if self.writers.take(me, patience)? == Held::Acquired {
            return Ok(Held::Acquired);
        }
        let changed = self.phase.load(Ordering::Relaxed) == WRITING;
        if changed && !mutant::active(Mutant::DeadWriterForgotten) {
            return Ok(Held::OwnerDied);
        }
        self.let_readers_in();
        self.writers.make_consistent();
        Ok(Held::Acquired)
    }

    fn let_readers_in(&self) {
        self.phase.store(IDLE, Ordering::Release);
    }

    /// Waits until no reader holds the slot. Acquire: the reader's release.
    fn drain(&self, slot: &Entry, patience: Patience<'_>) -> Result<(), Refused> {
        loop {
            let word = slot.word.load(Ordering::Acquire);
            if is_free(word) {
                slot.clear_dead(word);
                return Ok(());
            }
            self.wait_at(slot, patience)?;
        }
    }

    /// Sleeps on a slot while it is held. Only the mutex's holder does, so that one wake is enough.
    fn wait_at(&self, slot: &Entry, patience: Patience<'_>) -> Result<(), Refused> {
        let word = slot.word.load(Ordering::Relaxed);
        if is_free(word) {
            return Ok(());
        }
        if let Patience::None = patience {
            return Err(Refused::WouldBlock);
        }
        let expected = if mutant::active(Mutant::SlotUnmarked) {
            word
        } else if let Ok(marked) = slot.marked(word) {
            marked
        } else {
            return Ok(());
        };
        slot.sleep(expected, patience).map_err(|()| Refused::TimedOut)
    }
}

/// Where a thread looks for a slot first: neighbours in number are spread.
#[inline]
fn home<const READERS: usize>(tid: u32) -> usize {
    tid as usize % READERS
}

/// What the C library needs of a robust rwlock. Unstable.
#[cfg(not(any(loom, shuttle)))]
pub mod unstable {
    use super::{Me, RawRobustRwLock, home};

    /// [`RawRobustRwLock::unlock_read`] for a caller that doesn't keep its slot: releases one read
    /// lock of the calling thread. Returns whether it had any.
    pub fn unlock_read_of_caller<const READERS: usize>(lock: &RawRobustRwLock<READERS>) -> bool {
        let Ok(me) = Me::new() else { return false };
        let (behind, ahead) = lock.slots.split_at(home::<READERS>(me.tid));
        // In the order in which it has looked for a free one.
        let mine = ahead.iter().chain(behind).find(|slot| slot.0.is_held_by(me));
        mine.inspect(|slot| slot.0.unclaim(me)).is_some()
    }

    /// The kernel's id of the thread that writes, or is at the head of the line; 0 if none is.
    pub fn writer<const READERS: usize>(lock: &RawRobustRwLock<READERS>) -> u32 {
        lock.writer()
    }
}
