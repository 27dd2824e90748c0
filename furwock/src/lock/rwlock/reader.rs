//! One reader's attempt to enter: what stops it, and how it is counted in. It queues and sleeps as
//! all waiters do (`contender`).

use super::RawRwLock;
use super::sharing::{self, Choice, Look};
use super::slots;
use super::state::{
    Kind, PROBING, PastSleepers, Stop, enters_after_writer, is_biased, is_open_but_for_sleepers,
    is_to_be_biased_first, is_worth_a_spin, is_written, may_park_reader, policy, read,
    read_at_once, readers, stops_reader,
};
use super::wanted::Wanted;
use crate::lock::bits::owner;
use crate::lock::contender::{Contender, Decision, Progress};
use crate::lock::options::{How, Options, Status};
use crate::lock::spin::Spin;
use crate::lock::turn;
use crate::lock::yields;
use crate::lot;
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use core::time::Duration;

/// Probes for which a reader lets a spinning writer go first, half a microsecond.
const PROBES_FOR_SPINNER: u32 = 20;

/// How long a thread may read past sleeping writers before it queues up behind them: a little
/// shorter than what they wait before they ask for the lock.
const READ_TURN_NS: u64 = 4_000_000;

/// How often a reader yields to sleeping writers before it reads past them, if readers hold the
/// lock without a gap, and the thread has read past none for so long. A reader without a processor,
/// for which they wait, mostly leaves meanwhile, and a writer gets in. Where threads meet sleepers
/// all the time, it is better to let one run than to switch.
const YIELDS_TO_SLEEPERS: u32 = 2;
const SELDOM_NS: u64 = 100_000;

/// How long a reader waits for writers that wait, where it may not be made to wait for them for
/// ever, with the time for which it yields.
const BRIEF: Duration = Duration::from_millis(10);

/// One reader's attempt to enter.
pub(super) struct Reader<'o> {
    lock: &'o RawRwLock,
    options: &'o Options,
    contender: Contender<'o, Wanted<'o>>,
    /// Waits for no other waiter.
    forced: bool,
    /// It has yielded while a writer was inside. Those that slept meanwhile enter together when the
    /// writer leaves, before the next that sleeps. So does this one, once, and before a writer that
    /// spins or has been woken.
    was_shut_out: bool,
    /// Another thread changed the word as this one was about to enter.
    has_lost: bool,
    /// Probes for which it has let a spinning writer go first.
    probes_for_spinner: u32,
    /// It reads past sleeping writers, once it has yielded to them so often.
    passes_after: Option<u32>,
}

impl<'o> Reader<'o> {
    pub(super) fn new(lock: &'o RawRwLock, options: &'o Options) -> Self {
        let wanted = Wanted { lock, kind: Kind::Reader, on_leave: None };
        let contender = Contender::new(wanted, options);
        let forced = options.recursive;
        Self {
            lock,
            options,
            contender,
            forced,
            was_shut_out: false,
            has_lost: false,
            probes_for_spinner: 0,
            passes_after: None,
        }
    }

    /// The same for a caller that has tried to pass sleepers.
    pub(super) fn after(mut self, past: PastSleepers) -> Self {
        self.has_lost = past == PastSleepers::Lost;
        self
    }

    /// Enters, or times out.
    #[inline(never)]
    pub(super) fn enter(mut self) -> Option<Status> {
        let key = self.lock.key();
        let mut spin: Option<Spin> = None;
        loop {
            // Acquire: as in `read_fast`.
            let word = self.lock.word.load(Ordering::Acquire);
            self.forced |= self.was_shut_out && enters_after_writer(word);
            let Some(stop) = self.stop(word) else {
                if self.stands_aside(word, &mut spin) {
                    continue;
                }
                if self.count_in(word) {
                    if let Some(spin) = spin {
                        spin.is_rewarded();
                        self.contender.is_rewarded();
                    }
                    return Some(self.contender.status);
                }
                self.has_lost = true;
                continue;
            };
            if stop == Stop::Sleepers && self.has_given_way() {
                continue;
            }
            let spell = spin.get_or_insert_with(|| self.learnt_spell());
            if self.may_spin(word, stop, spell) && spell.pause() {
                self.contender.note(How::Spun);
                spell.time_look(word, || self.lock.word.load(Ordering::Relaxed));
                continue;
            }
            if self.may_yield(stop) && self.contender.yield_once() {
                self.was_shut_out |= is_written(word);
                continue;
            }
            self.passes_after = None;
            match self.wait(word, stop) {
                Progress::LookAgain | Progress::IntervalOver => {
                    spin = Some(Spin::new(key, &PROBING));
                }
                Progress::Taken => return Some(self.contender.status),
                // A reader that waited only for waiting writers could have been inside all the
                // time.
                Progress::TimedOut => return self.enters_at_last(),
            }
        }
    }

