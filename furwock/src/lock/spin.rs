//! How long a thread spins, and how many wakes are under way at a time; what threads and buckets
//! learn of that, in the room that the engine has for locks.

use super::{busy, trials};
use crate::lot::{self, Key, Notes};
use crate::prim::adjustable;
use crate::prim::atomic::{AtomicU32, Ordering};
#[cfg(simulated)]
use crate::prim::constant::{self, Constant};
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;
use crate::sys::monitor;

/// Of a thread's times, in monotonic nanoseconds: when it last came out of a lock's queue, when it
/// last met contention, for how long it had waited in that queue, if that is known, when it last
/// read past sleepers (`turn`), where and when a look before a sleep was last rewarded
/// (`patience`), and holding which mutex it last woke a waiter early (`mutex/early.rs`).
pub(super) const ACTIVE_SINCE: usize = 0;
const CONTENDED: usize = 1;
pub(super) const QUEUED_FOR: usize = 2;
pub(super) const PASSED_SLEEPERS: usize = 3;
pub(super) const LOOKED_AT: usize = 4;
pub(super) const REWARDED: usize = 5;
pub(super) const WOKE_EARLY: usize = 6;

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
/// How often it had met contention when it last came out of a lock's queue (`turn`).
pub(super) const SPELLS_BEFORE: usize = 4;
/// What had been learnt of looks before that which was rewarded last (`patience`).
pub(super) const LEARNT_BEFORE: usize = 5;

/// Of a bucket's advice: how many wakes at once have paid; what looks before a sleep have paid
/// (`patience`), in a rwlock's what its word looked like (`surplus`); what spells of spinning came
/// to (`pays`); what yields did (`yields`): a rwlock's waiters', or a mutex's to its holder; in a
/// mutex's what signals did that woke their waiter at once (`balance`); and in a rwlock's how often
/// nobody was inside (`sharing`).
const WAKES_AHEAD: usize = 0;
pub(super) const LOOKS: usize = 1;
pub(super) const CROWDING: usize = 1;
const SPINNING: usize = 2;
pub(super) const YIELDS: usize = 3;
pub(super) const HOLDER_YIELDS: usize = 3;
pub(super) const SIGNALS: usize = 4;
pub(super) const SHARING: usize = 5;

/// The most wakes that are on their way to a lock at once, and for each processor.
pub(super) const MOST_AHEAD: u32 = 127;
// (A model has few waiters.)
const AHEAD_A_PROCESSOR: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

/// The same for each processor where threads meet contention seldom, since sections are long: a
/// processor that is busy has no use for a second. Were all waiters woken, the threads that run
/// would pass none in the queue and have no turns, and the woken ones would wait in the scheduler's
/// queues for whole slices (docs/experiments.md, "Wakes ahead where contention is sparse").
const AHEAD_IF_SPARSE: u32 = 1;

/// How the spinners of one kind of lock look at it.
#[derive(Debug)]
pub(super) struct Probing {
    /// For how long, in nanoseconds.
    pub(super) spin_ns: u64,
    /// For how much longer as long as the lock has one owner: one whose section is long. A spinner
    /// that others are ahead of again and again had better sleep.
    pub(super) longer_ns: u64,
    /// What a simulation calls these constants.
    #[cfg(simulated)]
    pub(super) spin: Constant,
    #[cfg(simulated)]
    pub(super) longer: Constant,
    /// Pauses between two probes, at first. A probe takes the cache line away from the holder, and
    /// one that comes late costs its own delay.
    pub(super) pauses: u32,
    /// The same, at most.
    pub(super) most_pauses: u32,
    /// Pauses for which a spinner without a role doesn't say in the word that it spins. Its bit
    /// makes the holder's next exchange fail, and spares it a wake only if waiters are queued and
    /// none has been woken.
    pub(super) unseen: u32,
    /// The same at a lock that others may join its holders in, as readers do: one after the other,
    /// they leave it free for no longer than a few instructions, until they see that one spins.
    pub(super) unseen_by_sharers: u32,
    /// Two contentions within the time of so many looks at the clock are a thread's that does
    /// little inside and in between: too little to be worth the cache line's way to another
    /// processor.
    pub(super) short_looks: u64,
    /// The same within the time of so many transfers of the line, if the thread waited for much of
    /// it (`is_short`).
    pub(super) short_lines: u64,
    /// How long such a thread stands aside before it probes; 0 if it doesn't. Threads that take a
    /// lock in turn for a few instructions do nothing but move its cache line: the longer one
    /// leaves the other alone with it, the better for both.
    pub(super) aside_ns: u64,
    /// How often a waiter yields before it sleeps, on two processors: fewer times on more.
    pub(super) yields: u32,
}

