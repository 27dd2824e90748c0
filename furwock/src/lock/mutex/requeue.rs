//! What a condvar asks of a mutex: to receive its waiters, and to take back one that was chosen
//! (ORDERING.md, C-2 and C-3).

use super::RawMutex;
use super::state::{BITS, HANDOFF, OWNER, expecting, is_free};
use crate::lock::balance::{self, came_off, said_nothing, will_tell};
use crate::lock::bits::Role;
use crate::lock::contender::{Contender, cleaned};
use crate::lock::options::Options;
use crate::lock::spin::{SIGNALS, how_far_ahead};
use crate::lock::yields;
use crate::lot::{self, Held, Key, LockedPair, Verdict};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::current_cpu;
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

    /// How a signal wakes a waiter that will lock this mutex; `None` if it is to be moved, for the
    /// release to wake. Not to be relied upon: the mutex may be locked, or released, meanwhile.
    ///
    /// If the mutex is free, nothing else would wake it. If it is held, the woken thread most often
    /// has it as soon as it is released, or a little later: it is awake by then, while one that the
    /// release wakes has yet to come. So few threads sleep for the mutex. Where woken threads find
    /// it held again and again, and sleep, or take the processor from the thread that holds it,
    /// waiters are moved: the bucket keeps a balance (`balance`, and `outcome`). They are moved,
    /// too, where the mutex is promised to a sleeper, and where priorities count, so that the
    /// mutex's queue puts them in order.
    pub(in crate::lock) fn signal_wakes_as(&self) -> Option<Verdict> {
        let word = self.word.load(Ordering::Relaxed);
        if is_free(word) {
            return Some(Verdict::WOKEN);
        }
        let may = word & HANDOFF == 0 && !lot::are_there_ranks();
        let tid = lot::tid();
        if !(may && balance::pays(self.early_wakes(), tid)) {
            return None;
        }
        // (On which processor another thread holds it isn't known.)
        let holds = word & OWNER == tid;
        let waker_cpu = if holds { current_cpu() } else { u32::MAX };
        Some(Verdict::woken_to_held(Held { owner: word & OWNER, waker_cpu }))
    }

    /// Has the next signal on this mutex, if it is held, wake its waiter.
    #[cfg(all(test, loom))]
    pub(crate) fn next_signal_wakes_early(&self) {
        self.early_wakes().store(1, Ordering::Relaxed);
    }

    /// What came of signals that woke their waiter though the mutex was held.
    fn early_wakes(&self) -> &'static AtomicU32 {
        &lot::advice(self.key())[SIGNALS]
    }

    /// `lock` for a waiter that was woken while the mutex was held.
    ///
    /// If its waker still holds the mutex, and is on its processor, the waiter has taken the
    /// processor from it. So it doesn't spin, but gives the processor back.
    fn lock_woken_early(&self, held: Held) {
        let is_near = current_cpu() == held.waker_cpu && held.waker_cpu != u32::MAX;
        let got = if self.try_lock() {
            Got::AtOnce
        } else if mutant::active(Mutant::WokenEarlyGoesOn) {
            return;
        } else if !is_near || self.word.load(Ordering::Relaxed) & OWNER != held.owner {
            let status = self.lock_slow(&const { Options::new() });
            if status.is_some_and(|status| status.sleeps == 0) { Got::Awake } else { Got::Asleep }
        } else if yields::to_holder(self.key(), BITS.probing.spin_ns(), || self.try_lock()) {
            Got::ByYield
        } else {
            Contender::new(self, &const { Options::new() }).queueing_first().contend();
            Got::Asleep
        };
        match outcome(got, is_near, lot::is_single()) {
            Outcome::CameOff => came_off(self.early_wakes()),
            Outcome::SaidNothing => said_nothing(self.early_wakes()),
            Outcome::WillTell => will_tell(self.early_wakes(), lot::tid()),
            Outcome::InVain => {}
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

/// How a waiter that was woken while the mutex was held got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    /// It was free.
    AtOnce,
    /// It was free once its holder had had the processor back.
    ByYield,
    /// Without another sleep.
    Awake,
    /// After another sleep.
    Asleep,
}

/// What came of a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    CameOff,
    InVain,
    SaidNothing,
    /// The woken thread will tell: it has come off if that thread is the next that signals while it
    /// holds a mutex of the bucket.
    WillTell,
}

/// What came of a wake whose thread got the mutex so, near its waker or not, with one processor or
/// more.
///
/// On its waker's processor, a free mutex says nothing: the thread has only run once its waker was
/// off the processor, and the release might as well have woken it. And a yield means that it took
/// the processor from its waker, in vain.
///
/// Where there is one processor, the first is all that a wake can come to. A yield was well spent
/// if the two threads take turns at signalling, as at a queue: each then does as much as it can
/// in one turn. A thread that signals another again and again, and sleeps elsewhere in between, had
/// better release the mutex first (docs/experiments.md, "Who signals next").
fn outcome(got: Got, is_near: bool, is_single: bool) -> Outcome {
    match got {
        Got::AtOnce if is_near && !is_single => Outcome::SaidNothing,
        Got::AtOnce | Got::Awake => Outcome::CameOff,
        Got::ByYield if is_single => Outcome::WillTell,
        Got::ByYield | Got::Asleep => Outcome::InVain,
    }
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::mutex::state::PARKED;

    /// How a signal on this mutex wakes, if nothing is known there and no priorities count.
    fn wakes_as(mutex: &RawMutex) -> Option<Verdict> {
        mutex.early_wakes().store(0, Ordering::Relaxed);
        mutex.signal_wakes_as()
    }

    #[test]
    fn a_signal_wakes_at_once_unless_the_mutex_is_promised() {
        let mutex = RawMutex::new();
        assert!(wakes_as(&mutex).is_some_and(|verdict| verdict.mutex_held.is_none()));
        mutex.lock();
        let ranks = lot::are_there_ranks();
        let held = |verdict: Verdict| verdict.mutex_held.is_some();
        assert_eq!(wakes_as(&mutex).is_some_and(held), !ranks);
        mutex.word.fetch_or(PARKED, Ordering::Relaxed);
        assert_eq!(wakes_as(&mutex).is_some_and(held), !ranks, "others sleep");
        mutex.word.fetch_or(HANDOFF, Ordering::Relaxed);
        assert!(wakes_as(&mutex).is_none());
    }

    #[test]
    fn only_a_signaller_that_holds_the_mutex_is_on_its_processor() {
        let mutex = RawMutex::new();
        mutex.lock();
        let cpu = || wakes_as(&mutex)?.mutex_held.map(|held| held.waker_cpu);
        let another = std::thread::scope(|scope| scope.spawn(cpu).join().unwrap());
        assert!(another.is_none_or(|cpu| cpu == u32::MAX));
        // (Where it is known.)
        assert!(cpu().is_none_or(|cpu| cpu != u32::MAX) || current_cpu() == u32::MAX);
    }

    #[test]
    fn what_a_wake_came_to_depends_on_the_processors() {
        for (is_near, is_single) in [(false, false), (true, false), (true, true)] {
            let outcomes = [Got::AtOnce, Got::ByYield, Got::Awake, Got::Asleep]
                .map(|got| outcome(got, is_near, is_single));
            let [at_once, by_yield] = match (is_near, is_single) {
                (_, true) => [Outcome::CameOff, Outcome::WillTell],
                (true, false) => [Outcome::SaidNothing, Outcome::InVain],
                (false, false) => [Outcome::CameOff, Outcome::InVain],
            };
            assert_eq!(outcomes, [at_once, by_yield, Outcome::CameOff, Outcome::InVain]);
        }
    }
}