    /// Enters if that is possible without waiting.
    pub(super) fn try_enter(mut self) -> bool {
        // A reader that doesn't wait for writers needn't give up for their sake.
        self.forced |= self.lock.policy().lets_readers_recurse();
        self.lock.forget_parents();
        loop {
            // Acquire: as in `read_fast`.
            let word = self.lock.word.load(Ordering::Acquire);
            match stops_reader(word, self.forced) {
                Some(Stop::Sleepers) if !turn_is_over() => {}
                Some(_) => return false,
                None => {}
            }
            if self.count_in(word) {
                return true;
            }
        }
    }

    /// What keeps this reader out for now. It steps aside for a writer that spins, for a moment,
    /// and for those that sleep: until it has yielded to them, and once its turn is over.
    fn stop(&mut self, word: u64) -> Option<Stop> {
        let most_probes = adjustable!(PROBES_FOR_SPINNER, ReaderProbes);
        match stops_reader(word, self.forced)? {
            Stop::Spinner if self.probes_for_spinner >= most_probes => None,
            Stop::Spinner => {
                self.probes_for_spinner += 1;
                Some(Stop::Spinner)
            }
            Stop::Sleepers if self.passes_sleepers() => None,
            stop => Some(stop),
        }
    }

    /// Whether this reader now reads past the sleeping writers that it has met.
    fn passes_sleepers(&mut self) -> bool {
        self.passes_after = self.passes_after.or_else(|| self.yields_to_sleepers());
        self.passes_after == Some(0)
    }

    /// Yields to sleeping writers, if this reader passes them in the end, as it does in its turn.
    /// (The yields may take longer than that: it was to enter before them, and does.) Returns
    /// whether it passes. Nothing is learnt from these yields.
    fn has_given_way(&mut self) -> bool {
        let Some(yields) = self.passes_after else { return false };
        // (That was long ago once it has yielded.)
        self.has_lost = false;
        let left = if yields::yield_to_others(self.lock.key()) {
            self.contender.note(How::Spun);
            if let Some(run) = turn::run() {
                run.note_sleepers();
            }
            yields.saturating_sub(1)
        } else {
            0
        };
        self.passes_after = Some(left);
        true
    }

    /// How often this reader is to yield to sleeping writers before it reads past them; `None` if
    /// it waits for them.
    fn yields_to_sleepers(&self) -> Option<u32> {
        if !self.options.steal {
            return None;
        }
        // (A model has no turns.)
        let Some(run) = turn::run() else { return Some(0) };
        if run.ran_ns > read_turn_ns() {
            return None;
        }
        // There a writer may wait for this reader (and with locks of POSIX's default kind it gains
        // nothing).
        if self.lock.policy().lets_readers_recurse() {
            return Some(0);
        }
        run.note_sleepers();
        let gives_way = run.no_sleepers_ns >= adjustable!(SELDOM_NS, SeldomSleepers)
            && !lot::is_single()
            && self.contender.may_yield()
            && self.contender.is_shared_on_end();
        Some(if gives_way { adjustable!(YIELDS_TO_SLEEPERS, YieldsToSleepers) } else { 0 })
    }

    /// Pauses once, for long, if this thread was kept from a lock that is open by another that took
    /// it at that moment, and both do little inside and outside of it (`Spin::learnt`).
    ///
    /// A lock without sleepers has just been tried, so that this is so. If there are sleepers,
    /// readers that overlap come here too, and an exchange tells: the caller's, or the first here.
    fn stands_aside(&self, word: u64, spin: &mut Option<Spin>) -> bool {
        let was_open = if self.has_lost {
            is_open_but_for_sleepers(word)
        } else {
            read_at_once(word).is_some()
        };
        if spin.is_some() || !was_open {
            return false;
        }
        let spell = spin.get_or_insert_with(|| self.learnt_spell());
        spell.is_to_stand_aside() && self.stand_aside(spell)
    }

    /// Stands aside, or not, as has been learnt at this lock of readers that do.
    fn stand_aside(&self, spell: &mut Spin) -> bool {
        let key = self.lock.key();
        match sharing::choose(key) {
            Choice::In => {
                spell.goes_on();
                false
            }
            Choice::Aside => spell.pause(),
            Choice::AsideLooking => {
                let mut look = Look::default();
                let goes_on = spell.pause_and(|| {
                    let word = self.lock.word.load(Ordering::Relaxed);
                    look.add(readers(word) + u64::from(owner(word) != 0));
                });
                look.note(key);
                goes_on
            }
        }
    }

