//! How little a thread does inside and outside of its locks, by the time between two of its
//! contentions.
//!
//! A spell of spinning now and then is timed: an interval begins with it, and ends with the
//! thread's next contention. What is learnt of intervals stays with the thread.

use crate::lot::{self, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::sys::clock::monotonic_ns;

/// Of a thread's times: when it last met contention that was timed. (`spin` has the others.)
const CONTENDED: usize = 1;

/// Of a thread's counts: how often it has met contention.
pub(super) const SPELLS: usize = 0;
/// Whether it lately met it again at once (`after_interval`).
const SHORT_SPELLS: usize = 1;
/// For how long it waited at the last contention that was timed, in nanoseconds; 0 if it doesn't
/// know.
const WAITED: usize = 2;
/// How long it takes to load a lock's word that another processor has written, with a look at the
/// clock, in nanoseconds; 0 if it doesn't know.
const LINE: usize = 3;

/// Which intervals between two contentions are short: those of a thread that does little inside and
/// in between, too little to be worth the cache line's way to another processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short {
    /// Those within the time of so many looks at the clock.
    pub(super) looks: u64,
    /// Those within the time of so many transfers of the line, if the thread waited for much of it
    /// (`is_short`).
    pub(super) lines: u64,
}

/// What a short interval adds to a thread's count, from which each longer one takes 1, the most it
/// comes to, and above what sections count as short. (Where they are longer, next to no interval is
/// short. Where they are short, most intervals are longer, of threads that took the lock several
/// times before they met.)
const SHORT_ADDS: u32 = 8;
const MOST_SHORT: u32 = 16;

/// One in so many spells is timed, where threads stand aside: the time until the next shows how
/// things are now.
pub(super) const TIMED_SPELLS: u32 = 32;

/// The same while no interval was short lately. A timed spell and the two after it look at the
/// clock, one of them with the lock held, so that two threads that take a lock in turn fall out of
/// step.
const SELDOM_TIMED: u32 = 64;

/// The same once one was short: the next ones say whether it was by chance.
const OFTEN_TIMED: u32 = 8;

/// What a spell is for, beside the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// An interval begins with it, and its wait is noted.
    Begins,
    /// An interval ends with it.
    Ends,
    /// How long a look at the lock's word takes is noted. (In a spell of its own: the clock would
    /// be a part of the interval.)
    Looks,
    /// For nothing else.
    None,
}

/// What a thread's spell is for, if it is the one after so many.
pub(super) fn part_of(notes: &Notes, spells: u32) -> Part {
    match spells % timed_spells(notes) {
        0 => Part::Begins,
        1 => Part::Ends,
        2 => Part::Looks,
        _ => Part::None,
    }
}

fn timed_spells(notes: &Notes) -> u32 {
    match notes.counts[SHORT_SPELLS].load(Ordering::Relaxed) {
        0 => adjustable!(SELDOM_TIMED, SeldomTimed),
        1..=SHORT_ADDS => adjustable!(OFTEN_TIMED, OftenTimed),
        _ => adjustable!(TIMED_SPELLS, TimedSpells),
    }
}

/// Counts a spell of the thread with these notes. Returns how many it has had.
pub(super) fn count(notes: &Notes) -> u32 {
    let spells = notes.counts[SPELLS].load(Ordering::Relaxed).wrapping_add(1);
    notes.counts[SPELLS].store(spells, Ordering::Relaxed);
    spells
}

/// Whether the thread with these notes lately met contention again at once, so that it does little
/// inside and outside of its locks.
pub(super) fn does_little(notes: &Notes) -> bool {
    notes.counts[SHORT_SPELLS].load(Ordering::Relaxed) > SHORT_ADDS
}

/// Whether this thread lately met contention again at once.
pub(super) fn this_thread_does_little() -> bool {
    lot::own().is_some_and(|thread| does_little(&thread.notes))
}

