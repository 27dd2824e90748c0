//! The throughput-optimized mutex: one 32-bit word that names its owner.
//!
//! Newcomers may take a free lock past the queue, one running waiter spins, all others sleep
//! (Long 2017, "throughput-optimized futexes"). Two things bound the wait of those who sleep: a
//! thread that has been running for a while beside sleepers changes places with the first of them,
//! and a waiter that has waited 5 ms and finds the lock taken yet again has it handed over.
//!
//! The states and transitions are in `mutex_state`, the ordering arguments in ORDERING.md (M-1 ff.).

use super::ahead::how_far_ahead;
use super::attempt::Attempt;
use super::contender::{Contended, Contender, Role};
use super::mutex_state::{
    FREE, HANDOFF, OWNER, PARKED, Release, SPIN, WAKES, asks_how_far_ahead, expecting, given_up,
    is_free, is_release_plain, owner, queued, release, stale_when_nobody_is_queued, taken,
};
use super::options::{Options, Status};
use super::spin::BUDGET_NS;
use crate::lot::{self, Debt, Key, Locked, Verdict, Waiter};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::Deadline;

/// A mutex without data: one word, zero when free.
///
/// Not recursive, not robust, for threads of one process. It may be moved only while nobody uses
/// it, and its memory may be freed as soon as it has been unlocked for the last time, even while
/// `unlock` is still returning in another thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawMutex {
    pub(super) word: AtomicU32,
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
        Self::with_stale_bits(false, false, true)
    }

    /// A free mutex whose word says what is true no more.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn with_stale_bits(parked: bool, wakes: bool, spinner: bool) -> Self {
        let bits = [(parked, PARKED), (wakes, super::mutex_state::ONE_WAKE), (spinner, SPIN)];
        let said = bits.iter().filter(|(says, _)| *says).map(|(_, bit)| bit).sum();
        Self { word: AtomicU32::new(said) }
    }

    /// Whether the word says nothing: no owner, no waiter, nobody on the way.
    #[cfg(all(test, loom))]
    pub(crate) fn is_quiet(&self) -> bool {
        self.word.load(Ordering::Relaxed) == FREE
    }

    /// What the word says, `but_wakes` that are said to be on their way.
    #[cfg(all(test, shuttle))]
    pub(crate) fn at_rest_says(&self, but_wakes: bool) -> u32 {
        self.word.load(Ordering::Relaxed) & if but_wakes { !WAKES } else { u32::MAX }
    }

    /// Takes the lock, waiting as long as it takes. Acquire.
    ///
    /// A thread that locks what it holds already waits for ever.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow(&const { Options::new() });
        }
    }

    /// `lock` for a caller that has just tried in vain: without another try at first. Acquire.
    #[cold]
    pub fn lock_contended(&self) {
        self.lock_slow(&const { Options::new() });
    }

    /// Takes the lock as `options` has it, and tells how it was got; `None` at the deadline. Acquire.
    ///
    /// Costs no more than `lock`: what is told is known anyway.
    #[inline]
    pub fn lock_with(&self, options: &Options) -> Option<Status> {
        let tid = lot::tid();
        if self.word.compare_exchange(FREE, tid, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Some(Status::FAST);
        }
        self.lock_slow(options)
    }

    /// Begins an attempt whose last step is the caller's: see [`Attempt`].
    pub fn attempt<'o>(&'o self, options: &'o Options) -> Attempt<'o> {
        Attempt::new(self, options)
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
            Err(word) => is_free(word) && self.try_steal(word, tid, Role::Newcomer),
        }
    }

    /// Takes the lock, or gives up at `deadline`. Returns whether it was taken; Acquire if so.
    ///
    /// A deadline that has passed still takes a lock that is free.
    #[inline]
    pub fn lock_until(&self, deadline: &Deadline) -> bool {
        self.try_lock() || self.lock_slow(&Options::new().until(*deadline)).is_some()
    }

    /// Releases the lock. Release.
    ///
    /// Touches the word once and never again, so that another thread may lock, unlock and free it
    /// at once. Does nothing if nobody holds the lock; releases it, whoever holds it, otherwise.
    #[inline]
    pub fn unlock(&self) {
        self.unlock_counting();
    }

    /// `unlock`; returns how many waiters it woke, or gave the lock to.
    #[inline]
    pub fn unlock_counting(&self) -> usize {
        let ordering = release_ordering();
        let word = match self.word.compare_exchange(lot::tid(), FREE, ordering, Ordering::Relaxed) {
            Ok(_) => return 0,
            Err(word) => word,
        };
        if is_release_plain(word) && self.exchange(word, word & !OWNER, ordering).is_ok() {
            return 0;
        }
        self.unlock_slow()
    }

    /// Releases the lock to whoever has waited longest, if anybody has, and not to whoever comes
    /// first. Returns whether there was one. Release.
    pub fn unlock_fair(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & PARKED == 0 || is_free(word) {
            self.unlock();
            return false;
        }
        self.hand_off() != 0
    }

    /// Releases the lock if its word says no more than that `tid` holds it. Calls nothing.
    #[inline]
    pub fn try_unlock_as(&self, tid: u32) -> bool {
        self.word.compare_exchange(tid, FREE, Ordering::Release, Ordering::Relaxed).is_ok()
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

    /// The word was `seen`: takes the lock past the queue, giving up `role`, as long as it is free.
    #[inline]
    fn try_steal(&self, seen: u32, tid: u32, role: Role) -> bool {
        let mut word = seen;
        while is_free(word) {
            match self.exchange(word, taken(word, tid, role), Ordering::Acquire) {
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

    /// What waiters queue at.
    #[inline]
    pub(super) fn key(&self) -> Key {
        Key::mutex(self.address())
    }

    /// What tells waiters of different mutexes apart.
    #[inline]
    pub(super) fn address(&self) -> usize {
        core::ptr::from_ref(&self.word).addr()
    }

    #[cold]
    fn lock_slow(&self, options: &Options) -> Option<Status> {
        Contender::new(self, options).contend()
    }

    /// Goes on as a waiter that was chosen from this mutex's queue, or claimed WAKE on it, though it
    /// began to wait elsewhere: a condvar's.
    pub(super) fn lock_chosen(&self, verdict: Verdict) {
        Contender::new(self, &const { Options::new() }).go_on(verdict);
    }

    #[cold]
    fn unlock_slow(&self) -> usize {
        let mut word = self.word.load(Ordering::Relaxed);
        // After the release the mutex may be gone (M-6); its address still names the queue.
        let key = self.key();
        loop {
            let ahead = if asks_how_far_ahead(word) { how_far_ahead(key) } else { 1 };
            let (new, wakes) = match release(word, ahead) {
                Release::NotHeld => return 0,
                Release::HandOff => return self.hand_off(),
                Release::To { word, wakes } => (word, wakes),
            };
            match self.exchange(word, new, release_ordering()) {
                Ok(_) if wakes != 0 => return wake_some(key, wakes),
                Ok(_) => return 0,
                Err(now) => word = now,
            }
        }
    }

    /// Gives the lock to the first waiter, if there is one. The bucket lock is taken before the
    /// release, while the caller still holds the mutex.
    #[cold]
    fn hand_off(&self) -> usize {
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
        if first.is_none() {
            return 0;
        }
        bucket.choose_first(key, Verdict::granted(self.address(), give_back));
        1
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
                queued(word & !stale, Role::Newcomer, false)
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

/// Releases a mutex for a waiter that was given it and didn't return.
///
/// # Safety
/// The caller is that waiter's thread, in its call on the mutex at `address`.
unsafe fn give_back(address: usize) {
    // SAFETY: a call that waits for a mutex keeps it alive.
    unsafe { &*core::ptr::with_exposed_provenance::<RawMutex>(address) }.unlock();
}

fn stale_bits(queue: &Locked<'_>, key: Key) -> u32 {
    if queue.has(key) || mutant::active(Mutant::StaleWakeKept) {
        0
    } else {
        stale_when_nobody_is_queued(sys::fork::is_child())
    }
}

/// Wakes the first waiters, for whom so many wakes have been claimed. If there are fewer, whoever
/// left last has cleared the claims, or whoever queues next will (M-4).
fn wake_some(key: Key, wakes: u32) -> usize {
    let mut bucket = lot::lock(key);
    (0..wakes).take_while(|_| bucket.choose_near(key, Verdict::CLAIMED)).count()
}

impl Contended for &RawMutex {
    type Word = u32;

    fn key(&self) -> Key {
        RawMutex::key(self)
    }

    fn token(&self) -> usize {
        0
    }

    fn debt(&self) -> Option<Debt> {
        None
    }

    fn load(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    fn exchange(&self, old: u32, new: u32, success: Ordering) -> Result<u32, u32> {
        RawMutex::exchange(self, old, new, success)
    }

    fn is_available(&self, word: u32) -> bool {
        is_free(word)
    }

    fn is_promised(&self, word: u32) -> bool {
        word & HANDOFF != 0
    }

    fn is_parked(&self, word: u32) -> bool {
        word & PARKED != 0
    }

    fn has_spinner(&self, word: u32) -> bool {
        word & SPIN != 0
    }

    fn is_somebody_on_the_way(&self, word: u32) -> bool {
        word & (SPIN | WAKES) != 0
    }

    fn owner(&self, word: u32) -> u32 {
        owner(word)
    }

    fn taken(&self, word: u32, tid: u32, role: Role) -> u32 {
        taken(word, tid, role)
    }

    fn seized(&self, word: u32, tid: u32) -> u32 {
        (word & !OWNER) | tid
    }

    fn spun_for(&self, word: u32, role: Role) -> u32 {
        given_up(word, role) | SPIN
    }

    fn given_up(&self, word: u32, role: Role) -> u32 {
        given_up(word, role)
    }

    fn cleaned(&self, word: u32, queue: &Locked<'_>) -> u32 {
        word & !stale_bits(queue, self.key())
    }

    fn queued(&self, word: u32, role: Role, hand_off: bool) -> u32 {
        queued(word, role, hand_off)
    }

    fn has_queued_giving_up(&self, _queue: &mut Locked<'_>) {}

    fn spin_budget_ns(&self) -> u64 {
        BUDGET_NS
    }

    fn may_be_passed_by(&self) -> bool {
        // Every release that leaves nobody on the way wakes the first.
        false
    }

    fn has_waited_long(&self, _queue: &mut Locked<'_>, _waiter: &'static Waiter) {}

    fn is_leaving(&self, was_last: bool) {
        if was_last {
            self.nobody_is_queued();
        }
    }

    fn has_left(&self) {}

    fn was_last(&self) {
        self.clear_parked_if_nobody_is_queued();
    }
}
