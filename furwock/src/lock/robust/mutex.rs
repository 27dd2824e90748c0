//! The robust mutex: a word that the kernel marks when its holder dies, and a turnstile before it.
//!
//! Any thread may take a free mutex. A thread that has to wait takes the *turnstile* first, a
//! robust word of its own, so that at most one thread sleeps on the mutex's word: the top waiter. A
//! thread that leaves the turnstile wakes a successor; the kernel does so if the thread dies there.
//! So no death, of a holder or of a waiter that was just woken, leaves others asleep (ORDERING.md,
//! RB-2): the successor of a killed waiter looks for itself.

use super::entry::{Entry, Me, Patience};
use super::state::{
    FREE, NOT_RECOVERABLE, OWNER_DIED, WAITERS, is_free, is_inconsistent, owner, taken,
};
use super::{Held, Refused};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::prim::{spin_loop, unlock_is_one_step};
use crate::sys::clock::{Deadline, monotonic_ns};

/// A mutex that survives the death of its holder, between processes or threads. All zero when free.
///
/// It may lie in memory that several processes map, at different addresses too; zeroed memory is a
/// free mutex. The kernel marks it when the thread that holds it ends in any way: by returning, by
/// `exit`, by a signal, by `exec`. The next one to lock it gets [`Held::OwnerDied`].
///
/// States: free; held; held by one that found it [`Held::OwnerDied`] (*inconsistent*, until
/// [`make_consistent`](Self::make_consistent)); not recoverable, for ever, once it was unlocked
/// inconsistent.
///
/// It uses the list that the C library has registered for the calling thread, beside the robust
/// mutexes of pthreads. The kernel looks at a thread's first 2048 entries only. Not recursive, and
/// not for signal handlers.
///
/// A forked child holds nothing: what its parent's thread held stays the parent's, and unlocking it
/// in the child does nothing. A child that wasn't made by `fork`, or whose handlers haven't run
/// yet, takes itself for its parent's thread: see the crate's documentation.
///
/// A thread that ends with more than 2048 entries leaves some locks with its id, unmarked: no
/// thread has them again.
///
/// # Promises
/// If the lock is held for bounded times, the top waiter has it in bounded time: threads may take a
/// free lock past it, but once it has been too late for 5 ms all others go behind it. There is no
/// order among those behind it: each time one of them becomes the top waiter, it may be one that
/// has just come. So some thread always makes progress, but no bound is promised to a thread that
/// shares that place with others.
///
/// A thread that was woken and is killed before it could go on passes the wake on, by the kernel's
/// hand. Kernels learnt it in two steps: after an unlock in Linux 5.5 ("futex: Prevent robust futex
/// exit race"), after another death in Linux 6.2 ("futex: Resend potentially swallowed owner death
/// notification"), and in stable kernels that have these fixes, such as 5.15.86. On older ones such
/// a wake may be lost: the waiters then sleep until another thread has had to wait too.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RawRobustMutex {
    /// The note: whether the top waiter starves.
    lock: Entry,
    turnstile: Entry,
}

/// How long the top waiter lets others past.
const STARVING_NS: u64 = 5_000_000;

/// Looks at a held lock before a thread goes to the turnstile.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 60 };

