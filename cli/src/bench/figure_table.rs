//! A table of one figure: a row for each case, a column for each contestant.

use anstyle::AnsiColor;

use super::figure::Figure;
use super::results::{CaseResults, Entry};
use crate::contestants::Contestant;
use crate::measuring::table::{self, paint};

/// What a cell without a figure shows.
const NOTHING: &str = "-";

/// Leaves out cases in which no contestant has the figure: without writes no thread waits to write.
pub fn shown<'a>(figure: &Figure, cases: &'a [CaseResults]) -> Vec<&'a CaseResults> {
    let says_something =
        |entry: &Entry| entry.failure.is_some() || entry.spread(figure.name).is_some();
    cases.iter().filter(|results| results.entries.iter().any(says_something)).collect()
}

pub fn render(figure: &Figure, contestants: &[Contestant], cases: &[CaseResults]) -> String {
    let shown = shown(figure, cases);
    if shown.is_empty() {
        return String::new();
    }
    let mut header = vec!["case".to_owned()];
    header.extend(contestants.iter().map(|contestant| contestant.heading().to_owned()));
    let mut rows = vec![header];
    rows.extend(shown.into_iter().map(|results| {
        let mut row = vec![results.case.name.clone()];
        row.extend(results.entries.iter().map(|entry| cell(figure, entry)));
        row
    }));
    format!("{}\n{}\n", figure.heading(), table::render(1, 0, &rows))
}

fn cell(figure: &Figure, entry: &Entry) -> String {
    if entry.failure.is_some() {
        return paint("FAILED", AnsiColor::Red);
    }
    entry
        .spread(figure.name)
        .map_or_else(|| NOTHING.to_owned(), |spread| figure.text_of(spread, entry.runs.len()))
}
