//! Programs on a [`RawCondvar`] and its mutexes.
//!
//! Threads take and give tickets, and each ticket given is followed by a notification. The programs
//! check that no thread waits for ever while there is a ticket; that as many waits say that they
//! were notified as notifications say that they reached a waiter; that a wait times out only with a
//! deadline and is interrupted only if it may be; that the mutex is held after each wait; and that
//! the words of condvar and mutexes are zero at the end.

use super::foreign::{self, Foreign, Present};
use super::ground::{Note, Pages, Place, check_buckets, in_phases, passed};
use super::random::Random;
use super::runner::{Object, Phase, Program};
use crate::lock::{Outcome, RawCondvar, RawMutex};
use crate::lot;
use crate::unstable::condvar::wait_released;
use crate::unstable::interrupt;
use std::cell::Cell;
use std::sync::Arc;

pub(super) struct Condvars;

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Takes a ticket once there is one. With `moves` a notification may move the waiter to the
    /// mutex.
    Take { moves: bool, interruptible: bool },
    /// Waits for a ticket, but not for long, and leaves it there.
    Look { moves: bool, interruptible: bool },
    /// Interrupts another thread.
    Interrupt { thread: usize },
    /// Makes tickets; notifies one waiter for each, or all, with the mutex held or not.
    Give { tickets: usize, all: bool, held: bool },
    /// Waits with a mutex that can't be released.
    Fail { moves: bool },
    /// Notifies for no reason.
    Notify { all: bool },
    /// Has the mutex for a while.
    Hold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum With {
    First,
    Second,
    /// Every other thread with the second: then notifications go to all.
    Both,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    condvar_in_second_bucket: bool,
    with: With,
    foreign: Vec<Foreign>,
}

struct World {
    condvar: Place<RawCondvar>,
    mutexes: [Place<RawMutex>; 2],
    inside: [Note; 2],
    pages: [Pages; 2],
    tickets: Note,
    /// Waiters that notifications say they reached, and waits that say they were.
    notified: Note,
    signalled: Note,
    failed: Note,
    /// What the threads are interrupted by.
    names: [Note; 6],
}

impl Object for Condvars {
    const NAME: &'static str = "condvar";
    type Start = Start;
    type Op = Op;

    fn generate(random: &mut Random) -> Program<Self> {
        let threads = random.weighted(&[(4, 2), (6, 3), (4, 4), (2, 5), (1, 6)]);
        let condvar_in_second_bucket = random.one_in(2);
        let phases = random.weighted(&[(6, 1), (2, 2), (1, 3)]);
        let mut phase = |_| {
            let with = random.weighted(&[(3, With::First), (2, With::Second), (1, With::Both)]);
            let foreign = foreign::draw(random);
            let start = Start { condvar_in_second_bucket, with, foreign };
            let mut thread = |_| {
                if random.one_in(2) {
                    random.list(1, 2, Op::draw_waiting)
                } else {
                    random.list(1, 3, Op::draw_notifying)
                }
            };
            Phase { start, threads: (0..threads).map(&mut thread).collect() }
        };
        Program { phases: (0..phases).map(&mut phase).collect() }
    }

    fn run(program: &Arc<Program<Self>>) {
        let first = &program.phases[0].start;
        let world = Arc::new(World {
            condvar: Place::new(first.condvar_in_second_bucket, RawCondvar::new()),
            mutexes: [false, true].map(|second| Place::new(second, RawMutex::new())),
            inside: Default::default(),
            pages: Default::default(),
            tickets: Note::default(),
            notified: Note::default(),
            signalled: Note::default(),
            failed: Note::default(),
            names: Default::default(),
        });
        let present: Cell<Option<Present>> = Cell::new(None);
        let begin = |phase: &Phase<Self>| {
            world.condvar.put(RawCondvar::new());
            world.tickets.set(tickets_needed(&phase.threads) as i64);
            present.set(Some(foreign::come(&phase.start.foreign, world.condvar.address())));
        };
        let end = |_: &Phase<Self>| {
            assert!(world.condvar.get().says_no_waiters(), "the condvar says that a thread waits");
            for mutex in &world.mutexes {
                let says = mutex.get().at_rest_says(false);
                assert_eq!(says, 0, "a mutex isn't at rest: {says:#x}");
            }
            let (notified, signalled) = (world.notified.get(), world.signalled.get());
            let passed_on = notified - signalled;
            assert!(
                (0..=world.failed.get()).contains(&passed_on),
                "{notified} waiters were notified, {signalled} waits know of it"
            );
            present.take().expect("they came").leave();
        };
        let own = Arc::clone(&world);
        in_phases(program, begin, end, move |phase, number| {
            own.names[number].set(lot::tid().into());
            phase.threads[number].iter().for_each(|op| own.act(*op, phase.start.with, number));
        });
        world.pages.iter().for_each(Pages::check);
        check_buckets();
    }

    fn smaller_starts(start: &Start) -> Vec<Start> {
        let mut all: Vec<_> = foreign::fewer(&start.foreign)
            .map(|foreign| Start { foreign, ..start.clone() })
            .collect();
        if start.with != With::First {
            all.push(Start { with: With::First, ..start.clone() });
        }
        all
    }
}

