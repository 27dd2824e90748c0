//! The throughput-optimized mutex: one 32-bit word that names its owner.
//!
//! Newcomers may take a free lock past the queue, one running waiter spins, all others sleep
//! (Long 2017, "throughput-optimized futexes"). Two things bound the wait of those who sleep: a
//! thread that has been running for a while beside sleepers changes places with the first of them,
//! and a waiter that has waited 5 ms and finds the lock taken yet again has it handed over.
//!
//! The states and transitions are in `mutex_state`, the ordering arguments in ORDERING.md (M-1 ff.).

use super::mutex_state::{
    FREE, HANDOFF, MOST_WAKES, OWNER, PARKED, Release, Role, SPIN, WAKES, asks_how_far_ahead,
    expecting, is_free, is_release_plain, queued, release, stale_when_nobody_is_queued, taken,
};
use super::spin::Spin;
use crate::lot::{self, Ended, Locked, Node, Place, Verdict, Wait};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::{Deadline, monotonic_ns};

/// How long a waiter waits before it asks for the lock to be handed over.
const HANDOFF_AFTER_NS: u64 = 5_000_000;

/// How long a thread may run past sleepers before it lets the first of them have its place. Shorter
/// than the scheduler's slice, so that threads leave the processor before they are thrown off it,
/// lock in hand; docs/experiments.md has the figures.
const TURN_NS: u64 = 1_300_000;

/// A mutex without data: one word, zero when free.
///
/// Not recursive, not robust, for threads of one process. It may be moved only while nobody uses
/// it, and its memory may be freed as soon as it has been unlocked for the last time, even while
/// `unlock` is still returning in another thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawMutex {
    word: AtomicU32,
}

impl Default for RawMutex {
    fn default() -> Self {
        Self::new()
    }
}