/// Leaves work of the caller's own out of the time between two contentions of this thread: that of
/// a library that records them. `worked_ns` says how long it took, and is called only if that time
/// is being measured: from a timed spell to the next spell. Threads still learn from the rest how
/// short the program's sections are.
#[cfg(not(any(loom, shuttle)))]
pub(in crate::lock) fn leave_out(worked_ns: impl FnOnce() -> u64) {
    let Some(thread) = lot::own() else { return };
    let Notes { times, counts, .. } = &thread.notes;
    let spells = counts[SPELLS].load(Ordering::Relaxed);
    if part_of(&thread.notes, spells) == Part::Begins {
        let began = times[CONTENDED].load(Ordering::Relaxed);
        times[CONTENDED].store(began.saturating_add(worked_ns()), Ordering::Relaxed);
    }
}

/// Begins an interval with this contention of the thread with these notes.
pub(super) fn begin(notes: &Notes) {
    notes.counts[WAITED].store(0, Ordering::Relaxed);
    notes.times[CONTENDED].store(monotonic_ns(), Ordering::Relaxed);
}

/// Ends it with this one, and learns from it.
pub(super) fn end(notes: &Notes, short_are: &Short) {
    let Notes { times, counts, .. } = notes;
    let looks = [(); 3].map(|()| monotonic_ns());
    let look = looks[1].saturating_sub(looks[0]).min(looks[2].saturating_sub(looks[1]));
    let waited = counts[WAITED].load(Ordering::Relaxed);
    // (Without the look that noted the wait.)
    let noting = if waited == 0 { 0 } else { look };
    let began = times[CONTENDED].load(Ordering::Relaxed).saturating_add(noting);
    let lasted = looks[0].saturating_sub(began);
    let line = counts[LINE].load(Ordering::Relaxed).saturating_sub(nanoseconds(look));
    let is_short = is_short(Interval { lasted, waited, look, line }, short_are);
    let short = counts[SHORT_SPELLS].load(Ordering::Relaxed);
    counts[SHORT_SPELLS].store(after_interval(short, is_short), Ordering::Relaxed);
}

/// Notes how long the spell has taken with which an interval began.
pub(super) fn note_wait() {
    let Some(thread) = lot::own() else { return };
    let Notes { times, counts, .. } = &thread.notes;
    let waited = monotonic_ns().saturating_sub(times[CONTENDED].load(Ordering::Relaxed));
    counts[WAITED].store(nanoseconds(waited), Ordering::Relaxed);
}

/// Notes how long a load of a word takes, with a look at the clock, if another processor has
/// written it since it was `seen`. Returns whether one has, or nothing can be noted.
pub(super) fn has_noted_look(seen: u64, load: impl Fn() -> u64) -> bool {
    let Some(thread) = lot::own() else { return true };
    let start = monotonic_ns();
    let has_changed = load() != seen;
    if has_changed {
        let took = nanoseconds(monotonic_ns().saturating_sub(start));
        let line = &thread.notes.counts[LINE];
        line.store(after_transfer(line.load(Ordering::Relaxed), took), Ordering::Relaxed);
    }
    has_changed
}

fn nanoseconds(time: u64) -> u32 {
    u32::try_from(time).unwrap_or(u32::MAX)
}

/// The most nanoseconds that a line's transfer is taken to last, beside a look at the clock.
const MOST_TRANSFER: u32 = 1_000;

/// How long a line's transfer lasts, after one was timed. One that an interrupt made long counts
/// for little.
fn after_transfer(line: u32, timed: u32) -> u32 {
    match line {
        0 => timed.min(MOST_TRANSFER),
        _ => line - line / 8 + timed.min(2 * line).min(MOST_TRANSFER) / 8,
    }
}

/// An interval between two contentions of a thread, in nanoseconds.
#[derive(Clone, Copy)]
struct Interval {
    lasted: u64,
    /// For how long of it the thread waited.
    waited: u32,
    /// How long a look at the clock takes.
    look: u64,
    /// How long the transfer of a lock's cache line takes from another processor; 0 if that isn't
    /// known.
    line: u32,
}

