//! How long a thread spins, and how many wakes are under way at a time; what threads and buckets
//! learn of that, in the room that the engine has for locks.

use super::holder::Holder;
use super::interval::{self, Part, Short};
use super::{busy, trials};
use crate::lot::{self, Key};
use crate::prim::adjustable;
use crate::prim::atomic::{AtomicU32, Ordering};
#[cfg(simulated)]
use crate::prim::constant::{self, Constant};
use crate::prim::spin_loop;
use crate::sys::clock::monotonic_ns;
use crate::sys::monitor;

/// Of a thread's times, in monotonic nanoseconds, beside that of `interval`: when it last came out
/// of a lock's queue, for how long it had waited in that queue, if that is known, when it last read
/// past sleepers (`turn`), where and when a look before a sleep was last rewarded (`patience`),
/// holding which mutex it last woke a waiter early (`mutex/early.rs`), and how much processor time
/// it had used when it was last about to yield (`yields/share.rs`).
pub(super) const ACTIVE_SINCE: usize = 0;
pub(super) const QUEUED_FOR: usize = 2;
pub(super) const PASSED_SLEEPERS: usize = 3;
pub(super) const LOOKED_AT: usize = 4;
pub(super) const REWARDED: usize = 5;
pub(super) const WOKE_EARLY: usize = 6;
pub(super) const USED_BEFORE: usize = 7;

/// Of a thread's counts, beside those of `interval`: how often it had met contention when it last
/// came out of a lock's queue (`turn`), and what had been learnt of looks before that which was
/// rewarded last (`patience`).
pub(super) const SPELLS_BEFORE: usize = 4;
pub(super) const LEARNT_BEFORE: usize = 5;

/// Of a bucket's advice: how many wakes at once have paid; what looks before a sleep have paid
/// (`patience`), in a rwlock's what its word looked like (`surplus`); what spells of spinning came
/// to (`pays`), or on the only processor, where none spins, how often a lock was taken past the
/// spinner that yields (`yields`); what yields did (`yields`): a rwlock's waiters', or a mutex's to
/// its holder; in a mutex's what signals did that woke their waiter at once (`balance`), and how
/// many wakes in a row were in vain (`naps`), on the only processor what yields to woken waiters
/// came to (`yields`); and in a rwlock's how often nobody was inside (`sharing`).
const WAKES_AHEAD: usize = 0;
pub(super) const LOOKS: usize = 1;
pub(super) const CROWDING: usize = 1;
const SPINNING: usize = 2;
pub(super) const STEALS: usize = 2;
pub(super) const YIELDS: usize = 3;
pub(super) const HOLDER_YIELDS: usize = 3;
pub(super) const SIGNALS: usize = 4;
pub(super) const SHARING: usize = 5;
pub(super) const VAIN_WAKES: usize = 5;
pub(super) const PAST_WOKEN: usize = 5;

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
    /// Whether waiters make a spell that is cut short (`SHORT`) where they may make no whole one.
    pub(super) is_cut_short: bool,
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
    /// Which intervals between two contentions are short.
    pub(super) short: Short,
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

/// A spell that is cut short is so many times as long as it takes until whole ones are rewarded, as
/// a rule; half as long as a whole one at most. (docs/experiments.md, "Spells that are cut short".)
const SHORT: u32 = 2;

/// A spell asks whether the holder runs after one part of so many of the longest one, and then
/// after twice as long each time.
const ASKS_AFTER: u64 = 8;

