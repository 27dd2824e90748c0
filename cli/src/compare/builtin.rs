//! The built-in workloads: a suite of `furwock bench` with two contestants, run and judged in
//! pairs.

use std::time::Duration;

use serde::Serialize;

use super::side::Both;
use super::{gains, method, tone};
use crate::args::CompareArguments;
use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::figure::{CONTENTION, Figure, JAIN, SWITCHES_EACH, Unit};
use crate::bench::outcome::{Answer, Outcome};
use crate::bench::results::{BenchmarkResults, CaseResults};
use crate::bench::sections::Sections;
use crate::bench::suite::{Effort, Suite};
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_USAGE};
use crate::measuring::number::{digits, multiple, times};
use crate::measuring::table;
use crate::report::model::{Block, Cell, Finding, Section, Table, Tone};
use crate::statistics::{Spread, Verdict, median, verdict};
use crate::workloads::{cond, mutex, pp, queue};

const CONTESTANTS: [Contestant; 2] = [Contestant::Glibc, Contestant::FurwockPreload];
const PAIRS: u32 = 5;
const TIMEOUT: Duration = Duration::from_secs(60);
const SECONDS: Duration = Duration::from_millis(400);
/// How much shorter the workloads are with `--quick`.
const QUICK: f64 = 0.25;
/// The parameters that say how long a case takes.
const LENGTHS: [&str; 3] = ["rounds", "items", "seconds"];

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

fn name(benchmark: &Benchmark, case: &Case) -> String {
    format!("{} {}", benchmark.name, case.name)
}

pub fn list() {
    for benchmark in benchmarks() {
        benchmark.cases.iter().for_each(|case| anstream::println!("{}", name(&benchmark, case)));
    }
}

/// The workloads that are asked for, or all; shorter with `--quick`.
fn select(arguments: &CompareArguments) -> Result<Vec<Benchmark>, Failure> {
    let mut all = benchmarks();
    let means = |wanted: &str, benchmark: &Benchmark, case: &Case| {
        wanted == benchmark.name || wanted == name(benchmark, case)
    };
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
            wanted.is_empty() || wanted.iter().any(|wanted| means(wanted, benchmark, case))
        });
        if arguments.quick {
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

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let seconds = if arguments.quick { SECONDS.mul_f64(QUICK) } else { SECONDS };
    let timeout = arguments.timeout.unwrap_or(TIMEOUT);
    let effort = Effort {
        warmups: arguments.warmup.unwrap_or(0) as usize,
        paired: true,
        force: arguments.force,
        ..Effort::new(arguments.pairs.unwrap_or(PAIRS), seconds, timeout)
    };
    let outputs = arguments.outputs();
    let suite = Suite::measured(select(arguments)?, &CONTESTANTS, effort, &outputs)?;
    let summaries: Vec<Summary> = suite.benchmarks.iter().flat_map(Summary::of).collect();
    let mut outcome = Outcome::new("compare: glibc's locks and furwock's", suite, &outputs, None);
    outcome.answer = Answer {
        text: text(&summaries),
        findings: findings(&summaries),
        sections: vec![section(&summaries)],
        json: serde_json::to_value(&summaries).expect("plain data"),
        instead_of_tables: true,
        method: method(),
    };
    outcome.write()
}

/// A row: one figure of one case.
#[derive(Serialize)]
struct Summary {
    workload: String,
    figure: &'static str,
    #[serde(skip)]
    shown: Figure,
    /// None before the first pair.
    measured: Option<Measured>,
    ok: bool,
}

#[derive(Serialize)]
struct Measured {
    median: Both<f64>,
    /// Pair by pair, more than 1 where furwock does better.
    gain: Spread,
    voluntary_switches_per_operation: Both<f64>,
    verdict: Verdict,
}

impl Summary {
    fn of(results: &BenchmarkResults) -> Vec<Summary> {
        let row = |case: &CaseResults, figure: &Figure| Summary {
            workload: name(&results.benchmark, &case.case),
            figure: figure.name,
            shown: *figure,
            measured: Measured::of(case, figure),
            ok: case.entries.iter().all(|entry| entry.failure.is_none()),
        };
        let figures = &results.benchmark.figures;
        let rows = |case| figures.iter().map(move |figure| row(case, figure));
        results.cases.iter().flat_map(rows).collect()
    }

    fn title(&self) -> String {
        format!("{}: {}", self.workload, self.shown.short_title())
    }

