//! The slow path of locks that have an owner: one thread's attempt to take one, running, spinning
//! and sleeping. The mutex's, and the rwlock's for all its kinds of waiters.
//!
//! A contended `Mutex::lock` comes here from `mutex`, and reads on in `bits` and `mutex::state`
//! (the word), `spin` and `options`. A thread runs and spins for a while (`run`); then it queues
//! under the bucket's lock (`queue`), sleeps, and learns how that ended (`wait`); then it looks at
//! the lock again, unless the lock came with the wake. A rwlock's readers do the first half by
//! themselves (`rwlock/reader.rs`), and the second here.

use super::bits::{Bits, Leaves, Role, SPIN, TASK, owner};
use super::busy;
use super::naps;
use super::options::{HAND_OFF_AFTER_NS, How, Options, Status};
use super::spin::{self, Spin, now_ns};
use super::surplus;
use super::turn;
use super::yields::{self, Yields};
use crate::lot::{self, Debt, Ended, Key, Locked, Node, Place, Verdict, Wait};
use crate::prim::adjustable;
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys;
use crate::sys::clock::Deadline;
use core::time::Duration;

/// How often a waiter that asked for it checks whether the lock's owner is alive.
const OWNER_CHECK: Duration = Duration::from_millis(20);

/// So many wakes in vain make a waiter ask for the lock where holders sleep or yield, and no
/// processor idles; otherwise one does. With fewer, threads that meet at a lock for a while take
/// turns there, at a wake across processors each (docs/experiments.md, "Near wakes where no
/// processor idles").
const WAKES_IN_VAIN: u32 = 16;

/// How often a caller that may not steal steps back, for a millisecond, for a waiter that seems to
/// have been woken.
const MOST_STEPS_BACK: u32 = 8;

/// A lock as one kind of waiter sees it. Words of 32 bits are widened.
pub(super) trait Lock: Copy {
    /// What waiters queue at.
    fn key(&self) -> Key;
    fn bits(&self) -> &'static Bits;
    fn load(&self) -> u64;
    /// A weak compare-and-exchange, relaxed where it fails.
    fn exchange(&self, old: u64, new: u64, success: Ordering) -> Result<u64, u64>;
    fn clear(&self, bits: u64);

    /// What the word says of the owner once the waiter has taken the lock.
    #[inline(always)]
    fn claimant(&self) -> u32 {
        lot::tid()
    }

    /// What a waiter owes that leaves for good, beside a lock that it has been given.
    fn debt(&self) -> Option<Debt> {
        None
    }
    /// Sleeps until `until` at most, as `Wait::sleep` does.
    #[inline(always)]
    fn sleep(
        &self,
        wait: Wait<'_>,
        _options: &Options,
        _until: Option<&Deadline>,
        on_leave: impl FnMut(bool),
    ) -> Ended {
        wait.sleep(on_leave)
    }
    /// A waiter has queued and given up its role. If releases alone don't decide which waiter comes
    /// next, the lock now lets in or wakes others whose turn it is, under the bucket's lock.
    fn settle(&self, _queue: &mut Locked<'_>) {}
    /// The same for a caller that has left the queue, and holds no lock.
    fn settle_after_leaving(&self) {}
}

/// `word` without its stale bits, as seen under the bucket's lock (M-4).
///
/// Bits may stand for a queue that only a forked child's parent has, for a waiter that has left
/// since a wake was claimed for it, and in such a child for threads that it doesn't have.
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

/// What a waiter does, under the bucket's lock.
pub(super) enum Decision {
    /// Queues itself with this token and sleeps, `at_most` for so long at a time.
    Queue { token: usize, at_most: Option<Duration> },
    /// Tries to take the lock.
    Enter,
    /// Leaves the lock to another for a moment.
    StepBack,
}

/// What an attempt, or a wait in it, has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The lock is the caller's.
    Taken,
    /// The lock may be free: look at it again.
    LookAgain,
    /// The same: the waiter woke by itself, before its deadline.
    IntervalOver,
    TimedOut,
}

