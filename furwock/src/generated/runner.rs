//! Runs generated programs, one after another, and makes a failing one small.

use super::random::Random;
use super::scheduler::Seeded;
use crate::lot::forget_ended_executions;
use crate::sys::fork::pretend;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::Cell;
use std::fmt::{Debug, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps after which an execution counts as one that never ends. The longest that end have some
/// thousands.
const MOST_STEPS: usize = 60_000;

/// Schedules that a smaller program gets to fail under.
const TRIES: u64 = 1500;

/// What programs are about.
pub(super) trait Object: Sized + 'static {
    /// As a failure names it.
    const NAME: &'static str;
    /// How one phase of a program finds the object.
    type Start: Clone + Debug + Send + Sync;
    /// What one thread does in one step of its program.
    type Op: Clone + Debug + Send + Sync;

    fn generate(random: &mut Random) -> Program<Self>;

    /// Whether the program runs in what is taken for a forked child.
    fn is_child(_program: &Program<Self>) -> bool {
        false
    }

    /// Runs the program, and fails if what happens isn't what the object promises. However much is taken
    /// away from a program, it has to end.
    fn run(program: &Arc<Program<Self>>);

    /// The same start with less to it.
    fn smaller_starts(_start: &Self::Start) -> Vec<Self::Start> {
        Vec::new()
    }

    /// The same step with less to it.
    fn smaller_ops(_op: &Self::Op) -> Vec<Self::Op> {
        Vec::new()
    }
}

/// What some threads do, in phases: a phase begins when all threads have ended the one before.
pub(super) struct Program<O: Object> {
    pub(super) phases: Vec<Phase<O>>,
}

pub(super) struct Phase<O: Object> {
    pub(super) start: O::Start,
    pub(super) threads: Vec<Vec<O::Op>>,
}

impl<O: Object> Clone for Phase<O> {
    fn clone(&self) -> Self {
        Self { start: self.start.clone(), threads: self.threads.clone() }
    }
}

impl<O: Object> Clone for Program<O> {
    fn clone(&self) -> Self {
        Self { phases: self.phases.clone() }
    }
}

impl<O: Object> Display for Program<O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for phase in &self.phases {
            writeln!(f, "  start: {:?}", phase.start)?;
            for (number, ops) in phase.threads.iter().enumerate() {
                writeln!(f, "    thread {number}:")?;
                for op in ops {
                    writeln!(f, "      {op:?}")?;
                }
            }
        }
        Ok(())
    }
}

impl<O: Object> Program<O> {
    pub(super) fn thread_count(&self) -> usize {
        self.phases[0].threads.len()
    }

    /// All programs that lack one thing of this one.
    fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Self)| {
            let mut smaller = self.clone();
            change(&mut smaller);
            all.push(smaller);
        };
        for phase in 0..self.phases.len() {
            if self.phases.len() > 1 {
                with(&|program| _ = program.phases.remove(phase));
            }
        }
        for thread in 0..self.thread_count() {
            if self.thread_count() > 1 {
                with(&|program| {
                    program.phases.iter_mut().for_each(|phase| _ = phase.threads.remove(thread));
                });
            }
        }
        for (at, phase) in self.phases.iter().enumerate() {
            for (thread, ops) in phase.threads.iter().enumerate() {
                for (index, op) in ops.iter().enumerate() {
                    with(&|program| _ = program.phases[at].threads[thread].remove(index));
                    for op in O::smaller_ops(op) {
                        with(&|program| {
                            program.phases[at].threads[thread][index] = op.clone();
                        });
                    }
                }
            }
            for start in O::smaller_starts(&phase.start) {
                with(&|program| program.phases[at].start = start.clone());
            }
        }
        all
    }
}

/// A program that failed.
pub(super) struct Failure<O: Object> {
    pub(super) program: Program<O>,
    pub(super) seed: u64,
    pub(super) said: String,
    /// Programs run, the last of which failed.
    pub(super) programs: u64,
    pub(super) time: Duration,
}