impl RawRobustMutex {
    /// A free mutex.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { lock: Entry::new(), turnstile: Entry::new() }
    }

    /// A free mutex.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the lock, waiting as long as it takes. Acquire, in whatever way the lock was had.
    ///
    /// A thread that locks what it holds already waits for ever.
    ///
    /// # Safety
    /// From a successful call on, until it is unlocked or its thread has ended, the mutex stays
    /// where it is, mapped, and nothing else writes its memory: the kernel and the C library hold
    /// its address.
    ///
    /// All processes that use it are in one PID namespace. Its words name threads by their ids
    /// there: in two namespaces two threads may have the same, and the death or the unlock of one
    /// would release what the other holds.
    #[inline]
    pub unsafe fn lock(&self) -> Result<Held, Refused> {
        self.take(Me::new()?, Patience::Endless)
    }

    /// Takes the lock if that is possible without waiting, or says [`Refused::WouldBlock`].
    ///
    /// # Safety
    /// As for [`lock`](Self::lock).
    #[inline]
    pub unsafe fn try_lock(&self) -> Result<Held, Refused> {
        self.take(Me::new()?, Patience::None)
    }

    /// Takes the lock, or says [`Refused::TimedOut`] at `deadline`. One that has passed still takes
    /// a lock that is to be had at once.
    ///
    /// # Safety
    /// As for [`lock`](Self::lock).
    #[inline]
    pub unsafe fn lock_until(&self, deadline: &Deadline) -> Result<Held, Refused> {
        self.take(Me::new()?, Patience::Until(deadline))
    }

    /// Releases the lock. Release.
    ///
    /// If the lock was had as [`Held::OwnerDied`] and not made consistent since, no thread will
    /// ever have it again: all that wait, and all that come later, get [`Refused::NotRecoverable`].
    ///
    /// The release is the last touch of the mutex's memory by this thread. Yet on many kernels the
    /// thread's death touches it once more: if the thread is killed before it has returned from
    /// here, the kernel takes what stands there for a lock, and sets bit 30 if the lowest 30 bits
    /// equal the thread's id. That matters where another thread takes the mutex next, destroys it
    /// and reuses its memory in that moment, for data that outlives the killed thread. All robust
    /// locks have this window, glibc's too. Linux 7.2 closes it on x86-64, except for a lock that
    /// is given up ([`unlock_is_one_step`](super::unlock_is_one_step)); elsewhere, keep the memory
    /// of robust locks for robust locks, or until the threads that have used it have returned from
    /// their calls (ORDERING.md, RB-5).
    ///
    /// # Safety
    /// The calling thread holds the lock. Or it is a forked child's, and has it from its parent:
    /// then nothing happens. That [`owner`](Self::owner) names the caller is not enough: it may be
    /// an earlier thread with the same id that the kernel has not marked.
    #[inline]
    pub unsafe fn unlock(&self) {
        if let Some(me) = Me::new().ok().filter(|&me| self.is_held_by(me)) {
            self.release(me);
        }
    }

    /// The data is in order again. Does nothing unless the calling thread holds the lock, and holds
    /// it as [`Held::OwnerDied`]. Returns whether it did something.
    pub fn make_consistent(&self) -> bool {
        let inconsistent = self.is_mine() && self.is_inconsistent();
        if inconsistent {
            self.lock.word.fetch_and(!OWNER_DIED, Ordering::Relaxed);
        }
        inconsistent
    }

    /// The kernel thread id of the holder, as the holder's process names it; 0 if no thread holds
    /// it.
    pub fn owner(&self) -> u32 {
        owner(self.lock.word.load(Ordering::Relaxed))
    }

    /// Whether a thread holds it.
    pub fn is_locked(&self) -> bool {
        self.owner() != 0
    }

    /// Whether threads may sleep in the kernel for it.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn may_have_waiters(&self) -> bool {
        let sleeps_at = |entry: &Entry| entry.word.load(Ordering::Relaxed) & WAITERS != 0;
        !self.is_not_recoverable() && (sleeps_at(&self.lock) || sleeps_at(&self.turnstile))
    }

    /// Whether no thread can ever lock it again.
    pub fn is_not_recoverable(&self) -> bool {
        self.lock.word.load(Ordering::Relaxed) == NOT_RECOVERABLE
    }

    /// The calling thread dies: the kernel's part.
    #[cfg(all(test, loom))]
    pub(crate) fn die(&self) {
        for entry in [&self.lock, &self.turnstile] {
            crate::prim::kernel_marks_death(&entry.word, crate::lot::tid());
        }
    }

    /// The calling thread dies in the turnstile.
    #[cfg(all(test, loom))]
    pub(crate) fn die_in_turnstile(&self) {
        self.enter_turnstile(Me::new().unwrap(), Patience::Endless).unwrap();
        self.die();
    }

    /// Before the mutex's memory goes: takes out of the list what the calling thread has forgotten
    /// to unlock. Returns the thread ids of the holders that remain; 0 names no thread.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn abandon(&self) -> impl Iterator<Item = u32> + use<> {
        if let Some(me) = Me::new().ok().filter(|&me| self.is_linked_by(me)) {
            self.release(me);
        }
        core::iter::once(self.owner())
    }

    /// Whether a holder has died and the data hasn't been made consistent since.
    pub(super) fn is_inconsistent(&self) -> bool {
        is_inconsistent(self.lock.word.load(Ordering::Relaxed))
    }

    /// Whether the calling thread holds it.
    pub(crate) fn is_mine(&self) -> bool {
        Me::new().is_ok_and(|me| self.is_held_by(me))
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn is_linked_by(&self, me: Me) -> bool {
        self.lock.is_linked_by(me)
    }

    #[inline]
    pub(super) fn is_held_by(&self, me: Me) -> bool {
        self.lock.is_held_by(me)
    }

    #[inline]
    pub(super) fn take(&self, me: Me, patience: Patience<'_>) -> Result<Held, Refused> {
        self.lock.begin(me);
        if !self.is_starving() && self.lock.exchange(FREE, me.tid, Ordering::Acquire).is_ok() {
            self.lock.link(me);
            me.list.end();
            return Ok(Held::Acquired);
        }
        let result = self.take_slow(me, patience);
        me.list.end();
        result
    }

    /// The caller is the holder.
    #[inline]
    pub(super) fn release(&self, me: Me) {
        self.lock.begin(me);
        self.lock.unlink(me);
        if unlock_is_one_step() {
            return self.release_in_one_step(me);
        }
        let ordering = if mutant::active(Mutant::RobustUnlockRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        if let Err(word) = self.lock.exchange(me.tid, FREE, ordering) {
            if is_inconsistent(word) {
                self.lock.release_and_wake(NOT_RECOVERABLE, i32::MAX as u32);
            } else {
                self.lock.release_and_wake(FREE, 1);
            }
        }
        me.list.end();
    }

    /// The same, after `begin` and `unlink`, on a kernel that has the step (RB-5).
    #[inline(never)]
    fn release_in_one_step(&self, me: Me) {
        match self.lock.unlock(me) {
            Ok(()) => {}
            Err(word) if is_inconsistent(word) => {
                self.lock.release_and_wake(NOT_RECOVERABLE, i32::MAX as u32);
                me.list.end();
            }
            Err(_) => self.lock.unlock_and_wake(me),
        }
    }

    #[inline]
    fn is_starving(&self) -> bool {
        self.lock.note.load(Ordering::Relaxed) != 0
    }

    /// Takes the mutex if its word is still the free `word`. `begin` has named it.
    fn take_free(&self, me: Me, word: u32) -> Option<Held> {
        self.lock.exchange(word, taken(word, me.tid), Ordering::Acquire).ok()?;
        self.lock.link(me);
        Some(if is_inconsistent(word) { Held::OwnerDied } else { Held::Acquired })
    }

    #[cold]
    fn take_slow(&self, me: Me, patience: Patience<'_>) -> Result<Held, Refused> {
        for _ in 0..=SPINS {
            let word = self.lock.word.load(Ordering::Relaxed);
            if word == NOT_RECOVERABLE {
                return Err(Refused::NotRecoverable);
            }
            if is_free(word) && !self.is_starving() {
                if let Some(held) = self.take_free(me, word) {
                    return Ok(held);
                }
            }
            if matches!(patience, Patience::None) && !is_free(word) {
                return Err(Refused::WouldBlock);
            }
            spin_loop();
        }
        self.enter_turnstile(me, patience)?;
        self.lock.begin(me);
        let result = self.take_as_top_waiter(me, patience);
        self.leave_turnstile(me);
        result
    }

    fn enter_turnstile(&self, me: Me, patience: Patience<'_>) -> Result<(), Refused> {
        self.turnstile.begin(me);
        loop {
            let word = self.turnstile.word.load(Ordering::Relaxed);
            if is_free(word) {
                // WAITERS always: others may sleep here that the word says nothing of (RB-2).
                let unmarked = mutant::active(Mutant::TurnstileUnmarked);
                let mine = if unmarked { me.tid } else { me.tid | WAITERS };
                if self.turnstile.exchange(word, mine, Ordering::Acquire).is_ok() {
                    self.turnstile.link(me);
                    return Ok(());
                }
            } else if self.turnstile.sleep(word, patience).is_err() {
                return Err(refused(patience));
            }
        }
    }

    fn leave_turnstile(&self, me: Me) {
        self.turnstile.begin(me);
        self.turnstile.unlink(me);
        if mutant::active(Mutant::TurnstileWithoutWake) {
            self.turnstile.word.store(FREE, Ordering::Release);
        } else {
            self.turnstile.release_and_wake(FREE, 1);
        }
    }

    /// The caller holds the turnstile, and no other thread can sleep on the mutex's word.
    fn take_as_top_waiter(&self, me: Me, patience: Patience<'_>) -> Result<Held, Refused> {
        let result = self.wait_as_top_waiter(me, patience);
        if self.is_starving() {
            self.lock.note.store(0, Ordering::Relaxed);
        }
        result
    }

    fn wait_as_top_waiter(&self, me: Me, patience: Patience<'_>) -> Result<Held, Refused> {
        let mut since_ns = None;
        loop {
            let word = self.lock.word.load(Ordering::Relaxed);
            if word == NOT_RECOVERABLE {
                return Err(Refused::NotRecoverable);
            }
            if is_free(word) {
                match self.take_free(me, word) {
                    Some(held) => return Ok(held),
                    None => continue,
                }
            }
            if matches!(patience, Patience::None) {
                return Err(Refused::WouldBlock);
            }
            let slept = if mutant::active(Mutant::TopWaiterUnmarked) {
                self.lock.sleep(word, patience)
            } else if let Ok(marked) = self.lock.marked(word) {
                self.lock.sleep(marked, patience)
            } else {
                continue;
            };
            if slept.is_err() {
                return Err(refused(patience));
            }
            // It was woken and may be too late again: how long has that been so?
            let now = monotonic_ns();
            if now - *since_ns.get_or_insert(now) >= STARVING_NS {
                self.lock.note.store(1, Ordering::Relaxed);
            }
        }
    }
}

fn refused(patience: Patience<'_>) -> Refused {
    match patience {
        Patience::None => Refused::WouldBlock,
        _ => Refused::TimedOut,
    }
}
