//! The side of readers: one thread's attempt to enter.

use super::RawRwLock;
use super::exclusive::cleaned;
use super::slots;
use super::state::{
    Kind, Stop, is_biased, is_to_be_biased_first, is_worth_a_spin, is_written, may_park_reader,
    owner, policy, read, reader_queued, seized_by_reader, stops_reader,
};
use crate::lock::contender::{self, LOOKS_FOR_OWNER, now_ns};
use crate::lock::learnt::active_since_ns;
use crate::lock::options::{How, Options, Status};
use crate::lock::spin::{RWLOCK_BUDGET_NS, Spin};
use crate::lot::{self, Ended, Node, Place, Verdict, Wait};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::Deadline;
use core::time::Duration;

/// Probes for which a reader lets a spinning writer go first, some 0.1 us each.
const DEFERENCE: u32 = 4;

/// How long a thread may read past sleeping writers before it queues up behind them: a little shorter
/// than what they wait before they ask for the lock.
const TURN_NS: u64 = 4_000_000;

/// How long a reader waits for writers that wait, where it may not be made to wait for them for ever.
const FORBEARANCE: Duration = Duration::from_millis(10);

/// One reader's attempt to enter.
pub(super) struct Reader<'o> {
    lock: &'o RawRwLock,
    options: &'o Options,
    /// Waits for nobody who waits.
    forced: bool,
    /// Has let a spinning writer go first for long enough.
    deferred: u32,
    /// Waits for writers that wait, for no longer than `FORBEARANCE`.
    brief: bool,
    status: Status,
}

/// What became of an attempt to queue.
enum Slept {
    LookAgain,
    /// The reader has been counted in.
    Granted,
    TimedOut,
}

impl<'o> Reader<'o> {
    pub(super) fn new(lock: &'o RawRwLock, options: &'o Options, forced: bool) -> Self {
        Self { lock, options, forced, deferred: 0, brief: false, status: Status::new(How::Stolen) }
    }

    /// Enters, or times out.
    pub(super) fn enter(mut self) -> Option<Status> {
        let mut spin = Spin::new(RWLOCK_BUDGET_NS);
        loop {
            // Acquire: as in `read_fast`.
            let word = self.lock.word.load(Ordering::Acquire);
            let Some(stop) = self.stop(word) else {
                if self.count_in(word) {
                    return Some(self.status);
                }
                continue;
            };
            if self.may_spin(word, stop) && spin.pause() {
                self.note(How::Spun);
                continue;
            }
            match self.sleep(stop) {
                Slept::LookAgain => spin = Spin::new(RWLOCK_BUDGET_NS),
                Slept::Granted => {
                    self.status.how = How::HandedOver;
                    return Some(self.status);
                }
                Slept::TimedOut if self.takes_over() => return Some(self.status),
                // Whoever waited for nobody but waiting writers could have been inside all the time.
                Slept::TimedOut if self.has_timed_out() => return self.enters_at_last(),
                Slept::TimedOut => {}
            }
        }
    }

