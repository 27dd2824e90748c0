//! The slow path of an exclusive lock: one thread's attempt to take it, running, spinning and
//! sleeping. The mutex's, and the rwlock's for writers and upgradable readers.

use super::ahead::learn;
use super::learnt::active_since_ns;
use super::options::{How, Options, Status};
use super::spin::Spin;
use crate::lot::{self, Debt, Ended, Key, Locked, Node, Place, Verdict, Wait, Waiter};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::{Deadline, monotonic_ns};
use core::time::Duration;

/// How long a thread may run past sleepers before it lets the first of them have its place. Shorter
/// than the scheduler's slice, so that threads leave the processor before they are thrown off it,
/// lock in hand; docs/experiments.md has the figures.
const TURN_NS: u64 = 1_300_000;

/// How often a waiter that asked for it looks whether the lock's owner is alive.
pub(super) const LOOKS_FOR_OWNER: Duration = Duration::from_millis(20);

/// How often a caller that may not steal steps back, for a millisecond, for somebody who seems to have
/// been woken.
const MOST_COURTESIES: u32 = 8;

/// A waiter that has rung for that long in vain, in ever longer intervals, rings no more.
const LONGEST_PATIENCE: Duration = Duration::from_millis(700);

/// What a running waiter has promised in the word, and takes back as it takes the lock or goes on to
/// another role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Newcomer,
    /// SPIN is its bit.
    Spinner,
    /// One of the wakes is its own.
    Woken,
}

/// A lock's word as its contenders see it. Each lock's state module says what the steps mean.
pub(super) trait Contended {
    type Word: Copy + PartialEq;

    /// What waiters queue at.
    fn key(&self) -> Key;
    /// How long to spin, in nanoseconds.
    fn spin_budget_ns(&self) -> u64;
    /// What a waiter tells those who look through the queue.
    fn token(&self) -> usize;
    /// What a waiter owes that leaves for good, beside a lock that it has been given.
    fn debt(&self) -> Option<Debt>;
    fn load(&self) -> Self::Word;
    fn exchange(
        &self,
        old: Self::Word,
        new: Self::Word,
        success: Ordering,
    ) -> Result<Self::Word, Self::Word>;

    /// Whether it can be taken.
    fn is_available(&self, word: Self::Word) -> bool;
    /// Whether nobody may spin for it: it will be handed over.
    fn is_promised(&self, word: Self::Word) -> bool;
    /// Whether anybody may be queued.
    fn is_parked(&self, word: Self::Word) -> bool;
    fn has_spinner(&self, word: Self::Word) -> bool;
    /// Whether somebody has been woken, or spins, and will look at the lock.
    fn is_somebody_on_the_way(&self, word: Self::Word) -> bool;
    /// The thread that has it to itself, or 0.
    fn owner(&self, word: Self::Word) -> u32;

    /// The word after `tid` took it.
    fn taken(&self, word: Self::Word, tid: u32, role: Role) -> Self::Word;
    /// The word after `tid` took it over from its owner.
    fn seized(&self, word: Self::Word, tid: u32) -> Self::Word;
    /// The word after a waiter went over from `role` to spinning.
    fn spun_for(&self, word: Self::Word, role: Role) -> Self::Word;
    /// The word without `role`.
    fn given_up(&self, word: Self::Word, role: Role) -> Self::Word;
    /// The word without what stands for nobody, seen under the bucket's lock.
    fn cleaned(&self, word: Self::Word, queue: &Locked<'_>) -> Self::Word;
    /// The word after a waiter queued itself, and asked for the lock to be handed over if `hand_off`.
    fn queued(&self, word: Self::Word, role: Role, hand_off: bool) -> Self::Word;

    /// A waiter that had a role has queued itself, under the bucket's lock.
    fn has_queued_giving_up(&self, queue: &mut Locked<'_>);
    /// Whether a waiter may be passed by for ever without ever being woken. Then it rings, once it has
    /// waited for long: `has_waited_long`.
    fn may_be_passed_by(&self) -> bool;
    /// A waiter has waited for long without having been woken, under the bucket's lock.
    fn has_waited_long(&self, queue: &mut Locked<'_>, waiter: &'static Waiter);
    /// A waiter has left the queue unchosen, under the bucket's lock.
    fn is_leaving(&self, was_last: bool);
    /// A waiter has left the queue unchosen, or given up its role unqueued. Called without any lock.
    fn has_left(&self);
    /// A waiter that was chosen as the last in the queue has the lock, or has given up.
    fn was_last(&self);
}

/// One thread's attempt to take one contended lock.
#[derive(Debug)]
pub(super) struct Contender<'o, L> {
    lock: L,
    options: &'o Options,
    /// What the word says of this thread.
    role: Role,
    /// When it first queued itself; 0 before.
    queued_ns: u64,
    /// It was the last in the queue when it was chosen: PARKED may stand for nobody.
    check_parked: bool,
    /// How often it has stepped back for somebody who was woken.
    courtesies: u32,
    status: Status,
}

/// What an attempt has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The lock is ours.
    Taken,
    /// The lock was seen free.
    SeenFree,
    TimedOut,
}

