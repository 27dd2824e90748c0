//! What a condvar asks of a mutex: to receive its waiters, and to take back one that was chosen
//! (ORDERING.md, C-2 and C-3).

use super::RawMutex;
use super::state::{BITS, expecting, is_free};
use crate::lock::bits::Role;
use crate::lock::contender::{Contender, cleaned};
use crate::lock::options::Options;
use crate::lock::spin::how_far_ahead_of_broadcast;
use crate::lot::{self, Key, LockedPair, Verdict};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};

impl RawMutex {
    /// Lets up to `most` of a condvar's waiters, queued at `from`, go on to this mutex. Returns how
    /// many. `pair` is the condvar's bucket and the mutex's, both locked.
    ///
    /// If the mutex is held, they are moved to its queue, and the release to come wakes the first.
    /// If it is free, as many are woken as should be on their way to it, and the others moved
    /// behind them. Those that wait with another mutex are woken.
    pub(in crate::lock) fn receive(
        &self,
        pair: &mut LockedPair<'_>,
        from: Key,
        most: usize,
    ) -> usize {
        let address = self.address();
        let mut notified = 0;
        if !self.expect_moved_waiters(pair) {
            if most == 1 {
                return pair.from.choose_many(from, 1, lot::ANY);
            }
            notified = choose_claiming(pair, from, self);
            if pair.from.has_token(from, address) {
                self.expect_moved_and_woken_waiters(pair, notified as u32);
            }
        }
        let mut at = pair.from.first(from);
        while let Some(waiter) = at.filter(|_| notified < most) {
            at = pair.from.after(waiter);
            if waiter.token() == address {
                pair.move_waiter(waiter, self.key());
            } else {
                pair.from.choose(waiter, Verdict::WOKEN);
            }
            notified += 1;
        }
        notified
    }

    /// Locks the mutex for a waiter that was chosen from its queue, or claimed a wake on it, though
    /// it began to wait at a condvar.
    pub(in crate::lock) fn lock_chosen(&self, verdict: Verdict) {
        if verdict.granted.is_some() || verdict.holds_wake {
            Contender::new(self, &const { Options::new() }).resume(verdict);
        } else if let Some(held) = verdict.mutex_held {
            self.lock_woken_early(held);
        } else {
            self.lock();
        }
    }

    /// Has all waiters look at the mutex, since one of them won't: a wake may have been claimed for
    /// it. The next to queue finds that the claim is stale (M-4).
    pub(in crate::lock) fn wake_all(&self) {
        lot::lock(self.key()).choose_many(self.key(), usize::MAX, lot::ANY);
    }

    /// Sets PARKED for waiters that are about to be moved here. `false` if the mutex is free: then
    /// nothing would wake them.
    fn expect_moved_waiters(&self, pair: &LockedPair<'_>) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while !is_free(word) {
            let new = if mutant::active(Mutant::MoveWithoutParked) {
                word
            } else {
                BITS.queued(cleaned(&self, word.into(), pair.to()), Role::Newcomer, false) as u32
            };
            match self.exchange(word, new, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// The same for a mutex that may be free: claims `wakes` besides, for waiters that the caller
    /// has chosen under the same locks, and that will look at the mutex.
    fn expect_moved_and_woken_waiters(&self, pair: &LockedPair<'_>, wakes: u32) {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(
            word,
            expecting(cleaned(&self, word.into(), pair.to()) as u32, wakes),
            Ordering::Relaxed,
        ) {
            word = now;
        }
    }
}

/// Chooses the first waiters that wait with `mutex`, as many as should be on their way to it; each
/// takes back one claim. (A waiter with another mutex would leave the claim standing.)
fn choose_claiming(pair: &mut LockedPair<'_>, from: Key, mutex: &RawMutex) -> usize {
    let moves_all = mutant::active(Mutant::MoveToFreeMutex);
    let wakes = if moves_all { 0 } else { how_far_ahead_of_broadcast(mutex.key()) };
    let mut chosen = 0;
    let mut at = pair.from.first(from);
    while let Some(waiter) = at.filter(|_| chosen < wakes as usize) {
        at = pair.from.after(waiter);
        if waiter.token() == mutex.address() {
            pair.from.choose(waiter, Verdict::CLAIMED);
            chosen += 1;
        }
    }
    chosen
}