    /// Enters if that is possible without waiting for anybody.
    pub(super) fn try_enter(mut self) -> bool {
        // Who doesn't wait for writers needn't refuse itself for their sake.
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

    /// What keeps this reader out for now. It steps aside for a writer that spins, for a moment, and
    /// for those that sleep once its turn is over.
    fn stop(&mut self, word: u64) -> Option<Stop> {
        match stops_reader(word, self.forced)? {
            Stop::Spinner if self.deferred >= DEFERENCE => None,
            Stop::Spinner => {
                self.deferred += 1;
                Some(Stop::Spinner)
            }
            Stop::Sleepers if self.options.steal && !turn_is_over() => None,
            stop => Some(stop),
        }
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

    /// Enters a hot lock that was never biased, and biases it if nobody is in the way.
    ///
    /// A lock that lay here before may have left its address in slots: a guard was forgotten, or the
    /// lock itself. Those slots mustn't speak of this one. WAS_BIASED is set under the bucket's lock
    /// alone: while it is clear there, no thread has ever published this lock (W-5).
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
        // Release: whoever sees the bias publishes itself after the slots were emptied.
        self.lock.exchange(seen, read(seen, true), Ordering::AcqRel).is_ok()
    }

    fn may_spin(&self, word: u64, stop: Stop) -> bool {
        match stop {
            Stop::Spinner => true,
            Stop::Closed => self.options.spin && is_worth_a_spin(word, turn_is_over),
            Stop::TooMany | Stop::Sleepers | Stop::WritersFirst => false,
        }
    }

    fn sleep(&mut self, stop: Stop) -> Slept {
        let node = if may_park_reader(stop) { lot::node() } else { None };
        let Some(node) = node else {
            if stop != Stop::Spinner {
                sys::thread::nap();
            }
            self.deferred = DEFERENCE;
            self.forced |= self.is_forbearing(self.lock.word.load(Ordering::Relaxed));
            return if self.has_timed_out() { Slept::TimedOut } else { Slept::LookAgain };
        };
        let Some(ended) = self.queue_and_sleep(&node) else { return Slept::LookAgain };
        match ended {
            Ended::Chosen(verdict) => {
                active_since_ns(&node.notes).store(now_ns(), Ordering::Relaxed);
                if verdict == Verdict::WOKEN { Slept::LookAgain } else { Slept::Granted }
            }
            Ended::TimedOut | Ended::Interrupted | Ended::Signalled => {
                if !mutant::active(Mutant::LeaverSettlesNothing) {
                    self.lock.settle_after_leaving();
                }
                self.forced |= self.brief;
                Slept::TimedOut
            }
        }
    }

    /// Queues this thread and sleeps. `None` if it may enter instead.
    fn queue_and_sleep(&mut self, node: &Node) -> Option<Ended> {
        let key = self.lock.key();
        let mut bucket = lot::announce(key);
        let mut word = self.lock.word.load(Ordering::Relaxed);
        loop {
            let clean = cleaned(word, &bucket, key);
            let stopped = stops_reader(clean, self.forced).is_some_and(may_park_reader);
            let parks = stopped || mutant::active(Mutant::ReaderParksOnOpenLock);
            let new = if parks { reader_queued(clean) } else { clean };
            self.brief = self.is_forbearing(clean);
            match self.lock.exchange(word, new, Ordering::Relaxed) {
                Ok(_) if parks => break,
                Ok(_) => {
                    bucket.retract();
                    return None;
                }
                Err(now) => word = now,
            }
        }
        self.status.how = How::Slept;
        self.status.sleeps += 1;
        let slice = self.slice();
        let kind = if self.brief { Kind::BriefReader } else { Kind::Reader };
        let until = slice.as_ref().or(self.options.deadline.as_ref());
        let wait = Wait::enqueue(&mut bucket, node, key, kind.token(), Place::Back).until(until);
        drop(bucket);
        Some(wait.sleep(|was_last| self.lock.is_leaving(was_last)))
    }

    /// Whether it waits for nobody but writers that wait, where it may not be made to for ever.
    fn is_forbearing(&self, word: u64) -> bool {
        policy(word).lets_readers_recurse() && !is_written(word)
    }

    /// How long to sleep before looking again, if the deadline doesn't come first.
    fn slice(&self) -> Option<Deadline> {
        let slice = match () {
            () if self.brief => FORBEARANCE,
            () if self.options.owner_death => LOOKS_FOR_OWNER,
            () => return None,
        };
        let sooner = self.options.deadline.is_some_and(|deadline| deadline.is_within(slice));
        (!sooner).then(|| Deadline::after(slice))
    }

    /// Enters in place of a writer that has ended, if the caller asked for that.
    fn takes_over(&mut self) -> bool {
        if !self.options.owner_death {
            return false;
        }
        let word = self.lock.word.load(Ordering::Relaxed);
        let Some(new) = seized_by_reader(word) else { return false };
        if sys::thread::is_ours(owner(word)) {
            return false;
        }
        let taken = self.lock.exchange(word, new, Ordering::Acquire).is_ok();
        self.status.owner_died = taken;
        taken
    }

    fn enters_at_last(self) -> Option<Status> {
        let status = self.status;
        let may_recurse = self.lock.policy().lets_readers_recurse();
        (may_recurse && self.try_enter()).then_some(status)
    }

    fn has_timed_out(&self) -> bool {
        self.options.deadline.as_ref().is_some_and(Deadline::has_passed)
    }

    fn note(&mut self, how: How) {
        if self.status.how != How::Slept {
            self.status.how = how;
        }
    }
}

/// Whether this thread has read past sleeping writers for long enough.
fn turn_is_over() -> bool {
    contender::turn_is_over(TURN_NS)
}