/// What became of an attempt to queue.
enum Slept {
    /// Woken, or not even queued, since the lock was free: look again.
    LookAgain,
    /// The lock is ours.
    Granted,
    TimedOut,
}

impl<'o, L: Contended> Contender<'o, L> {
    pub(super) fn new(lock: L, options: &'o Options) -> Self {
        Self {
            lock,
            options,
            role: Role::Newcomer,
            queued_ns: 0,
            check_parked: false,
            courtesies: 0,
            status: Status::new(How::Stolen),
        }
    }

    /// Goes on as a waiter that a waker chose, though it began to wait elsewhere: takes the lock.
    pub(super) fn go_on(mut self, verdict: Verdict) {
        // It has waited in this lock's queue: if it has to again, then in front.
        self.queued_ns = now_ns();
        if self.was_chosen(verdict) {
            self.took_it();
        } else {
            self.contend();
        }
    }

    /// Takes the lock, or times out. Returns how it was taken.
    pub(super) fn contend(mut self) -> Option<Status> {
        (self.advance(true) == Came::Taken).then_some(self.status)
    }

    /// Waits until the lock is had, or, unless `take`, until it is seen free.
    pub(super) fn advance(&mut self, take: bool) -> Came {
        loop {
            if self.role == Role::Woken {
                learn(self.lock.key(), self.lock.is_available(self.lock.load()));
            }
            match self.run(take) {
                Some(Came::Taken) => return self.took_it(),
                Some(came) => return came,
                None => {}
            }
            match self.sleep() {
                Slept::LookAgain => {}
                Slept::Granted => {
                    self.status.how = How::HandedOver;
                    return self.took_it();
                }
                Slept::TimedOut if self.takes_over() => return self.took_it(),
                Slept::TimedOut if self.has_timed_out() => return self.give_up(),
                Slept::TimedOut => {}
            }
        }
    }

    /// How the lock was taken, of an attempt that came to that.
    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Goes on without sleeping. If it returns `None`, it is time to sleep; the thread may then still
    /// be the spinner, and gives that up as it queues.
    fn run(&mut self, take: bool) -> Option<Came> {
        let mut spin = Spin::learnt(self.lock.spin_budget_ns());
        loop {
            if self.is_to_queue(self.lock.load()) {
                return None;
            }
            if take && self.try_take() {
                return Some(Came::Taken);
            }
            let word = self.lock.load();
            if self.lock.is_available(word) {
                if take {
                    continue;
                }
                return Some(Came::SeenFree);
            }
            // Nobody sleeps: who steps aside for a moment needn't say so.
            let unseen = spin.steps_aside()
                && self.role == Role::Newcomer
                && !self.lock.is_parked(word)
                && !self.lock.is_promised(word);
            if !(unseen || self.is_spinner(word)) || !spin.pause() {
                return None;
            }
        }
    }

    /// The last step, for a caller that `advance` told of a free lock.
    pub(super) fn try_take_at_last(&mut self) -> bool {
        self.try_take() && self.took_it() == Came::Taken
    }

