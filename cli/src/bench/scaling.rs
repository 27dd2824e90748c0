//! `furwock bench scaling`: how cost grows with waiters, words, threads, and words in one wait.

use std::time::Duration;

use clap::Args;

use super::PATIENCE;
use super::baseline::Baseline;
use super::benchmark::{Benchmark, Case, Place};
use super::figure::{CPU, Figure, Unit};
use super::outcome::{Answer, Outcome};
use super::results::{BenchmarkResults, CaseResults};
use super::sections::Sections;
use super::suite::{Effort, Suite};
use crate::contestants::Contestant;
use crate::failure::Failure;
use crate::measuring::layout::{self, Columns};
use crate::measuring::limits;
use crate::measuring::number::compact;
use crate::measuring::output::Outputs;
use crate::measuring::width::width;
use crate::report::model::{Cell, Finding, Table, Tone};
use crate::statistics::exponent;
use crate::values::seconds;
use crate::workloads::{hash, mutex, waitv, wake};

/// How cost grows: with waiters, words, threads, and words in one wait
///
/// About 2 minutes without options. --report writes a page with the curves. The text has each
/// curve's first and last point and its exponent: cost grows as x to that power. "At the end" is
/// the exponent of the last three points.
#[derive(Args)]
pub struct ScalingArguments {
    /// Rounds of each implementation in each case
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// How long a round measures
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = seconds)]
    pub seconds: Duration,

    /// Implementations to measure [default: all that are installed and can run the workload]
    #[arg(long = "impl", value_name = "LIST", value_delimiter = ',')]
    pub implementations: Vec<Contestant>,

    #[command(flatten)]
    pub outputs: Outputs,
}

const WAITERS: [u32; 6] = [1, 10, 100, 1000, 10_000, 100_000];
const WORDS: [u32; 7] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];
const THREADS: [u32; 6] = [1, 4, 16, 64, 256, 1024];
const WORDS_IN_ONE: [u32; 7] = [1, 4, 16, 64, 120, 512, 4096];

/// How many points make up the end of a curve.
const END: usize = 3;

pub fn run(arguments: &ScalingArguments, baseline: Option<&Baseline>) -> Result<i32, Failure> {
    let effort = Effort::new(arguments.rounds, arguments.seconds, PATIENCE * 2);
    let outputs = &arguments.outputs;
    let suite = Suite::measured(benchmarks(), &arguments.implementations, effort, outputs)?;
    let text = suite.benchmarks.iter().map(exponents).collect();
    let findings: Vec<Finding> = suite.benchmarks.iter().filter_map(finding).collect();
    let conclusion = conclusion(&findings);
    let mut outcome = Outcome::new("bench scaling", suite, outputs, baseline);
    outcome.answer =
        Answer { text, conclusion, findings, instead_of_tables: true, ..Answer::default() };
    outcome.write()
}

fn benchmarks() -> Vec<Benchmark> {
    let possible = limits::threads().map_or(u64::MAX, |limit| limit.threads);
    let threads = THREADS.into_iter().filter(|threads| u64::from(*threads) <= possible);
    let contending = threads.clone().map(|threads| mutex::case(Sections::new(1.0, 1.0), threads));
    let sleeping = threads.map(|threads| at_once(wake::case(threads, threads)));
    vec![
        waiters("one word", false),
        waiters("a word each", true),
        Benchmark {
            title: "Words: waits that don't sleep, over so many words",
            figures: vec![Figure { title: "processor time a wait", ..CPU }],
            ..hash::benchmark(WORDS.map(|words| hash::case(1, words)).into())
        },
        Benchmark {
            title: "Words in one wait",
            ..waitv::benchmark(WORDS_IN_ONE.map(waitv::case).into())
        },
        Benchmark {
            title: "Threads that contend for a mutex",
            ..mutex::benchmark(contending.collect())
        },
        Benchmark {
            title: "Threads that are woken at once",
            figures: vec![
                wake::LAST_AWAKE,
                Figure::wait("waker_cpu_s", "the waker's processor time"),
            ],
            ..wake::benchmark(sleeping.collect(), true)
        },
    ]
}

fn at_once(case: Case) -> Case {
    let place = Place { series: "all at once".to_owned(), ..case.place.clone() };
    Case { place, ..case }
}