impl Probing {
    /// For how long a spinner looks at a lock that changes hands, in nanoseconds.
    pub(super) fn spin_ns(&self) -> u64 {
        #[cfg(simulated)]
        return constant::value(self.spin, self.spin_ns);
        #[cfg(not(simulated))]
        self.spin_ns
    }

    fn longer_ns(&self) -> u64 {
        #[cfg(simulated)]
        return constant::value(self.longer, self.longer_ns);
        #[cfg(not(simulated))]
        self.longer_ns
    }
}

/// A spinner that has paused so many times pauses one more before each probe: it looks the more
/// rarely the longer it has waited.
const PAUSES_FOR_ONE_MORE: u32 = 8;

/// What a short interval adds to a thread's count, from which each longer one takes 1, the most it
/// comes to, and above what sections count as short. (Where they are longer, next to no interval is
/// short. Where they are short, most intervals are longer, of threads that took the lock several
/// times before they met.)
const SHORT_ADDS: u32 = 8;
const MOST_SHORT: u32 = 16;

/// One in so many spells is timed, and plain: the time until the next shows how things are now.
pub(super) const TIMED_SPELLS: u32 = 32;

/// Pauses before the clock is looked at.
const BLIND_PAUSES: u32 = 32;

/// For so many pauses, some 0.7 us, a thread looks at a word to see whether sections are long, or
/// whether others share a lock without a gap.
const LONG_PAUSES: u32 = 32;
/// They are where it changes no more often than this. (A thread that enters and leaves changes it
/// twice. Where it does nothing inside and outside, the word changes at every other look.)
const MOST_CHANGES: u32 = 4;
/// They are, too, where it is seen shared so often.
const LEAST_SHARED: u32 = 24;

/// So many spells in vain in a row show that spinning doesn't pay.
pub(super) const IN_VAIN: u32 = 2;

/// So many spells in vain in a row show that the holder is off its processor as a rule.
const HOLDERS_OFF: u32 = 6;

/// One spell of spinning.
pub(super) struct Spin {
    key: Key,
    probing: &'static Probing,
    /// Pauses so far, without the time spent aside.
    pauses: u32,
    ends_ns: u64,
    /// It begins by standing aside.
    begins_aside: bool,
    /// The wait is to be noted, and the interval that begins with it.
    is_timed: bool,
    /// How long a look at the word takes is to be noted.
    times_look: bool,
    /// It was asked whether pauses pay, and may pause: what it comes to is learnt.
    is_paid: bool,
    /// The owner that was seen last, and whether there was another before.
    owner: u32,
    saw_others: bool,
}

impl Spin {
    /// A plain spell for the lock at `key`.
    pub(super) fn new(key: Key, probing: &'static Probing) -> Self {
        Self {
            key,
            probing,
            pauses: 0,
            ends_ns: 0,
            begins_aside: false,
            is_timed: false,
            times_look: false,
            is_paid: false,
            owner: 0,
            saw_others: false,
        }
    }

    /// A spell that begins as the thread has learnt.
    pub(super) fn learnt(key: Key, probing: &'static Probing) -> Self {
        let plain = Self::new(key, probing);
        if probing.aside_ns == 0 || cfg!(any(loom, shuttle)) {
            return plain;
        }
        let Some(thread) = lot::own() else { return plain };
        let spells = thread.notes.counts[SPELLS].load(Ordering::Relaxed).wrapping_add(1);
        thread.notes.counts[SPELLS].store(spells, Ordering::Relaxed);
        let phase = spells % adjustable!(TIMED_SPELLS, TimedSpells);
        match phase {
            0 => {
                begin_interval(&thread.notes);
                return Self { is_timed: true, ..plain };
            }
            1 => end_interval(&thread.notes, probing),
            _ => {}
        }
        // Every other spell is plain. Of two threads of which one always stood aside, the other
        // would hardly meet contention, and never learn to.
        let begins_aside = does_little(&thread.notes) && spells % 2 == 0;
        // (The timed spell times no look: the clock would be a part of the interval.)
        Self { begins_aside, times_look: phase == 2, ..plain }
    }

