//! The built-in workloads: a suite of `furwock bench` with two contestants, run and judged in
//! pairs.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::arguments::CompareArguments;
use super::builtin_cases::{CONTESTANTS, name, seconds, select};
use super::program_table::word;
use super::side::Both;
use super::{gains, method, tone};
use crate::bench::figure::{Better, Figure, SWITCHES_EACH, Unit};
use crate::bench::outcome::{Answer, Outcome};
use crate::bench::results::{BenchmarkResults, CaseResults};
use crate::bench::suite::{Effort, Suite};
use crate::failure::Failure;
use crate::measuring::layout::{self, Columns};
use crate::measuring::number::{digits, interval, times};
use crate::measuring::output::{check_writable, write_to};
use crate::measuring::tally::Tally;
use crate::measuring::width::width;
use crate::report::model::{self, Block, Cell, Finding, Section, Table, Tone};
use crate::statistics::gain::PAIRS_MIN;
use crate::statistics::{Gain, Pairs, Spread, Verdict, median};

const PAIRS: u32 = 6;
const TIMEOUT: Duration = Duration::from_secs(60);

pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let timeout = arguments.timeout.unwrap_or(TIMEOUT);
    let effort = Effort {
        warmups: arguments.warmup.unwrap_or(0) as usize,
        paired: true,
        force: arguments.force,
        ..Effort::new(arguments.pairs.unwrap_or(PAIRS), seconds(arguments), timeout)
    };
    let outputs = arguments.outputs();
    arguments.markdown.as_deref().map_or(Ok(()), check_writable)?;
    let suite = Suite::measured(select(arguments)?, &CONTESTANTS, effort, &outputs)?;
    let summaries: Vec<Summary> = suite.benchmarks.iter().flat_map(Summary::of).collect();
    let mut outcome = Outcome::new("compare: glibc's locks and furwock's", suite, &outputs, None);
    // The first says it all.
    let mut findings = findings(&summaries);
    let verdict = findings.remove(0);
    let judged = summaries.iter().filter(|each| each.measured.is_some()).map(Summary::tone);
    outcome.answer = Answer {
        text: text(&summaries),
        conclusion: conclusion(&summaries),
        verdict: Some(verdict),
        tally: Some(model::Tally::of(["figure", "figures"], judged)),
        findings,
        sections: vec![section(&summaries)],
        json: serde_json::to_value(&summaries).expect("plain data"),
        instead_of_tables: true,
        method: method(),
    };
    let status = outcome.write()?;
    let markdown = |path: &Path| std::fs::write(path, markdown(&summaries));
    write_to(arguments.markdown.as_deref(), markdown)?;
    Ok(status)
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
    /// Of the medians, which are shown.
    of_medians: Gain,
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
        word(
            verdict,
            match self.shown.unit {
                Unit::PerSecond | Unit::Time => ["faster", "slower"],
                Unit::Wait | Unit::Nanoseconds => ["shorter", "longer"],
                Unit::Index => ["fairer", "less fair"],
            },
        )
    }

    fn tone(&self) -> Tone {
        self.measured.as_ref().map_or(Tone::Neutral, |measured| tone(measured.verdict))
    }

    /// All columns but the first.
    fn cells(&self) -> Vec<Cell> {
        let figures = match &self.measured {
            None => ["-"; 6].map(str::to_owned),
            Some(Measured {
                median,
                of_medians,
                voluntary_switches_per_operation: switches,
                ..
            }) => [
                self.shown.text(median.glibc),
                self.shown.text(median.furwock),
                times(of_medians.gain),
                of_medians.interval.map_or_else(|| "-".to_owned(), interval),
                digits(switches.glibc),
                digits(switches.furwock),
            ],
        };
        let verdict = match (self.ok, &self.measured) {
            (false, _) => Cell::new("FAILED", Tone::Loss),
            (true, Some(measured)) => Cell::new(self.word(measured.verdict), self.tone()),
            (true, None) => Cell::plain("not measured"),
        };
        figures.into_iter().map(Cell::plain).chain([verdict]).collect()
    }
}

impl Measured {
    fn of(case: &CaseResults, figure: &Figure) -> Option<Self> {
        let [glibc, furwock] = CONTESTANTS.map(|contestant| case.entry(contestant));
        let (glibc, furwock) = (glibc?, furwock?);
        // A failure leaves what was measured before to see.
        let values = |name: &str| Both { glibc: glibc.all(name), furwock: furwock.all(name) };
        let measured = values(figure.name);
        let pairs = || measured.glibc.iter().zip(&measured.furwock);
        let gains: Vec<f64> =
            pairs().map(|(glibc, furwock)| figure.gain(*furwock, *glibc)).collect();
        let glibc: Vec<f64> = pairs().map(|(glibc, _)| *glibc).collect();
        let furwock: Vec<f64> = pairs().map(|(_, furwock)| *furwock).collect();
        // A rate's gain is the other way round than a cost's.
        let pairs = match figure.better {
            Better::Less => Pairs { theirs: glibc, ours: furwock },
            Better::More => Pairs { theirs: furwock, ours: glibc },
        };
        if gains.is_empty() {
            return None;
        }
        let of_medians = pairs.gain();
        // A side that failed has a value more.
        let [glibc, furwock] = match figure.better {
            Better::Less => [&pairs.theirs, &pairs.ours],
            Better::More => [&pairs.ours, &pairs.theirs],
        };
        Some(Measured {
            median: Both { glibc: median(glibc), furwock: median(furwock) },
            gain: Spread::of(&gains),
            of_medians,
            voluntary_switches_per_operation: values(SWITCHES_EACH.name)
                .map(|values| median(values)),
            verdict: of_medians.verdict(),
        })
    }
}

