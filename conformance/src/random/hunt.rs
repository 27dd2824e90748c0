//! Runs programs until one fails, and reduces that.

use super::generate::Generator;
use super::run::{Stage, run};
use super::step::{Step, parse, text};
use super::trace::Failure;
use super::wrong::Fault;
use crate::last_words;
use std::env;
use std::fmt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What to run.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The first program's seed; the next one has the next.
    pub seed: u64,
    /// How many programs, at most.
    pub programs: u64,
    /// For how long, at most.
    pub time: Duration,
    /// How long threads may sleep though one has to go on.
    pub bound: Duration,
    /// The text of the only program to run, in the places of its seed.
    pub program: Option<String>,
    /// What is to be wrong with all calls.
    pub wrong: Option<Fault>,
}

/// What has been run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Programs.
    pub programs: u64,
    /// Their steps.
    pub steps: u64,
    /// The time it took.
    pub time: Duration,
}

/// So many programs in a row run in one way: threads on one processor, where a step takes the
/// least time, or on all.
const IN_A_ROW: u64 = 32;

/// A candidate runs so often, since threads that race may fail only now and then.
const TRIES: usize = 4;
const BOUND_OF_CANDIDATES: Duration = Duration::from_millis(1000);
const REDUCES_FOR: Duration = Duration::from_secs(60);

fn is_spread(seed: u64) -> bool {
    seed / IN_A_ROW % 2 == 1
}

impl Hunt {
    /// Runs the programs.
    ///
    /// # Errors
    /// The first program that fails.
    pub fn run(&self) -> Result<Tally, Box<Failure>> {
        last_words::prepare();
        if let Some(fault) = self.wrong {
            fault.choose();
        }
        let start = Instant::now();
        let mut stage = Stage::new(self.bound);
        let mut tally = Tally::default();
        let given =
            self.program.as_deref().map(|text| parse(text).unwrap_or_else(|why| panic!("{why}")));
        for seed in (self.seed..).take(self.programs as usize) {
            if seed == self.seed || seed % IN_A_ROW == 0 {
                stage.spread(is_spread(seed));
            }
            last_words::begin(seed);
            let ran = match &given {
                Some(steps) => {
                    let mut steps = steps.iter().copied();
                    run(&mut stage, seed, &mut |_, _| steps.next())
                }
                None => {
                    let mut generator = Generator::new(seed);
                    run(&mut stage, seed, &mut |states, alone| generator.next(states, alone))
                }
            };
            last_words::end();
            tally.steps += ran.map_err(Box::new)?.len() as u64;
            tally.programs += 1;
            if start.elapsed() > self.time {
                break;
            }
        }
        tally.time = start.elapsed();
        Ok(tally)
    }

    /// Looks for a smaller program that fails, each in a process of its own: the threads of this
    /// one are stuck. Returns what that process says.
    pub fn reduce(&self, failure: &Failure) -> Option<String> {
        let start = Instant::now();
        let mut steps = failure.steps.clone();
        let mut said = None;
        let mut attempt = |candidate: &[Step]| {
            let fails = start.elapsed() < REDUCES_FOR;
            let fails = if fails { self.fails(failure.seed, candidate) } else { None };
            let is_smaller = fails.is_some();
            said = fails.or(said.take());
            is_smaller
        };
        let mut size = steps.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            let before = steps.len();
            while from < steps.len() {
                let mut candidate = steps.clone();
                candidate.drain(from..(from + size).min(steps.len()));
                if attempt(&candidate) {
                    steps = candidate;
                } else {
                    from += size;
                }
            }
            if size > 1 || steps.len() == before {
                size /= 2;
            }
        }
        for at in 0..steps.len() {
            let mut candidate = steps.clone();
            candidate[at].together = false;
            if candidate != steps && attempt(&candidate) {
                steps = candidate;
            }
        }
        said
    }

    /// What a process says in which the program fails.
    fn fails(&self, seed: u64, steps: &[Step]) -> Option<String> {
        let program = env::current_exe().expect("/proc is mounted");
        (0..TRIES).find_map(|_| {
            let mut command = Command::new(&program);
            command.arg("--seed").arg(seed.to_string()).arg("--program").arg(text(steps));
            let bound = BOUND_OF_CANDIDATES.min(self.bound);
            command.arg("--bound-ms").arg(bound.as_millis().to_string());
            if let Some(fault) = self.wrong {
                command.args(["--wrong", &fault.name()]);
            }
            command.stdin(Stdio::null());
            let run = command.output().expect("this program can be started again");
            (!run.status.success()).then(|| String::from_utf8_lossy(&run.stderr).into_owned())
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { programs, steps, time } = self;
        write!(f, "{programs} programs of {steps} steps in {:.1} s", time.as_secs_f64())
    }
}
