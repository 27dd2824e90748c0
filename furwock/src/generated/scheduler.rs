//! Which thread runs next.
//!
//! shuttle's own random and PCT schedulers draw one execution after another from one stream, and
//! PCT learns how long executions are from those before. Here each execution begins with a seed of
//! its own, which also makes the program, so that one number repeats both.

use super::random::Random;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::collections::HashMap;

/// How one execution's schedule is drawn.
#[derive(Debug)]
enum Way {
    /// Any runnable thread, at every step.
    Uniform,
    /// The thread that runs goes on, but for one step in so many.
    Sticky(usize),
    /// Probabilistic concurrency testing (Burckhardt et al. 2010): the thread of the highest
    /// priority runs; at a few steps drawn beforehand, and when it yields, it gets the lowest.
    Priorities(Priorities),
}

#[derive(Debug, Default)]
struct Priorities {
    /// The smaller, the sooner.
    of: HashMap<TaskId, u64>,
    lowest: u64,
    changes: Vec<usize>,
    steps: usize,
}

impl Way {
    fn draw(random: &mut Random) -> Self {
        match random.below(4) {
            0 => Way::Uniform,
            1 => Way::Sticky(random.pick(&[3, 8, 20])),
            _ => {
                // Programs have some tens to some hundreds of steps.
                let steps = random.pick(&[32, 100, 300, 600]);
                let changes = random.list(0, 5, |random| random.below(steps));
                Way::Priorities(Priorities { changes, lowest: 1 << 32, ..Priorities::default() })
            }
        }
    }
}

/// Draws the schedule of one execution after another, each from the seed that `next_seed` names for
/// it.
pub(super) struct Seeded<F> {
    next_seed: F,
    random: Random,
    way: Way,
}

impl<F: FnMut() -> Option<u64>> Seeded<F> {
    pub(super) fn new(next_seed: F) -> Self {
        Self { next_seed, random: Random::new(0), way: Way::Uniform }
    }
}

impl<F: FnMut() -> Option<u64>> Scheduler for Seeded<F> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let seed = (self.next_seed)()?;
        // Other numbers than those that the program is drawn from.
        self.random = Random::new(!seed);
        self.way = Way::draw(&mut self.random);
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if let [only] = runnable {
            return Some(only.id());
        }
        let random = &mut self.random;
        let any = |random: &mut Random| runnable[random.below(runnable.len())].id();
        let goes_on =
            current.filter(|id| !is_yielding && runnable.iter().any(|task| task.id() == *id));
        Some(match &mut self.way {
            Way::Uniform => any(random),
            Way::Sticky(length) => match goes_on {
                Some(id) if !random.one_in(*length) => id,
                _ => any(random),
            },
            Way::Priorities(priorities) => {
                priorities.choose(random, runnable, current, is_yielding)
            }
        })
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next()
    }
}

impl Priorities {
    fn choose(
        &mut self,
        random: &mut Random,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> TaskId {
        for task in runnable {
            self.of.entry(task.id()).or_insert_with(|| random.next() >> 32);
        }
        if is_yielding || self.changes.contains(&self.steps) {
            self.lowest += 1;
            current.map(|id| self.of.insert(id, self.lowest));
        }
        self.steps += 1;
        runnable.iter().map(|task| task.id()).min_by_key(|id| self.of[id]).expect("one is runnable")
    }
}