const HEADER: [&str; 8] = [
    "workload",
    "glibc",
    "furwock",
    "gain",
    "95 % interval",
    "glibc's switches",
    "furwock's switches",
    "verdict",
];
/// Without the switches and the medians, if there is no room.
const COLUMNS: Columns = Columns { names: 1, words: 1, spare: &[&[5, 6], &[1, 2]] };

const LEGEND: &str = "Gain: how many times as good furwock is as glibc. More than 1 is better for \
                      furwock everywhere, of rates, times and waits.";
const SWITCHES: &str = "Switches are voluntary context switches per woken thread (cond), turn \
                        (pp), operation (mutex) or item (queue).";

/// Each row says what was measured.
fn table(summaries: &[Summary]) -> Table {
    let row = |summary: &Summary| [vec![Cell::plain(summary.title())], summary.cells()].concat();
    Table::new("All figures", HEADER, summaries.iter().map(row))
        .with_note(LEGEND)
        .with_note(SWITCHES)
}

/// Rows of one figure stand below a line that names it: the lines are shorter.
fn narrow_table(summaries: &[Summary]) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut last = "";
    for summary in summaries {
        let measured = summary.shown.short_title();
        if measured != last {
            let blank = std::iter::repeat_n(Cell::plain(""), HEADER.len() - 1);
            rows.push(std::iter::once(Cell::plain(measured)).chain(blank).collect());
            last = measured;
        }
        rows.push([vec![Cell::plain(format!(" {}", summary.workload))], summary.cells()].concat());
    }
    Table::new("All figures", HEADER, rows)
}

fn text(summaries: &[Summary]) -> String {
    let width = width();
    let table = layout::fitted(COLUMNS, width, &narrow_table(summaries));
    let switches =
        if table.contains(HEADER[6]) && !table.contains("Left out") { SWITCHES } else { "" };
    format!("\n{table}\n{}{}", layout::wrapped(width, LEGEND), layout::wrapped(width, switches))
}

fn markdown(summaries: &[Summary]) -> String {
    let table = layout::markdown(1, &table(summaries));
    format!("{table}\n{LEGEND} {SWITCHES}\n\n{}\n", conclusion(summaries))
}

fn tally(summaries: &[Summary]) -> Tally {
    Tally::of(summaries.iter().filter_map(|each| Some(each.measured.as_ref()?.verdict)))
}

/// `furwock was faster in 3, slower in 1, undecided in 5 of 9 workloads.`
fn conclusion(summaries: &[Summary]) -> String {
    let tally = tally(summaries);
    let is_speed = |each: &Summary| matches!(each.shown.unit, Unit::PerSecond | Unit::Time);
    let words = match summaries.iter().all(is_speed) {
        true => ["faster", "slower"],
        false => ["better", "worse"],
    };
    let failed = match summaries.iter().filter(|each| !each.ok).count() {
        0 => String::new(),
        failed => format!(" {failed} of {} FAILED.", summaries.len()),
    };
    if tally.all() == 0 {
        return format!("Nothing was measured.{failed}");
    }
    let measured = summaries.iter().filter_map(|each| each.measured.as_ref());
    let few = if measured.clone().all(|each| each.verdict == Verdict::TooFewPairs) {
        format!(" It takes {PAIRS_MIN} pairs for a verdict.")
    } else {
        String::new()
    };
    let what = if words[0] == "faster" { "workload" } else { "figure" };
    let what = if tally.all() == 1 { what.to_owned() } else { format!("{what}s") };
    format!("furwock was {} {what}.{few}{failed}", tally.said(words))
}

fn findings(summaries: &[Summary]) -> Vec<Finding> {
    let tally = tally(summaries);
    let overall = Finding {
        tone: if tally.better > tally.worse { Tone::Win } else { Tone::Neutral },
        text: conclusion(summaries),
    };
    let with = |wanted: Verdict| {
        let measured = summaries.iter().filter_map(|each| Some((each, each.measured.as_ref()?)));
        measured.filter(move |(_, each)| each.verdict == wanted).collect::<Vec<_>>()
    };
    let (mut better, worse) = (with(Verdict::Faster), with(Verdict::Slower));
    better.sort_by(|one, other| other.1.of_medians.gain.total_cmp(&one.1.of_medians.gain));
    let notable = worse.iter().chain(better.iter().take(3)).map(|(summary, measured)| Finding {
        tone: tone(measured.verdict),
        text: format!("{}: {} as good as glibc.", summary.title(), times(measured.of_medians.gain)),
    });
    std::iter::once(overall).chain(notable).collect()
}

fn section(summaries: &[Summary]) -> Section {
    const TEXT: &str =
        "The same program on glibc and on furwock's library. Each run checks its own result.";
    let measured = summaries.iter().filter_map(|each| {
        each.measured
            .as_ref()
            .map(|measured| (each.title(), measured.of_medians.gain, Some(each.tone())))
    });
    let blocks = vec![gains(measured), Block::Table(table(summaries))];
    Section::new("Built-in workloads", vec![TEXT.to_owned()], blocks)
}