    /// Whether to pause for a lock that has this owner (0 if none is known): not while the owner is
    /// known to have no processor, and seldom where spells have been in vain lately. Asked last, by
    /// a caller that nothing else keeps from it: an answer may use up a trial.
    pub(super) fn pays(&mut self, owner: u32) -> bool {
        // The spell isn't over, but its end says nothing of this lock's sections.
        if monitor::has_processor(owner, lot::tid) == Some(false) {
            return false;
        }
        self.saw_others |= self.is_paid && owner != self.owner;
        self.owner = owner;
        self.is_paid = self.is_paid || pays(self.key);
        self.is_paid
    }

    /// The lock was seen free: the pauses, if there were any, have paid.
    pub(super) fn is_rewarded(&self) {
        if self.is_timed {
            note_wait();
        }
        if self.pauses != 0 {
            self.learn(true);
        }
    }

    /// (A reader that only steps aside for a writer learns nothing of the writers' sections.)
    fn learn(&self, rewarded: bool) {
        if self.is_paid && !cfg!(any(loom, shuttle)) {
            let learnt = &lot::advice(self.key)[SPINNING];
            trials::learn(learnt, rewarded);
            if !rewarded && !self.saw_others {
                trials::suspend(learnt);
            }
        }
    }

    /// Times a look at the lock's word after a pause, before which it was `seen`, if that is to be
    /// noted.
    #[inline]
    pub(super) fn time_look(&mut self, seen: u64, load: impl Fn() -> u64) {
        if self.times_look && self.pauses < adjustable!(BLIND_PAUSES, BlindPauses) {
            self.times_look = !has_noted_look(seen, load);
        }
    }

    /// Whether the next pause is the long one, aside.
    pub(super) fn is_to_stand_aside(&self) -> bool {
        self.pauses == 0 && self.begins_aside
    }

    /// It doesn't stand aside after all.
    pub(super) fn goes_on(&mut self) {
        self.begins_aside = false;
    }

    /// Whether it isn't worth a bit in the word yet.
    pub(super) fn is_unseen(&self, is_shared: bool) -> bool {
        let unseen = if is_shared {
            adjustable!(self.probing.unseen_by_sharers, UnseenBySharers)
        } else {
            adjustable!(self.probing.unseen, UnseenPauses)
        };
        self.is_to_stand_aside() || (self.pauses < unseen && !cfg!(any(loom, shuttle)))
    }

    /// Pauses before the next probe. False when it is time to sleep.
    pub(super) fn pause(&mut self) -> bool {
        self.pause_and(|| {})
    }

    /// The same, and calls `look` again and again as long as it stands aside.
    pub(super) fn pause_and(&mut self, look: impl FnMut()) -> bool {
        if cfg!(any(loom, shuttle)) {
            // One probe more: a model has no time, only order.
            self.pauses += 1;
            return self.pauses == 1;
        }
        if self.is_to_stand_aside() {
            stand_aside(self.probing, look);
        }
        let least = adjustable!(self.probing.pauses, ProbePauses);
        let most = adjustable!(self.probing.most_pauses, MostProbePauses).max(least);
        let pauses = (self.pauses / PAUSES_FOR_ONE_MORE).clamp(least, most);
        for _ in 0..pauses {
            spin_loop();
        }
        self.pauses += pauses;
        if self.pauses < adjustable!(BLIND_PAUSES, BlindPauses) {
            return true;
        }
        let now = monotonic_ns();
        if self.ends_ns == 0 {
            self.ends_ns = now + self.probing.spin_ns();
        }
        let longer_ns = if self.saw_others { 0 } else { self.probing.longer_ns() };
        let goes_on = now < self.ends_ns + longer_ns;
        if !goes_on {
            self.learn(false);
        }
        goes_on
    }
}

/// Whether the thread with these notes lately met contention again at once, so that it does little
/// inside and outside of its locks.
fn does_little(notes: &Notes) -> bool {
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
    if spells % adjustable!(TIMED_SPELLS, TimedSpells) == 0 {
        let began = times[CONTENDED].load(Ordering::Relaxed);
        times[CONTENDED].store(began.saturating_add(worked_ns()), Ordering::Relaxed);
    }
}

