//! The waiter's side: queue, sleep, and find out how it ended.

use super::lease::Node;
use super::watch::Watch;
use crate::lot::bucket::{self, Locked, notify_fan_out};
use crate::lot::node::{self, ANY, Debt, Key, NodeKind, Until, Verdict, Waiter, Woke, tid};
use crate::sys::clock::Deadline;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A waker chose this waiter.
    Chosen(Verdict),
    /// The deadline passed while it was queued. It is queued no longer.
    TimedOut,
    /// A thread interrupted it while it was queued where it had queued itself. It is queued no
    /// longer.
    Interrupted,
    /// A signal handler ran. It is queued no longer.
    Signalled,
}

/// A wait that has been queued: at `key`, in a bucket whose lock has been dropped since.
#[must_use = "a queued waiter has to sleep until it is chosen or gives up"]
pub(crate) struct Wait<'d> {
    waiter: &'static Waiter,
    key: Key,
    until: Until<'d>,
    ends_when_moved: bool,
}

/// Where in the queue to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Front,
    Back,
}

impl<'d> Wait<'d> {
    /// Queues `node` at `key`, in the bucket that `announce(key)` locked.
    #[inline]
    pub(crate) fn enqueue(
        locked: &mut Locked<'_>,
        node: &Node,
        key: Key,
        token: usize,
        place: Place,
    ) -> Self {
        Self::enqueue_for(locked, node, key, token, place, ANY)
    }

    /// The same, listening only to wakes that have a bit in common with `bitset`.
    #[inline]
    pub(crate) fn enqueue_for(
        locked: &mut Locked<'_>,
        node: &Node,
        key: Key,
        token: usize,
        place: Place,
        bitset: u32,
    ) -> Self {
        let waiter = node.waiter();
        // SAFETY: a node serves one wait at a time, and a wait ends with it unlinked and notified.
        unsafe {
            waiter.prepare(tid(), token, NodeKind::Thread, bitset, node.rank());
            waiter.set_queued_at(key);
            match place {
                Place::Front => locked.push_front(waiter, key),
                Place::Back => locked.push_back(waiter, key),
            }
        }
        Self { waiter, key, until: Until::default(), ends_when_moved: false }
    }

    /// Ends the wait with `TimedOut` at `deadline`.
    #[inline]
    pub(crate) fn until(mut self, deadline: Option<&'d Deadline>) -> Self {
        self.until.deadline = deadline;
        self
    }

    /// Lets an interrupt end the wait, as long as the waiter hasn't been moved.
    #[inline]
    pub(crate) fn interruptible(mut self, yes: bool) -> Self {
        self.until.interrupts = yes;
        self
    }

    /// Notes what the waiter owes, if anything, if it leaves without returning.
    #[inline]
    pub(crate) fn owing(self, debt: Option<Debt>) -> Self {
        // SAFETY: the node is the caller's; nothing else looks at its debt.
        unsafe { self.waiter.debt.set(debt) };
        self
    }

    /// Names at once all that ends the wait.
    #[inline]
    pub(crate) fn ends_by(mut self, until: Until<'d>) -> Self {
        self.until = until;
        self
    }

    /// Drops the deadline once the waiter has been moved to another address.
    #[inline]
    pub(crate) fn deadline_ends_when_moved(mut self) -> Self {
        self.ends_when_moved = true;
        self
    }

    /// Whether a waker has chosen this waiter and told it: it won't sleep.
    #[inline]
    pub(crate) fn is_notified(&self) -> bool {
        self.waiter.parker.is_notified()
    }

    /// Sleeps. The bucket's lock must have been dropped.
    ///
    /// If the waiter leaves unchosen, `on_leave` is called once, under the lock of the bucket it
    /// leaves, with whether it was the last at its address: the place to take back what said that a
    /// thread waits. Afterwards whatever was waited on may be gone.
    #[inline(always)]
    pub(crate) fn sleep(mut self, on_leave: impl FnMut(bool)) -> Ended {
        let mut watch = Watch::begin(self.key);
        let ended = self.sleep_watched(&mut watch, |_| {}, on_leave);
        watch.end();
        node::note_wake();
        ended
    }

    #[inline(always)]
    fn sleep_watched(
        &mut self,
        watch: &mut Watch,
        linger: impl FnMut(Verdict),
        mut on_leave: impl FnMut(bool),
    ) -> Ended {
        loop {
            let look_at = watch.look(self.waiter, self.until.deadline);
            let until = self.until.but_not_after(&look_at);
            match self.waiter.parker.sleep(until) {
                Woke::Notified => return self.chosen(linger),
                Woke::TimedOut if look_at.is_some() => {}
                Woke::TimedOut => {
                    if self.leave(self.ends_when_moved, &mut on_leave) {
                        return Ended::TimedOut;
                    }
                }
                Woke::Signalled => {
                    if self.leave(false, &mut on_leave) {
                        return Ended::Signalled;
                    }
                }
                Woke::Interrupted => {
                    self.waiter.parker.take_interrupt();
                    if self.leave(true, &mut on_leave) {
                        return Ended::Interrupted;
                    }
                }
            }
        }
    }