/// One thread's attempt to take one contended lock.
#[derive(Debug)]
pub(super) struct Contender<'o, L> {
    lock: L,
    options: &'o Options,
    /// What the word says of this thread.
    role: Role,
    /// It has to share one processor with all others: what is learnt of spinning and processors is
    /// of no use.
    is_single: bool,
    /// It hasn't begun to spin yet.
    is_new: bool,
    /// A spell was cut short since its last sleep, or is to be. There is one: a waiter that yields
    /// in between begins spells anew.
    had_short: bool,
    /// It is to queue before it spins.
    queues_first: bool,
    /// It meets contention seldom, as far as it knows: sections are long.
    is_sparse: bool,
    /// When it first queued itself; 0 before.
    queued_ns: u64,
    /// How it lets others run before it sleeps.
    yields: Yields,
    /// It was the last in the queue when it was chosen: PARKED may be stale.
    check_parked: bool,
    /// How often it has stepped back.
    steps_back: u32,
    /// It has napped since it was woken, just now.
    has_napped: bool,
    /// How it yields on the only processor.
    spinner: yields::Spinner,
    /// How the lock was taken, once it is.
    pub(super) status: Status,
}

impl<'o, L: Lock> Contender<'o, L> {
    pub(super) fn new(lock: L, options: &'o Options) -> Self {
        Self {
            lock,
            options,
            role: Role::Newcomer,
            is_single: lot::is_single(),
            is_new: true,
            had_short: false,
            queues_first: false,
            is_sparse: false,
            queued_ns: 0,
            yields: Yields::None,
            check_parked: false,
            steps_back: 0,
            has_napped: false,
            spinner: yields::Spinner::new(),
            // A caller that may not steal takes a lock that no other thread is about to take.
            status: Status::new(if options.steal { How::Stolen } else { How::Fast }),
        }
    }

    /// For a thread that keeps the lock's holder from its processor: its first wait begins at once.
    pub(super) fn queueing_first(mut self) -> Self {
        self.queues_first = true;
        self
    }

    pub(super) fn lock(&self) -> L {
        self.lock
    }

    /// Takes the lock as a waiter that a waker chose, though it began to wait elsewhere.
    pub(super) fn resume(mut self, verdict: Verdict) {
        // It has waited in this lock's queue: if it has to again, then in front.
        self.queued_ns = now_ns();
        if !self.was_given_lock(verdict) {
            self.contend();
        }
    }

    /// Takes the lock, or times out. Returns how it was taken.
    ///
    /// One function for all callers with `advance` inlined, and its callers inlined up to the
    /// lock's: each is a frame that a debugger shows (docs/tools.md).
    #[inline(never)]
    pub(super) fn contend(mut self) -> Option<Status> {
        (self.advance(true) == Progress::Taken).then_some(self.status)
    }

    /// Waits until the lock is taken, or, unless `take`, until it is seen free (`LookAgain`).
    #[inline(always)]
    pub(super) fn advance(&mut self, take: bool) -> Progress {
        let bits = self.lock.bits();
        loop {
            self.learn();
            let is_surplus = core::mem::take(&mut self.queues_first) || self.is_surplus();
            let progress = if is_surplus { None } else { self.run(take) };
            if let Some(progress) = progress {
                self.is_rewarded();
                return progress;
            }
            // (Where a lock has an owner, waiters sleep no worse.)
            let may_yield = !is_surplus && bits.is_shared(self.lock.load()) && self.may_yield();
            if may_yield && self.yield_once() {
                continue;
            }
            if self.nap() {
                continue;
            }
            let may_pass = self.may_pass();
            let waited = self.wait(|word, clean| {
                let held = !bits.is_available(clean) || mutant::active(Mutant::ParkOnFreeLock);
                if held || (!may_pass && bits.is_contested(clean)) {
                    Decision::Queue { token: bits.token, at_most: None }
                } else if !may_pass && bits.is_contested(word) {
                    // No thread is queued, so the word may be wrong about a waiter on its way.
                    Decision::StepBack
                } else {
                    Decision::Enter
                }
            });
            match waited {
                Progress::LookAgain | Progress::IntervalOver => self.had_short = false,
                Progress::Taken => return Progress::Taken,
                Progress::TimedOut => return self.give_up(),
            }
        }
    }