/// Begins an interval with this contention of the thread with these notes.
fn begin_interval(notes: &Notes) {
    notes.counts[WAITED].store(0, Ordering::Relaxed);
    notes.times[CONTENDED].store(monotonic_ns(), Ordering::Relaxed);
}

/// Ends it with this one, and learns from it.
fn end_interval(notes: &Notes, probing: &Probing) {
    let Notes { times, counts, .. } = notes;
    let looks = [(); 3].map(|()| monotonic_ns());
    let look = looks[1].saturating_sub(looks[0]).min(looks[2].saturating_sub(looks[1]));
    let waited = counts[WAITED].load(Ordering::Relaxed);
    // (Without the look that noted the wait.)
    let noting = if waited == 0 { 0 } else { look };
    let began = times[CONTENDED].load(Ordering::Relaxed).saturating_add(noting);
    let lasted = looks[0].saturating_sub(began);
    let line = counts[LINE].load(Ordering::Relaxed).saturating_sub(nanoseconds(look));
    let is_short = is_short(Interval { lasted, waited, look, line }, probing);
    let short = counts[SHORT_SPELLS].load(Ordering::Relaxed);
    counts[SHORT_SPELLS].store(after_interval(short, is_short), Ordering::Relaxed);
}

/// Notes how long the spell has taken with which an interval began.
fn note_wait() {
    let Some(thread) = lot::own() else { return };
    let Notes { times, counts, .. } = &thread.notes;
    let waited = monotonic_ns().saturating_sub(times[CONTENDED].load(Ordering::Relaxed));
    counts[WAITED].store(nanoseconds(waited), Ordering::Relaxed);
}

/// Notes how long a load of a word takes, with a look at the clock, if another processor has
/// written it since it was `seen`. Returns whether one has, or nothing can be noted.
fn has_noted_look(seen: u64, load: impl Fn() -> u64) -> bool {
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
fn is_short(interval: Interval, probing: &Probing) -> bool {
    let Interval { lasted, waited, look, line } = interval;
    let waits = u64::from(waited) * 4 > lasted;
    let by_clock = lasted < adjustable!(probing.short_looks, ShortLooks) * look;
    let by_line = lasted < adjustable!(probing.short_lines, ShortLines) * u64::from(line);
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

fn stand_aside(probing: &Probing, mut look: impl FnMut()) {
    let until = monotonic_ns() + adjustable!(probing.aside_ns, Aside);
    while monotonic_ns() < until {
        for _ in 0..probing.most_pauses {
            spin_loop();
        }
        look();
    }
}

/// As if spells for the lock at `key` had been in vain again and again.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_holders_are_off(key: Key) {
    (0..HOLDERS_OFF).for_each(|_| trials::learn(&lot::advice(key)[SPINNING], false));
}

/// As if this thread had met contention again and again at once.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) fn learn_that_sections_are_short() {
    let node = lot::node().unwrap();
    node.notes.counts[SPELLS].store(1, Ordering::Relaxed);
    node.notes.counts[SHORT_SPELLS].store(MOST_SHORT, Ordering::Relaxed);
}

/// Whether a thread that waits for the lock at `key` spins before it sleeps.
///
/// A holder that sleeps, yields or has lost its processor makes each spin vain, and so does a
/// section longer than the budget. The bucket remembers what the last spells came to. After one in
/// vain no wait spins until the lock has changed hands (`changes_hands`): the holder most likely
/// has no processor, and none of those that come next has a better chance. Once some were in vain
/// in a row, a wait spins only now and then, as a trial, and more rarely with each that fails.
fn pays(key: Key) -> bool {
    if cfg!(any(loom, shuttle)) {
        return true;
    }
    // (This makes the table, which knows the processors.)
    let learnt = &lot::advice(key)[SPINNING];
    !lot::is_single() && trials::are_due(learnt, adjustable!(IN_VAIN, InVain))
}

/// The lock at `key` is being taken or released. (A release that wakes no thread needn't say so:
/// the waiter that is on its way does.)
pub(super) fn changes_hands(key: Key) {
    // (On one processor there are no spells.)
    if !cfg!(any(loom, shuttle)) && !lot::seems_single() {
        trials::resume(&lot::advice(key)[SPINNING]);
    }
}

pub(super) fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}