    /// What the verdict is called.
    fn word(&self, verdict: Verdict) -> &'static str {
        let [better, worse] = match self.shown.unit {
            Unit::PerSecond | Unit::Time => ["faster", "slower"],
            Unit::Wait | Unit::Nanoseconds => ["shorter", "longer"],
            Unit::Index => ["fairer", "less fair"],
        };
        match verdict {
            Verdict::Faster => better,
            Verdict::Slower => worse,
            Verdict::NoDifference => "no difference",
            Verdict::TooFewPairs => "too few pairs",
        }
    }

    fn tone(&self) -> Tone {
        self.measured.as_ref().map_or(Tone::Neutral, |measured| tone(measured.verdict))
    }

    fn cells(&self) -> Vec<Cell> {
        let figures = match &self.measured {
            None => ["-"; 6].map(str::to_owned),
            Some(Measured { median, gain, voluntary_switches_per_operation: switches, .. }) => [
                self.shown.text(median.glibc),
                self.shown.text(median.furwock),
                times(gain.median),
                format!("({}–{})", multiple(gain.min), multiple(gain.max)),
                digits(switches.glibc),
                digits(switches.furwock),
            ],
        };
        let [check, verdict] = match (self.ok, &self.measured) {
            (false, _) => ["FAILED", ""],
            (true, Some(measured)) => ["ok", self.word(measured.verdict)],
            (true, None) => ["-", ""],
        };
        let mut cells = vec![Cell::plain(&self.workload), Cell::plain(self.shown.short_title())];
        cells.extend(figures.map(Cell::plain));
        let check_tone = if self.ok { Tone::Neutral } else { Tone::Loss };
        cells.extend([Cell::new(check, check_tone), Cell::new(verdict, self.tone())]);
        cells
    }
}

impl Measured {
    fn of(case: &CaseResults, figure: &Figure) -> Option<Self> {
        let [glibc, furwock] = CONTESTANTS.map(|contestant| case.entry(contestant));
        let (glibc, furwock) = (glibc?, furwock?);
        // A failure leaves what was measured before to see.
        let values = |name: &str| Both { glibc: glibc.all(name), furwock: furwock.all(name) };
        let measured = values(figure.name);
        let pairs = measured.glibc.iter().zip(&measured.furwock);
        let gains: Vec<f64> = pairs.map(|(glibc, furwock)| figure.gain(*furwock, *glibc)).collect();
        (!gains.is_empty()).then(|| Measured {
            median: measured.map(|values| median(values)),
            gain: Spread::of(&gains),
            voluntary_switches_per_operation: values(SWITCHES_EACH.name)
                .map(|values| median(values)),
            verdict: verdict(&gains),
        })
    }
}

const HEADER: [&str; 10] = [
    "workload",
    "measured",
    "glibc",
    "furwock",
    "gain",
    "(min–max)",
    "glibc switches",
    "furwock switches",
    "check",
    "verdict",
];

fn table(summaries: &[Summary]) -> Table {
    Table::new("All figures", HEADER, summaries.iter().map(Summary::cells)).with_note(SWITCHES)
}

const SWITCHES: &str = "Switches are voluntary context switches per woken thread (cond), turn \
                        (pp), operation (mutex) or item (queue).";

fn text(summaries: &[Summary]) -> String {
    format!(
        "\n{}\nMedians; gain is the median of the pairs' ratios, more than 1 where furwock does \
         better.\n{SWITCHES}\n",
        table::render(2, 2, &table(summaries))
    )
}

fn findings(summaries: &[Summary]) -> Vec<Finding> {
    let measured = summaries.iter().filter_map(|each| Some((each, each.measured.as_ref()?)));
    let measured: Vec<(&Summary, &Measured)> = measured.collect();
    let with = |wanted: Verdict| {
        measured.iter().filter(move |(_, each)| each.verdict == wanted).collect::<Vec<_>>()
    };
    let (mut better, worse) = (with(Verdict::Faster), with(Verdict::Slower));
    let overall = Finding {
        tone: if better.len() > worse.len() { Tone::Win } else { Tone::Neutral },
        text: format!(
            "Of {} figures furwock does better in {}, worse in {}, and no different in {}.",
            measured.len(),
            better.len(),
            worse.len(),
            measured.len() - better.len() - worse.len()
        ),
    };
    better.sort_by(|one, other| other.1.gain.median.total_cmp(&one.1.gain.median));
    let notable = worse.iter().chain(better.iter().take(3)).map(|(summary, measured)| Finding {
        tone: tone(measured.verdict),
        text: format!("{}: {} as good as glibc.", summary.title(), times(measured.gain.median)),
    });
    std::iter::once(overall).chain(notable).collect()
}

fn section(summaries: &[Summary]) -> Section {
    const TEXT: &str =
        "The same program on glibc and on furwock's library. Each run checks its own result.";
    let measured = summaries.iter().filter_map(|each| {
        each.measured.as_ref().map(|measured| (each.title(), measured.gain.median))
    });
    let blocks = vec![gains(measured), Block::Table(table(summaries))];
    Section::new("Built-in workloads", vec![TEXT.to_owned()], blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
