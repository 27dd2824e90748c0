//! The slow path of locks that have an owner: one thread's attempt to take one, running, spinning
//! and sleeping. The mutex's, and the rwlock's for all its kinds of waiters.
//!
//! A contended `Mutex::lock` comes here from `mutex`, and reads on in `bits` and `mutex::state`
//! (the word), `spin` and `options`. A thread runs and spins for a while (`run`); then it queues
//! under the bucket's lock, sleeps, and learns how that ended (`wait`); then it looks at the lock
//! again, unless it got the lock with the wake. A rwlock's readers do the first half by themselves
//! (`rwlock/reader.rs`), and the second here.

use super::bits::{Bits, Role, SPIN, owner};
use super::learnt::{active_since_ns, wakes_ahead};
use super::options::{How, Options, Status};
use super::spin::Spin;
use crate::lot::{self, Debt, Ended, Key, Locked, Node, Place, Verdict, Wait, Waiter};
use crate::prim::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::{Deadline, monotonic_ns};
use core::time::Duration;

/// How long a thread may run past sleepers before it lets the first of them have its place. Shorter
/// than the scheduler's slice, so that threads leave the processor before they are thrown off it,
/// lock in hand; docs/experiments.md has the figures.
const TURN_NS: u64 = 1_300_000;

/// How often a waiter that asked for it looks whether the lock's owner is alive.
const OWNER_CHECK: Duration = Duration::from_millis(20);

/// How often a caller that may not steal steps back, for a millisecond, for a waiter that seems to
/// have been woken.
const MOST_STEPS_BACK: u32 = 8;

/// A waiter that has rung for that long in vain, at growing intervals, rings no more.
const LONGEST_ALARM: Duration = Duration::from_millis(700);

/// The most wakes that are on their way to a lock at once.
pub(super) const MOST_AHEAD: u32 = 127;

/// A lock as one waiter wants it.
pub(super) trait Lock: Copy {
    fn word(&self) -> Word<'_>;
    /// What waiters queue at.
    fn key(&self) -> Key;
    fn bits(&self) -> &'static Bits;
    /// For a lock whose releases don't decide which waiter comes next.
    fn settler(&self) -> Option<&dyn Settler>;
}

/// Lets waiters go on when a waiter gives something up.
pub(super) trait Settler {
    /// What a waiter owes that leaves for good, beside a lock that it has been given.
    fn debt(&self) -> Option<Debt>;
    /// Lets those go on whose turn it is, under the bucket's lock.
    fn settle(&self, queue: &mut Locked<'_>);
    /// The same by a caller that isn't queued any more, and holds no lock.
    fn settle_after_leaving(&self);
    /// Whether a waiter may be passed by for ever without being woken. Then it sets an alarm.
    fn may_be_passed_by(&self) -> bool;
    /// The alarm rang, under the bucket's lock.
    fn has_waited_long(&self, queue: &mut Locked<'_>, waiter: &'static Waiter);
}

/// A lock's word, widened to 64 bits.
#[derive(Clone, Copy)]
pub(super) enum Word<'l> {
    Narrow(&'l AtomicU32),
    Wide(&'l AtomicU64),
}

impl Word<'_> {
    #[inline]
    pub(super) fn load(self) -> u64 {
        match self {
            Self::Narrow(word) => word.load(Ordering::Relaxed).into(),
            Self::Wide(word) => word.load(Ordering::Relaxed),
        }
    }

    #[inline]
    pub(super) fn exchange(self, old: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        const FAILURE: Ordering = Ordering::Relaxed;
        match self {
            Self::Narrow(word) => word
                .compare_exchange_weak(old as u32, new as u32, success, FAILURE)
                .map(u64::from)
                .map_err(u64::from),
            Self::Wide(word) => word.compare_exchange_weak(old, new, success, FAILURE),
        }
    }

    #[inline]
    fn clear(self, bits: u64) {
        match self {
            Self::Narrow(word) => _ = word.fetch_and(!(bits as u32), Ordering::Relaxed),
            Self::Wide(word) => _ = word.fetch_and(!bits, Ordering::Relaxed),
        }
    }
}

/// `word` without its stale bits, as seen under the bucket's lock (M-4).
///
/// Bits may speak of a queue that a forked child's parent has, of a waiter that has left since a
/// wake was claimed for it, and in such a child of threads that it doesn't have.
pub(super) fn cleaned(lock: &impl Lock, word: u64, queue: &Locked<'_>) -> u64 {
    if queue.has(lock.key()) || mutant::active(Mutant::StaleWakeKept) {
        return word;
    }
    let word = word & !lock.bits().stale;
    if !sys::fork::is_child() {
        return word;
    }
    let stays = mutant::active(Mutant::ParentsWriterStays);
    (lock.bits().in_child)(word, if stays { |_| true } else { sys::thread::is_ours })
}

/// What an attempt has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The lock is the caller's.
    Taken,
    /// The lock was seen free.
    SeenFree,
    TimedOut,
}

