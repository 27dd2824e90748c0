//! Programs on a [`RawSemaphore`].
//!
//! They check that no more permits are taken than there were, that a try and a timed call fail only
//! if there may have been none, that every call ends, and that the word counts the right permits
//! and no waiter at the end.

use super::foreign::{self, Foreign, Present};
use super::ground::{Note, Place, check_buckets, in_phases, passed};
use super::random::Random;
use super::runner::{Object, Phase, Program};
use crate::lock::RawSemaphore;
use crate::lot;
use crate::unstable::interrupt;
use crate::unstable::semaphore::{PermitWaited, acquire_interruptible};
use std::cell::Cell;
use std::sync::Arc;

pub(super) struct Semaphores;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Wait,
    Interruptible,
    Try,
    Timed,
    TimedInterruptible,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Takes a permit for good.
    Take,
    /// Takes one, if that is the way, and gives it back.
    Borrow(Way),
    Give(u32),
    /// Interrupts another thread.
    Interrupt(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    in_second_bucket: bool,
    more: usize,
    foreign: Vec<Foreign>,
}

struct World {
    place: Place<RawSemaphore>,
    /// Permits that there are at most, and at least, not counting those that are on their way.
    most: Note,
    least: Note,
    /// Rises when `least` falls to 0 or below.
    dry: Note,
    /// What the threads are interrupted by.
    names: [Note; 6],
}

impl Object for Semaphores {
    const NAME: &'static str = "semaphore";
    type Start = Start;
    type Op = Op;

    fn generate(random: &mut Random) -> Program<Self> {
        let threads = random.weighted(&[(4, 2), (6, 3), (4, 4), (2, 5), (1, 6)]);
        let in_second_bucket = random.one_in(2);
        let phases = random.weighted(&[(4, 1), (1, 2)]);
        let mut phase = |_| {
            let (more, foreign) = (random.pick(&[0, 0, 0, 1, 2]), foreign::draw(random));
            let start = Start { in_second_bucket, more, foreign };
            let threads = (0..threads).map(|_| random.list(1, 4, Op::draw)).collect();
            Phase { start, threads }
        };
        Program { phases: (0..phases).map(&mut phase).collect() }
    }

    fn run(program: &Arc<Program<Self>>) {
        let none = || RawSemaphore::new(0).expect("no permits aren't too many");
        let world = Arc::new(World {
            place: Place::new(program.phases[0].start.in_second_bucket, none()),
            most: Note::default(),
            least: Note::default(),
            dry: Note::default(),
            names: Default::default(),
        });
        let present: Cell<Option<Present>> = Cell::new(None);
        let begin = |phase: &Phase<Self>| {
            let permits = permits_needed(&phase.threads) + phase.start.more;
            world.place.put(RawSemaphore::new(permits as u32).expect("a few"));
            world.most.set(permits as i64);
            world.least.set(permits as i64);
            present.set(Some(foreign::come(&phase.start.foreign, world.place.address())));
        };
        let end = |_: &Phase<Self>| {
            let semaphore = world.place.get();
            assert_eq!(world.most.get(), world.least.get(), "a program that counts wrong");
            assert_eq!(i64::from(semaphore.available()), world.most.get(), "permits at the end");
            assert_eq!(semaphore.waiters(), 0, "a thread seems to wait");
            present.take().expect("they came").leave();
        };
        let own = Arc::clone(&world);
        in_phases(program, begin, end, move |phase, number| {
            own.names[number].set(lot::tid().into());
            phase.threads[number].iter().for_each(|op| own.act(*op));
        });
        check_buckets();
    }

    fn smaller_starts(start: &Start) -> Vec<Start> {
        let mut all: Vec<_> = foreign::fewer(&start.foreign)
            .map(|foreign| Start { foreign, ..start.clone() })
            .collect();
        if start.more > 0 {
            all.push(Start { more: 0, ..start.clone() });
        }
        all
    }
}

/// As many permits as have to be there at first for every thread to end: those that are given by
/// threads that may have waited before don't count.
fn permits_needed(threads: &[Vec<Op>]) -> usize {
    let waits =
        |op: &Op| matches!(op, Op::Take | Op::Borrow(Way::Wait) | Op::Borrow(Way::Interruptible));
    let taken = threads.iter().flatten().filter(|op| matches!(op, Op::Take)).count();
    let borrows = threads.iter().flatten().any(|op| matches!(op, Op::Borrow(_)) && waits(op));
    let gives = |op: &Op| if let Op::Give(permits) = op { *permits as usize } else { 0 };
    let given = |ops: &Vec<Op>| ops.iter().take_while(|op| !waits(op)).map(gives).sum::<usize>();
    (taken + usize::from(borrows)).saturating_sub(threads.iter().map(given).sum())
}

impl Op {
    fn draw(random: &mut Random) -> Self {
        let ways = [Way::Wait, Way::Interruptible, Way::Try, Way::Timed, Way::TimedInterruptible];
        let (way, permits) = (random.pick(&ways), random.within(1, 3) as u32);
        let interrupt = Self::Interrupt(random.below(6));
        random.weighted(&[
            (3, Self::Take),
            (4, Self::Borrow(way)),
            (3, Self::Give(permits)),
            (1, interrupt),
        ])
    }
}

impl World {
    fn act(&self, op: Op) {
        match op {
            Op::Take => _ = self.take(Way::Wait),
            Op::Borrow(way) => {
                if self.take(way) {
                    self.give(1);
                }
            }
            Op::Give(permits) => self.give(permits),
            Op::Interrupt(thread) => interrupt(self.names[thread].get() as usize),
        }
    }

    fn give(&self, permits: u32) {
        self.most.add(permits.into());
        self.place.get().release_many(permits).expect("a few");
        self.least.add(permits.into());
    }

    fn take(&self, way: Way) -> bool {
        let semaphore = self.place.get();
        self.less_for_sure(1);
        let dry = self.dry.get();
        // This call may take one itself: there has to be one besides.
        let enough = self.least.get() >= 0;
        let taken = match way {
            Way::Wait => {
                semaphore.acquire();
                true
            }
            Way::Interruptible => {
                while acquire_interruptible(semaphore, None) != PermitWaited::Permit {}
                true
            }
            Way::Try => semaphore.try_acquire(),
            Way::Timed => semaphore.acquire_until(&passed()),
            Way::TimedInterruptible => {
                acquire_interruptible(semaphore, Some(&passed())) == PermitWaited::Permit
            }
        };
        if taken {
            self.most.add(-1);
            assert!(self.most.get() >= 0, "a permit that no thread gave");
        } else {
            self.least.add(1);
            let always = enough && self.dry.get() == dry;
            assert!(!always, "{way:?} failed, and there was a permit all the time");
        }
        taken
    }

    fn less_for_sure(&self, permits: i64) {
        self.least.add(-permits);
        if self.least.get() < 0 {
            self.dry.add(1);
        }
    }
}
