//! How long a thread spins, how long it runs past sleepers, and how many wakes are under way at a
//! time; what threads and buckets learn of that, in the room that the engine has for locks.

use crate::lot::{self, Key, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;

/// Of a thread's times, in monotonic nanoseconds: when it last came out of a lock's queue, and when
/// it last met contention.
const ACTIVE_SINCE: usize = 0;
const CONTENDED: usize = 1;

/// Of a thread's counts: how often it has met contention, and how often in a row it soon did again.
const SPELLS: usize = 0;
const SHORT_SPELLS: usize = 1;

/// Of a bucket's advice: how many wakes at once have paid, what looks before a sleep have paid
/// (`patience`), and what spells of spinning came to (`pays`).
const WAKES_AHEAD: usize = 0;
pub(super) const LOOKS: usize = 1;
const SPINNING: usize = 2;

/// How long a thread may run past sleepers before it lets the first of them have its place. Shorter
/// than the scheduler's slice, so that threads leave the processor before they are preempted with
/// the lock held; docs/experiments.md has the figures.
pub(super) const TURN_NS: u64 = 1_300_000;

/// The most wakes that are on their way to a lock at once, and for each processor.
pub(super) const MOST_AHEAD: u32 = 127;
const AHEAD_A_PROCESSOR: u32 = 2;

/// Pauses between two probes, about 0.1 us. A probe takes the cache line away from the holder, and
/// one that comes late costs only its own delay.
const PAUSES: u32 = 8;

/// Pauses before the first probe of a thread that meets short sections: some 8 us. Threads that
/// take a lock in turn for a few instructions do nothing but move its cache line: the longer one
/// leaves the other alone with it, the better for both.
const MANY_PAUSES: u32 = 600;

/// Contentions that follow one another within that time are a thread's that does little between and
/// inside of them.
const SHORT_NS: u64 = 800;

/// So many of them in a row show that sections are short.
const SURE: u32 = 4;

/// One in so many spells is a plain one, so that the next shows how things are now.
const PLAIN_SPELLS: u32 = 16;

/// Probes before the clock is looked at.
const BLIND_PROBES: u32 = 4;

/// So many spells in a row that ended in a sleep show that spinning doesn't pay.
const IN_VAIN: u32 = 2;

/// log2 of how many waits there are between two trials, at most.
const LATE: u32 = 10;

/// In the bucket's word: how many spells in a row were in vain; above it, the waits since then.
const VAIN: u32 = 0xff;
const ONE_WAIT: u32 = VAIN + 1;

/// Whether a wait spins, and the bucket's word after it.
fn after_wait(word: u32) -> (bool, u32) {
    let vain = word & VAIN;
    if vain < adjustable!(IN_VAIN, InVain) {
        return (true, word);
    }
    let late = adjustable!(LATE, SpinTrials);
    let trial_in = if vain < late { vain + 1 } else { late };
    let is_trial = word / ONE_WAIT >= 1 << trial_in;
    (is_trial, if is_trial { vain } else { word + ONE_WAIT })
}

/// The bucket's word after a spell that ended with the lock free, or was in vain.
fn after_spell(word: u32, rewarded: bool) -> u32 {
    match (rewarded, word & VAIN) {
        (true, _) => 0,
        (false, vain) if vain == adjustable!(LATE, SpinTrials) => vain,
        (false, vain) => vain + 1,
    }
}

/// One spell of spinning.
pub(super) struct Spin {
    key: Key,
    probes: u32,
    ends_ns: u64,
    budget_ns: u64,
    first_pauses: u32,
    /// It was asked whether pauses pay, and may pause: what it comes to is learnt.
    is_paid: bool,
}

impl Spin {
    /// A plain spell for the lock at `key`, that long at most.
    pub(super) fn new(key: Key, budget_ns: u64) -> Self {
        Self {
            key,
            probes: 0,
            ends_ns: 0,
            budget_ns,
            first_pauses: adjustable!(PAUSES, ProbePauses),
            is_paid: false,
        }
    }

    /// A spell that begins as the thread has learnt: after a plain spell, the time since that one
    /// began says whether sections are short.
    pub(super) fn learnt(key: Key, budget_ns: u64) -> Self {
        let mut spin = Self::new(key, budget_ns);
        let Some(thread) = lot::own().filter(|_| !cfg!(any(loom, shuttle))) else { return spin };
        let Notes { times, counts } = &thread.notes;
        let now = monotonic_ns();
        let interval = now.saturating_sub(times[CONTENDED].load(Ordering::Relaxed));
        times[CONTENDED].store(now, Ordering::Relaxed);
        let spells = counts[SPELLS].load(Ordering::Relaxed).wrapping_add(1);
        counts[SPELLS].store(spells, Ordering::Relaxed);
        let mut short = counts[SHORT_SPELLS].load(Ordering::Relaxed);
        let sure = adjustable!(SURE, SureSpells);
        let plain_spells = adjustable!(PLAIN_SPELLS, PlainSpells);
        if short < sure || spells % plain_spells == 1 {
            let is_short = interval < adjustable!(SHORT_NS, ShortSections);
            short = if is_short { (short + 1).min(sure) } else { 0 };
            counts[SHORT_SPELLS].store(short, Ordering::Relaxed);
        }
        if short == sure && !spells.is_multiple_of(plain_spells) {
            spin.first_pauses = adjustable!(MANY_PAUSES, LongPauses);
        }
        spin
    }

    /// Whether to pause for the lock at all, where spells have been in vain lately. Asked last, by
    /// a caller that nothing else keeps from it: an answer may use up a trial.
    pub(super) fn pays(&mut self) -> bool {
        self.is_paid = self.is_paid || pays(self.key);
        self.is_paid
    }

    /// The lock was seen free: the pauses, if there were any, have paid.
    pub(super) fn is_rewarded(&self) {
        if self.probes != 0 {
            self.learn(true);
        }
    }

    /// (A reader that only steps aside for a writer learns nothing of the writers' sections.)
    fn learn(&self, rewarded: bool) {
        if self.is_paid && !cfg!(any(loom, shuttle)) {
            learn_spell(self.key, rewarded);
        }
    }

    /// Whether the next pause is the long one.
    pub(super) fn begins_with_long_pause(&self) -> bool {
        self.probes == 0 && self.first_pauses == adjustable!(MANY_PAUSES, LongPauses)
    }

    /// Pauses before the next probe. False when it is time to sleep.
    pub(super) fn pause(&mut self) -> bool {
        self.probes += 1;
        if cfg!(any(loom, shuttle)) {
            // One probe more: a model has no time, only order.
            return self.probes == 1;
        }
        let pauses = adjustable!(PAUSES, ProbePauses);
        for _ in 0..if self.probes == 1 { self.first_pauses } else { pauses } {
            spin_loop();
        }
        let blind_probes = adjustable!(BLIND_PROBES, BlindProbes);
        if self.probes == blind_probes {
            self.ends_ns = monotonic_ns() + self.budget_ns;
        }
        let goes_on = self.probes <= blind_probes || monotonic_ns() < self.ends_ns;
        if !goes_on {
            self.learn(false);
        }
        goes_on
    }
}

/// Whether a thread that waits for the lock at `key` spins before it sleeps.
///
/// A holder that sleeps, yields or has lost its processor makes each spin vain, and so does a
/// section longer than the budget. The bucket remembers what the last spells came to. Once they
/// were in vain, a wait spins only now and then, as a trial, and more rarely with each that fails.
fn pays(key: Key) -> bool {
    if cfg!(any(loom, shuttle)) {
        return true;
    }
    // (This makes the table, which knows the processors.)
    let learnt = &lot::advice(key)[SPINNING];
    if lot::is_single() {
        return false;
    }
    let word = learnt.load(Ordering::Relaxed);
    let (spins, new) = after_wait(word);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
    spins
}

/// Notes whether a spell ended with the lock free, or was in vain.
fn learn_spell(key: Key, rewarded: bool) {
    let learnt = &lot::advice(key)[SPINNING];
    let word = learnt.load(Ordering::Relaxed);
    let new = after_spell(word, rewarded);
    if new != word {
        learnt.store(new, Ordering::Relaxed);
    }
}

pub(super) fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}