std::thread_local! {
    /// The seed of the execution that runs.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    Programs(u64),
    Time(Duration),
}

/// Runs the programs that `first` and the seeds after it make.
pub(super) fn explore<O: Object>(first: u64, extent: Extent) -> Result<u64, Box<Failure<O>>> {
    let begin = Instant::now();
    let more = move |done: u64| match extent {
        Extent::Programs(count) => done < count,
        Extent::Time(time) => begin.elapsed() < time,
    };
    let seeds = move |done: u64| more(done).then(|| first.wrapping_add(done));
    let program = |seed| O::generate(&mut Random::new(seed));
    run(seeds, program).map_err(|(said, programs)| {
        let seed = SEED.get();
        Box::new(Failure { program: program(seed), seed, said, programs, time: begin.elapsed() })
    })
}

/// Runs a program for each seed that `seeds` gives by its number. Returns how many ran; if one failed,
/// what it said besides.
fn run<O: Object>(
    seeds: impl Fn(u64) -> Option<u64> + 'static,
    program: impl Fn(u64) -> Program<O> + Send + Sync + 'static,
) -> Result<u64, (String, u64)> {
    std::thread_local! {
        static DONE: Cell<u64> = const { Cell::new(0) };
    }
    DONE.set(0);
    let next_seed = move || {
        forget_ended_executions();
        let seed = seeds(DONE.get())?;
        DONE.set(DONE.get() + 1);
        SEED.set(seed);
        Some(seed)
    };
    let mut config = Config::new();
    config.stack_size = 0x2_0000;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.failure_persistence = FailurePersistence::Print;
    config.silence_warnings = true;
    let runner = Runner::new(Seeded::new(next_seed), config);
    let execution = move || {
        let program = Arc::new(program(SEED.get()));
        pretend::CHILD.set(O::is_child(&program));
        O::run(&program);
    };
    let result = catch_unwind(AssertUnwindSafe(|| runner.run(execution)));
    pretend::CHILD.set(false);
    result.map_or_else(
        |reason| {
            let said = reason.downcast_ref::<String>().cloned();
            let said = said.or_else(|| reason.downcast_ref::<&str>().map(|said| (*said).into()));
            Err((said.unwrap_or_default(), DONE.get()))
        },
        |_| Ok(DONE.get()),
    )
}

/// A smaller program that fails too, and the seed of its schedule: as small as taking away one thing
/// after another makes it, within `time`.
pub(super) fn shrunk<O: Object>(failure: &Failure<O>, time: Duration) -> Failure<O> {
    let begin = Instant::now();
    let mut best =
        Failure { program: failure.program.clone(), said: failure.said.clone(), ..*failure };
    'smaller: loop {
        for smaller in best.program.smaller() {
            if begin.elapsed() > time {
                break 'smaller;
            }
            let own = smaller.clone();
            let first = best.seed;
            // The schedule that failed before may do it again.
            let seeds = move |done: u64| (done < TRIES).then(|| first.wrapping_add(done));
            if let Err((said, _)) = run(seeds, move |_| own.clone()) {
                best = Failure { program: smaller, seed: SEED.get(), said, ..best };
                continue 'smaller;
            }
        }
        break;
    }
    best
}

/// Repeats one schedule of one program, so that shuttle prints it: on a thread of its own, since on one
/// thread it prints no two schedules of the same length in a row.
pub(super) fn repeat<O: Object>(program: &Program<O>, seed: u64) {
    let program = program.clone();
    let seeds = move |done: u64| (done == 0).then_some(seed);
    let repeated = std::thread::spawn(move || _ = run(seeds, move |_| program.clone()));
    repeated.join().expect("failures are caught");
}

impl<O: Object> Display for Failure<O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} after {} programs, {:.1?}: {}",
            O::NAME,
            self.programs,
            self.time,
            self.said
        )?;
        write!(f, "seed {:#x}\n{}", self.seed, self.program)
    }
}
