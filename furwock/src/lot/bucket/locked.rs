//! What may be done under a bucket's lock.

use super::layout::Bucket;
use super::queue::Start;
use super::queued::Queued;
use super::table;
use super::wake_list::WakeList;
use crate::lot::node::{
    self, ANY, Chosen, Claimed, Key, NO_WAKE, NodeKind, TableHeld, Verdict, Waiter,
};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{adjustable, checker_has_failed, current_cpu, full_fence, full_fence_after_rmw};

/// How many waiters are looked at for one that last ran on the waker's processor.
const NEAR: usize = 8;

/// The same for a thread that is about to sleep, with two processors; with more there are the more
/// that may idle in its place, and each is a smaller part.
const NEAR_SLEEPER: usize = 64;

/// How often the first may be passed by for that.
const MOST_PASSED_BY: u32 = 8;

/// As how many times it counts if the other is none of the first `NEAR`.
const FAR_PASS: u32 = 4;

/// At how many waiters a thread looks that is about to sleep, with this process's processors.
pub(crate) fn sleepers_window() -> usize {
    let window = adjustable!(NEAR_SLEEPER, NearSleeper) * 2 / table::processors();
    window.max(adjustable!(NEAR, Near))
}

/// A bucket whose lock is held. Dropping it releases the lock and then notifies the waiters it has
/// chosen.
pub(crate) struct Locked<'t> {
    pub(super) bucket: &'t Bucket,
    held: Option<TableHeld<'t>>,
    chosen: WakeList,
}

/// Counts the caller in as a waiter at `key` and takes its bucket's lock.
///
/// From the count on, a waker that changes a word and then asks `is_empty` gets no for an answer;
/// so what the caller reads of that word under the lock is either the change or before a wake that
/// will find it queued (O-1). The caller must `enqueue` or `retract`.
#[inline]
pub(crate) fn announce(key: Key) -> Locked<'static> {
    let bucket = table::bucket(key);
    bucket.waiters.fetch_add(1, Ordering::Relaxed);
    if !mutant::active(Mutant::CountWithoutFence) {
        full_fence_after_rmw();
    }
    Locked::of(bucket)
}

/// Six numbers that locks at `key` may keep there; 0 at first. Locks that collide share them, so
/// nothing but speed may depend on them.
#[inline]
pub(crate) fn advice(key: Key) -> &'static [AtomicU32; 6] {
    &table::bucket(key).advice
}

/// Takes the lock of `key`'s bucket.
#[inline]
pub(crate) fn lock(key: Key) -> Locked<'static> {
    Locked::of(table::bucket(key))
}

/// Wakes waiters at `key` on behalf of a signal handler that came upon its own thread in here, if
/// its bucket's lock can be had, and none of them is a task, whose waker may do what handlers may
/// not. Returns how many.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn wake_in_handler(key: Key, count: usize, bitset: u32) -> Option<usize> {
    let bucket = table::bucket(key);
    let held = bucket.lock.try_lock()?;
    let mut locked = Locked { bucket, held: Some(held), chosen: WakeList::new() };
    let mut at = locked.first(key);
    while let Some(waiter) = at {
        if let NodeKind::Task(_) = waiter.kind() {
            return None;
        }
        at = locked.after(waiter);
    }
    Some(locked.choose_many(key, count, bitset))
}

/// Takes a node out of its queue, wherever that is. `false` if it is in none: if it was chosen,
/// what the waker wrote may be read then.
pub(crate) fn remove_if_queued(waiter: &'static Waiter) -> bool {
    remove_if_queued_and(waiter, |_was_last| {})
}

/// The same. `on_leave` is called under the lock of the bucket that the node leaves, with whether
/// it was the last at its address.
pub(crate) fn remove_if_queued_and(waiter: &'static Waiter, on_leave: impl FnOnce(bool)) -> bool {
    while !waiter.is_chosen() {
        let key = waiter.key();
        if key == Key::NOWHERE {
            continue;
        }
        let locked = lock(key);
        // SAFETY: locked by this key.
        if let Some(queued) = unsafe { locked.queued(waiter, key) } {
            locked.remove(queued);
            on_leave(!locked.has(key));
            return true;
        }
    }
    false
}

