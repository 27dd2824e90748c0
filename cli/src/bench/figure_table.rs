//! A table of one figure: a row for each case, a column for each contestant.

use super::figure::Figure;
use super::results::{BenchmarkResults, CaseResults, Entry};
use crate::contestants::Contestant;
use crate::report::model::{Cell, Table, Tone};

/// Leaves out cases in which no contestant has the figure (without writes no thread waits to
/// write); none if no case is left. `heading` names a contestant's column.
pub fn table(
    figure: &Figure,
    results: &BenchmarkResults,
    heading: fn(Contestant) -> &'static str,
) -> Option<Table> {
    let says_something =
        |entry: &Entry| entry.failure.is_some() || entry.spread(figure.name).is_some();
    let shown = |case: &&CaseResults| case.entries.iter().any(says_something);
    let row = |case: &CaseResults| {
        let cells = case.entries.iter().map(|entry| cell(figure, entry));
        std::iter::once(Cell::plain(&case.case.name)).chain(cells).collect()
    };
    let names = results.contestants.iter().map(|contestant| heading(*contestant));
    let header = std::iter::once("case").chain(names);
    let table = Table::new(figure.title, header, results.cases.iter().filter(shown).map(row));
    (!table.rows.is_empty()).then_some(table)
}

fn cell(figure: &Figure, entry: &Entry) -> Cell {
    match (&entry.failure, entry.spread(figure.name)) {
        (Some(_), _) => Cell::new("FAILED", Tone::Loss),
        (None, Some(spread)) => Cell::plain(figure.text_of(spread, entry.runs.len())),
        (None, None) => Cell::plain("-"),
    }
}
