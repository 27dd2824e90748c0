//! How long a thread runs past sleepers before it lets one of them have its place.
//!
//! A turn begins as a thread comes out of a lock's queue, and is looked at as it meets contention
//! while others sleep: on one processor before it yields to them. How long it is depends on how
//! long the thread waited, if that is known: a rwlock's readers keep no place in the queue.

use super::interval::SPELLS;
use super::spin::{
    ACTIVE_SINCE, IN_VAIN, PASSED_SLEEPERS, QUEUED_FOR, SPELLS_BEFORE, now_ns, spells_in_vain,
};
use crate::lot::{self, Key, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::sys::clock::monotonic_ns;

/// Shorter than the scheduler's slice, so that threads leave the processor before they are
/// preempted with the lock held; docs/experiments.md has the figures.
const TURN_NS: u64 = 1_300_000;

/// The same, of a thread that meets contention no more often than every `SPARSE_NS`. Were its turns
/// whole ones, more than one contention in a thousand would be a wait for the turns of others; and
/// the longer the sections, the less a switch of threads adds to them.
const SHORT_TURN_NS: u64 = 250_000;
const SPARSE_NS: u64 = TURN_NS / 1_000;

/// A shorter turn doesn't tell how often a thread meets contention. Neither does a longer one, in
/// which it most likely slept elsewhere or had no processor.
const LEAST_TO_TELL_NS: u64 = 20 * SPARSE_NS;
const MOST_TO_TELL_NS: u64 = 8 * TURN_NS;

/// A thread that has waited for so many times as long has a turn of one part in so many, up to
/// `MOST_PARTS`: there are many that wait, and each waits for the turns of all.
const LONG_WAIT_NS: u64 = 10_000_000;
const MOST_PARTS: u64 = 4;

/// The thread with these notes has come out of a lock's queue, in which it had its place since
/// `queued_ns`; 0 if it kept none. Returns whether it met contention seldom in its turn before, if
/// it had one and knows.
pub(super) fn begin(notes: &Notes, queued_ns: u64) -> bool {
    let now = now_ns();
    let began = notes.times[ACTIVE_SINCE].load(Ordering::Relaxed);
    let ran_ns = if began == 0 { 0 } else { queued_ns.saturating_sub(began) };
    let tells = (LEAST_TO_TELL_NS..=MOST_TO_TELL_NS).contains(&ran_ns);
    let was_sparse = tells && is_sparse(spells(notes), ran_ns);
    let queued_for_ns = if queued_ns == 0 { 0 } else { now.saturating_sub(queued_ns) };
    notes.times[ACTIVE_SINCE].store(now, Ordering::Relaxed);
    notes.times[QUEUED_FOR].store(queued_for_ns, Ordering::Relaxed);
    let spells = notes.counts[SPELLS].load(Ordering::Relaxed);
    notes.counts[SPELLS_BEFORE].store(spells, Ordering::Relaxed);
    was_sparse
}

/// How often the thread with these notes has met contention in its turn.
fn spells(notes: &Notes) -> u32 {
    let [before, all] = [SPELLS_BEFORE, SPELLS].map(|at| notes.counts[at].load(Ordering::Relaxed));
    all.wrapping_sub(before)
}

/// Whether so many contentions are few in such a time.
fn is_sparse(spells: u32, ran_ns: u64) -> bool {
    u64::from(spells) * adjustable!(SPARSE_NS, Sparse) <= ran_ns
}

/// How a thread has run past sleepers.
pub(super) struct Run {
    notes: &'static Notes,
    now: u64,
    /// For how long, in nanoseconds, since its turn began.
    pub(super) ran_ns: u64,
    /// For how long it has passed none, as a rwlock's reader.
    pub(super) no_sleepers_ns: u64,
}

/// How this thread has; `None` in models, which have no time, and without memory for its notes.
pub(super) fn run() -> Option<Run> {
    if cfg!(any(loom, shuttle)) {
        return None;
    }
    Some(run_by(&lot::own()?.notes))
}

fn run_by(notes: &'static Notes) -> Run {
    let now = monotonic_ns();
    let since = |time: usize| now.saturating_sub(notes.times[time].load(Ordering::Relaxed));
    let (ran_ns, no_sleepers_ns) = (since(ACTIVE_SINCE), since(PASSED_SLEEPERS));
    Run { notes, now, ran_ns, no_sleepers_ns }
}

impl Run {
    /// Notes that the thread passes some now.
    pub(super) fn note_sleepers(&self) {
        self.notes.times[PASSED_SLEEPERS].store(self.now, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let queued_for_ns = self.notes.times[QUEUED_FOR].load(Ordering::Relaxed);
        ends(self.ran_ns, spells(self.notes), queued_for_ns)
    }
}

/// Whether this thread has run past sleepers for its turn.
pub(super) fn is_over() -> bool {
    run().is_some_and(|run| run.is_over())
}

/// The same of the thread with these notes: registers none.
pub(super) fn is_over_by(notes: &'static Notes) -> bool {
    !cfg!(any(loom, shuttle)) && run_by(notes).is_over()
}

/// Whether a turn is over in which a thread ran for so long and met contention so often, and before
/// which it had waited for so long.
fn ends(ran_ns: u64, spells: u32, queued_for_ns: u64) -> bool {
    let long_ns = adjustable!(LONG_WAIT_NS, LongWait);
    let waited_ns = queued_for_ns.clamp(long_ns, MOST_PARTS * long_ns);
    let counts_as = ran_ns.saturating_mul(waited_ns) / long_ns;
    counts_as > whole_ns()
        || counts_as > adjustable!(SHORT_TURN_NS, ShortTurn) && is_sparse(spells, ran_ns)
}

/// How long a turn is where threads often meet contention, and none waits for long.
pub(super) fn whole_ns() -> u64 {
    adjustable!(TURN_NS, Turn)
}

/// Whether this thread has run past sleepers for `turn_ns`.
pub(super) fn has_run_for(turn_ns: u64) -> bool {
    run().is_some_and(|run| run.ran_ns > turn_ns)
}

/// Whether this thread, about to queue for the lock at `key`, wakes a sleeper in its place.
///
/// It does once its turn is over. Other processors' queues may hold all the woken waiters that are
/// under way: the scheduler leaves them there for milliseconds, and no release wakes another
/// meanwhile. This processor would idle.
///
/// Not where spinning is in vain: there a waiter has no use for a processor. Where priorities
/// count, releases alone choose, as on one processor.
pub(super) fn leaves_place(key: Key) -> bool {
    if cfg!(any(loom, shuttle)) {
        return true;
    }
    !lot::are_there_ranks() && spells_in_vain(key) < adjustable!(IN_VAIN, InVain) && is_over()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn often(ran_ns: u64) -> u32 {
        (ran_ns / SPARSE_NS) as u32 * 2
    }

    #[test]
    fn turns_are_shorter_where_contention_is_rare() {
        let seldom = |ran_ns| (ran_ns / SPARSE_NS) as u32 / 2;
        let between = (SHORT_TURN_NS + TURN_NS) / 2;
        for (ran_ns, dense, sparse) in
            [(SHORT_TURN_NS / 2, false, false), (between, false, true), (2 * TURN_NS, true, true)]
        {
            assert_eq!(ends(ran_ns, often(ran_ns), 0), dense, "{ran_ns} ns, often");
            assert_eq!(ends(ran_ns, seldom(ran_ns), 0), sparse, "{ran_ns} ns, seldom");
        }
    }

    #[test]
    fn turns_are_shorter_after_long_waits() {
        let turn_after = |queued_for_ns, spells: fn(u64) -> u32| {
            let mut steps = (1..).map(|step| step * 1_000);
            steps.find(|ran_ns| ends(*ran_ns, spells(*ran_ns), queued_for_ns)).unwrap()
        };
        for spells in [often, |_| 0] {
            let plain = turn_after(0, spells);
            assert_eq!(plain, turn_after(LONG_WAIT_NS, spells));
            for parts in [2, MOST_PARTS] {
                let shorter = turn_after(parts * LONG_WAIT_NS, spells);
                assert!(shorter.abs_diff(plain / parts) <= 1_000, "{shorter} ns of {plain}");
            }
            let least = turn_after(MOST_PARTS * LONG_WAIT_NS, spells);
            assert_eq!(least, turn_after(u64::MAX, spells));
        }
        assert!(ends(u64::MAX, 0, u64::MAX));
    }

    #[test]
    fn a_turn_tells_whether_contention_was_sparse() {
        let notes = &lot::node().unwrap().notes;
        // What the turn that begins now says of one that lasted so long.
        let was_sparse = |ran_ns, spells| {
            begin(notes, 0);
            let began = notes.times[ACTIVE_SINCE].load(Ordering::Relaxed);
            notes.counts[SPELLS].fetch_add(spells, Ordering::Relaxed);
            begin(notes, began + ran_ns)
        };
        for ran_ns in [LEAST_TO_TELL_NS, SHORT_TURN_NS, TURN_NS] {
            assert!(was_sparse(ran_ns, often(ran_ns) / 4) && was_sparse(ran_ns, 0), "{ran_ns} ns");
            assert!(!was_sparse(ran_ns, often(ran_ns)), "{ran_ns} ns");
        }
        assert!(!was_sparse(LEAST_TO_TELL_NS - 1, 0), "too short to tell");
        assert!(!was_sparse(MOST_TO_TELL_NS + 1, 0), "too long to tell");
        assert!(!begin(notes, 0), "the thread kept no place in the queue");
        notes.times[ACTIVE_SINCE].store(0, Ordering::Relaxed);
        assert!(!begin(notes, now_ns()), "it had no turn");
    }

    #[test]
    fn a_turn_knows_how_long_the_thread_waited_for_it() {
        let notes = &lot::node().unwrap().notes;
        // As if it had begun so long ago.
        let is_over_after = |ran_ns, queued_for_ns| {
            let is_known = queued_for_ns != 0;
            begin(notes, if is_known { now_ns() - queued_for_ns } else { 0 });
            let since = notes.times[ACTIVE_SINCE].load(Ordering::Relaxed);
            notes.times[ACTIVE_SINCE].store(since.saturating_sub(ran_ns), Ordering::Relaxed);
            is_over()
        };
        assert!(is_over_after(SHORT_TURN_NS, 0));
        assert!(is_over_after(SHORT_TURN_NS / 2, MOST_PARTS * LONG_WAIT_NS));
        // (Unless it loses its processor in between.)
        assert!((0..100).any(|_| !is_over_after(SHORT_TURN_NS / 2, 0)));
    }
}
