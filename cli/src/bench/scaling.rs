//! `furwock bench scaling`: how cost grows with waiters, words, threads, and words in one wait.

use clap::Args;

use super::PATIENCE;
use super::baseline::Baseline;
use super::benchmark::{Benchmark, Case, Place, all_able};
use super::common::Outputs;
use super::contestant::Contestant;
use super::figure::{Better, Figure, Unit, wait};
use super::outcome::{Answer, Outcome};
use super::results::{BenchmarkResults, CaseResults};
use super::sections::Sections;
use super::suite::{Effort, Suite};
use super::workloads::{many, mutex, words};
use crate::duration::seconds;
use crate::failure::Failure;
use crate::measuring::limits;
use crate::measuring::number::compact;
use crate::measuring::table::{Align, render as render_rows};
use crate::report::model::{Finding, Tone};
use crate::statistics::exponent;
use std::time::Duration;

/// How cost grows: with waiters, words, threads, and words in one wait
///
/// Without options about 5 minutes. Curves are in the page that --report writes; the text has each curve's
/// first and last point and its exponent: cost grows as x to the power of it, at its end perhaps to another.
#[derive(Args)]
pub struct ScalingArguments {
    /// Rounds of each implementation in each case
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long a round measures
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = seconds)]
    pub seconds: Duration,

    /// Implementations [default: all that can do it and are here]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',', value_parser = Contestant::parse)]
    pub implementations: Vec<Contestant>,

    #[command(flatten)]
    pub outputs: Outputs,
}

const WAITERS: [u32; 6] = [1, 10, 100, 1000, 10_000, 100_000];
const WORDS: [u32; 7] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
const THREADS: [u32; 6] = [1, 4, 16, 64, 256, 1024];
const WORDS_IN_ONE: [u32; 7] = [1, 4, 16, 64, 120, 512, 4096];

/// As many points are a curve's end.
const END: usize = 3;

const TURN: Figure = Figure {
    name: "turn_s",
    title: "one is woken, another comes to wait",
    unit: Unit::Time,
    better: Better::Less,
    detail: false,
};

pub fn run(arguments: &ScalingArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    arguments.outputs.check();
    let effort = Effort::new(arguments.rounds, arguments.seconds);
    let suite = Suite::new(benchmarks(), &arguments.implementations, effort, PATIENCE * 2)?;
    let mut suite = suite;
    anstream::eprintln!("furwock: {}", suite.announcement());
    suite.run()?;
    let text = suite.benchmarks.iter().map(exponents).collect();
    let findings = suite.benchmarks.iter().filter_map(finding).collect();
    let mut outcome = Outcome::new("bench scaling", suite, &arguments.outputs, baseline);
    outcome.answer = Answer { text, findings, instead_of_tables: true, ..Answer::default() };
    outcome.tell()
}

fn benchmarks() -> Vec<Benchmark> {
    let possible = limits::threads().map_or(u64::MAX, |limit| limit.threads);
    let threads = THREADS.into_iter().filter(|threads| u64::from(*threads) <= possible);
    let contending = threads.clone().map(|threads| mutex::case(Sections::new(1.0, 1.0), threads));
    let sleeping = threads.map(|threads| words::wake_case(threads, threads));
    vec![
        waiters("one word", false),
        waiters("a word each", true),
        Benchmark {
            cases: WORDS.iter().map(|words| words::hash_case(1, *words)).collect(),
            title: "Words: waits that don't sleep, over so many words",
            figures: const {
                &[Figure {
                    name: "cpu_ns_per_op",
                    title: "processor time a wait",
                    unit: Unit::Nanoseconds,
                    better: Better::Less,
                    detail: false,
                }]
            },
            ..words::hash_of_cases(Vec::new())
        },
        Benchmark {
            title: "Words in one wait",
            cases: WORDS_IN_ONE.into_iter().map(many::waitv_case).collect(),
            ..many::waitv_of_cases(Vec::new())
        },
        Benchmark {
            title: "Threads that contend for a mutex",
            ..mutex::of_cases(contending.collect())
        },
        Benchmark {
            title: "Threads that are woken at once",
            figures: const {
                &[
                    Figure {
                        name: "awake_s",
                        title: "until the last thread is awake",
                        unit: Unit::Time,
                        better: Better::Less,
                        detail: false,
                    },
                    wait("waker_cpu_s", "the waker's processor time"),
                ]
            },
            ..words::wake_of_cases(sleeping.map(at_once).collect())
        },
    ]
}

fn at_once(case: Case) -> Case {
    let place = Place { series: "all at once".to_owned(), ..case.place.clone() };
    Case { place, ..case }
}