/// Whether it is certain that no thread waits at `key`: no lock, no system call. Call it after the
/// store that waiters wait for (O-1).
#[inline]
pub(crate) fn is_empty(key: Key) -> bool {
    if !mutant::active(Mutant::EmptyCheckWithoutFence) {
        full_fence();
    }
    table::bucket(key).waiters.load(Ordering::Relaxed) == 0
}

/// Whether it seems so, without a fence: an answer for callers that find out later.
#[inline]
pub(crate) fn seems_empty(key: Key) -> bool {
    seem_queued(key) == 0
}

/// How many waiters seem to be queued at `key` and what shares its bucket.
#[inline]
pub(crate) fn seem_queued(key: Key) -> u32 {
    table::bucket(key).waiters.load(Ordering::Relaxed)
}

impl<'t> Locked<'t> {
    #[inline]
    pub(super) fn of(bucket: &'t Bucket) -> Self {
        Self { bucket, held: Some(bucket.lock.lock()), chosen: WakeList::new() }
    }

    #[inline]
    pub(super) fn release(&mut self) {
        drop(self.held.take());
    }

    /// Undoes `announce`.
    #[inline]
    pub(crate) fn retract(&mut self) {
        self.count_out();
    }

    /// In a child that a signal handler forked while its thread held the lock, the count is gone.
    #[inline]
    fn count_out(&self) {
        if self.bucket.waiters.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.bucket.waiters.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn first(&self, key: Key) -> Option<Queued<'_>> {
        self.find(key, Start::Head)
    }

    /// The next waiter at the same address.
    #[inline]
    pub(crate) fn after(&self, waiter: Queued<'_>) -> Option<Queued<'_>> {
        if !waiter.is_still_in(self.bucket) {
            return None;
        }
        self.find(waiter.key(), Start::After(waiter.waiter()))
    }

    #[inline]
    fn find(&self, key: Key, start: Start) -> Option<Queued<'_>> {
        // SAFETY: `self` holds the bucket lock, and callers start from what is queued here.
        unsafe {
            let waiter = self.bucket.queue.0.find(key, start)?;
            Some(Queued::new(waiter, key, self.bucket))
        }
    }