    /// `sleep`, during which `ring` is called if the wait lasts until `alarm`, under the lock of
    /// the bucket that the waiter is queued in, and again at the times that it names. Once the
    /// waiter has been chosen, `linger` is called, before the wait is over: what it was given is
    /// given back if a signal handler leaves it for good meanwhile.
    #[inline(always)]
    pub(crate) fn sleep_ringing(
        mut self,
        alarm: Option<Deadline>,
        mut ring: impl FnMut(&mut Locked<'_>, &'static Waiter) -> Option<Deadline>,
        linger: impl FnMut(Verdict),
        on_leave: impl FnMut(bool),
    ) -> Ended {
        let mut watch = Watch::begin(self.key);
        let mut next = alarm;
        let ended = loop {
            let Some(alarm) = next else {
                break self.sleep_watched(&mut watch, linger, on_leave);
            };
            let look_at = watch.look(self.waiter, Some(&alarm));
            let until = Until { deadline: Some(&alarm), ..self.until };
            match self.waiter.parker.sleep(until.but_not_after(&look_at)) {
                Woke::Notified => break self.chosen(linger),
                Woke::TimedOut if look_at.is_some() => {}
                Woke::TimedOut => next = self.ring(&mut ring),
                Woke::Signalled | Woke::Interrupted => next = None,
            }
        };
        watch.end();
        node::note_wake();
        ended
    }

    /// Calls `ring` if the waiter is queued still.
    fn ring(
        &self,
        ring: &mut impl FnMut(&mut Locked<'_>, &'static Waiter) -> Option<Deadline>,
    ) -> Option<Deadline> {
        if self.waiter.key() != self.key {
            return None;
        }
        let mut locked = bucket::lock(self.key);
        if self.waiter.key() == self.key { ring(&mut locked, self.waiter) } else { None }
    }

    /// Takes the node out of whichever queue it is in. `false` when it must wait on: it has been
    /// chosen, and its notification is on the way, or it has been moved and `unless_moved` says
    /// that moved waiters stay.
    fn leave(&mut self, unless_moved: bool, on_leave: &mut impl FnMut(bool)) -> bool {
        loop {
            let key = self.waiter.key();
            let moved = key != self.key;
            if key == Key::NOWHERE || (moved && unless_moved) {
                self.until = Until::default();
                return false;
            }
            let locked = bucket::lock(key);
            // SAFETY: locked by this key.
            if let Some(queued) = unsafe { locked.queued(self.waiter, key) } {
                locked.remove(queued);
                self.waiter.set_queued_nowhere();
                on_leave(!locked.has(key));
                return true;
            }
        }
    }

