//! Programs on a [`RawBarrier`].
//!
//! They check that a thread returns from a round only after all of the round have arrived, that
//! each round has one leader, that every round ends although its leader replaces the barrier at
//! once, and that no thread counts as arrived at the end.

use super::foreign::{self, Foreign};
use super::ground::{Note, Place, check_buckets};
use super::random::Random;
use super::runner::{Object, Phase, Program};
use crate::lock::RawBarrier;
use shuttle::thread;
use std::sync::Arc;

pub(super) struct Barriers;

/// One arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// The kernel has no memory for a node.
    without_node: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    in_second_bucket: bool,
    rounds: Rounds,
    /// The leader of a round replaces the barrier.
    remade: bool,
    foreign: Vec<Foreign>,
}

/// How threads are grouped into rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounds {
    /// All threads, as often as the shortest program says.
    Together,
    /// Each thread once, with as many others as divide them into equal parts, this many at most.
    Parts(usize),
}

struct World {
    /// Rounds alternate between the two.
    places: [Place<RawBarrier>; 2],
    arrived: [Note; 2],
    led: [Note; 2],
}

impl Object for Barriers {
    const NAME: &'static str = "barrier";
    type Start = Start;
    type Op = Op;

    fn generate(random: &mut Random) -> Program<Self> {
        let threads = random.weighted(&[(4, 2), (6, 3), (6, 4), (1, 5), (3, 6)]);
        let parts = Rounds::Parts(random.within(1, 3));
        let rounds = random.pick(&[Rounds::Together, parts]);
        let foreign = foreign::draw(random);
        let start =
            Start { in_second_bucket: random.one_in(2), rounds, remade: random.one_in(2), foreign };
        let length = random.within(1, 4);
        let draw = |random: &mut Random| Op { without_node: random.one_in(5) };
        let threads = (0..threads).map(|_| random.list(length, length, draw)).collect();
        Program { phases: vec![Phase { start, threads }] }
    }

    fn run(program: &Arc<Program<Self>>) {
        let Phase { start, threads } = &program.phases[0];
        let (second, count) = (start.in_second_bucket, threads.len());
        let (size, rounds) = match start.rounds {
            Rounds::Together => (count, threads.iter().map(Vec::len).min().unwrap_or(0)),
            Rounds::Parts(most) => {
                let size = (1..=most.min(count)).rev().find(|size| count % *size == 0);
                (size.unwrap_or(1), threads.iter().map(Vec::len).min().unwrap_or(0).min(1))
            }
        };
        let world = Arc::new(World {
            places: [second, !second].map(|second| Place::new(second, RawBarrier::new())),
            arrived: Default::default(),
            led: Default::default(),
        });
        let present = foreign::come(&start.foreign, world.places[0].address());
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (world, program) = (Arc::clone(&world), Arc::clone(program));
                thread::spawn(move || {
                    let Phase { start, threads } = &program.phases[0];
                    let together = start.rounds == Rounds::Together;
                    for (round, op) in threads[number].iter().take(rounds).enumerate() {
                        world.arrive(*op, round, size as u32, together, start.remade);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        for (which, place) in world.places.iter().enumerate() {
            assert_eq!(place.get().arrived(), 0, "a thread seems to wait");
            let arrivals = world.arrived[which].get();
            assert_eq!(world.led[which].get(), arrivals / size as i64, "leaders of all rounds");
        }
        present.leave();
        check_buckets();
    }

    fn smaller_starts(start: &Start) -> Vec<Start> {
        let mut all: Vec<_> = foreign::fewer(&start.foreign)
            .map(|foreign| Start { foreign, ..start.clone() })
            .collect();
        if start.remade {
            all.push(Start { remade: false, ..start.clone() });
        }
        all
    }
}

impl World {
    fn arrive(&self, op: Op, round: usize, size: u32, together: bool, remade: bool) {
        let which = round % 2;
        let (place, arrived) = (&self.places[which], &self.arrived[which]);
        arrived.add(1);
        let barrier = place.get();
        let leads =
            if op.without_node { barrier.wait_without_node(size) } else { barrier.wait(size) };
        if leads {
            self.led[which].add(1);
            if together && remade {
                // No thread comes here before all have met at the other.
                place.put(RawBarrier::saying(u32::MAX / 2));
                place.put(RawBarrier::new());
            }
        }
        if together {
            let all = (round / 2 + 1) as i64 * i64::from(size);
            assert!(arrived.get() >= all, "gone on before all have come");
        }
    }
}
