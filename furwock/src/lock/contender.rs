//! The mutex's slow path: one thread's attempt to take it, running, spinning and sleeping.

use super::ahead::learn;
use super::mutex::{RawMutex, stale_bits};
use super::mutex_state::{HANDOFF, PARKED, Role, SPIN, is_free, queued};
use super::spin::Spin;
use crate::lot::{self, Ended, Node, Place, Verdict, Wait};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::{Deadline, monotonic_ns};

/// How long a waiter waits before it asks for the lock to be handed over.
const HANDOFF_AFTER_NS: u64 = 5_000_000;

/// How long a thread may run past sleepers before it lets the first of them have its place. Shorter
/// than the scheduler's slice, so that threads leave the processor before they are thrown off it,
/// lock in hand; docs/experiments.md has the figures.
const TURN_NS: u64 = 1_300_000;

/// One thread's attempt to take one contended mutex.
pub(super) struct Contender<'m> {
    mutex: &'m RawMutex,
    deadline: Option<&'m Deadline>,
    /// What the word says of this thread.
    role: Role,
    /// When it first queued itself; 0 before.
    queued_ns: u64,
    /// It was the last in the queue when it was chosen: PARKED may stand for nobody.
    check_parked: bool,
}

/// What became of an attempt to queue.
enum Slept {
    /// Woken, or not even queued, since the lock was free: look again.
    LookAgain,
    /// The lock is ours.
    Granted,
    TimedOut,
}

impl<'m> Contender<'m> {
    pub(super) fn new(mutex: &'m RawMutex, deadline: Option<&'m Deadline>) -> Self {
        Self { mutex, deadline, role: Role::Newcomer, queued_ns: 0, check_parked: false }
    }

    /// Goes on as a waiter that a waker chose, though it began to wait elsewhere: takes the lock.
    pub(super) fn go_on(mut self, verdict: Verdict) {
        // It has waited in this mutex's queue: if it has to again, then in front.
        self.queued_ns = now_ns();
        if self.was_chosen(verdict) {
            self.took_it();
        } else {
            self.contend();
        }
    }

    /// Takes the lock, or times out. Returns whether it was taken.
    pub(super) fn contend(mut self) -> bool {
        loop {
            if self.role == Role::Woken {
                learn(self.mutex.key(), !self.mutex.is_locked());
            }
            if self.take_running() {
                return self.took_it();
            }
            match self.sleep() {
                Slept::LookAgain => {}
                Slept::Granted => return self.took_it(),
                Slept::TimedOut => return self.give_up(),
            }
        }
    }

    /// Tries to take the lock without sleeping. If it returns false, it is time to sleep; the thread
    /// may then still be the spinner, and gives that up as it queues.
    fn take_running(&mut self) -> bool {
        let mut spin = Spin::new();
        loop {
            if self.try_take() {
                return true;
            }
            let word = self.mutex.word.load(Ordering::Relaxed);
            if is_free(word) {
                continue;
            }
            if !self.is_spinner(word) || !spin.pause() {
                return false;
            }
        }
    }

    fn try_take(&self) -> bool {
        self.mutex.try_steal(self.mutex.word.load(Ordering::Relaxed), lot::tid(), self.role)
    }

    /// Whether this thread may go on spinning for a lock that it saw held: as the spinner, which it
    /// becomes if nobody else is.
    fn is_spinner(&mut self, seen: u32) -> bool {
        let over = self.role == Role::Newcomer && seen & PARKED != 0 && self.turn_is_over();
        if over || seen & HANDOFF != 0 {
            return false;
        }
        if seen & SPIN == 0 {
            // (If this thread is the spinner, somebody took its bit for stale.)
            let new = self.role.given_up(seen) | SPIN;
            if self.mutex.exchange(seen, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Spinner;
            }
            return true;
        }
        self.role == Role::Spinner
    }

    /// Whether this thread, a newcomer, has run past sleepers for long enough.
    fn turn_is_over(&self) -> bool {
        match lot::own() {
            Some(thread) if !cfg!(any(loom, shuttle)) => {
                let since = thread.active_since_ns.load(Ordering::Relaxed);
                monotonic_ns().saturating_sub(since) > TURN_NS
            }
            _ => false,
        }
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
                node.active_since_ns.store(now_ns(), Ordering::Relaxed);
                if mutant::active(Mutant::TimedOutWakeDropped) && self.deadline.is_some() {
                    return Slept::TimedOut;
                }
                if self.was_chosen(verdict) { Slept::Granted } else { Slept::LookAgain }
            }
            Ended::TimedOut | Ended::Interrupted | Ended::Signalled => Slept::TimedOut,
        }
    }

    /// Queues this thread and sleeps. `None` if the lock was seen free instead.
    fn queue_and_sleep(&mut self, node: &Node) -> Option<Ended> {
        let key = self.mutex.key();
        let woken_before = self.queued_ns != 0;
        let mut bucket = lot::announce(key);
        let stale = stale_bits(&bucket, key);
        let hand_off = woken_before && self.has_waited_long();
        if mutant::active(Mutant::SpinKeptAsleep) && self.role == Role::Spinner {
            self.role = Role::Newcomer;
        }
        let mut word = self.mutex.word.load(Ordering::Relaxed);
        loop {
            if is_free(word) && !mutant::active(Mutant::ParkOnFreeLock) {
                bucket.retract();
                return None;
            }
            let new = queued(word, self.role, stale, hand_off);
            match self.mutex.exchange(word, new, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        self.role = Role::Newcomer;
        let place = if woken_before { Place::Front } else { Place::Back };
        let wait = Wait::enqueue(&mut bucket, node, key, 0, place).until(self.deadline);
        drop(bucket);
        if !woken_before {
            self.queued_ns = now_ns();
        }
        Some(wait.sleep(|was_last| {
            if was_last {
                self.mutex.nobody_is_queued();
            }
        }))
    }

    fn has_waited_long(&self) -> bool {
        // A model has no time: there, whoever was woken in vain asks.
        cfg!(any(loom, shuttle)) || now_ns().saturating_sub(self.queued_ns) > HANDOFF_AFTER_NS
    }

    /// Takes note of a waker's verdict. Returns whether the lock came with it.
    fn was_chosen(&mut self, verdict: Verdict) -> bool {
        self.role = if verdict.holds_wake { Role::Woken } else { Role::Newcomer };
        self.check_parked |= verdict.was_last;
        verdict.granted
    }

    fn has_timed_out(&self) -> bool {
        self.deadline.is_some_and(Deadline::has_passed)
    }

    /// The lock is this thread's.
    fn took_it(&self) -> bool {
        if self.check_parked {
            self.mutex.clear_parked_if_nobody_is_queued();
        }
        true
    }

    /// The deadline has passed. A role is given up only while somebody holds the lock, whose release
    /// will see to the others; otherwise the lock is this thread's to take. (Only a thread for whose
    /// node there was no memory comes here with a role: whoever queues gives it up, M-3.)
    fn give_up(&mut self) -> bool {
        while self.role != Role::Newcomer {
            if self.try_take() {
                return self.took_it();
            }
            let word = self.mutex.word.load(Ordering::Relaxed);
            let new = self.role.given_up(word);
            if !is_free(word) && self.mutex.exchange(word, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Newcomer;
            }
        }
        if self.check_parked {
            self.mutex.clear_parked_if_nobody_is_queued();
        }
        false
    }
}

fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}
