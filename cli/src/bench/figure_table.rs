//! A table of one figure: a row for each case, a column for each contestant.

use anstyle::AnsiColor;

use super::contention::{CaseResults, Entry};
use super::contestant::Contestant;
use crate::measuring::number::{self, compact, with_unit};
use crate::measuring::table::{Align, paint, render as render_rows};
use crate::statistics::Spread;

/// A figure of a workload's report that becomes a table.
pub struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// With how far the rounds lie apart.
    PerSecond,
    /// In seconds, shown in what fits.
    Time,
    Nanoseconds,
}

/// The rate, by which contestants are ranked.
pub const OPERATIONS: Figure = Figure {
    name: "ops_per_second",
    title: "operations a second (±: half the range of the rounds, in percent)",
    unit: Unit::PerSecond,
};

pub const CPU: Figure =
    Figure { name: "cpu_ns_per_op", title: "processor time an operation", unit: Unit::Nanoseconds };

/// What a cell shows that has no figure.
const NOTHING: &str = "-";

/// Cases in which nobody has the figure are left out: with no writes nobody waits to write.
pub fn render(figure: &Figure, contestants: &[Contestant], results: &[CaseResults]) -> String {
    let says_something =
        |entry: &Entry| entry.failure.is_some() || entry.spread(figure.name).is_some();
    let shown = |results: &&CaseResults| results.entries.iter().any(says_something);
    let mut header = vec!["case".to_owned()];
    header.extend(contestants.iter().map(|contestant| contestant.heading().to_owned()));
    let mut rows = vec![header];
    rows.extend(results.iter().filter(shown).map(|results| {
        let mut row = vec![results.case.name.clone()];
        row.extend(results.entries.iter().map(|entry| cell(figure, entry)));
        row
    }));
    if rows.len() == 1 {
        return String::new();
    }
    let mut align = vec![Align::Left];
    align.resize(1 + contestants.len(), Align::Right);
    format!("{}\n{}\n", figure.title, render_rows(&align, &rows))
}

fn cell(figure: &Figure, entry: &Entry) -> String {
    if entry.failure.is_some() {
        return failed();
    }
    entry
        .spread(figure.name)
        .map_or_else(|| NOTHING.to_owned(), |spread| text(figure.unit, spread, entry.runs.len()))
}

/// What a failed contestant's cell shows; the reason is told below the tables.
pub fn failed() -> String {
    paint("FAILED", AnsiColor::Red)
}

fn text(unit: Unit, spread: Spread, rounds: usize) -> String {
    match unit {
        // One round says nothing of how far rounds lie apart.
        Unit::PerSecond if rounds == 1 => compact(spread.median),
        Unit::PerSecond => format!("{} ±{:.0}", compact(spread.median), spread.percent()),
        Unit::Time => with_unit(spread.median, number::Unit::Seconds),
        Unit::Nanoseconds => with_unit(spread.median / 1e9, number::Unit::Seconds),
    }
}
