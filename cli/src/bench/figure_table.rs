//! A table of one figure: a row for each case, a column for each contestant.

use anstyle::AnsiColor;

use super::contestant::Contestant;
use super::figure::Figure;
use super::results::{CaseResults, Entry};
use crate::measuring::table::{Align, paint, render as render_rows};

/// What a cell shows that has no figure.
const NOTHING: &str = "-";

/// Cases in which nobody has the figure are left out: with no writes nobody waits to write.
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
    let mut align = vec![Align::Left];
    align.resize(1 + contestants.len(), Align::Right);
    format!("{}\n{}\n", figure.title, render_rows(&align, &rows))
}

fn cell(figure: &Figure, entry: &Entry) -> String {
    if entry.failure.is_some() {
        return paint("FAILED", AnsiColor::Red);
    }
    entry
        .spread(figure.name)
        .map_or_else(|| NOTHING.to_owned(), |spread| figure.text_of(spread, entry.runs.len()))
}