    fn chosen(&self, mut linger: impl FnMut(Verdict)) -> Ended {
        // SAFETY: notified, once for this wait: the (W) fields are this thread's again.
        let verdict = unsafe {
            notify_fan_out(self.waiter);
            self.waiter.verdict.get()
        };
        linger(verdict);
        self.waiter.set_queued_nowhere();
        Ended::Chosen(verdict)
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::super::lease::node;
    use super::super::leave::abandon_waits;
    use super::*;
    use crate::lot::node::From;
    use crate::prim::atomic::{AtomicU32, Ordering};
    use crate::sys::binding::{allowed_processors, bind};
    use std::sync::mpsc::{self, Sender};
    use std::thread::{self, Scope};
    use std::time::{Duration, Instant};

    /// Past which a wake counts as lost.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Waits at `key` on `cpu`, and tells who was chosen, and whether as the last.
    fn wait(key: Key, token: usize, cpu: usize, chosen: &Sender<(usize, bool)>) {
        assert!(bind(cpu));
        // (Another test's thread may have made the table, bound to one processor. This finds out
        // that there are several.)
        _ = bucket::is_single();
        let node = node().unwrap();
        let mut queue = bucket::announce(key);
        let wait = Wait::enqueue(&mut queue, &node, key, token, Place::Back);
        drop(queue);
        let end = Deadline::after(PATIENCE);
        let Ended::Chosen(verdict) = wait.until(Some(&end)).sleep(|_| {}) else {
            panic!("none has chosen the waiter on {cpu}");
        };
        chosen.send((cpu, verdict.was_last)).unwrap();
    }

    /// Queues threads at `key`, one after the other: each has run on the processor of that place.
    fn queue_up<'s>(
        scope: &'s Scope<'s, '_>,
        key: Key,
        token: usize,
        cpus: &[usize],
        chosen: &Sender<(usize, bool)>,
    ) {
        for (before, cpu) in cpus.iter().copied().enumerate() {
            let chosen = chosen.clone();
            scope.spawn(move || wait(key, token, cpu, &chosen));
            while bucket::lock(key).count(key) == before {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn a_sleeps_end_is_noted_once_until_a_lock_asks_again() {
        let at = || &node::own().unwrap().notes.woke_at;
        let sleep = || {
            let key = Key::word(core::ptr::from_ref(&at).addr());
            let node = node().unwrap();
            let mut queue = bucket::announce(key);
            let wait = Wait::enqueue(&mut queue, &node, key, 0, Place::Back);
            drop(queue);
            let end = Deadline::after(Duration::from_millis(1));
            assert_eq!(wait.until(Some(&end)).sleep(|_| {}), Ended::TimedOut);
            at().load(Ordering::Relaxed)
        };
        let first = sleep();
        assert_ne!(first, 0);
        assert_eq!(sleep(), first);
        at().store(0, Ordering::Relaxed);
        assert!(sleep() > first);
    }

    #[test]
    fn a_moved_waiter_is_chosen_from_nearby_and_others_as_the_waker_says() {
        let [here, elsewhere, ..] = allowed_processors()[..] else {
            println!("not tried: there is one processor");
            return;
        };
        bucket::prepare();
        let key = Key::word(4096);
        for (token, near) in [(1, true), (0, false), (0, true)] {
            for order in [[here, elsewhere], [elsewhere, here]] {
                let (chosen, is_chosen) = mpsc::channel();
                let next = || is_chosen.recv_timeout(PATIENCE).expect("it's awake");
                let (expected, other) = if near { (here, elsewhere) } else { (elsewhere, here) };
                thread::scope(|scope| {
                    queue_up(scope, key, token, &order, &chosen);
                    let waker = || {
                        assert!(bind(here));
                        bucket::lock(key).choose_placed(key, near && token == 0, Verdict::CLAIMED)
                    };
                    for expected in [(expected, false), (other, true)] {
                        assert!(scope.spawn(waker).join().unwrap());
                        assert_eq!(next(), expected, "near: {near}, queue: {order:?}");
                    }
                    assert!(!scope.spawn(waker).join().unwrap(), "none is left");
                });
            }
        }
    }

    #[test]
    fn a_thread_about_to_sleep_looks_further_for_one_nearby_but_passes_the_first_twice() {
        let [here, elsewhere, ..] = allowed_processors()[..] else {
            println!("not tried: there is one processor");
            return;
        };
        bucket::prepare();
        let key = Key::word(12288);
        let order = [vec![elsewhere; 9], vec![here; 3]].concat();
        let (chosen, is_chosen) = mpsc::channel();
        thread::scope(|scope| {
            queue_up(scope, key, 0, &order, &chosen);
            let sleeper = || {
                assert!(bind(here));
                bucket::lock(key).choose_near(key, |_| true, Verdict::CLAIMED)
            };
            let woken = order.iter().map(|_| {
                assert!(scope.spawn(sleeper).join().unwrap());
                is_chosen.recv_timeout(PATIENCE).expect("it's awake").0
            });
            let woken: Vec<usize> = woken.collect();
            // (The more processors there are, the less far it looks.)
            if bucket::sleepers_window() > 9 {
                assert_eq!(woken[..3], [here, here, elsewhere]);
            } else {
                assert_eq!(woken[..2], [elsewhere; 2]);
            }
        });
    }

    /// A signal handler may jump out of a wait whose waiter has been chosen, and lingers.
    #[test]
    fn a_waiter_that_leaves_as_it_lingers_pays_its_debt() {
        static PAID: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
        fn pay(at: usize, from: From) {
            let holds_wake = from == From::Chosen { holds_wake: true };
            PAID[at].fetch_add(1 + 10 * u32::from(holds_wake), Ordering::Relaxed);
        }
        bucket::prepare();
        let key = Key::word(8192);
        let is_queued = |waiters| {
            let end = Instant::now() + PATIENCE;
            while bucket::lock(key).count(key) != waiters {
                assert!(Instant::now() < end, "{waiters} waiters don't queue");
                thread::yield_now();
            }
        };
        let wait = |leaves: bool| {
            let node = node().unwrap();
            let mut queue = bucket::announce(key);
            let debt = Debt { settle: pay, address: usize::from(!leaves) };
            let wait = Wait::enqueue(&mut queue, &node, key, 0, Place::Back).owing(Some(debt));
            drop(queue);
            let mut lingered = 0;
            let linger = |verdict: Verdict| {
                lingered += 1;
                assert_eq!(verdict.holds_wake, leaves);
                if leaves {
                    abandon_waits(|_| true);
                }
            };
            let end = Deadline::after(PATIENCE);
            let ended = wait.until(Some(&end)).sleep_ringing(None, |_, _| None, linger, |_| {});
            assert!(matches!(ended, Ended::Chosen(_)), "{ended:?}");
            assert_eq!(lingered, 1);
        };
        thread::scope(|scope| {
            scope.spawn(|| wait(true));
            is_queued(1);
            scope.spawn(|| wait(false));
            is_queued(2);
            // (By its place in the queue: which processors the two ran on is not to matter.)
            let queue = bucket::lock(key);
            let first = queue.first(key).expect("two are queued");
            assert!(queue.choose(first, Verdict::CLAIMED));
            drop(queue);
            // (The first wakes the other as it leaves.)
        });
        assert_eq!(PAID.each_ref().map(|paid| paid.load(Ordering::Relaxed)), [11, 0]);
    }
}