/// Whether a lock's sections are long enough for another processor to have a part in them: its word
/// changes seldom, or others share the lock nearly all the time. The word of a lock that threads
/// take and release at once changes again and again, and half of the time it is free.
pub(super) fn are_sections_long(load: impl Fn() -> u64, is_shared: impl Fn(u64) -> bool) -> bool {
    if cfg!(any(loom, shuttle)) {
        return true;
    }
    let mut last = load();
    let (mut changes, mut shared) = (0, 0);
    for _ in 0..LONG_PAUSES {
        spin_loop();
        let now = load();
        changes += u32::from(now != last);
        shared += u32::from(is_shared(now));
        last = now;
    }
    changes <= adjustable!(MOST_CHANGES, MostChanges) || shared >= LEAST_SHARED
}

/// Whether others share a lock without a gap: they overlap, or one of them has lost its processor.
pub(super) fn is_shared_on_end(is_shared: impl Fn() -> bool) -> bool {
    let looks = if cfg!(any(loom, shuttle)) { 1 } else { LONG_PAUSES };
    (0..looks).all(|_| {
        spin_loop();
        is_shared()
    })
}

/// Whether those that hold the lock at `key` are off their processors as a rule, as its last spells
/// show: they sleep or yield. (Or a section takes longer than a spell.)
pub(super) fn are_holders_off(key: Key) -> bool {
    !cfg!(any(loom, shuttle)) && spells_in_vain(key) >= adjustable!(HOLDERS_OFF, HoldersOff)
}

/// Whether a waiter of the lock at `key` is better woken on its waker's processor: the waker is
/// about to sleep or yield, as those that hold this lock do, and no other processor idles. (Or
/// sections are longer than a spell: there it makes no difference.)
pub(super) fn is_near_better(key: Key) -> bool {
    !lot::seems_single() && are_holders_off(key) && busy::is_busy()
}

/// How many spells for the lock at `key` were in vain, in a row until now.
pub(super) fn spells_in_vain(key: Key) -> u32 {
    trials::in_vain(&lot::advice(key)[SPINNING])
}

fn wakes_ahead(key: Key) -> &'static AtomicU32 {
    &lot::advice(key)[WAKES_AHEAD]
}

/// How many woken waiters of the lock at `key` should be on their way at a time, at least 1.
///
/// One, as long as woken waiters find the lock taken: more would be a swarm. If they find it free,
/// critical sections are short beside a wake, and with one wake at a time processors stand idle
/// between a release and the next waiter's start. The bucket remembers (`learn`), and where threads
/// meet contention seldom one for each processor at most.
///
/// One where priorities count: of two that are woken, the wrong one may be first. One on a single
/// processor: the first that is woken takes the lock before the second runs. And one where holders
/// sleep or yield, which spells of spinning show: there a waiter now and then finds the lock free,
/// though only one can have it.
pub(super) fn how_far_ahead(key: Key) -> u32 {
    if lot::seems_single() || lot::are_there_ranks() || are_holders_off(key) {
        return 1;
    }
    let each = adjustable!(AHEAD_A_PROCESSOR, AheadAProcessor);
    let most = (each * lot::processors() as u32).min(adjustable!(MOST_AHEAD, MostAhead));
    (1 + wakes_ahead(key).load(Ordering::Relaxed)).min(most)
}

/// Notes how a woken waiter found the lock, and whether contention there is sparse, as far as it
/// knows.
pub(super) fn learn(key: Key, found_free: bool, is_sparse: bool) {
    let hint = wakes_ahead(key);
    let ahead = hint.load(Ordering::Relaxed);
    let new = ahead_after(ahead, found_free, is_sparse.then_some(lot::processors() as u32));
    if new != ahead {
        hint.store(new, Ordering::Relaxed);
    }
}

