//! What a condvar asks of a mutex: to receive its waiters, and to take back one that was chosen
//! (ORDERING.md, C-2 and C-3).

use super::RawMutex;
use super::state::{BITS, OWNER, expecting, is_free};
use crate::lock::bits::Role;
use crate::lock::contender::{Contender, cleaned};
use crate::lock::options::Options;
use crate::lock::spin::{SIGNALS, how_far_ahead};
use crate::lock::trials;
use crate::lock::yields;
use crate::lot::{self, Held, Key, LockedPair, Verdict};
use crate::prim::atomic::Ordering;
use crate::prim::current_cpu;
use crate::prim::mutant::{self, Mutant};

/// So many threads in a row that were woken early, and found the mutex held, show that it doesn't
/// pay, as long as none found it free on another processor than its waker's. (Fewer happen by
/// chance where four of five find it free.)
const WAKES_IN_VAIN: u32 = 8;

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

    /// How a signal wakes a waiter that will lock this mutex; `None` if it is to be moved, for the
    /// release to wake. Not to be relied upon: the mutex may be locked, or released, meanwhile.
    ///
    /// If the mutex is free, nothing else would wake it. If it is held, and no other thread waits
    /// for it, a wake takes as long as the rest of many critical sections. The bucket remembers
    /// whether the woken threads found the mutex free, on another processor than their waker's, and
    /// otherwise they are moved. So are they where priorities count, so that the mutex's queue puts
    /// them in order, and on one processor, where a woken thread may take the place of the thread
    /// that holds the mutex.
    pub(in crate::lock) fn signal_wakes_as(&self) -> Option<Verdict> {
        let word = self.word.load(Ordering::Relaxed);
        if is_free(word) {
            return Some(Verdict::WOKEN);
        }
        let wakes = word & !OWNER == 0 && pays_to_wake_early(self.key());
        let held = || Held { owner: word & OWNER, waker_cpu: current_cpu() };
        wakes.then(|| Verdict::woken_to_held(held()))
    }

    /// Has the next signal on this mutex, if it is held, wake its waiter.
    #[cfg(all(test, loom))]
    pub(crate) fn next_signal_wakes_early(&self) {
        lot::advice(self.key())[SIGNALS].store(1, Ordering::Relaxed);
    }

    /// `lock` for a waiter that was woken while the mutex was held. Learns whether it still was.
    ///
    /// A free mutex says nothing to a waiter on its waker's processor: it has only run once its
    /// waker was off it, and the release might as well have woken it. If the waker still holds the
    /// mutex, the waiter has taken the processor from it. So it doesn't spin, but gives the
    /// processor back.
    fn lock_woken_early(&self, held: Held) {
        let is_taken = self.try_lock();
        let is_near = current_cpu() == held.waker_cpu && held.waker_cpu != u32::MAX;
        let says_nothing = is_taken && is_near;
        if !cfg!(any(loom, shuttle)) && !says_nothing {
            trials::learn(&lot::advice(self.key())[SIGNALS], is_taken);
        }
        if is_taken || mutant::active(Mutant::WokenEarlyGoesOn) {
            return;
        }
        if !is_near || self.word.load(Ordering::Relaxed) & OWNER != held.owner {
            self.lock();
        } else if !yields::to_holder(self.key(), BITS.probing.spin_ns(), || self.try_lock()) {
            Contender::new(self, &const { Options::new() }).queueing_first().contend();
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

/// Whether to wake a signalled thread though its mutex, whose key this is, is held.
fn pays_to_wake_early(mutex: Key) -> bool {
    let learnt = &lot::advice(mutex)[SIGNALS];
    if cfg!(any(loom, shuttle)) {
        // In a model both happen, one after the other.
        return learnt.fetch_xor(1, Ordering::Relaxed) != 0;
    }
    !lot::is_single() && !lot::are_there_ranks() && trials::are_due(learnt, WAKES_IN_VAIN)
}

/// Chooses the first waiters that wait with `mutex`, as many as should be on their way to it; each
/// takes back one claim. (A waiter with another mutex would leave the claim standing.)
fn choose_claiming(pair: &mut LockedPair<'_>, from: Key, mutex: &RawMutex) -> usize {
    let moves_all = mutant::active(Mutant::MoveToFreeMutex);
    let wakes = if moves_all { 0 } else { how_far_ahead(mutex.key()) };
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