/// More waiters than there can be threads.
fn waiters(how: &'static str, apart: bool) -> Benchmark {
    let case = |waiters: u32| Case {
        name: waiters.to_string(),
        parameters: vec![
            ("waiters", waiters.into()),
            ("apart", f64::from(u8::from(apart))),
            ("seconds", 0.0),
        ],
        bound: None,
        place: Place { series: how.to_owned(), x: waiters.into(), x_title: "waiters" },
    };
    let (name, title, what) = if apart {
        (
            "collisions",
            "Waiters on a word each: collisions in the table",
            "Futures wait, each on a word of its own. With more words than buckets they stand in each other's \
             queues: furwock's table has 256 buckets a CPU, and doesn't grow. (An event of event-listener's \
             is a queue of its own, and has no table.)",
        )
    } else {
        (
            "waiters",
            "Waiters on one word",
            "Futures wait on one word; who came first is woken, and another comes. Leaving from the middle is \
             measured too, and waking all.",
        )
    };
    Benchmark {
        name,
        title,
        workload: "table",
        counts_turns: false,
        draws: false,
        case_key: "Cases: waiters.",
        what,
        figures: const {
            &[
                TURN,
                wait("give_up_s", "one gives up in the middle, another comes"),
                wait("arrive_s", "one arrives, in a table that fills"),
                wait("wake_all_s", "all are woken: each one's share"),
                Figure {
                    name: "bytes_per_waiter",
                    title: "bytes a waiter, with what holds it",
                    unit: Unit::Index,
                    better: Better::Less,
                    detail: false,
                },
            ]
        },
        cases: WAITERS.map(case).into(),
        able: const { &[Contestant::Furwock, Contestant::EventListener] },
        lacking: "waiters without a thread each",
        unable: all_able,
    }
}

/// The cost, the inverse of a rate, over the number that grows.
fn costs(results: &BenchmarkResults, contestant: Contestant, figure: &Figure) -> Vec<(f64, f64)> {
    let cost = |case: &CaseResults| {
        Some((case.case.place.x, 1.0 / figure.speed(case.entry(contestant)?.median(figure.name)?)))
    };
    results.cases.iter().filter_map(cost).collect()
}

/// How furwock's cost grows, and the others'.
fn finding(results: &BenchmarkResults) -> Option<Finding> {
    /// Growth that nobody minds.
    const FLAT: f64 = 0.25;
    /// Growth that overtakes whoever plans for more.
    const STEEP: f64 = 0.7;
    let figure = &results.benchmark.figures[0];
    let grown = |contestant| {
        let costs = costs(results, contestant, figure);
        let (first, last) = (*costs.first()?, *costs.last()?);
        let end = exponent(&costs[costs.len().saturating_sub(END)..])?;
        Some((first, last, exponent(&costs)?, end))
    };
    let (first, last, whole, end) = grown(Contestant::Furwock)?;
    let others: Vec<String> = results
        .contestants
        .iter()
        .filter(|contestant| !contestant.is_ours())
        .filter_map(|contestant| {
            let (_, last, whole, _) = grown(*contestant)?;
            Some(format!("{contestant}'s as x^{whole:.2} up to {}", compact(last.0)))
        })
        .collect();
    let tone = match whole.max(end) {
        steep if steep > STEEP => Tone::Loss,
        flat if flat < FLAT => Tone::Win,
        _ => Tone::Neutral,
    };
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    Some(Finding {
        tone,
        text: format!(
            "{}: furwock's cost grows as x^{whole:.2} from {} to {}, {:.1} times in all, and as x^{end:.2} at \
             the end{others}.",
            results.benchmark.title,
            compact(first.0),
            compact(last.0),
            last.1 / first.1
        ),
    })
}

/// Whose growth is told: the figure that ranks, all of those that only this suite has, and what waking costs
/// the waker.
fn told(results: &BenchmarkResults) -> impl Iterator<Item = &'static Figure> {
    let own = results.benchmark.workload == "table";
    let figures = results.benchmark.figures.iter().enumerate();
    figures.filter_map(move |(index, figure)| {
        let told = index == 0 || own || figure.name == "waker_cpu_s";
        (told && figure.unit != Unit::Index).then_some(figure)
    })
}

/// Each curve's ends, its exponent, and that of its end alone: many a cost is flat until something overflows.
fn exponents(results: &BenchmarkResults) -> String {
    let header = ["", "first", "last", "exponent", "at the end"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for figure in told(results) {
        for contestant in &results.contestants {
            let points: Vec<(f64, f64)> = results
                .cases
                .iter()
                .filter_map(|case| {
                    Some((case.case.place.x, case.entry(*contestant)?.median(figure.name)?))
                })
                .collect();
            let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
            let cost = costs(results, *contestant, figure);
            let fit = |points: &[(f64, f64)]| {
                exponent(points).map_or_else(|| "-".to_owned(), |fit| format!("{fit:.2}"))
            };
            rows.push(vec![
                format!("{}, {contestant}", figure.short_title()),
                format!("{} at {}", figure.text(first.1), first.0),
                format!("{} at {}", figure.text(last.1), last.0),
                fit(&cost),
                fit(&cost[cost.len().saturating_sub(END)..]),
            ]);
        }
    }
    let align = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    format!("{}\n{}\n", results.benchmark.title, render_rows(&align, &rows))
}