/// How many wakes ahead, besides one, a bucket has after a wake, if it had so many before; on so
/// many `processors`, if contention is sparse.
fn ahead_after(ahead: u32, found_free: bool, processors: Option<u32>) -> u32 {
    let each = adjustable!(AHEAD_IF_SPARSE, AheadIfSparse);
    let most = processors.map_or(MOST_AHEAD, |processors| (each * processors).saturating_sub(1));
    let new = if found_free { ahead + 1 } else { ahead / 2 };
    new.min(most).min(MOST_AHEAD)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    static PLAIN: Probing = Probing {
        spin_ns: 25_000,
        longer_ns: 0,
        #[cfg(simulated)]
        spin: Constant::MutexSpin,
        #[cfg(simulated)]
        longer: Constant::MutexSpinsLonger,
        pauses: 1,
        most_pauses: 1,
        unseen: 0,
        unseen_by_sharers: 0,
        short_looks: 8,
        short_lines: 8,
        aside_ns: 0,
        yields: 0,
    };

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
            |lasted, waited, line| is_short(Interval { lasted, waited, look: 20, line }, &PLAIN);
        assert!(is_short(159, 0, 0) && !is_short(160, 100, 0));
        // Turns of 0.1 us, and as much in between.
        assert!(!is_short(280, 80, 12) && is_short(680, 210, 135));
        assert!(!is_short(680, 150, 135) && !is_short(1_100, 800, 135));
    }

    #[test]
    #[cfg(not(simulated))]
    fn fewer_wakes_are_ahead_where_contention_is_sparse() {
        let after = |wakes, processors| (0..wakes).fold(0, |n, _| ahead_after(n, true, processors));
        assert_eq!((after(3, None), after(1_000, None)), (3, MOST_AHEAD));
        // (Besides one.)
        assert_eq!((after(9, Some(2)), after(3, Some(64)), after(99, Some(64))), (1, 3, 63));
        assert_eq!(after(9, Some(1)), 0);
        for found_free in [false, true] {
            assert_eq!(ahead_after(MOST_AHEAD, found_free, Some(2)), 1, "at once");
        }
        assert_eq!(ahead_after(8, false, None), 4);
        assert_eq!(after(1_000, Some(1_024)), MOST_AHEAD);
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

    /// What comes of a word that changes at each `period`-th look, and is shared at each look that
    /// `is_shared` holds for.
    fn are_long(period: u32, is_shared: impl Fn(u32) -> bool) -> bool {
        let looks = core::cell::Cell::new(0);
        let load = || {
            looks.set(looks.get() + 1);
            u64::from(looks.get() / period)
        };
        let are_long = are_sections_long(load, |_| is_shared(looks.get()));
        assert_eq!(looks.get(), LONG_PAUSES + 1);
        are_long
    }

    #[test]
    fn sections_are_long_where_the_word_seldom_changes() {
        let all = LONG_PAUSES + 1;
        assert!(are_long(2 * all, |_| false) && are_long(all, |_| false));
        assert!(are_long(all / MOST_CHANGES, |_| false));
        assert!(!are_long(all / (MOST_CHANGES + 1), |_| false) && !are_long(1, |_| false));
    }

    #[test]
    fn sections_are_long_where_threads_share_the_lock_nearly_all_the_time() {
        assert!(are_long(1, |_| true) && are_long(1, |look| look % 5 != 0));
        assert!(!are_long(1, |look| look % 2 == 0) && !are_long(1, |look| look % 3 != 0));
    }

    #[test]
    fn a_spinner_is_seen_sooner_where_others_share_the_lock() {
        static PROBING: Probing = Probing { unseen: 64, unseen_by_sharers: 8, ..PLAIN };
        let spell = Spin { pauses: 8, ..Spin::new(Key::mutex(8), &PROBING) };
        assert!(spell.is_unseen(false) && !spell.is_unseen(true));
        let spell = Spin { pauses: 64, ..spell };
        assert!(!spell.is_unseen(false) && !spell.is_unseen(true));
    }

    #[test]
    #[cfg(not(simulated))]
    fn no_thread_spins_for_an_owner_without_a_processor() {
        const OFF: u32 = (1 << 22) - 2;
        let lock = 0_u32;
        let key = Key::mutex((&raw const lock).addr());
        // Locks of other tests may share the bucket, and leave there that spinning is in vain.
        let spin = || {
            lot::advice(key)[SPINNING].store(0, Ordering::Relaxed);
            Spin::new(key, &PLAIN)
        };
        assert_eq!(spin().pays(OFF), !lot::is_single(), "nothing is known");
        monitor::pretend(OFF, || {
            assert!(!spin().pays(OFF));
            let mut spell = spin();
            assert_eq!(spell.pays(lot::tid()), !lot::is_single());
            assert!(!spell.pays(OFF), "the owner may lose it while the spell lasts");
        });
        assert_eq!(spin().pays(OFF), !lot::is_single(), "nothing is known any more");
    }
}