impl RawMutex {
    /// A free mutex.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(FREE) }
    }

    /// A free mutex.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(FREE) }
    }

    /// A free mutex whose word still speaks of a spinner in the parent of a forked child.
    #[cfg(all(test, loom))]
    pub(crate) fn with_stale_spinner() -> Self {
        Self { word: AtomicU32::new(SPIN) }
    }

    /// Whether the word says nothing: no owner, no waiter, nobody on the way.
    #[cfg(all(test, loom))]
    pub(crate) fn is_quiet(&self) -> bool {
        self.word.load(Ordering::Relaxed) == FREE
    }

    /// Takes the lock, waiting as long as it takes. Acquire.
    ///
    /// A thread that locks what it holds already waits for ever.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow(None);
        }
    }

    /// Takes the lock if that is possible without waiting. Acquire on success.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.try_lock_as(lot::tid())
    }

    /// `try_lock` by a caller that knows its thread's id, [`thread_id`](super::thread_id), already.
    #[inline]
    pub fn try_lock_as(&self, tid: u32) -> bool {
        match self.word.compare_exchange(FREE, tid, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => true,
            Err(word) => is_free(word) && self.try_steal(word, tid),
        }
    }

    /// Takes the lock, or gives up at `deadline`. Returns whether it was taken; Acquire if so.
    ///
    /// A deadline that has passed still takes a lock that is free.
    #[inline]
    pub fn lock_until(&self, deadline: &Deadline) -> bool {
        self.try_lock() || self.lock_slow(Some(deadline))
    }

    /// Releases the lock. Release.
    ///
    /// Touches the word once and never again, so that another thread may lock, unlock and free it
    /// at once. Does nothing if nobody holds the lock; releases it, whoever holds it, otherwise.
    #[inline]
    pub fn unlock(&self) {
        let ordering = release_ordering();
        let word = match self.word.compare_exchange(lot::tid(), FREE, ordering, Ordering::Relaxed) {
            Ok(_) => return,
            Err(word) => word,
        };
        if !is_release_plain(word) || self.exchange(word, word & !OWNER, ordering).is_err() {
            self.unlock_slow();
        }
    }

    /// `try_lock_as` without a locked instruction. False if the word says anything: then the caller
    /// takes the ordinary way.
    ///
    /// # Safety
    /// The process has one thread.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    pub unsafe fn try_lock_alone(&self, tid: u32) -> bool {
        let free = self.word.load(Ordering::Relaxed) == FREE;
        if free {
            self.word.store(tid, Ordering::Relaxed);
        }
        free
    }

    /// `unlock` without a locked instruction. False if there is more to do than to release: then the
    /// caller takes the ordinary way.
    ///
    /// # Safety
    /// The process has one thread.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    pub unsafe fn try_unlock_alone(&self) -> bool {
        let plain = self.word.load(Ordering::Relaxed) & !OWNER == 0;
        if plain {
            self.word.store(FREE, Ordering::Relaxed);
        }
        plain
    }

    /// The kernel thread id of the holder, 0 if nobody holds it.
    #[inline]
    pub fn owner(&self) -> u32 {
        super::mutex_state::owner(self.word.load(Ordering::Relaxed))
    }

    /// Whether somebody holds it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.owner() != 0
    }

    /// The lock was seen free, with bits set: takes it unless it no longer is free.
    #[inline]
    fn try_steal(&self, seen: u32, tid: u32) -> bool {
        let mut word = seen;
        while is_free(word) {
            match self.exchange(word, word | tid, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[inline]
    fn exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        self.word.compare_exchange_weak(old, new, success, Ordering::Relaxed)
    }

    /// The address that waiters queue at.
    #[inline]
    pub(super) fn key(&self) -> usize {
        core::ptr::from_ref(&self.word).addr()
    }

    #[cold]
    fn lock_slow(&self, deadline: Option<&Deadline>) -> bool {
        Contender::new(self, deadline).contend()
    }

    /// Goes on as a waiter that was chosen from this mutex's queue, or claimed WAKE on it, though it
    /// began to wait elsewhere: a condvar's.
    pub(super) fn lock_chosen(&self, verdict: Verdict) {
        let mut contender = Contender::new(self, None);
        // It has waited in this mutex's queue: if it has to again, then in front.
        contender.queued_ns = now_ns();
        if contender.was_chosen(verdict) {
            contender.took_it();
        } else {
            contender.contend();
        }
    }

    #[cold]
    fn unlock_slow(&self) {
        let mut word = self.word.load(Ordering::Relaxed);
        // After the release the mutex may be gone (M-6); its address still names the queue.
        let key = self.key();
        loop {
            let ahead = if asks_how_far_ahead(word) { how_far_ahead(key) } else { 1 };
            let (new, wakes) = match release(word, ahead) {
                Release::NotHeld => return,
                Release::HandOff => return self.hand_off(),
                Release::To { word, wakes } => (word, wakes),
            };
            match self.exchange(word, new, release_ordering()) {
                Ok(_) if wakes != 0 => return wake_some(key, wakes),
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Gives the lock to the first waiter. The bucket lock is taken before the release, while the
    /// caller still holds the mutex.
    #[cold]
    fn hand_off(&self) {
        let key = self.key();
        let mut bucket = lot::lock(key);
        let first = bucket.first(key);
        let next_owner = first.map_or(0, |waiter| bucket.told_by(waiter).1);
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let new = (word & !(OWNER | HANDOFF)) | next_owner;
            let ordering = if mutant::active(Mutant::HandOffRelaxed) {
                Ordering::Relaxed
            } else {
                Ordering::Release
            };
            match self.exchange(word, new, ordering) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if first.is_some() {
            bucket.choose_first(key, Verdict { granted: true, ..Verdict::WOKEN });
        }
    }

    fn clear_parked_if_nobody_is_queued(&self) {
        let bucket = lot::lock(self.key());
        if !bucket.has(self.key()) {
            self.nobody_is_queued();
        }
    }

    /// The caller holds the bucket lock, has seen that nobody is queued, and is still inside a call
    /// that locks this mutex, so that the word exists.
    fn nobody_is_queued(&self) {
        if !mutant::active(Mutant::StaleWakeKept) {
            self.word.fetch_and(!(PARKED | WAKES), Ordering::Relaxed);
        }
    }

    /// Sets PARKED for waiters that are about to be moved to this mutex's queue, so that the
    /// release to come wakes the first. `false` if the mutex is free: then nothing would.
    ///
    /// `queue` is the mutex's bucket, locked.
    pub(super) fn expect_moved_waiters(&self, queue: &Locked<'_>) -> bool {
        let stale = stale_bits(queue, self.key());
        let mut word = self.word.load(Ordering::Relaxed);
        while !is_free(word) {
            let new = if mutant::active(Mutant::MoveWithoutParked) {
                word
            } else {
                queued(word, Role::Newcomer, stale, false)
            };
            match self.exchange(word, new, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// The same for a mutex that may be free: claims `wakes` besides, for waiters that the caller
    /// chooses in the same breath, and that will look at the mutex.
    pub(super) fn expect_moved_and_woken_waiters(&self, queue: &Locked<'_>, wakes: u32) {
        let stale = stale_bits(queue, self.key());
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, expecting(word & !stale, wakes), Ordering::Relaxed)
        {
            word = now;
        }
    }

    /// How many waiters a broadcast should wake if the mutex is free.
    pub(super) fn how_far_ahead(&self) -> u32 {
        how_far_ahead(self.key())
    }
}

#[inline]
fn release_ordering() -> Ordering {
    if mutant::active(Mutant::UnlockRelaxed) { Ordering::Relaxed } else { Ordering::Release }
}

fn stale_bits(queue: &Locked<'_>, key: usize) -> u32 {
    if queue.has(key) || mutant::active(Mutant::StaleWakeKept) {
        0
    } else {
        stale_when_nobody_is_queued(sys::fork::is_child())
    }
}

/// Wakes the first waiters, for whom so many wakes have been claimed. If there are fewer, whoever
/// left last has cleared the claims, or whoever queues next will (M-4).
fn wake_some(key: usize, wakes: u32) {
    let mut bucket = lot::lock(key);
    for _ in 0..wakes {
        if !bucket.choose_near(key, Verdict { holds_wake: true, ..Verdict::WOKEN }) {
            break;
        }
    }
}

/// How many woken waiters of the mutex at `key` should be on their way at a time.
///
/// One, as long as those who were woken find the lock taken: more would be a swarm. If they find it
/// free, critical sections are short beside a wake, and with one wake at a time processors stand
/// idle between a release and the next waiter's start. The bucket remembers (`learn`).
fn how_far_ahead(key: usize) -> u32 {
    let most = (2 * lot::processors() as u32).min(MOST_WAKES);
    (1 + lot::hint(key).load(Ordering::Relaxed)).min(most)
}

/// Notes how a woken waiter found the lock.
fn learn(key: usize, found_free: bool) {
    let hint = lot::hint(key);
    let ahead = hint.load(Ordering::Relaxed);
    let new = if found_free { (ahead + 1).min(MOST_WAKES) } else { ahead / 2 };
    if new != ahead {
        hint.store(new, Ordering::Relaxed);
    }
}

/// One thread's attempt to take one contended mutex.
struct Contender<'m> {
    mutex: &'m RawMutex,
    deadline: Option<&'m Deadline>,
    /// What the word says of this thread.
    role: Role,
    /// When it first queued itself; 0 before.
    queued_ns: u64,
    /// It was the last in the queue when it was chosen: PARKED may stand for nobody.
    check_parked: bool,
}

/// What became of an attempt to queue.
enum Slept {
    /// Woken, or not even queued, since the lock was free: look again.
    LookAgain,
    /// The lock is ours.
    Granted,
    TimedOut,
}

impl<'m> Contender<'m> {
    fn new(mutex: &'m RawMutex, deadline: Option<&'m Deadline>) -> Self {
        Self { mutex, deadline, role: Role::Newcomer, queued_ns: 0, check_parked: false }
    }

    /// Takes the lock, or times out. Returns whether it was taken.
    fn contend(mut self) -> bool {
        loop {
            if self.role == Role::Woken {
                learn(self.mutex.key(), !self.mutex.is_locked());
            }
            if self.take_running() {
                return self.took_it();
            }
            match self.sleep() {
                Slept::LookAgain => {}
                Slept::Granted => return self.took_it(),
                Slept::TimedOut => return self.give_up(),
            }
        }
    }

    /// Tries to take the lock without sleeping. If it returns false, it is time to sleep; the thread
    /// may then still be the spinner, and gives that up as it queues.
    fn take_running(&mut self) -> bool {
        let mut spin = Spin::new();
        loop {
            if self.try_take() {
                return true;
            }
            let word = self.mutex.word.load(Ordering::Relaxed);
            if is_free(word) {
                continue;
            }
            if !self.is_spinner(word) || !spin.pause() {
                return false;
            }
        }
    }

    fn try_take(&mut self) -> bool {
        let mut word = self.mutex.word.load(Ordering::Relaxed);
        while is_free(word) {
            let new = taken(word, lot::tid(), self.role);
            match self.mutex.exchange(word, new, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether this thread may go on spinning for a lock that it saw held: as the spinner, which it
    /// becomes if nobody else is.
    fn is_spinner(&mut self, seen: u32) -> bool {
        let over = self.role == Role::Newcomer && seen & PARKED != 0 && self.turn_is_over();
        if over || seen & HANDOFF != 0 {
            return false;
        }
        if seen & SPIN == 0 {
            // (If this thread is the spinner, somebody took its bit for stale.)
            let new = self.role.given_up(seen) | SPIN;
            if self.mutex.exchange(seen, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Spinner;
            }
            return true;
        }
        self.role == Role::Spinner
    }

    /// Whether this thread, a newcomer, has run past sleepers for long enough.
    fn turn_is_over(&self) -> bool {
        match lot::own() {
            Some(thread) if !cfg!(any(loom, shuttle)) => {
                let since = thread.active_since_ns.load(Ordering::Relaxed);
                monotonic_ns().saturating_sub(since) > TURN_NS
            }
            _ => false,
        }
    }

    fn sleep(&mut self) -> Slept {
        let Some(node) = lot::node() else {
            // No memory for a node. The role, if any, stays: this thread does look again.
            sys::thread::nap();
            return if self.has_timed_out() { Slept::TimedOut } else { Slept::LookAgain };
        };
        let Some(ended) = self.queue_and_sleep(&node) else { return Slept::LookAgain };
        match ended {
            Ended::Chosen(verdict) => {
                node.active_since_ns.store(now_ns(), Ordering::Relaxed);
                if mutant::active(Mutant::TimedOutWakeDropped) && self.deadline.is_some() {
                    return Slept::TimedOut;
                }
                if self.was_chosen(verdict) { Slept::Granted } else { Slept::LookAgain }
            }
            Ended::TimedOut | Ended::Interrupted => Slept::TimedOut,
        }
    }

    /// Queues this thread and sleeps. `None` if the lock was seen free instead.
    fn queue_and_sleep(&mut self, node: &Node) -> Option<Ended> {
        let key = self.mutex.key();
        let woken_before = self.queued_ns != 0;
        let mut bucket = lot::announce(key);
        let stale = stale_bits(&bucket, key);
        let hand_off = woken_before && self.has_waited_long();
        if mutant::active(Mutant::SpinKeptAsleep) && self.role == Role::Spinner {
            self.role = Role::Newcomer;
        }
        let mut word = self.mutex.word.load(Ordering::Relaxed);
        loop {
            if is_free(word) && !mutant::active(Mutant::ParkOnFreeLock) {
                bucket.retract();
                return None;
            }
            let new = queued(word, self.role, stale, hand_off);
            match self.mutex.exchange(word, new, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }

        self.role = Role::Newcomer;
        let place = if woken_before { Place::Front } else { Place::Back };
        let wait = Wait::enqueue(&mut bucket, node, key, 0, place).until(self.deadline);
        drop(bucket);
        if !woken_before {
            self.queued_ns = now_ns();
        }
        Some(wait.sleep(|was_last| {
            if was_last {
                self.mutex.nobody_is_queued();
            }
        }))
    }

    fn has_waited_long(&self) -> bool {
        // A model has no time: there, whoever was woken in vain asks.
        cfg!(any(loom, shuttle)) || now_ns().saturating_sub(self.queued_ns) > HANDOFF_AFTER_NS
    }

    /// Takes note of a waker's verdict. Returns whether the lock came with it.
    fn was_chosen(&mut self, verdict: Verdict) -> bool {
        self.role = if verdict.holds_wake { Role::Woken } else { Role::Newcomer };
        self.check_parked |= verdict.was_last;
        verdict.granted
    }

    fn has_timed_out(&self) -> bool {
        self.deadline.is_some_and(Deadline::has_passed)
    }

    /// The lock is this thread's.
    fn took_it(&self) -> bool {
        if self.check_parked {
            self.mutex.clear_parked_if_nobody_is_queued();
        }
        true
    }

    /// The deadline has passed. A role is given up only while somebody holds the lock, whose release
    /// will see to the others; otherwise the lock is this thread's to take. (Only a thread for whose
    /// node there was no memory comes here with a role: whoever queues gives it up, M-3.)
    fn give_up(&mut self) -> bool {
        while self.role != Role::Newcomer {
            if self.try_take() {
                return self.took_it();
            }
            let word = self.mutex.word.load(Ordering::Relaxed);
            let new = self.role.given_up(word);
            if !is_free(word) && self.mutex.exchange(word, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Newcomer;
            }
        }
        if self.check_parked {
            self.mutex.clear_parked_if_nobody_is_queued();
        }
        false
    }
}

fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}