/// One spell of spinning.
pub(super) struct Spin {
    key: Key,
    probing: &'static Probing,
    /// Pauses so far, without the time spent aside.
    pauses: u32,
    ends_ns: u64,
    holder: Holder,
    /// It begins by standing aside.
    begins_aside: bool,
    /// The wait is to be noted, and the interval that begins with it.
    is_timed: bool,
    /// How long a look at the word takes is to be noted.
    times_look: bool,
    /// It was asked whether pauses pay, and may pause: what it comes to is learnt.
    is_paid: bool,
    /// It is cut short after so many pauses, and nothing is learnt from it.
    short: Option<u32>,
    /// It has ended without a reward.
    is_over: bool,
    /// The owner that was seen last, whether it holds the lock since the last look, and whether
    /// there was another before.
    owner: u32,
    is_owned: bool,
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
            holder: Holder::default(),
            begins_aside: false,
            is_timed: false,
            times_look: false,
            is_paid: false,
            short: None,
            is_over: false,
            owner: 0,
            is_owned: false,
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
        let spells = interval::count(&thread.notes);
        let part = interval::part_of(&thread.notes, spells);
        match part {
            Part::Begins => {
                interval::begin(&thread.notes);
                return Self { is_timed: true, ..plain };
            }
            Part::Ends => interval::end(&thread.notes, &probing.short),
            Part::Looks | Part::None => {}
        }
        // Every other spell is plain. Of two threads of which one always stood aside, the other
        // would hardly meet contention, and never learn to.
        let begins_aside = interval::does_little(&thread.notes) && spells % 2 == 0;
        Self { begins_aside, times_look: part == Part::Looks, ..plain }
    }

    /// Whether to pause for a lock that has this owner (0 if none is known): not while the owner is
    /// known to have no processor, and seldom where spells have been in vain lately, or for a spell
    /// that is cut short, if this may be one. Asked last, by a caller that nothing else keeps from
    /// it: an answer may use up a trial.
    pub(super) fn pays(&mut self, owner: u32, may_be_short: bool) -> bool {
        // The spell isn't over, but its end says nothing of this lock's sections.
        if monitor::has_processor(owner, lot::tid) == Some(false) {
            return false;
        }
        self.saw_others |= self.is_paid && owner != self.owner;
        self.owner = owner;
        self.is_owned = owner != 0;
        if !self.is_paid && self.short.is_none() {
            self.is_paid = pays(self.key);
            if !self.is_paid && may_be_short && self.probing.is_cut_short {
                // (A reader may have paused for a spinner before.)
                self.short = pauses_if_short(self.key).map(|pauses| self.pauses + pauses);
            }
        }
        (self.is_paid || self.short.is_some()) && !self.is_over
    }

    /// Whether it is to be cut short, or was.
    pub(super) fn is_short(&self) -> bool {
        self.short.is_some()
    }

    /// The lock was seen free: the pauses, if there were any, have paid.
    pub(super) fn is_rewarded(&self) {
        if self.is_timed {
            interval::note_wait();
        }
        if self.pauses != 0 {
            let blind = self.pauses / BLIND_PAUSES;
            self.learn(Some(blind.checked_ilog2().map_or(0, |late| late + 1)));
        }
    }

    /// (A reader that only steps aside for a writer learns nothing of the writers' sections.)
    fn learn(&self, rewarded: Option<u32>) {
        if self.is_paid && !self.is_over && !cfg!(any(loom, shuttle)) {
            let learnt = &lot::advice(self.key)[SPINNING];
            trials::learn_by_share(learnt, rewarded);
            if rewarded.is_none() && !self.saw_others {
                trials::suspend(learnt);
            }
        }
    }

    /// Times a look at the lock's word after a pause, before which it was `seen`, if that is to be
    /// noted.
    #[inline]
    pub(super) fn time_look(&mut self, seen: u64, load: impl Fn() -> u64) {
        if self.times_look && self.pauses < adjustable!(BLIND_PAUSES, BlindPauses) {
            self.times_look = !interval::has_noted_look(seen, load);
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
        if self.short.is_some_and(|most| self.pauses >= most) {
            self.is_over = true;
            return false;
        }
        if self.pauses < adjustable!(BLIND_PAUSES, BlindPauses) {
            return true;
        }
        let now = monotonic_ns();
        if self.ends_ns == 0 {
            let whole_ns = self.probing.spin_ns();
            self.ends_ns = now + if self.is_short() { whole_ns / 2 } else { whole_ns };
            let longest_ns = self.probing.spin_ns() + self.probing.longer_ns();
            self.holder = Holder::since(now, longest_ns / ASKS_AFTER);
        }
        let longer_ns = if self.saw_others { 0 } else { self.probing.longer_ns() };
        let goes_on = now < self.ends_ns + longer_ns && !self.is_holder_off(now);
        if !goes_on {
            self.learn(None);
            self.is_over = true;
        }
        goes_on
    }

    /// Whether the owner that the spell has seen all the time, and at the last look, has no
    /// processor.
    fn is_holder_off(&mut self, now_ns: u64) -> bool {
        let is_known = core::mem::take(&mut self.is_owned) && !self.saw_others;
        is_known && self.holder.is_off(self.owner, now_ns)
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

/// Whether the last spell for the lock at `key` was rewarded, as far as is known.
pub(super) fn are_rewarded(key: Key) -> bool {
    trials::are_rewarded(&lot::advice(key)[SPINNING])
}

/// Whether a thread that waits for the lock at `key` spins before it sleeps.
///
/// A holder that sleeps, yields or has lost its processor makes each spin vain, and so does a
/// section longer than the budget. The bucket remembers what the last spells came to. After one in
/// vain no wait spins until the lock has changed hands (`changes_hands`): the holder most likely
/// has no processor, and none of those that come next has a better chance. Once some were in vain
/// in a row, a wait spins only now and then, as a trial, and more rarely with each that fails; and
/// where too large a share is in vain (`trials::learn_by_share`), until one is, and then again.
fn pays(key: Key) -> bool {
    if cfg!(any(loom, shuttle)) {
        return true;
    }
    // (This makes the table, which knows the processors.)
    let learnt = &lot::advice(key)[SPINNING];
    !lot::is_single() && trials::are_due(learnt, adjustable!(IN_VAIN, InVain))
}

/// For how many pauses a waiter spins at most where it is not to make a whole spell, if that pays.
fn pauses_if_short(key: Key) -> Option<u32> {
    let learnt = &lot::advice(key)[SPINNING];
    let pays = !lot::is_single() && trials::are_some_rewarded(learnt);
    pays.then(|| (BLIND_PAUSES * SHORT) << trials::lateness(learnt))
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

/// How many of a broadcast's waiters should be on their way to the mutex at `key` at once, if it is
/// free: at least two for each processor.
///
/// What is known of the mutex comes from those that wait for it. These may have little to do with
/// it: as a rule some look whether what they wait for has come, and wait again. So sections that
/// are long, or in which threads sleep, say nothing.
pub(super) fn how_far_ahead_of_broadcast(key: Key) -> u32 {
    const A_PROCESSOR: u32 = 2;
    const MOST: u32 = 8;
    let ahead = how_far_ahead(key);
    if lot::seems_single() || lot::are_there_ranks() || cfg!(any(loom, shuttle)) {
        return ahead;
    }
    ahead.max((A_PROCESSOR * lot::processors() as u32).min(MOST))
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

/// Calls `test` with the key of a lock and this word of its bucket's advice, in which nothing has
/// been learnt. (Locks of tests that run beside it may share the bucket, and then it is called
/// again, with another.)
#[cfg(all(test, not(any(loom, shuttle, simulated))))]
pub(super) fn with_bucket(
    kind: impl Fn(usize) -> Key,
    advice: usize,
    test: impl Fn(Key, &AtomicU32) -> bool,
) {
    let locks = [0_u64; 64];
    let passes = |lock: &u64| {
        let key = kind(core::ptr::from_ref(lock).addr());
        // (This makes the table, which knows the processors.)
        let learnt = &lot::advice(key)[advice];
        learnt.store(0, Ordering::Relaxed);
        test(key, learnt)
    };
    assert!(locks.iter().any(passes));
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    static PLAIN: Probing = Probing {
        spin_ns: 25_000,
        longer_ns: 0,
        is_cut_short: false,
        #[cfg(simulated)]
        spin: Constant::MutexSpin,
        #[cfg(simulated)]
        longer: Constant::MutexSpinsLonger,
        pauses: 1,
        most_pauses: 1,
        unseen: 0,
        unseen_by_sharers: 0,
        short: Short { looks: 8, lines: 8 },
        aside_ns: 0,
        yields: 0,
    };

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
    fn a_spell_in_vain_is_learnt_once() {
        static BRIEF: Probing = Probing { spin_ns: 1_000, ..PLAIN };
        with_bucket(Key::mutex, SPINNING, |key, learnt| {
            if lot::is_single() {
                return true;
            }
            let mut spell = Spin::new(key, &BRIEF);
            while spell.pays(1, true) && spell.pause() {}
            let once = learnt.load(Ordering::Relaxed);
            let stays = (0..9).all(|_| !spell.pays(1, true) && !spell.pause());
            spell.is_rewarded();
            stays && trials::in_vain(learnt) == 1 && learnt.load(Ordering::Relaxed) == once
        });
    }

    #[test]
    #[cfg(not(simulated))]
    fn a_short_spell_stands_in_for_whole_ones_until_all_were_in_vain_for_long() {
        static LONG: Probing = Probing { spin_ns: 50_000_000, is_cut_short: true, ..PLAIN };
        with_bucket(Key::mutex, SPINNING, |key, learnt| {
            if lot::is_single() {
                return true;
            }
            (0..IN_VAIN).for_each(|_| trials::learn(learnt, false));
            let mut spell = Spin::new(key, &LONG);
            let whole = spell.pays(1, false);
            let short = spell.pays(1, true);
            while short && spell.pause() {}
            let in_time = spell.pauses == SHORT * BLIND_PAUSES && !spell.pays(1, true);
            let learns_nothing = trials::in_vain(learnt) == IN_VAIN;
            (0..100).for_each(|_| trials::learn(learnt, false));
            let none_is_left = !Spin::new(key, &LONG).pays(1, true);
            !whole && short && in_time && learns_nothing && none_is_left
        });
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
        assert_eq!(spin().pays(OFF, true), !lot::is_single(), "nothing is known");
        monitor::pretend(OFF, || {
            assert!(!spin().pays(OFF, true));
            let mut spell = spin();
            assert_eq!(spell.pays(lot::tid(), true), !lot::is_single());
            assert!(!spell.pays(OFF, true), "the owner may lose it while the spell lasts");
        });
        assert_eq!(spin().pays(OFF, true), !lot::is_single(), "nothing is known any more");
    }

    #[test]
    #[cfg(not(simulated))]
    fn of_a_broadcast_several_are_woken_though_holders_are_off() {
        with_bucket(Key::mutex, SPINNING, |key, _| {
            learn_that_holders_are_off(key);
            let least = if lot::is_single() || lot::are_there_ranks() { 1 } else { 4 };
            how_far_ahead(key) == 1 && how_far_ahead_of_broadcast(key) >= least
        });
    }

    /// How many of 100 spells for a lock of this kind that thread `tid` holds end in the first
    /// three quarters of their length.
    #[cfg(not(any(miri, simulated)))]
    fn cut_short(probing: &'static Probing, tid: u32) -> usize {
        let whole_ns = probing.spin_ns() + probing.longer_ns();
        let locks: Vec<u64> = vec![0; 100];
        let is_short = |lock: &&u64| {
            let key = Key::mutex(core::ptr::from_ref(*lock).addr());
            lot::advice(key)[SPINNING].store(0, Ordering::Relaxed);
            let mut spell = Spin::new(key, probing);
            let began_ns = monotonic_ns();
            while spell.pays(tid, false) && spell.pause() {}
            monotonic_ns() - began_ns < whole_ns * 3 / 4
        };
        locks.iter().filter(is_short).count()
    }

    #[test]
    #[cfg(not(any(miri, simulated)))]
    fn a_spell_for_a_holder_that_sleeps_ends_early() {
        use crate::lock::holder::beside_a_sleeper;
        static MUTEXES: Probing = Probing { longer_ns: 75_000, ..PLAIN };
        static RWLOCKS: Probing = Probing { spin_ns: 50_000, ..PLAIN };
        _ = lot::node();
        let probings = if lot::is_single() { &[][..] } else { &[&MUTEXES, &RWLOCKS] };
        beside_a_sleeper(|sleeper| {
            for probing in probings {
                // (Another test's lock may be in the same bucket, and the sleeper has yet to
                // sleep.)
                assert!(cut_short(probing, sleeper) > 50);
                assert!(cut_short(probing, lot::tid()) < 50, "it runs");
            }
        });
    }
}