    /// A spell of spinning that begins as the thread has learnt. A caller that is not to spin never
    /// stands aside, nor does one that may read this lock already, so that writers wait for it; nor
    /// one on a single processor: no other thread runs meanwhile.
    fn learnt_spell(&self) -> Spin {
        let key = self.lock.key();
        if !self.options.spin || self.options.recursive || lot::is_single() {
            return Spin::new(key, &PROBING);
        }
        Spin::learnt(key, &PROBING)
    }

    /// Enters a lock that was seen open.
    fn count_in(&self, seen: u64) -> bool {
        if is_to_be_biased_first(seen) {
            return self.count_in_and_bias_first(seen);
        }
        let may_bias = !slots::are_given_back_by_others();
        // It may have become biased since.
        (is_biased(seen) && self.lock.read_biased())
            || self.lock.exchange(seen, read(seen, may_bias), Ordering::Acquire).is_ok()
    }

    /// Enters a hot lock that was never biased, and biases it if no thread is in the way.
    ///
    /// A lock that lay here before may have left its address in slots: a guard was forgotten, or
    /// the lock itself. Those slots mustn't speak of this one. WAS_BIASED is set under the bucket's
    /// lock alone: while it is clear there, no thread has ever published this lock (W-5).
    #[cold]
    fn count_in_and_bias_first(&self, seen: u64) -> bool {
        if lot::may_not_lock() || slots::are_given_back_by_others() {
            return self.lock.exchange(seen, read(seen, false), Ordering::Acquire).is_ok();
        }
        let key = self.lock.key();
        let late = mutant::active(Mutant::FirstBiasUnlocked);
        let _bucket = (!late).then(|| lot::lock(key));
        if !late && self.lock.word.load(Ordering::Relaxed) != seen {
            return false;
        }
        slots::forget(self.lock.address());
        // Release: a reader that sees the bias publishes itself after the slots were emptied.
        self.lock.exchange(seen, read(seen, true), Ordering::AcqRel).is_ok()
    }

    fn may_spin(&self, word: u64, stop: Stop, spin: &mut Spin) -> bool {
        match stop {
            Stop::Spinner => true,
            Stop::Closed => {
                self.options.spin
                    && is_worth_a_spin(word, turn_is_over)
                    && spin.pays(owner(word), true)
            }
            Stop::TooMany | Stop::Sleepers | Stop::WritersFirst => false,
        }
    }

    /// Whether to yield before sleeping.
    fn may_yield(&self, stop: Stop) -> bool {
        may_park_reader(stop) && self.contender.may_yield()
    }

    /// Queues and sleeps, or naps where it may not queue.
    fn wait(&mut self, seen: u64, stop: Stop) -> Progress {
        // Where readers may recurse, none is made to wait for ever for a writer that waits itself.
        let is_brief = |word| policy(word).lets_readers_recurse() && !is_written(word);
        let mut brief = is_brief(seen);
        let left = BRIEF.saturating_sub(self.contender.yielded_for());
        if brief && left.is_zero() {
            self.forced = true;
            return Progress::LookAgain;
        }
        let waited = if may_park_reader(stop) {
            let forced = self.forced;
            self.contender.wait(|_, clean| {
                brief = is_brief(clean);
                let stopped = stops_reader(clean, forced).is_some_and(may_park_reader);
                if !stopped && !mutant::active(Mutant::ReaderParksOnOpenLock) {
                    return Decision::Enter;
                }
                let kind = if brief { Kind::BriefReader } else { Kind::Reader };
                Decision::Queue { token: kind.token(), at_most: brief.then_some(left) }
            })
        } else if stop == Stop::Spinner {
            // The lock is open to readers: it isn't too late for this one, whatever its deadline.
            self.probes_for_spinner = adjustable!(PROBES_FOR_SPINNER, ReaderProbes);
            Progress::LookAgain
        } else {
            sys::thread::nap();
            self.contender.after_interval()
        };
        self.forced |= brief && matches!(waited, Progress::IntervalOver | Progress::TimedOut);
        waited
    }

    fn enters_at_last(self) -> Option<Status> {
        let status = self.contender.status;
        let may_recurse = self.lock.policy().lets_readers_recurse();
        (may_recurse && self.try_enter()).then_some(status)
    }
}

/// Whether this thread has read past sleeping writers for long enough.
fn turn_is_over() -> bool {
    turn::has_run_for(read_turn_ns())
}