/// The thread with these notes has come out of a lock's queue.
pub(super) fn begin_turn(notes: &Notes) {
    notes.times[ACTIVE_SINCE].store(now_ns(), Ordering::Relaxed);
}

/// Whether this thread has run past sleepers for `turn_ns`.
pub(super) fn has_run_for(turn_ns: u64) -> bool {
    match lot::own() {
        Some(thread) if !cfg!(any(loom, shuttle)) => {
            let since = thread.notes.times[ACTIVE_SINCE].load(Ordering::Relaxed);
            monotonic_ns().saturating_sub(since) > turn_ns
        }
        _ => false,
    }
}

fn wakes_ahead(key: Key) -> &'static AtomicU32 {
    &lot::advice(key)[WAKES_AHEAD]
}

/// How many woken waiters of the lock at `key` should be on their way at a time, at least 1.
///
/// One, as long as woken waiters find the lock taken: more would be a swarm. If they find it free,
/// critical sections are short beside a wake, and with one wake at a time processors stand idle
/// between a release and the next waiter's start. The bucket remembers (`learn`).
///
/// One where priorities count: of two that are woken, the wrong one may be first. One on a single
/// processor: the first that is woken takes the lock before the second runs.
pub(super) fn how_far_ahead(key: Key) -> u32 {
    if lot::are_there_ranks() || lot::is_single() {
        return 1;
    }
    let each = adjustable!(AHEAD_A_PROCESSOR, AheadAProcessor);
    let most = (each * lot::processors() as u32).min(adjustable!(MOST_AHEAD, MostAhead));
    (1 + wakes_ahead(key).load(Ordering::Relaxed)).min(most)
}