/// More waiters than there can be threads.
fn waiters(how: &'static str, apart: bool) -> Benchmark {
    let case = |waiters: u32| {
        Case::new(
            waiters.to_string(),
            [("waiters", waiters.into()), ("apart", u8::from(apart).into()), ("seconds", 0.0)],
            Place::new(how, waiters, "waiters"),
        )
    };
    let (name, title, what) = if apart {
        (
            "collisions",
            "Waiters on a word each: collisions in the table",
            "Futures wait, each on a word of its own. With more words than buckets they share \
             queues: furwock's table has 256 buckets a CPU, and doesn't grow. (An event of \
             event-listener's is a queue of its own, and has no table.)",
        )
    } else {
        (
            "waiters",
            "Waiters on one word",
            "Futures wait on one word; the first is woken, and another comes. Leaving from the \
             middle is measured too, and waking all.",
        )
    };
    Benchmark {
        name,
        title,
        workload: "table",
        case_key: "Cases: waiters.",
        what,
        figures: vec![
            Figure::time("turn_s", "one is woken, another comes to wait"),
            Figure::wait("give_up_s", "one gives up in the middle, another comes"),
            Figure::wait("arrive_s", "one arrives, in a table that fills"),
            Figure::wait("wake_all_s", "all are woken: each one's share"),
            Figure {
                detail: false,
                ..Figure::index("bytes_per_waiter", "bytes a waiter, with what holds it")
            },
        ],
        cases: WAITERS.map(case).into(),
        able: crate::workloads::table::able(),
        lacking: "waiters without a thread each",
        ..Benchmark::named(name)
    }
}

/// The cost over the number that grows.
fn costs(results: &BenchmarkResults, contestant: Contestant, figure: &Figure) -> Vec<(f64, f64)> {
    let cost = |case: &CaseResults| {
        Some((case.case.place.x, figure.cost(case.entry(contestant)?.median(figure.name)?)))
    };
    results.cases.iter().filter_map(cost).collect()
}

/// How furwock's cost grows, and the others'.
fn finding(results: &BenchmarkResults) -> Option<Finding> {
    /// Up to this exponent cost is as good as flat.
    const FLAT: f64 = 0.25;
    /// Above this exponent growth is nearly linear.
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
            "{}: furwock's cost grows as x^{whole:.2} from {} to {}, {:.1} times in all, and as \
             x^{end:.2} at the end{others}.",
            results.benchmark.title,
            compact(first.0),
            compact(last.0),
            last.1 / first.1
        ),
    })
}

fn conclusion(findings: &[Finding]) -> String {
    let count = |tone| findings.iter().filter(|finding| finding.tone == tone).count();
    format!(
        "furwock's cost stays nearly flat in {}, grows nearly linearly in {}, and in between in \
         {} of {}.",
        count(Tone::Win),
        count(Tone::Loss),
        count(Tone::Neutral),
        match findings.len() {
            1 => "1 measurement".to_owned(),
            count => format!("{count} measurements"),
        }
    )
}

/// The figures whose growth the text shows: the one that ranks, all that only this suite has, and
/// the waker's processor time.
fn shown(results: &BenchmarkResults) -> impl Iterator<Item = &Figure> {
    let own = results.benchmark.workload == "table";
    let figures = results.benchmark.figures.iter().enumerate();
    figures.filter_map(move |(index, figure)| {
        let shown = index == 0 || own || figure.name == "waker_cpu_s";
        (shown && figure.unit != Unit::Index).then_some(figure)
    })
}

/// Each curve's first and last point, its exponent, and that of its end: some costs are flat until
/// a table is full.
fn exponents(results: &BenchmarkResults) -> String {
    let mut rows = Vec::new();
    for figure in shown(results) {
        for contestant in &results.contestants {
            let cost = costs(results, *contestant, figure);
            let (Some(first), Some(last)) = (cost.first(), cost.last()) else { continue };
            let text = |(x, cost): (f64, f64)| format!("{} at {x}", figure.text(figure.cost(cost)));
            let fit = |points: &[(f64, f64)]| {
                exponent(points).map_or_else(|| "-".to_owned(), |fit| format!("{fit:.2}"))
            };
            let name = format!("{}, {contestant}", figure.short_title());
            let end = fit(&cost[cost.len().saturating_sub(END)..]);
            rows.push([name, text(*first), text(*last), fit(&cost), end].map(Cell::plain).into());
        }
    }
    let table = Table::new("", ["", "first", "last", "exponent", "at the end"], rows);
    let columns = Columns { names: 1, ..Columns::default() };
    let text = layout::fitted(columns, width(), &table);
    format!("{}{text}\n", layout::wrapped(width(), results.benchmark.title))
}