    /// Takes the lock past the queue, giving up the role, as long as it is free.
    fn try_take(&mut self) -> bool {
        let mut word = self.lock.load();
        while self.lock.is_available(word) {
            let new = self.lock.taken(word, lot::tid(), self.role);
            match self.lock.exchange(word, new, Ordering::Acquire) {
                Ok(_) => {
                    self.role = Role::Newcomer;
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether this thread, which may not steal, has to queue up behind somebody who has been woken.
    fn is_to_queue(&self, word: L::Word) -> bool {
        !self.options.steal
            && self.courtesies < MOST_COURTESIES
            && self.role == Role::Newcomer
            && self.queued_ns == 0
            && self.lock.is_parked(word)
            && self.lock.is_somebody_on_the_way(word)
    }

    /// Whether this thread may go on spinning for a lock that it saw held: as the spinner, which it
    /// becomes if nobody else is.
    fn is_spinner(&mut self, seen: L::Word) -> bool {
        let over =
            self.role == Role::Newcomer && self.lock.is_parked(seen) && turn_is_over(TURN_NS);
        if over || self.lock.is_promised(seen) || !self.options.spin {
            return false;
        }
        if !self.lock.has_spinner(seen) {
            // (If this thread is the spinner, somebody took its bit for stale.)
            let new = self.lock.spun_for(seen, self.role);
            if self.lock.exchange(seen, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Spinner;
                self.note(How::Spun);
            }
            return true;
        }
        self.role == Role::Spinner
    }

    fn sleep(&mut self) -> Slept {
        let Some(node) = lot::node() else {
            // No memory for a node. The role, if any, stays: this thread does look again.
            sys::thread::nap();
            return if self.has_timed_out() { Slept::TimedOut } else { Slept::LookAgain };
        };
        let Some(ended) = self.queue_and_sleep(&node) else { return Slept::LookAgain };
        match ended {
            Ended::Chosen(verdict) => {
                active_since_ns(&node.notes).store(now_ns(), Ordering::Relaxed);
                if mutant::active(Mutant::TimedOutWakeDropped) && self.options.deadline.is_some() {
                    return Slept::TimedOut;
                }
                if self.was_chosen(verdict) { Slept::Granted } else { Slept::LookAgain }
            }
            Ended::TimedOut | Ended::Interrupted | Ended::Signalled => {
                self.lock.has_left();
                Slept::TimedOut
            }
        }
    }

    /// Queues this thread and sleeps. `None` if the lock was seen free instead.
    fn queue_and_sleep(&mut self, node: &Node) -> Option<Ended> {
        let key = self.lock.key();
        let woken_before = self.queued_ns != 0;
        let hand_off = woken_before && self.has_waited_long();
        let mut bucket = lot::announce(key);
        let had_role = self.role != Role::Newcomer;
        if mutant::active(Mutant::SpinKeptAsleep) && self.role == Role::Spinner {
            self.role = Role::Newcomer;
        }
        let mut word = self.lock.load();
        loop {
            let cleaned = self.lock.cleaned(word, &bucket);
            let queues = !self.lock.is_available(cleaned)
                || self.is_to_queue(cleaned)
                || mutant::active(Mutant::ParkOnFreeLock);
            if !queues && self.is_to_queue(word) {
                // Somebody seems to be on the way, but nobody is queued: that may not be true.
                self.courtesies += 1;
                bucket.retract();
                drop(bucket);
                sys::thread::nap();
                return None;
            }
            if !queues && cleaned == word {
                bucket.retract();
                return None;
            }
            let new = if queues { self.lock.queued(cleaned, self.role, hand_off) } else { cleaned };
            match self.lock.exchange(word, new, Ordering::Relaxed) {
                Ok(_) if queues => break,
                Ok(_) => word = new,
                Err(now) => word = now,
            }
        }
        self.role = Role::Newcomer;
        self.note(How::Slept);
        self.status.sleeps += 1;
        let slice = self.slice();
        let until = slice.as_ref().or(self.options.deadline.as_ref());
        let place = if woken_before { Place::Front } else { Place::Back };
        let mut wait = Wait::enqueue(&mut bucket, node, key, self.lock.token(), place).until(until);
        if let Some(debt) = self.lock.debt() {
            wait = wait.owing(debt);
        }
        if had_role {
            self.lock.has_queued_giving_up(&mut bucket);
        }
        drop(bucket);
        if !woken_before {
            self.queued_ns = now_ns();
        }
        let mut patience = Duration::from_nanos(self.options.hand_off_after_ns);
        let rings = self.lock.may_be_passed_by()
            && patience < LONGEST_PATIENCE
            && !self.options.deadline.as_ref().is_some_and(|deadline| deadline.is_within(patience));
        let alarm = rings.then(|| Deadline::after(patience));
        let ring = |queue: &mut Locked<'_>, waiter| {
            self.lock.has_waited_long(queue, waiter);
            patience *= 2;
            let deadline = slice.as_ref().or(self.options.deadline.as_ref());
            let ends = deadline.is_some_and(|deadline| deadline.is_within(patience));
            (!ends && patience < LONGEST_PATIENCE).then(|| Deadline::after(patience))
        };
        Some(wait.sleep_ringing(alarm, ring, |was_last| self.lock.is_leaving(was_last)))
    }

    fn has_waited_long(&self) -> bool {
        // A model has no time: there, whoever was woken in vain asks.
        cfg!(any(loom, shuttle))
            || now_ns().saturating_sub(self.queued_ns) > self.options.hand_off_after_ns
    }

    /// Until when to sleep before looking whether the owner is alive, if that comes first.
    fn slice(&self) -> Option<Deadline> {
        let ends_sooner = |deadline: &Deadline| deadline.is_within(LOOKS_FOR_OWNER);
        let looks =
            self.options.owner_death && !self.options.deadline.as_ref().is_some_and(ends_sooner);
        looks.then(|| Deadline::after(LOOKS_FOR_OWNER))
    }

    /// Takes the lock from an owner that has ended, if the caller asked for that.
    fn takes_over(&mut self) -> bool {
        if !self.options.owner_death {
            return false;
        }
        let word = self.lock.load();
        let owner = self.lock.owner(word);
        if owner == 0 || sys::thread::is_ours(owner) {
            return false;
        }
        // (Only for want of memory for a node there is a role to give up here.)
        let new = self.lock.seized(self.lock.given_up(word, self.role), lot::tid());
        let taken = self.lock.exchange(word, new, Ordering::Acquire).is_ok();
        if taken {
            self.role = Role::Newcomer;
        }
        self.status.owner_died = taken;
        taken
    }

    /// Takes note of a waker's verdict. Returns whether the lock came with it.
    fn was_chosen(&mut self, verdict: Verdict) -> bool {
        self.role = if verdict.holds_wake { Role::Woken } else { Role::Newcomer };
        self.check_parked |= verdict.was_last;
        verdict.granted.is_some()
    }

    fn has_timed_out(&self) -> bool {
        self.options.deadline.as_ref().is_some_and(Deadline::has_passed)
    }

    /// Notes the way that the lock is being got, unless it has slept already.
    fn note(&mut self, how: How) {
        if self.status.how != How::Slept {
            self.status.how = how;
        }
    }

    /// The lock is this thread's.
    fn took_it(&mut self) -> Came {
        if core::mem::take(&mut self.check_parked) {
            self.lock.was_last();
        }
        Came::Taken
    }

    /// The deadline has passed, or the caller wants the lock no more. A role is given up only while
    /// somebody holds the lock, whose release will see to the others; otherwise the lock is this
    /// thread's to take. (Whoever queues gives it up, M-3: with a role come here those for whose
    /// node there was no memory, and those that leave the last step to their caller.)
    pub(super) fn give_up(&mut self) -> Came {
        let had_role = self.role != Role::Newcomer;
        while self.role != Role::Newcomer {
            if self.try_take() {
                return self.took_it();
            }
            let word = self.lock.load();
            let new = self.lock.given_up(word, self.role);
            if !self.lock.is_available(word)
                && self.lock.exchange(word, new, Ordering::Relaxed).is_ok()
            {
                self.role = Role::Newcomer;
            }
        }
        if had_role {
            self.lock.has_left();
        }
        if core::mem::take(&mut self.check_parked) {
            self.lock.was_last();
        }
        Came::TimedOut
    }
}

/// Whether this thread has run past sleepers for `turn_ns`.
pub(super) fn turn_is_over(turn_ns: u64) -> bool {
    match lot::own() {
        Some(thread) if !cfg!(any(loom, shuttle)) => {
            let since = active_since_ns(&thread.notes).load(Ordering::Relaxed);
            monotonic_ns().saturating_sub(since) > turn_ns
        }
        _ => false,
    }
}

pub(super) fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}