    /// `waiter`, if it is queued at `key`.
    ///
    /// # Safety
    /// This is the bucket of `key`.
    #[inline]
    pub(in crate::lot) unsafe fn queued(
        &self,
        waiter: &'static Waiter,
        key: Key,
    ) -> Option<Queued<'_>> {
        // SAFETY: `self` holds the lock of the bucket in which nodes with this key are linked.
        (waiter.key() == key).then(|| unsafe { Queued::new(waiter, key, self.bucket) })
    }

    #[inline]
    pub(crate) fn has(&self, key: Key) -> bool {
        self.first(key).is_some()
    }

    /// Whether a waiter with this token is queued at `key`.
    pub(crate) fn has_token(&self, key: Key, token: usize) -> bool {
        let mut at = self.first(key);
        while let Some(waiter) = at {
            if waiter.token() == token {
                return true;
            }
            at = self.after(waiter);
        }
        false
    }

    /// Queues an announced waiter behind all others of its rank.
    ///
    /// # Safety
    /// The waiter is the caller's, prepared, and in no queue; this is the bucket of `key`.
    #[inline]
    pub(in crate::lot) unsafe fn push_back(&self, waiter: &'static Waiter, key: Key) {
        // SAFETY: by this function's contract.
        let rank = unsafe { waiter.rank.get() };
        let next = if rank == 0 { None } else { self.find_rank(key, |other| other < rank) };
        // SAFETY: by this function's contract.
        unsafe { self.push(waiter, key, next) };
    }

    /// Queues an announced waiter before all others of its rank.
    ///
    /// # Safety
    /// As for `push_back`.
    #[inline]
    pub(in crate::lot) unsafe fn push_front(&self, waiter: &'static Waiter, key: Key) {
        // SAFETY: by this function's contract.
        let rank = unsafe { waiter.rank.get() };
        let next = self.find_rank(key, |other| other <= rank);
        // SAFETY: by this function's contract.
        unsafe { self.push(waiter, key, next) };
    }

    /// The first at `key` whose rank `is` such. Ranks fall along the queue.
    fn find_rank(&self, key: Key, is: impl Fn(u32) -> bool) -> Option<Queued<'_>> {
        let mut at = self.first(key);
        while let Some(waiter) = at {
            if is(waiter.rank()) {
                return Some(waiter);
            }
            at = self.after(waiter);
        }
        None
    }

    /// Queues an announced waiter before `next`, or behind all.
    ///
    /// # Safety
    /// As for `push_back`.
    #[inline]
    unsafe fn push(&self, waiter: &'static Waiter, key: Key, next: Option<Queued<'_>>) {
        waiter.set_key_locked(key);
        // SAFETY: `self` holds the bucket lock, and `next` was found here.
        unsafe {
            match next {
                Some(next) => self.bucket.queue.0.push_before(next.waiter(), waiter),
                None => self.bucket.queue.0.push_back(waiter),
            }
        }
    }

    /// Takes a waiter out of the queue.
    #[inline]
    pub(in crate::lot) fn remove(&self, waiter: Queued<'_>) {
        if !waiter.is_still_in(self.bucket) {
            return;
        }
        // SAFETY: queued here, as has been looked at.
        unsafe { self.unlink(waiter.waiter()) };
    }

    /// # Safety
    /// The waiter is queued here.
    #[inline]
    unsafe fn unlink(&self, waiter: &'static Waiter) {
        // SAFETY: `self` holds the bucket lock; the rest by this function's contract.
        unsafe { self.bucket.queue.0.unlink(waiter) };
        waiter.set_key_locked(Key::NOWHERE);
        self.count_out();
    }

    /// Takes `waiter` out of the queue and notifies it once the lock is dropped. `false`, and
    /// nothing done, if it has been chosen or moved before, or if it is one of several nodes that a
    /// wait on many words has, and another was chosen or its thread isn't waiting.
    #[inline]
    pub(crate) fn choose(&self, waiter: Queued<'_>, verdict: Verdict) -> bool {
        self.choose_by(waiter, verdict, ANY)
    }

    #[inline]
    fn choose_by(&self, chosen: Queued<'_>, verdict: Verdict, bitset: u32) -> bool {
        if !chosen.is_still_in(self.bucket) {
            return false;
        }
        let (kind, waiter) = (chosen.kind(), chosen.waiter());
        let stays = matches!(kind, NodeKind::Member { counts, .. } if counts.stay());
        if let NodeKind::Member { head, index, counts } = kind {
            match head.claim.try_claim(index, counts) {
                Claimed::First => {}
                Claimed::Again => {
                    self.remove(chosen);
                    return true;
                }
                Claimed::Not => return false,
            }
        }
        // SAFETY: queued here, under the lock that `self` holds. Once it is chosen the (W) fields
        // are this thread's, until it notifies, which `Drop` does once.
        unsafe {
            waiter.verdict.set(verdict);
            if let NodeKind::Task(_) = kind {
                waiter.chosen.set(Chosen { key: chosen.key(), bitset });
            }
            if stays {
                self.bucket.queue.0.unlink(waiter);
                self.bucket.queue.0.push_back(waiter);
            } else {
                self.unlink(waiter);
            }
            self.chosen.push(waiter);
        }
        true
    }

    /// Whether `waiter` waits here at this moment: one that has been chosen or moved doesn't, and
    /// neither does one that is only registered.
    pub(crate) fn waits(&self, waiter: Queued<'_>) -> bool {
        if !waiter.is_still_in(self.bucket) {
            return false;
        }
        match waiter.kind() {
            NodeKind::Member { head, counts, .. } => head.claim.takes_wakes(counts),
            NodeKind::Thread | NodeKind::Task(_) => true,
        }
    }

    /// Chooses the first waiter at `key`, if there is one.
    #[inline]
    pub(crate) fn choose_first(&mut self, key: Key, verdict: Verdict) -> bool {
        let Some(waiter) = self.first(key) else { return false };
        let was_last = self.after(waiter).is_none();
        self.choose(waiter, Verdict { was_last, ..verdict })
    }

    /// Chooses one of the first few waiters at `key`, if there is one, for a caller that runs on:
    /// by the processors on which they last ran, where the scheduler puts them unless it finds an
    /// idle one, which it doesn't always look for.
    ///
    /// Threads that a condvar let go, and that came with a token, have little to do with the mutex
    /// and sleep again soon: one that last ran on the caller's processor runs there next, without
    /// an interrupt to another. Those that contend for the mutex should run at once: one that last
    /// ran elsewhere, since the caller keeps its own processor busy; unless the caller says that
    /// one that is `near` suits better.
    pub(crate) fn choose_placed(&mut self, key: Key, near: bool, verdict: Verdict) -> bool {
        let Some(first) = self.first(key) else { return false };
        let was_last = self.after(first).is_none();
        let near = near || first.token() != 0;
        let suits = |waiter: Queued<'_>, here| (waiter.cpu() == here) == near;
        let window = adjustable!(NEAR, Near);
        let chosen = if was_last { first } else { self.placed(first, window, suits) };
        self.choose(chosen, Verdict { was_last, ..verdict })
    }

    /// Chooses one of the first waiters at `key` whose token `is` such, for a caller that is about
    /// to sleep behind them: one that last ran on its processor, and will run there next. Else the
    /// processor may idle for milliseconds, as the woken thread stands in another's queue.
    pub(crate) fn choose_near(
        &mut self,
        key: Key,
        is: fn(usize) -> bool,
        verdict: Verdict,
    ) -> bool {
        let Some(first) = self.first_with_token(key, is) else { return false };
        let suits = |waiter: Queued<'_>, here| is(waiter.token()) && waiter.cpu() == here;
        self.choose(self.placed(first, sleepers_window(), suits), verdict)
    }

    /// The first waiter at `key` whose token `is` such.
    pub(crate) fn first_with_token(&self, key: Key, is: fn(usize) -> bool) -> Option<Queued<'_>> {
        let mut at = self.first(key);
        while let Some(waiter) = at.filter(|waiter| !is(waiter.token())) {
            at = self.after(waiter);
        }
        at
    }

    /// The first that `suits` the caller's processor, of the `window` that begins with `first`,
    /// unless `first` has been passed by too often, or there is one processor, where all ran.
    fn placed<'l>(
        &'l self,
        first: Queued<'l>,
        window: usize,
        suits: impl Fn(Queued<'l>, u32) -> bool,
    ) -> Queued<'l> {
        if table::seems_single() {
            return first;
        }
        let passed_by = &first.waiter().passed_by;
        // SAFETY: queued here, under the lock that `self` holds.
        let times = unsafe { passed_by.get() };
        if times >= adjustable!(MOST_PASSED_BY, PassedBy) || first.rank() != 0 {
            return first;
        }
        let here = current_cpu();
        let mut at = Some(first);
        for place in 0..window {
            let Some(waiter) = at else { break };
            if suits(waiter, here) {
                let counts = if place < adjustable!(NEAR, Near) { 1 } else { FAR_PASS };
                // SAFETY: as above.
                unsafe { passed_by.set(times + counts) };
                return waiter;
            }
            at = self.after(waiter);
        }
        first
    }

    /// How many wait at `key`.
    #[cfg(all(test, not(any(loom, shuttle, miri))))]
    pub(crate) fn count(&self, key: Key) -> usize {
        core::iter::successors(self.first(key), |waiter| self.after(*waiter)).count()
    }

    /// Queues an announced `waiter` at `key`, where no wake reaches it.
    ///
    /// # Safety
    /// The waiter is the caller's, and in no queue; this is the bucket of `key`.
    pub(crate) unsafe fn enqueue_without_wakes(&mut self, waiter: &'static Waiter, key: Key) {
        // SAFETY: by this function's contract.
        unsafe {
            waiter.prepare(node::tid(), 0, NodeKind::Thread, NO_WAKE, 0);
            waiter.set_queued_at(key);
            self.push_back(waiter, key);
        }
    }

    /// Takes the first at `key` out of the queue without notifying it.
    pub(crate) fn remove_first(&mut self, key: Key) -> Option<&'static Waiter> {
        let first = self.first(key)?;
        self.remove(first);
        Some(first.waiter())
    }

    /// Chooses up to `most` waiters at `key` that listen to `bitset`, in order. Returns how many.
    pub(crate) fn choose_many(&mut self, key: Key, most: usize, bitset: u32) -> usize {
        let mut chosen = 0;
        let mut at = self.first(key);
        while let Some(waiter) = at.filter(|_| chosen < most) {
            at = self.after(waiter);
            if waiter.bitset() & bitset != 0 && self.choose_by(waiter, Verdict::WOKEN, bitset) {
                chosen += 1;
            }
        }
        chosen
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.release();
        if checker_has_failed() {
            return;
        }
        self.chosen.notify();
    }
}