fn read_turn_ns() -> u64 {
    adjustable!(READ_TURN_NS, ReadTurn)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::interval;
    use crate::lock::rwlock::state::{self, Policy, bits};
    use crate::lock::spin::{self, now_ns};
    use crate::lock::trials;
    use crate::lock::yields::share;
    use crate::sys::clock::Deadline;
    use crate::sys::sched_yield;

    #[test]
    fn a_reader_that_is_not_to_spin_does_not_stand_aside_either() {
        let lock = RawRwLock::new();
        let stands_aside = |options: &Options| {
            interval::learn_that_sections_are_short();
            Reader::new(&lock, options).learnt_spell().is_to_stand_aside()
        };
        assert!(!stands_aside(&Options::new().spin(false)));
        assert_eq!(stands_aside(&Options::new()), !lot::is_single());
    }

    #[test]
    fn at_a_lock_with_sleepers_a_reader_stands_aside_once_another_was_faster() {
        let open = state::free(Policy::Recursive) + state::ONE_READER;
        let stands_aside = |word, has_lost| {
            let lock = RawRwLock::with_policy(Policy::Recursive);
            interval::learn_that_sections_are_short();
            sharing::learn_that_readers(false, lock.key());
            let mut reader = Reader::new(&lock, &const { Options::new() });
            reader.has_lost = has_lost;
            reader.stands_aside(word, &mut None)
        };
        let may = !lot::is_single();
        for sleepers in [state::READERS_PARKED, state::WRITERS_PARKED, state::ONE_WAKE] {
            assert!(!stands_aside(open | sleepers, false));
            assert_eq!(stands_aside(open | sleepers, true), may);
        }
        assert_eq!(stands_aside(open, false), may);
        for closed in [state::WRITER, state::UPGRADING, state::HANDOFF, state::SPIN] {
            assert!(!stands_aside(open | closed, true), "{closed:#x}");
        }
    }

    #[test]
    fn a_reader_that_lost_as_it_passed_sleepers_has_lost_at_once() {
        let lock = RawRwLock::new();
        let after = |past| Reader::new(&lock, &const { Options::new() }).after(past).has_lost;
        assert!(after(PastSleepers::Lost));
        assert!(!after(PastSleepers::Not));
        assert_eq!(lock.read_past_sleepers(), PastSleepers::Not, "there are none");
        lock.word.fetch_or(state::WRITERS_PARKED, Ordering::Relaxed);
        // (The exchange is weak.)
        assert!((0..100).any(|_| lock.read_past_sleepers() == PastSleepers::Entered));
        assert_eq!(lock.read_past_sleepers(), PastSleepers::Not, "another reads");
        lock.word.store(0, Ordering::Relaxed);
    }

    #[test]
    fn a_reader_goes_in_where_readers_gain_by_sharing() {
        let stands_aside = |share: bool| {
            let lock = RawRwLock::new();
            sharing::learn_that_readers(share, lock.key());
            interval::learn_that_sections_are_short();
            let mut spell = None;
            let aside = Reader::new(&lock, &const { Options::new() })
                .stands_aside(state::ONE_READER, &mut spell);
            (aside, spell.unwrap().is_to_stand_aside())
        };
        // (Another test's lock may be in the same bucket.)
        if !lot::is_single() {
            assert!((0..100).any(|_| stands_aside(false).0));
            assert!((0..100).any(|_| stands_aside(true) == (false, false)));
        }
    }

    const LONG_AGO: Duration = Duration::from_secs(1);

    /// Whether a reader enters as said a lock of that policy, in which another reads and a writer
    /// seems to sleep. Its turn began, and it passed sleepers, so long ago. `None`: it queues, and
    /// finds that no writer sleeps.
    fn enters(
        how: Option<How>,
        options: &Options,
        [turn, passed]: [Duration; 2],
        vain_yields: u32,
        policy: Policy,
    ) -> bool {
        let enters = || {
            let lock = RawRwLock::with_policy(policy);
            let met = (state::free(policy) + state::ONE_READER) | state::WRITERS_PARKED;
            lock.word.store(met, Ordering::Relaxed);
            let learnt = &lot::advice(lock.key())[spin::YIELDS];
            learnt.store(0, Ordering::Relaxed);
            (0..vain_yields).for_each(|_| trials::learn(learnt, false));
            let times = &lot::node().unwrap().notes.times;
            let ago = |time: Duration| now_ns().saturating_sub(time.as_nanos() as u64);
            times[spin::ACTIVE_SINCE].store(ago(turn), Ordering::Relaxed);
            times[spin::PASSED_SLEEPERS].store(ago(passed), Ordering::Relaxed);
            let status = Reader::new(&lock, options).enter().unwrap();
            let has_passed = lock.word.load(Ordering::Relaxed) & state::WRITERS_PARKED != 0;
            let is_fair = policy == Policy::PhaseFair;
            let is_noted = turn::run().unwrap().no_sleepers_ns < LONG_AGO.as_nanos() as u64;
            match how {
                Some(how) => has_passed && status.how == how && is_noted == is_fair,
                None => !has_passed,
            }
        };
        // (Unless it loses its processor in between, or another test has the same bucket.)
        (0..100).any(|_| enters())
    }

    #[test]
    fn a_reader_yields_to_sleeping_writers_and_reads_past_them_in_its_turn() {
        let enters = |how, times, vain_yields, policy| {
            self::enters(how, &const { Options::new() }, times, vain_yields, policy)
        };
        let fair = Policy::PhaseFair;
        let after_long = [Duration::ZERO, LONG_AGO];
        assert!(enters(Some(How::Stolen), [Duration::ZERO; 2], 0, fair), "it has just passed some");
        // (Now there is a table, which knows the processors.)
        let may_yield = !lot::is_single() && !lot::are_there_ranks() && sched_yield::may_call();
        let how = if may_yield { How::Spun } else { How::Stolen };
        share::SUPPOSED.set(Some(true));
        assert!(enters(Some(how), after_long, 0, fair));
        share::SUPPOSED.set(Some(false));
        assert!(enters(Some(How::Stolen), after_long, 0, fair), "other threads would run");
        share::SUPPOSED.set(None);
        assert!(enters(Some(How::Stolen), after_long, 9, fair), "yields are in vain");
        assert!(enters(Some(How::Stolen), after_long, 0, Policy::Recursive));
        assert!(enters(None, [LONG_AGO; 2], 0, fair), "its turn is over");
    }

    #[test]
    fn a_reader_yields_before_it_sleeps_for_writers_that_go_first() {
        let options = Options::new();
        let spun = |options: &Options, may_yield: bool| {
            let lock = RawRwLock::with_policy(Policy::PreferWriters);
            lock.word.fetch_or(state::ONE_READER | state::WRITERS_PARKED, Ordering::Relaxed);
            let learnt = &lot::advice(lock.key())[spin::YIELDS];
            learnt.store(0, Ordering::Relaxed);
            share::SUPPOSED.set(Some(may_yield));
            // (It finds no writer in the queue, and goes in.)
            let status = Reader::new(&lock, options).enter().unwrap();
            share::SUPPOSED.set(None);
            assert!(status.sleeps == 0 && readers(lock.word.load(Ordering::Relaxed)) == 2);
            status.how == How::Spun
        };
        let may_yield = !lot::are_there_ranks() && sched_yield::may_call();
        assert_eq!((0..100).any(|_| spun(&options, true)), may_yield);
        assert!(!spun(&options, false), "other threads would run");
        assert!(!spun(&options.spin(false), true));
    }

    #[test]
    fn a_reader_that_is_not_to_yield_reads_past_sleeping_writers_at_once() {
        let enters = |how, options: &Options| {
            enters(how, options, [Duration::ZERO, LONG_AGO], 0, Policy::PhaseFair)
        };
        let deadline = Deadline::after(Duration::from_secs(60));
        for options in [
            Options::new().spin(false),
            Options::new().until(deadline),
            Options::new().hand_off_after(Duration::ZERO),
        ] {
            assert!(enters(Some(How::Stolen), &options), "{options:?}");
        }
        assert!(enters(None, &Options::new().steal(false)));
    }

    #[test]
    fn a_reader_that_is_to_pass_sleepers_does_however_long_its_yields_take() {
        let lock = RawRwLock::new();
        let mut reader = Reader::new(&lock, &const { Options::new() });
        reader.passes_after = Some(1);
        lot::node().unwrap().notes.times[spin::ACTIVE_SINCE].store(0, Ordering::Relaxed);
        assert!(turn_is_over() && !reader.passes_sleepers());
        reader.has_lost = true;
        assert!(reader.has_given_way() && reader.passes_sleepers());
        assert!(!reader.has_lost, "that was long ago");
    }

    #[test]
    fn a_thread_that_keeps_readers_out_already_does_not_stand_aside() {
        let lock = RawRwLock::new();
        let stands_aside = |kind| {
            interval::learn_that_sections_are_short();
            Spin::learnt(lock.key(), &bits(kind).probing).is_to_stand_aside()
        };
        assert!(!stands_aside(Kind::Upgrader));
        assert!(stands_aside(Kind::Writer));
    }
}