/// Notes how a woken waiter found the lock.
pub(super) fn learn(key: Key, found_free: bool) {
    let hint = wakes_ahead(key);
    let ahead = hint.load(Ordering::Relaxed);
    let new = if found_free { (ahead + 1).min(MOST_AHEAD) } else { ahead / 2 };
    if new != ahead {
        hint.store(new, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many of so many waits spin, if all spells come to the same.
    fn spells_of(waits: u32, rewarded: bool, word: &mut u32) -> u32 {
        let spins = |_: &u32| {
            let (spins, waited) = after_wait(*word);
            *word = if spins { after_spell(waited, rewarded) } else { waited };
            spins
        };
        (0..waits).filter(spins).count() as u32
    }

    #[test]
    fn spells_in_vain_become_rare() {
        let mut word = 0;
        assert_eq!(spells_of(2, false, &mut word), 2);
        assert_eq!(spells_of(8, false, &mut word), 0);
        let spells = spells_of(100_000, false, &mut word);
        assert!((90..110).contains(&spells), "{spells} in 100,000 waits");
    }

    #[test]
    fn a_rewarded_trial_brings_all_back() {
        let mut word = 0;
        spells_of(100_000, false, &mut word);
        let spells = spells_of(2_000, true, &mut word);
        assert!(spells > 900, "{spells} of 2,000 waits, of which one in 1,024 was a trial");
        assert_eq!(spells_of(100, true, &mut word), 100);
    }

    #[test]
    fn one_spell_in_vain_among_others_changes_nothing() {
        let mut word = 0;
        for _ in 0..100 {
            assert_eq!(spells_of(1, false, &mut word), 1);
            assert_eq!(spells_of(1, true, &mut word), 1);
        }
    }
}
