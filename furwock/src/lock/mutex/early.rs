//! A signal that wakes its waiter though the mutex is held: whether it does, what the woken thread
//! does, and what came of it.

use super::RawMutex;
use super::state::{BITS, HANDOFF, OWNER, is_free};
use crate::lock::balance::{self, came_off, said_nothing};
use crate::lock::contender::Contender;
use crate::lock::options::Options;
use crate::lock::spin::{SIGNALS, WOKE_EARLY};
use crate::lock::yields;
use crate::lot::{self, Held, Key, Verdict};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::current_cpu;
use crate::prim::mutant::{self, Mutant};

impl RawMutex {
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
        if !(may && balance::pays(self.early_wakes())) {
            return None;
        }
        // (On which processor another thread holds it isn't known.)
        let holds = word & OWNER == tid;
        let waker_cpu = if holds { current_cpu() } else { u32::MAX };
        Some(Verdict::woken_to_held(Held { owner: word & OWNER, waker_cpu }))
    }

    /// Has the caller tell what will have come of this wake (`signals_on`), on the only processor,
    /// if it holds the mutex. Returns whether it will.
    pub(in crate::lock) fn have_signaller_tell(&self, verdict: Verdict) -> bool {
        let Some(held) = verdict.mutex_held else { return false };
        if cfg!(any(loom, shuttle)) {
            return true;
        }
        let tid = lot::tid();
        if !lot::is_single() || held.owner != tid {
            return false;
        }
        let Some(thread) = lot::known_own() else { return false };
        balance::will_tell(self.early_wakes(), tid);
        thread.notes.times[WOKE_EARLY].store(self.key().to_bits(), Ordering::Relaxed);
        true
    }

    /// The caller has woken a waiter while it held a mutex, and there were notifications since, for
    /// which no thread waited. If the woken thread hasn't had the mutex yet, the wake has come off.
    pub(in crate::lock) fn signals_on() {
        if cfg!(any(loom, shuttle)) {
            return;
        }
        let Some(thread) = lot::known_own() else { return };
        let mutex = thread.notes.times[WOKE_EARLY].swap(0, Ordering::Relaxed);
        if mutex != 0 {
            balance::tell(&lot::advice(Key::from_bits(mutex))[SIGNALS], lot::tid());
        }
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
    pub(super) fn lock_woken_early(&self, held: Held) {
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
        let is_single = lot::is_single();
        if is_single && balance::has_told(self.early_wakes(), held.owner) {
            return;
        }
        match outcome(got, is_near, is_single) {
            Outcome::CameOff => came_off(self.early_wakes()),
            Outcome::SaidNothing => said_nothing(self.early_wakes()),
            Outcome::InVain => {}
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
}

/// What came of a wake whose thread got the mutex so, near its waker or not, with one processor or
/// more.
///
/// On its waker's processor, a free mutex says nothing: the thread has only run once its waker was
/// off the processor, and the release might as well have woken it. And a yield means that it took
/// the processor from its waker, in vain.
///
/// Where there is one processor, the first is all that a wake can come to. A yield was well spent
/// if the signaller then went on for long, as one that fills a queue: the thread that it woke has
/// all of that to do in one turn, where one that the release wakes has a turn for each. A signaller
/// that sleeps next had better release the mutex first. So it tells, by signalling on
/// (docs/experiments.md, "Who signals on").
fn outcome(got: Got, is_near: bool, is_single: bool) -> Outcome {
    match got {
        Got::AtOnce if is_near && !is_single => Outcome::SaidNothing,
        Got::AtOnce | Got::Awake => Outcome::CameOff,
        Got::ByYield | Got::Asleep => Outcome::InVain,
    }
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
            let says_nothing = is_near && !is_single;
            let at_once = if says_nothing { Outcome::SaidNothing } else { Outcome::CameOff };
            let rest = [Outcome::InVain, Outcome::CameOff, Outcome::InVain];
            assert_eq!((outcomes[0], &outcomes[1..]), (at_once, &rest[..]));
        }
    }
}