/// As many tickets as have to be there at first for every taker to end: those that are given by
/// threads that have taken some before don't count.
fn tickets_needed(threads: &[Vec<Op>]) -> usize {
    let takes = |op: &Op| matches!(op, Op::Take { .. });
    let gives = |op: &Op| if let Op::Give { tickets, .. } = op { *tickets } else { 0 };
    let taken: usize = threads.iter().flatten().filter(|op| takes(op)).count();
    let given = |ops: &Vec<Op>| ops.iter().take_while(|op| !takes(op)).map(gives).sum::<usize>();
    taken.saturating_sub(threads.iter().map(given).sum())
}

impl Op {
    fn draw_waiting(random: &mut Random) -> Self {
        let (moves, interruptible) = (!random.one_in(5), random.one_in(3));
        random.weighted(&[
            (8, Self::Take { moves, interruptible }),
            (4, Self::Look { moves, interruptible }),
            (1, Self::Fail { moves }),
            (1, Self::Hold),
        ])
    }

    fn draw_notifying(random: &mut Random) -> Self {
        let (all, held) = (random.one_in(3), random.one_in(2));
        let give = Self::Give { tickets: random.within(1, 3), all, held };
        let interrupt = Self::Interrupt { thread: random.below(6) };
        random.weighted(&[(8, give), (1, Self::Notify { all }), (2, Self::Hold), (2, interrupt)])
    }
}

impl World {
    fn act(&self, op: Op, with: With, number: usize) {
        let own = match with {
            With::First => 0,
            With::Second => 1,
            With::Both => number % 2,
        };
        let to_all = with == With::Both;
        match op {
            Op::Take { moves, interruptible } => {
                self.lock(own);
                while self.tickets.get() == 0 {
                    _ = self.wait(own, moves, false, interruptible);
                }
                self.tickets.add(-1);
                self.unlock(own);
            }
            Op::Look { moves, interruptible } => {
                self.lock(own);
                let waits = self.tickets.get() == 0;
                let signalled =
                    waits && self.wait(own, moves, true, interruptible) == Outcome::Signalled;
                self.unlock(own);
                // It was for one that takes the ticket.
                if signalled {
                    self.notify(to_all);
                }
            }
            Op::Give { tickets, all, held } => {
                let others = 1 - own;
                if to_all {
                    self.lock(0);
                    self.lock(1);
                } else {
                    self.lock(own);
                }
                self.tickets.add(tickets as i64);
                let notify = || {
                    if all || to_all {
                        self.notify(true);
                    } else {
                        (0..tickets).for_each(|_| self.notify(false));
                    }
                };
                if held {
                    notify();
                }
                if to_all {
                    self.unlock(others);
                }
                self.unlock(own);
                if !held {
                    notify();
                }
            }
            Op::Fail { moves } => {
                let mutex = self.mutexes[own].get();
                // SAFETY: the release does nothing; the mutex stays.
                let wait = unsafe {
                    let condvar = self.condvar.get();
                    let noted = Cell::new(false);
                    wait_released(condvar, moves.then_some(mutex), || false, None, false, &noted)
                };
                assert_eq!(wait.outcome(), Outcome::NotReleased);
                self.failed.add(1);
                if moves {
                    wait.relock(mutex);
                    self.held(own);
                    self.unlock(own);
                }
            }
            Op::Notify { all } => self.notify(all || to_all),
            Op::Interrupt { thread } => interrupt(self.names[thread].get() as usize),
            Op::Hold => {
                self.lock(own);
                self.unlock(own);
            }
        }
    }

    fn lock(&self, which: usize) {
        self.mutexes[which].get().lock();
        self.held(which);
    }

    fn held(&self, which: usize) {
        assert_eq!(self.inside[which].get(), 0, "a second thread holds the mutex");
        self.inside[which].add(1);
        assert_eq!(self.mutexes[which].get().owner(), lot::tid(), "another is said to hold it");
        self.pages[which].change();
    }

    fn unlock(&self, which: usize) {
        self.inside[which].add(-1);
        self.mutexes[which].get().unlock();
    }

    fn wait(&self, which: usize, moves: bool, timed: bool, interruptible: bool) -> Outcome {
        let mutex = self.mutexes[which].get();
        let deadline = timed.then(passed);
        let release = || {
            self.unlock(which);
            true
        };
        let condvar = self.condvar.get();
        // SAFETY: the release doesn't wait; the mutex stays until it is relocked.
        let wait = unsafe {
            let (mutex, noted) = (moves.then_some(mutex), Cell::new(false));
            wait_released(condvar, mutex, release, deadline.as_ref(), interruptible, &noted)
        };
        let outcome = if moves {
            wait.relock(mutex)
        } else {
            mutex.lock();
            wait.outcome()
        };
        self.held(which);
        match outcome {
            Outcome::Signalled => self.signalled.add(1),
            Outcome::TimedOut => assert!(timed, "timed out without a deadline"),
            Outcome::Interrupted => {
                assert!(interruptible, "interrupted without having asked for it")
            }
            Outcome::NotReleased => panic!("the release says that it has"),
        }
        outcome
    }

    fn notify(&self, all: bool) {
        let condvar = self.condvar.get();
        let count = if all { condvar.notify_all() } else { condvar.notify_one().into() };
        self.notified.add(count as i64);
    }
}
