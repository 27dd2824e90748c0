//! The built-in workloads and their cases.

use std::time::Duration;

use super::arguments::CompareArguments;
use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::figure::{CONTENTION, Figure, JAIN};
use crate::bench::sections::Sections;
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_USAGE};
use crate::workloads::{cond, mutex, pp, queue};

pub const CONTESTANTS: [Contestant; 2] = [Contestant::Glibc, Contestant::FurwockPreload];
const SECONDS: Duration = Duration::from_millis(400);
/// How much shorter the workloads are with `--quick`.
const QUICK: f64 = 0.25;
/// The parameters that say how long a case takes.
const LENGTHS: [&str; 3] = ["rounds", "items", "seconds"];
/// What is compared if nothing else is asked for: about 20 seconds.
const DEFAULT: [&str; 9] = [
    "cond 16, released",
    "cond 200, held",
    "pp 1024 x 10",
    "mutex 10/10 x 4",
    "mutex 1/1 x 2",
    "mutex 1/1 x 16",
    "mutex 0/0 x 4",
    "queue 1 to 1",
    "queue 4 to 4",
];

fn benchmarks() -> Vec<Benchmark> {
    let broadcasts = [(16, 4000), (200, 600), (1000, 100)];
    let kept = |kept| broadcasts.map(|(threads, rounds)| cond::case(threads, rounds, kept));
    let games = [pp::case(128, 1000, 32768), pp::case(1024, 10, 32768)];
    let mutexes = [(10.0, &[2, 4, 16, 64][..]), (1.0, &[2, 4, 16, 64]), (0.0, &[1, 2, 4, 16, 64])];
    let mutexes = mutexes.into_iter().flat_map(|(us, threads)| {
        threads.iter().map(move |threads| mutex::case(Sections::new(us, us), *threads))
    });
    // Two seconds, because shorter runs say little of fairness.
    let mut fairness = mutex::case(Sections::new(0.1, 1.0), 64);
    fairness.parameters.push(("seconds", 2.0));
    let queues = [((1, 1), 16), ((4, 4), 16), ((16, 16), 64)];
    let queues = queues.map(|(threads, room)| queue::case(threads, room, 200_000));
    let shown = |benchmark: Benchmark, figures: &[Figure]| Benchmark {
        figures: figures.into(),
        able: CONTESTANTS.into(),
        ..benchmark
    };
    let rate = |name, title| Figure::rate(name, title);
    vec![
        shown(
            cond::benchmark([kept(false), kept(true)].concat()),
            &[Figure::time("seconds_per_round", "time a round")],
        ),
        shown(pp::benchmark(games.into()), &[Figure::time("seconds", "time for all games")]),
        shown(mutex::benchmark(mutexes.collect()), &CONTENTION[..1]),
        Benchmark {
            title: "Mutex: fairness",
            ..shown(
                mutex::benchmark(vec![fairness]),
                &[Figure::wait("wait_max_s", "longest wait"), JAIN],
            )
        },
        shown(queue::benchmark(queues.into()), &[rate("items_per_second", "items a second")]),
    ]
}

pub fn name(benchmark: &Benchmark, case: &Case) -> String {
    format!("{} {}", benchmark.name, case.name)
}

/// Is nothing said of which workloads, and how long?
fn is_default(arguments: &CompareArguments) -> bool {
    !arguments.full && !arguments.quick && arguments.workload.is_empty()
}

/// How long a round of a workload lasts that counts no turns.
pub fn seconds(arguments: &CompareArguments) -> Duration {
    let is_short = arguments.quick || is_default(arguments);
    if is_short { SECONDS.mul_f64(QUICK) } else { SECONDS }
}

pub fn list() {
    for benchmark in benchmarks() {
        benchmark.cases.iter().for_each(|case| anstream::println!("{}", name(&benchmark, case)));
    }
}

/// The workloads that are asked for, or nine short ones; shorter with `--quick`.
pub fn select(arguments: &CompareArguments) -> Result<Vec<Benchmark>, Failure> {
    let mut all = benchmarks();
    let means = |wanted: &str, benchmark: &Benchmark, case: &Case| {
        wanted == benchmark.name || wanted == name(benchmark, case)
    };
    let is_short = arguments.quick || is_default(arguments);
    for wanted in &arguments.workload {
        let mut known = all.iter().flat_map(|each| each.cases.iter().map(move |case| (each, case)));
        if !known.any(|(benchmark, case)| means(wanted, benchmark, case)) {
            let message = format!("{wanted}: no such workload; --list shows them");
            return Err(Failure::new(STATUS_USAGE, message));
        }
    }
    for benchmark in &mut all {
        let mut cases = std::mem::take(&mut benchmark.cases);
        cases.retain(|case| {
            let wanted = &arguments.workload;
            let name = name(benchmark, case);
            match is_default(arguments) {
                true => DEFAULT.contains(&name.as_str()),
                false => {
                    wanted.is_empty() || wanted.iter().any(|wanted| means(wanted, benchmark, case))
                }
            }
        });
        if is_short {
            cases.iter_mut().for_each(shorten);
        }
        benchmark.cases = cases;
    }
    all.retain(|benchmark| !benchmark.cases.is_empty());
    Ok(all)
}

/// The same work, less of it.
fn shorten(case: &mut Case) {
    for (key, value) in &mut case.parameters {
        if LENGTHS.contains(key) {
            let shorter = *value * QUICK;
            *value = if *key == "seconds" { shorter } else { shorter.ceil() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    #[test]
    fn names_tell_cases_apart() {
        let of = |benchmark: &Benchmark| {
            benchmark.cases.iter().map(|case| name(benchmark, case)).collect::<Vec<_>>()
        };
        let mut names: Vec<String> = benchmarks().iter().flat_map(of).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn quick_shortens_the_length_and_nothing_else() {
        let quick = |mut case: Case| {
            shorten(&mut case);
            case
        };
        assert!(quick(cond::case(1000, 30, true)).parameters.contains(&("rounds", 8.0)));
        assert!(quick(cond::case(1000, 30, true)).parameters.contains(&("threads", 1000.0)));
        let game = || pp::case(128, 1000, 32768);
        assert_eq!(quick(game()).parameters, game().parameters);
        let mutex = || mutex::case(Sections::new(10.0, 10.0), 2);
        assert_eq!(quick(mutex()).parameters, mutex().parameters);
    }

    #[test]
    fn the_default_is_among_them() {
        let words: [&str; 0] = [];
        let selected = select(&arguments(&words)).unwrap();
        assert_eq!(selected.iter().map(|each| each.cases.len()).sum::<usize>(), DEFAULT.len());
        assert_eq!(seconds(&arguments(&words)), SECONDS / 4);
        let count = |words: &[&str]| {
            select(&arguments(words)).unwrap().iter().map(|each| each.cases.len()).sum::<usize>()
        };
        assert_eq!((count(&["--full"]), count(&["--quick"])), (25, 25));
        assert_eq!(count(&["--workload", "queue"]), 3);
    }

    fn arguments(words: &[&str]) -> CompareArguments {
        let command = CompareArguments::augment_args(clap::Command::new("compare"));
        let words = std::iter::once(&"compare").chain(words);
        CompareArguments::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }
}