/// What a waiter does, under the bucket's lock.
pub(super) enum Decision {
    /// Queues itself and sleeps.
    Queue(Stay),
    /// Tries to take the lock.
    Enter,
    /// Leaves the lock to another for a moment.
    StepBack,
}

/// How a waiter stays in the queue.
pub(super) struct Stay {
    pub(super) token: usize,
    /// It wakes up by itself after that long.
    pub(super) at_most: Option<Duration>,
}

/// How a stay in the queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// Woken, or not even queued: look at the lock again.
    LookAgain,
    /// Woken by itself, before the deadline.
    Overslept,
    /// The lock is the caller's.
    Taken,
    TimedOut,
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
    /// It was the last in the queue when it was chosen: PARKED may be stale.
    check_parked: bool,
    /// How often it has stepped back.
    steps_back: u32,
    status: Status,
}

impl<'o, L: Lock> Contender<'o, L> {
    pub(super) fn new(lock: L, options: &'o Options) -> Self {
        Self {
            lock,
            options,
            role: Role::Newcomer,
            queued_ns: 0,
            check_parked: false,
            steps_back: 0,
            // A caller that may not steal takes a lock that no other thread is about to take.
            status: Status::new(if options.steal { How::Stolen } else { How::Fast }),
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
                learn(self.lock.key(), self.lock.bits().is_available(self.lock.word().load()));
            }
            match self.run(take) {
                Some(Came::Taken) => return self.took_it(),
                Some(came) => return came,
                None => {}
            }
            let bits = self.lock.bits();
            let may_pass = self.may_pass();
            let decide = move |word, clean| match () {
                () if !bits.is_available(clean)
                    || !may_pass && bits.is_contested(clean)
                    || mutant::active(Mutant::ParkOnFreeLock) =>
                {
                    Decision::Queue(Stay { token: bits.token, at_most: None })
                }
                // No thread is queued, so that the word may be wrong about a waiter on its way.
                () if !may_pass && bits.is_contested(word) => Decision::StepBack,
                () => Decision::Enter,
            };
            match self.wait(decide) {
                Waited::LookAgain | Waited::Overslept => {}
                Waited::Taken => return self.took_it(),
                Waited::TimedOut => return self.give_up(),
            }
        }
    }

    /// How the lock was taken, of an attempt that came to that.
    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Goes on without sleeping. If it returns `None`, it is time to sleep; the thread may then
    /// still be the spinner, and gives that up as it queues.
    fn run(&mut self, take: bool) -> Option<Came> {
        let bits = self.lock.bits();
        let mut spin = Spin::learnt(bits.spin_ns);
        loop {
            if !self.may_pass() && bits.is_contested(self.lock.word().load()) {
                return None;
            }
            if take && self.try_take() {
                return Some(Came::Taken);
            }
            let word = self.lock.word().load();
            if bits.is_available(word) {
                if take {
                    continue;
                }
                return Some(Came::SeenFree);
            }
            // No thread sleeps: one that pauses once, for long, needn't say so.
            let unseen = spin.begins_with_long_pause()
                && self.role == Role::Newcomer
                && word & (bits.parked | bits.promised) == 0;
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
        let bits = self.lock.bits();
        let mut word = self.lock.word().load();
        while bits.is_available(word) {
            let new = bits.taken(word, self.role, lot::tid());
            match self.lock.word().exchange(word, new, Ordering::Acquire) {
                Ok(_) => {
                    self.role = Role::Newcomer;
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether this thread may take the lock before a waiter that has been woken. One that may not
    /// steal queues up behind that, or steps back, some times at most.
    fn may_pass(&self) -> bool {
        self.options.steal
            || self.steps_back == MOST_STEPS_BACK
            || self.role != Role::Newcomer
            || self.queued_ns != 0
    }

    /// Whether this thread may go on spinning for a lock that it saw held: as the spinner, which it
    /// becomes if there is no other.
    fn is_spinner(&mut self, seen: u64) -> bool {
        let bits = self.lock.bits();
        let over = self.role == Role::Newcomer && seen & bits.parked != 0 && turn_is_over(TURN_NS);
        if over || seen & bits.promised != 0 || !self.options.spin {
            return false;
        }
        if seen & SPIN == 0 {
            // (If this thread is the spinner, another waiter took its bit for stale.)
            let new = bits.spun_for(seen, self.role);
            if self.lock.word().exchange(seen, new, Ordering::Relaxed).is_ok() {
                self.role = Role::Spinner;
                self.note(How::Spun);
            }
            return true;
        }
        self.role == Role::Spinner
    }

    /// Queues this thread if `decide` says so, and sleeps. `decide` is called under the bucket's
    /// lock, with the word, and with the word without its stale bits.
    pub(super) fn wait(&mut self, decide: impl FnMut(u64, u64) -> Decision) -> Waited {
        let Some(node) = lot::node() else {
            // No memory for a node. The role, if any, stays: this thread does look again.
            sys::thread::nap();
            return self.after_interval();
        };
        let Some((ended, was_last)) = self.queue_and_sleep(&node, decide) else {
            return Waited::LookAgain;
        };
        let Ended::Chosen(verdict) = ended else {
            // If it was the last, the queue is empty, and its marks are gone.
            if !was_last {
                self.settle_after_leaving();
            }
            return self.after_interval();
        };
        active_since_ns(&node.notes).store(now_ns(), Ordering::Relaxed);
        if mutant::active(Mutant::TimedOutWakeDropped) && self.options.deadline.is_some() {
            return Waited::TimedOut;
        }
        if self.was_chosen(verdict) {
            self.status.how = How::HandedOver;
            return Waited::Taken;
        }
        Waited::LookAgain
    }

    /// Queues this thread and sleeps. Returns how that ended, and, if it left the queue by itself,
    /// whether it was the last there. `None` if it didn't queue.
    fn queue_and_sleep(
        &mut self,
        node: &Node,
        mut decide: impl FnMut(u64, u64) -> Decision,
    ) -> Option<(Ended, bool)> {
        let (lock, bits) = (self.lock, self.lock.bits());
        let keeps_place = bits.keeps_place && self.queued_ns != 0;
        let hand_off = keeps_place && self.has_waited_long();
        let mut bucket = lot::announce(lock.key());
        let had_role = self.role != Role::Newcomer;
        if mutant::active(Mutant::SpinKeptAsleep) && self.role == Role::Spinner {
            self.role = Role::Newcomer;
        }
        let mut word = lock.word().load();
        let stay = loop {
            let clean = cleaned(&lock, word, &bucket);
            let (new, stay) = match decide(word, clean) {
                Decision::Queue(stay) => (bits.queued(clean, self.role, hand_off), Some(stay)),
                Decision::Enter if clean != word => (clean, None),
                Decision::Enter => {
                    bucket.retract();
                    return None;
                }
                Decision::StepBack => {
                    bucket.retract();
                    drop(bucket);
                    self.steps_back += 1;
                    self.note_sleep();
                    sys::thread::nap();
                    return None;
                }
            };
            match (lock.word().exchange(word, new, Ordering::Relaxed), stay) {
                (Ok(_), Some(stay)) => break stay,
                (Ok(_), None) => word = new,
                (Err(now), _) => word = now,
            }
        };
        self.role = Role::Newcomer;
        self.note_sleep();
        let interval = self.interval(stay.at_most);
        let until = interval.as_ref().or(self.options.deadline.as_ref());
        let place = if keeps_place { Place::Front } else { Place::Back };
        let mut wait = Wait::enqueue(&mut bucket, node, lock.key(), stay.token, place).until(until);
        let settler = lock.settler();
        if let Some(settler) = settler {
            if let Some(debt) = settler.debt() {
                wait = wait.owing(debt);
            }
            if had_role && !mutant::active(Mutant::RoleGivenUpUnsettled) {
                settler.settle(&mut bucket);
            }
        }
        drop(bucket);
        if bits.keeps_place && !keeps_place {
            self.queued_ns = now_ns();
        }
        let mut patience = Duration::from_nanos(self.options.hand_off_after_ns);
        let alarm = settler
            .filter(|settler| settler.may_be_passed_by())
            .and_then(|_| alarm_after(patience, self.options.deadline.as_ref()));
        let ring = |queue: &mut Locked<'_>, waiter| {
            if let Some(settler) = settler {
                settler.has_waited_long(queue, waiter);
            }
            patience *= 2;
            alarm_after(patience, until)
        };
        let mut left_last = false;
        let ended = wait.sleep_ringing(alarm, ring, |was_last| {
            left_last = was_last;
            if was_last {
                self.nobody_is_queued();
            }
        });
        Some((ended, left_last))
    }

    fn has_waited_long(&self) -> bool {
        // A model has no time: there, a waiter that was woken in vain asks.
        cfg!(any(loom, shuttle))
            || now_ns().saturating_sub(self.queued_ns) > self.options.hand_off_after_ns
    }

    /// Until when to sleep before looking again, if that comes before the deadline: after
    /// `at_most`, or to look whether the owner is alive.
    fn interval(&self, at_most: Option<Duration>) -> Option<Deadline> {
        let interval = at_most.or(self.options.owner_death.then_some(OWNER_CHECK))?;
        let sooner = self.options.deadline.is_some_and(|deadline| deadline.is_within(interval));
        (!sooner).then(|| Deadline::after(interval))
    }

    /// The interval or the time is over.
    pub(super) fn after_interval(&mut self) -> Waited {
        if self.takes_over() {
            return Waited::Taken;
        }
        if self.has_timed_out() { Waited::TimedOut } else { Waited::Overslept }
    }

    /// Takes the lock from an owner that has ended, if the caller asked for that.
    fn takes_over(&mut self) -> bool {
        if !self.options.owner_death {
            return false;
        }
        let bits = self.lock.bits();
        let word = self.lock.word().load();
        // (Only for want of memory for a node there is a role to give up here.)
        let seized = (bits.seize)(bits.given_up(word, self.role), lot::tid());
        let Some(new) = seized.filter(|_| owner(word) != 0) else { return false };
        if sys::thread::is_ours(owner(word)) {
            return false;
        }
        let taken = self.lock.word().exchange(word, new, Ordering::Acquire).is_ok();
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

    pub(super) fn has_timed_out(&self) -> bool {
        self.options.deadline.as_ref().is_some_and(Deadline::has_passed)
    }

    /// Notes the way that the lock is being got, unless the caller has slept already.
    pub(super) fn note(&mut self, how: How) {
        if self.status.how != How::Slept {
            self.status.how = how;
        }
    }

    fn note_sleep(&mut self) {
        self.status.how = How::Slept;
        self.status.sleeps += 1;
    }

    /// The lock is this thread's.
    fn took_it(&mut self) -> Came {
        self.check_queue();
        Came::Taken
    }

    /// The deadline has passed, or the caller wants the lock no more. A role is given up only while
    /// the lock is held, since its release will see to the others; otherwise the lock is this
    /// thread's to take. (A waiter that queues gives it up, M-3: with a role come here those for
    /// whose node there was no memory, and those that leave the last step to their caller.)
    pub(super) fn give_up(&mut self) -> Came {
        let bits = self.lock.bits();
        let had_role = self.role != Role::Newcomer;
        while self.role != Role::Newcomer {
            if self.try_take() {
                return self.took_it();
            }
            let word = self.lock.word().load();
            let new = bits.given_up(word, self.role);
            if !bits.is_available(word)
                && self.lock.word().exchange(word, new, Ordering::Relaxed).is_ok()
            {
                self.role = Role::Newcomer;
            }
        }
        if had_role {
            self.settle_after_leaving();
        }
        self.check_queue();
        Came::TimedOut
    }

    fn settle_after_leaving(&self) {
        if let Some(settler) = self.lock.settler()
            && !mutant::active(Mutant::LeaverSettlesNothing)
        {
            settler.settle_after_leaving();
        }
    }

    /// Clears the marks of the queue if this thread was chosen as its last, and it is still empty.
    fn check_queue(&mut self) {
        if core::mem::take(&mut self.check_parked) {
            let bucket = lot::lock(self.lock.key());
            if !bucket.has(self.lock.key()) {
                self.nobody_is_queued();
            }
        }
    }

    /// The caller holds the bucket lock, has seen that no thread is queued, and is still inside a
    /// call on this lock, so that the word exists.
    fn nobody_is_queued(&self) {
        if !mutant::active(Mutant::StaleWakeKept) && !mutant::active(Mutant::LeaverSettlesNothing) {
            self.lock.word().clear(self.lock.bits().left_by_last);
        }
    }
}

/// When to ring after a wait of `patience`; `None` if `end` comes first, or it has been long
/// enough.
fn alarm_after(patience: Duration, end: Option<&Deadline>) -> Option<Deadline> {
    let ends = end.is_some_and(|end| end.is_within(patience));
    (!ends && patience < LONGEST_ALARM).then(|| Deadline::after(patience))
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

fn now_ns() -> u64 {
    if cfg!(any(loom, shuttle)) { 1 } else { monotonic_ns() }
}

/// How many woken waiters of the lock at `key` should be on their way at a time, at least 1.
///
/// One, as long as woken waiters find the lock taken: more would be a swarm. If they find it free,
/// critical sections are short beside a wake, and with one wake at a time processors stand idle
/// between a release and the next waiter's start. The bucket remembers (`learn`).
///
/// One where priorities count: of two that are woken, the wrong one may be first.
pub(super) fn how_far_ahead(key: Key) -> u32 {
    if lot::are_there_ranks() {
        return 1;
    }
    let most = (2 * lot::processors() as u32).min(MOST_AHEAD);
    (1 + wakes_ahead(key).load(Ordering::Relaxed)).min(most)
}

/// Notes how a woken waiter found the lock.
fn learn(key: Key, found_free: bool) {
    let hint = wakes_ahead(key);
    let ahead = hint.load(Ordering::Relaxed);
    let new = if found_free { (ahead + 1).min(MOST_AHEAD) } else { ahead / 2 };
    if new != ahead {
        hint.store(new, Ordering::Relaxed);
    }
}