    /// Notes how a waiter that was woken finds the lock, or that has napped.
    pub(super) fn learn(&self) {
        if self.role != Role::Woken || self.is_single {
            return;
        }
        let key = self.lock.key();
        let is_free = self.lock.bits().is_available(self.lock.load());
        if !self.has_napped {
            spin::changes_hands(key);
            spin::learn(key, is_free, self.is_sparse);
        }
        if self.is_where_wakes_are_in_vain() {
            naps::note(key, is_free, self.has_napped);
        }
    }

    /// Sleeps for a while, where wakes are in vain as a rule. Whether it has: this thread keeps the
    /// wake that was claimed for it, as if it had been slow to look at the lock, and looks now. If
    /// a signal handler ran, or is to run, it is time to queue, which lets it.
    fn nap(&mut self) -> bool {
        let Options { hand_off_after_ns, owner_death, .. } = *self.options;
        let may = self.role == Role::Woken
            && self.is_where_wakes_are_in_vain()
            && self.options.are_patient()
            && hand_off_after_ns == HAND_OFF_AFTER_NS
            && !owner_death
            && self.lock.load() & self.lock.bits().promised == 0
            && naps::are_due(self.lock.key())
            && !self.has_waited_long();
        self.has_napped = may && naps::nap(self.lock.key(), self.queued_ns);
        self.has_napped
    }

    /// Whether this thread, which has just come upon the lock, leaves it to the one that runs
    /// there: another is on its way already.
    fn is_surplus(&self) -> bool {
        let bits = self.lock.bits();
        let is_newcomer = self.is_new && self.role == Role::Newcomer;
        if !is_newcomer || self.is_single || !surplus::may_be(bits, self.options) {
            return false;
        }
        let seen = self.lock.load();
        let may = seen & bits.wakes != 0 && seen & bits.promised == 0;
        !bits.is_available(seen)
            && surplus::is_surplus(self.lock.key(), bits, may, || self.lock.load())
    }

    /// Goes on without sleeping. If it returns `None`, it is time to sleep; the thread may then
    /// still be the spinner, and gives that up as it queues.
    fn run(&mut self, take: bool) -> Option<Progress> {
        let bits = self.lock.bits();
        let mut spin = self.spell();
        loop {
            if !self.may_pass() && bits.is_contested(self.lock.load()) {
                return None;
            }
            if take && self.try_take() {
                spin.is_rewarded();
                return Some(Progress::Taken);
            }
            let word = self.lock.load();
            if bits.is_available(word) {
                if take {
                    continue;
                }
                spin.is_rewarded();
                return Some(Progress::LookAgain);
            }
            if self.is_single {
                if !self.lets_others_run(word) {
                    return None;
                }
                continue;
            }
            // It needn't say so, as long as a release finds no waiter to wake, or another waiter is
            // on its way; and as long as its own wake says that it is.
            let others = if spin.is_to_stand_aside() { bits.wakes } else { bits.wakes | SPIN };
            // (Where another spins, readers know already.)
            let unseen = spin.is_unseen(bits.is_shared(word) && word & SPIN == 0)
                && match self.role {
                    Role::Newcomer => word & bits.parked == 0 || word & others != 0,
                    Role::Woken => word & bits.wakes != 0,
                    Role::Spinner => false,
                };
            if !(self.may_spin(word, unseen) && spin.pays(owner(word), !self.had_short)) {
                return None;
            }
            self.had_short |= spin.is_short();
            if !unseen {
                self.become_spinner(word);
            }
            if !spin.pause() {
                return None;
            }
            // (Not after an exchange of its own, which has brought the line.)
            if unseen || word & SPIN != 0 {
                spin.time_look(word, || self.lock.load());
            }
        }
    }

    /// On the only processor the spinner yields instead of pausing, if that pays, and the lock has
    /// an owner: several may come and go meanwhile. Whether this thread is to look again.
    ///
    /// Not while it may ask for a hand-off. And sleepers wait for a turn at most: two threads that
    /// are each other's spinner would let none be woken.
    fn lets_others_run(&mut self, seen: u64) -> bool {
        let bits = self.lock.bits();
        let may = !bits.is_shared(seen)
            && self.may_spin(seen, false)
            && self.options.are_patient()
            && self.lock.claimant() != TASK
            && !(self.queued_ns != 0 && self.has_waited_long());
        if !(may && self.spinner.may_go_on()) {
            return false;
        }
        self.become_spinner(seen);
        if self.role == Role::Spinner {
            let is_free = || bits.is_available(self.lock.load());
            self.spinner.go_on(self.lock.key(), is_free);
        }
        true
    }