/// Whether an interval is so short that the thread had better run while others stand aside, or the
/// other way round.
///
/// Two threads that take a lock in turn do two operations in the time of two sections and two
/// transfers of the line. One that runs alone needs no transfer, but is outside of the lock for
/// some of the time. So the one is better where what is done outside takes less than a transfer.
/// That time isn't known, but it is no part of the wait. A transfer differs by the machine, and on
/// a virtual one by the minute: on one EPYC a load takes 12 or 135 ns, as the host places the
/// processors. (A quarter, and the numbers of looks and transfers, are fitted: docs/experiments.md,
/// "What a line takes".)
fn is_short(interval: Interval, short: &Short) -> bool {
    let Interval { lasted, waited, look, line } = interval;
    let waits = u64::from(waited) * 4 > lasted;
    let by_clock = lasted < adjustable!(short.looks, ShortLooks) * look;
    let by_line = lasted < adjustable!(short.lines, ShortLines) * u64::from(line);
    by_clock || (waits && by_line)
}

/// The count of short intervals after another.
const fn after_interval(short: u32, is_short: bool) -> u32 {
    match is_short {
        true if short + SHORT_ADDS > MOST_SHORT => MOST_SHORT,
        true => short + SHORT_ADDS,
        false => short.saturating_sub(1),
    }
}

/// As if this thread had met contention again and again at once.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_sections_are_short() {
    let node = lot::node().unwrap();
    node.notes.counts[SPELLS].store(1, Ordering::Relaxed);
    node.notes.counts[SHORT_SPELLS].store(MOST_SHORT, Ordering::Relaxed);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    static SHORT: Short = Short { looks: 8, lines: 8 };

    #[test]
    fn two_short_intervals_count_for_a_while_and_one_does_not() {
        let once = after_interval(0, true);
        assert!(once <= SHORT_ADDS);
        let mut short = after_interval(after_interval(once, false), true);
        assert!(short > SHORT_ADDS);
        for _ in 0..MOST_SHORT {
            short = after_interval(short, false);
        }
        assert_eq!(short, 0);
        assert_eq!(after_interval(after_interval(once, true), true), MOST_SHORT);
    }

    #[test]
    fn sections_are_short_beside_a_dear_line_if_the_thread_waits() {
        let is_short =
            |lasted, waited, line| is_short(Interval { lasted, waited, look: 20, line }, &SHORT);
        assert!(is_short(159, 0, 0) && !is_short(160, 100, 0));
        // Turns of 0.1 us, and as much in between.
        assert!(!is_short(280, 80, 12) && is_short(680, 210, 135));
        assert!(!is_short(680, 150, 135) && !is_short(1_100, 800, 135));
    }

    #[test]
    fn a_line_s_transfer_is_learnt_and_an_interrupt_is_not() {
        let learnt = |line, timed: &[u32]| timed.iter().copied().fold(line, after_transfer);
        assert_eq!(learnt(0, &[45]), 45);
        assert!((190..=205).contains(&learnt(45, &[205; 32])));
        assert!((45..60).contains(&learnt(205, &[45; 32])));
        assert!(learnt(48, &[u32::MAX]) < 64);
        assert!(learnt(0, &[u32::MAX; 99]) <= MOST_TRANSFER);
        assert!(learnt(0, &[u32::MAX, 45, 45, 45, 45, 45, 45, 45, 45]) < 400);
    }

    #[test]
    fn spells_are_timed_the_more_often_the_more_that_tells() {
        let notes = &lot::node().unwrap().notes;
        let parts = |short| {
            notes.counts[SHORT_SPELLS].store(short, Ordering::Relaxed);
            let mut parts = [0; 4];
            (0..640).for_each(|spells| parts[part_of(notes, spells) as usize] += 1);
            parts
        };
        assert_eq!(parts(0), [10, 10, 10, 610], "none was short lately");
        for short in [1, SHORT_ADDS] {
            assert_eq!(parts(short), [80, 80, 80, 400], "one was");
        }
        assert_eq!(parts(MOST_SHORT), [20, 20, 20, 580]);
        notes.counts[SHORT_SPELLS].store(0, Ordering::Relaxed);
    }
}