    /// A spell of spinning. Only a newcomer's first may begin aside, as it has learnt: others rely
    /// on a thread with a role to look at the lock soon. A second one says nothing of sections: it
    /// follows a sleep, or, at once, a queue that found the lock free.
    fn spell(&mut self) -> Spin {
        let is_first = core::mem::take(&mut self.is_new) && self.role == Role::Newcomer;
        let begins = if is_first && !self.is_single { Spin::learnt } else { Spin::new };
        let bits = self.lock.bits();
        begins(self.lock.key(), &bits.probing)
    }

    /// Takes the lock past the queue, giving up the role, as long as it is free.
    pub(super) fn try_take(&mut self) -> bool {
        let bits = self.lock.bits();
        let mut word = self.lock.load();
        while bits.is_available(word) {
            let new = bits.taken(word, self.role, self.lock.claimant());
            match self.lock.exchange(word, new, Ordering::Acquire) {
                Ok(_) => {
                    if word & SPIN != 0 && self.role != Role::Spinner {
                        yields::note_steal(self.lock.key());
                    }
                    self.role = Role::Newcomer;
                    self.check_queue();
                    return true;
                }
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether this thread may take the lock before a waiter that has been woken. One that may not
    /// steal queues up behind that waiter, or steps back, some times at most.
    fn may_pass(&self) -> bool {
        self.options.steal
            || self.steps_back == MOST_STEPS_BACK
            || self.role != Role::Newcomer
            || self.queued_ns != 0
    }

    /// Whether this thread may go on spinning for a lock that it saw held: unseen, or as the
    /// spinner, if there is no other. (The spinner may have lost its processor.)
    fn may_spin(&self, seen: u64, unseen: bool) -> bool {
        let bits = self.lock.bits();
        let is_over = || self.role == Role::Newcomer && seen & bits.parked != 0 && turn::is_over();
        self.options.spin
            && seen & bits.promised == 0
            && (unseen || seen & SPIN == 0 || self.role == Role::Spinner)
            && !is_over()
    }

    /// Whether this thread may yield before its first sleep. One with a role is to look at the lock
    /// soon. One that may not pass others, or that asks for the hand-off early, has to queue, and
    /// one that has a deadline keeps it.
    pub(super) fn may_yield(&self) -> bool {
        self.role == Role::Newcomer && self.status.sleeps == 0 && self.options.are_patient()
    }

    /// Yields, as long as that is worth it at this lock. Whether it has.
    pub(super) fn yield_once(&mut self) -> bool {
        let most = yields::most(adjustable!(self.lock.bits().probing.yields, Yields));
        let has_yielded = most != 0 && self.yields.go_on(self.lock.key(), most);
        if has_yielded {
            self.note(How::Spun);
        }
        has_yielded
    }

    /// For how long it has yielded.
    pub(super) fn yielded_for(&self) -> Duration {
        Duration::from_nanos(self.yields.lasted_ns())
    }

    /// The lock is this thread's, or was seen free: its yields, if there were any, have paid.
    pub(super) fn is_rewarded(&self) {
        self.yields.are_rewarded(self.lock.key());
    }

    /// Says that this thread spins, if the word that it saw doesn't.
    fn become_spinner(&mut self, seen: u64) {
        if seen & SPIN != 0 {
            return;
        }
        // (If this thread is the spinner, another waiter took its bit for stale.)
        let new = self.lock.bits().spinning(seen, self.role);
        if self.lock.exchange(seen, new, Ordering::Relaxed).is_ok() {
            self.role = Role::Spinner;
            self.note(How::Spun);
        }
    }

    /// Queues this thread if `decide` says so, and sleeps. `decide` is called under the bucket's
    /// lock, with the word, and with the word without its stale bits.
    #[inline(always)]
    pub(super) fn wait(&mut self, decide: impl FnMut(u64, u64) -> Decision) -> Progress {
        let Some(node) = lot::node() else {
            // No memory for a node. The role, if any, stays: this thread does look again.
            sys::thread::nap();
            return self.after_interval();
        };
        self.yields.end();
        let Some((wait, at_most)) = self.queue(&node, decide) else {
            return Progress::LookAgain;
        };
        let (lock, interval) = (self.lock, self.interval(at_most));
        let until = interval.as_ref().or(self.options.deadline.as_ref());
        let mut left_others = false;
        let ended = lock.sleep(wait.until(until), self.options, until, |was_last| {
            left_others = !was_last;
            if was_last {
                self.clear_queue_bits();
            }
        });
        let Ended::Chosen(verdict) = ended else {
            // (The last has cleared the bits of the queue, which is empty.)
            if left_others {
                lock.settle_after_leaving();
            }
            return self.after_interval();
        };
        self.is_sparse |= turn::begin(&node.notes, self.queued_ns);
        if mutant::active(Mutant::TimedOutWakeDropped) && self.options.deadline.is_some() {
            return Progress::TimedOut;
        }
        if self.was_given_lock(verdict) {
            self.status.how = How::HandedOver;
            return Progress::Taken;
        }
        Progress::LookAgain
    }

    /// What `wait` does under the bucket's lock: queues this thread if `decide` says so, and gives
    /// up its role in the exchange that says in the word that it is queued. A thread whose turn is
    /// over wakes another waiter in its place. Returns the wait, and for how long it may sleep at a
    /// time; `None` if this thread isn't queued.
    #[inline(always)]
    fn queue<'d>(
        &mut self,
        node: &Node,
        decide: impl FnMut(u64, u64) -> Decision,
    ) -> Option<(Wait<'d>, Option<Duration>)> {
        let lock = self.lock;
        self.queue_by(decide, Self::may_leave_place, |bucket, token, place| {
            Wait::enqueue(bucket, node, lock.key(), token, place).owing(lock.debt())
        })
    }

    /// `queue` for anything that waits: `enqueue` links it.
    pub(super) fn queue_by<W>(
        &mut self,
        mut decide: impl FnMut(u64, u64) -> Decision,
        may_leave_place: impl FnOnce(&Self) -> bool,
        enqueue: impl FnOnce(&mut Locked<'_>, usize, Place) -> W,
    ) -> Option<(W, Option<Duration>)> {
        let (lock, bits) = (self.lock, self.lock.bits());
        let queues_again = bits.keeps_place && self.queued_ns != 0;
        let hand_off = queues_again && (self.has_waited_long() || self.was_woken_in_vain());
        let had_role = self.role != Role::Newcomer;
        let leaves_place = !queues_again && !self.is_single && may_leave_place(self);
        let mut bucket = lot::announce(lock.key());
        if mutant::active(Mutant::SpinKeptAsleep) && self.role == Role::Spinner {
            self.role = Role::Newcomer;
        }
        let mut word = lock.load();
        let mut leaves = false;
        let has_others = |queue: &Locked<'_>| {
            queue.first_with_token(lock.key(), bits.takes_place).is_some()
                || mutant::active(Mutant::PlaceLeftToNone)
        };
        let (token, at_most) = loop {
            let clean = cleaned(&lock, word, &bucket);
            let (new, stay) = match decide(word, clean) {
                Decision::Queue { token, at_most } => {
                    leaves = leaves_place && has_others(&bucket) && bits.may_claim_wake(clean);
                    let wakes = if leaves { bits.one_wake } else { 0 };
                    (bits.queued(clean, self.role, hand_off) + wakes, Some((token, at_most)))
                }
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
            match (lock.exchange(word, new, Ordering::Relaxed), stay) {
                (Ok(_), Some(stay)) => break stay,
                (Ok(_), None) => word = new,
                (Err(now), _) => word = now,
            }
        };
        self.role = Role::Newcomer;
        self.note_sleep();
        if leaves {
            // The waiter that the claim stands for (M-11).
            bucket.choose_near(lock.key(), bits.takes_place, Verdict::CLAIMED);
        }
        let place = if queues_again { Place::Front } else { Place::Back };
        let wait = enqueue(&mut bucket, token, place);
        if had_role {
            lock.settle(&mut bucket);
        }
        drop(bucket);
        if bits.keeps_place && !queues_again {
            self.queued_ns = now_ns();
        }
        Some((wait, at_most))
    }

    /// Whether this thread, as it queues, lets one of the sleepers have its place.
    fn may_leave_place(&self) -> bool {
        let bits = self.lock.bits();
        let leaves = || turn::leaves_place(self.lock.key());
        let are_long = || spin::are_sections_long(|| self.lock.load(), |word| bits.is_shared(word));
        match bits.leaves_place {
            Leaves::Never => false,
            Leaves::Always => leaves(),
            Leaves::LongSections => leaves() && are_long(),
        }
    }

    /// Whether others share the lock for a while on end.
    pub(super) fn is_shared_on_end(&self) -> bool {
        let bits = self.lock.bits();
        spin::is_shared_on_end(|| bits.is_shared(self.lock.load()))
    }

    /// Whether this thread was woken for nothing, as each waiter is where holders sleep or yield,
    /// and would be again: a thread that releases the lock takes it anew before a waiter runs.
    /// Given the lock, it runs for something. (A thread that a condvar let go has slept there: its
    /// first wake here doesn't count.)
    ///
    /// Not at a rwlock, whose spells are in vain where sections are long, too, and whose readers
    /// would be kept out. Not where priorities count: the lock would be that of a thread that
    /// others keep from a processor. And not a task, which may not run while its executor waits.
    fn was_woken_in_vain(&self) -> bool {
        self.status.sleeps != 0
            && self.is_where_wakes_are_in_vain()
            && self.options.hand_off_after_ns <= HAND_OFF_AFTER_NS
            && (self.status.sleeps >= WAKES_IN_VAIN || !busy::is_busy())
    }

    /// Whether holders sleep or yield with the lock, a mutex, so that this waiter may do something
    /// about wakes in vain.
    fn is_where_wakes_are_in_vain(&self) -> bool {
        !self.is_single
            && self.lock.bits().shared == 0
            && !lot::are_there_ranks()
            && self.lock.claimant() != TASK
            && spin::are_holders_off(self.lock.key())
    }

    fn has_waited_long(&self) -> bool {
        // A model has no time: there, a waiter that was woken in vain asks.
        cfg!(any(loom, shuttle))
            || now_ns().saturating_sub(self.queued_ns)
                > adjustable!(self.options.hand_off_after_ns, HandOff)
    }

    /// Until when to sleep before looking again, if that comes before the deadline: after
    /// `at_most`, or to check whether the owner is alive.
    fn interval(&self, at_most: Option<Duration>) -> Option<Deadline> {
        let interval = at_most.or(self.options.owner_death.then_some(OWNER_CHECK))?;
        let sooner = self.options.deadline.is_some_and(|deadline| deadline.is_within(interval));
        (!sooner).then(|| Deadline::after(interval))
    }

    /// The interval or the time is over.
    pub(super) fn after_interval(&mut self) -> Progress {
        if self.takes_over() {
            return Progress::Taken;
        }
        let timed_out = self.options.deadline.as_ref().is_some_and(Deadline::has_passed);
        if timed_out { Progress::TimedOut } else { Progress::IntervalOver }
    }

    /// Takes the lock from an owner that has ended, if the caller asked for that.
    fn takes_over(&mut self) -> bool {
        if !self.options.owner_death {
            return false;
        }
        let bits = self.lock.bits();
        let word = self.lock.load();
        // (Only for want of memory for a node there is a role to give up here.)
        let seized = (bits.seize)(bits.given_up(word, self.role), lot::tid());
        let has_ended = |owner| owner != 0 && owner != TASK && !sys::thread::is_ours(owner);
        let Some(new) = seized.filter(|_| has_ended(owner(word))) else { return false };
        let taken = self.lock.exchange(word, new, Ordering::Acquire).is_ok();
        if taken {
            self.role = Role::Newcomer;
            self.check_queue();
        }
        self.status.owner_died = taken;
        taken
    }

    /// Takes note of a waker's verdict. Returns whether the lock came with it.
    pub(super) fn was_given_lock(&mut self, verdict: Verdict) -> bool {
        self.role = if verdict.holds_wake { Role::Woken } else { Role::Newcomer };
        self.check_parked |= verdict.was_last;
        if verdict.granted.is_some() {
            self.check_queue();
        }
        verdict.granted.is_some()
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

    /// The deadline has passed, or the caller wants the lock no more. A role is given up only while
    /// the lock is held, since its release will see to the others; otherwise the lock is this
    /// thread's to take. (A waiter that queues gives it up, M-3: with a role come here those for
    /// whose node there was no memory, and those that leave the last step to their caller.)
    pub(super) fn give_up(&mut self) -> Progress {
        let bits = self.lock.bits();
        let had_role = self.role != Role::Newcomer;
        while self.role != Role::Newcomer {
            if self.try_take() {
                return Progress::Taken;
            }
            let word = self.lock.load();
            let new = bits.given_up(word, self.role);
            if !bits.is_available(word) && self.lock.exchange(word, new, Ordering::Relaxed).is_ok()
            {
                self.role = Role::Newcomer;
            }
        }
        if had_role {
            self.lock.settle_after_leaving();
        }
        self.check_queue();
        Progress::TimedOut
    }

    /// Clears the queue's bits if this thread was chosen as its last, and it is still empty.
    fn check_queue(&mut self) {
        if core::mem::take(&mut self.check_parked) {
            let bucket = lot::lock(self.lock.key());
            if !bucket.has(self.lock.key()) {
                self.clear_queue_bits();
            }
        }
    }

    /// The caller holds the bucket lock, has seen that no thread is queued, and is still inside a
    /// call on this lock, so that the word exists.
    pub(super) fn clear_queue_bits(&self) {
        if !mutant::active(Mutant::StaleWakeKept) && !mutant::active(Mutant::LeaverSettlesNothing) {
            self.lock.clear(self.lock.bits().cleared_by_last);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::lock::{RawMutex, interval, writers_bits};
    use core::cell::Cell;

    #[test]
    fn only_a_newcomer_stands_aside() {
        let (mutex, options) = (RawMutex::new(), Options::new());
        for role in [Role::Newcomer, Role::Spinner, Role::Woken] {
            interval::learn_that_sections_are_short();
            let mut contender =
                Contender { role, is_single: false, ..Contender::new(&mutex, &options) };
            let stands_aside = contender.spell().is_to_stand_aside();
            assert_eq!(stands_aside, role == Role::Newcomer, "{role:?}");
        }
    }

    #[test]
    fn a_waiter_that_meets_contention_seldom_wants_fewer_wakes_ahead() {
        let (mutex, options) = (RawMutex::new(), Options::new());
        let key = (&mutex).key();
        let ahead_after = |is_sparse| {
            (0..9).for_each(|_| spin::learn(key, true, false));
            let contender = Contender::new(&mutex, &options);
            Contender { role: Role::Woken, is_single: false, is_sparse, ..contender }.learn();
            spin::how_far_ahead(key) as usize
        };
        // (Another test's lock may be in the same bucket.)
        assert!((0..100).any(|_| ahead_after(true) <= lot::processors()));
        let is_one = lot::seems_single() || lot::are_there_ranks();
        assert!(is_one || (0..100).any(|_| ahead_after(false) > lot::processors()));
    }

    #[test]
    fn only_the_first_spell_of_an_attempt_stands_aside_and_is_timed() {
        let (mutex, options) = (RawMutex::new(), Options::new());
        interval::learn_that_sections_are_short();
        let contender = || Contender { is_single: false, ..Contender::new(&mutex, &options) };
        let mut first = contender();
        let stand_aside: Vec<_> = (0..5).map(|_| first.spell().is_to_stand_aside()).collect();
        assert_eq!(stand_aside, [true, false, false, false, false]);
        assert!(!contender().spell().is_to_stand_aside(), "one in two does");
        assert!(contender().spell().is_to_stand_aside());
    }

    #[test]
    fn a_waiter_woken_in_vain_asks_for_the_lock_where_holders_are_off() {
        // (A bucket remembers the spells of all its locks, those of other tests as well: the test
        // takes a lock of whose holders nothing is known.)
        let mutexes: Vec<_> = (0..100).map(|_| RawMutex::new()).collect();
        let options = Options::new();
        let patient = Options::new().hand_off_after(2 * crate::lock::HAND_OFF_AFTER);
        let asks_for = |mutex: &RawMutex, options, sleeps, is_single| {
            let mut contender = Contender { is_single, ..Contender::new(mutex, options) };
            contender.status.sleeps = sleeps;
            contender.was_woken_in_vain()
        };
        busy::SUPPOSED.set(Some(false));
        let unknown = mutexes.iter().find(|mutex| !asks_for(mutex, &options, 1, false));
        let mutex = unknown.expect("nothing is known of the holders of most");
        let asks = |options, sleeps, is_single| asks_for(mutex, options, sleeps, is_single);
        spin::learn_that_holders_are_off(mutex.key());
        assert!(asks(&options, 1, false) || lot::are_there_ranks());
        assert!(!asks(&options, 0, false), "it hasn't slept");
        assert!(!asks(&options, 1, true), "there is one processor");
        assert!(!asks(&patient, 1, false), "it asked to wait for longer");
        busy::SUPPOSED.set(Some(true));
        assert!(!asks(&options, WAKES_IN_VAIN - 1, false), "no processor idles");
        assert!(asks(&options, WAKES_IN_VAIN, false) || lot::are_there_ranks());
        busy::SUPPOSED.set(None);
    }

    /// A rwlock's word that another thread changes, which writes and reads in turn, or writes and
    /// is outside.
    #[derive(Clone, Copy)]
    struct Crowded<'w> {
        loads: &'w Cell<u64>,
        others: u64,
        reads: bool,
    }

    impl Lock for Crowded<'_> {
        fn key(&self) -> Key {
            Key::rwlock(core::ptr::from_ref(self.loads).addr())
        }

        fn bits(&self) -> &'static Bits {
            writers_bits()
        }

        fn load(&self) -> u64 {
            let at = self.loads.replace(self.loads.get() + 1);
            let readers = self.bits().shared & self.bits().shared.wrapping_neg();
            let then = if self.reads { readers } else { 0 };
            self.others | if at / 5 % 2 == 0 { 1 } else { then }
        }

        fn exchange(&self, _: u64, _: u64, _: Ordering) -> Result<u64, u64> {
            unreachable!()
        }

        fn clear(&self, _: u64) {}
    }

    #[test]
    fn a_newcomer_is_surplus_where_one_thread_runs_and_another_is_on_its_way() {
        let (plain, loads) = (Options::new(), Cell::new(0));
        let bounded = plain.until(Deadline::after(Duration::from_secs(60)));
        let is_surplus = |others, options, role, is_single| {
            let crowded = Crowded { loads: &loads, others, reads: true };
            surplus::learn_that_threads_are(crowded.key());
            let contender = Contender { role, is_single, ..Contender::new(crowded, options) };
            contender.is_surplus()
        };
        let bits = writers_bits();
        // (Another test's lock may be in the same bucket.)
        let mut tries = (0..100).map(|_| is_surplus(bits.one_wake, &plain, Role::Newcomer, false));
        assert!(tries.any(|yes| yes));
        assert!(!is_surplus(0, &plain, Role::Newcomer, false), "none is on its way");
        assert!(!is_surplus(bits.one_wake | bits.promised, &plain, Role::Newcomer, false));
        assert!(!is_surplus(bits.one_wake, &plain, Role::Woken, false));
        assert!(!is_surplus(bits.one_wake, &plain, Role::Newcomer, true));
        assert!(!is_surplus(bits.one_wake, &bounded, Role::Newcomer, false));
    }

    #[test]
    fn a_newcomer_that_does_little_is_surplus_where_another_is_on_its_way() {
        let (options, loads) = (Options::new(), Cell::new(0));
        let is_surplus = |others, reads| {
            // (Another test's lock may be in the same bucket.)
            let crowded = Crowded { loads: &loads, others, reads };
            surplus::forget(crowded.key());
            Contender { is_single: false, ..Contender::new(crowded, &options) }.is_surplus()
        };
        let one_wake = writers_bits().one_wake;
        assert!((0..100).any(|_| !is_surplus(one_wake, false)), "nothing is known");
        interval::learn_that_sections_are_short();
        assert!((0..100).any(|_| is_surplus(one_wake, false)) || lot::are_there_ranks());
        assert!((0..100).any(|_| !is_surplus(0, false)), "none is on its way");
        assert!((0..100).any(|_| !is_surplus(one_wake, true)), "another does more");
    }
}
