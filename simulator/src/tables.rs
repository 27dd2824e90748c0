//! Tables on the terminal, like those of `furwock bench`: one for each figure, a row for each case,
//! a column for each contestant.

use crate::measuring::number::{Unit, compact, digits, with_unit};
use crate::measuring::table::render;
use crate::outcome::Outcome;
use crate::report::model::{Cell, Table, Tone};

/// A figure that becomes a table.
#[derive(Clone, Copy)]
pub struct Shown {
    pub name: &'static str,
    pub title: &'static str,
    pub is_rate: bool,
    pub is_time: bool,
    /// Only on the page and in JSON.
    pub detail: bool,
}

const fn rate(name: &'static str, title: &'static str) -> Shown {
    Shown { name, title, is_rate: true, is_time: false, detail: false }
}

const fn time(name: &'static str, title: &'static str) -> Shown {
    Shown { name, title, is_rate: false, is_time: true, detail: false }
}

const fn index(name: &'static str, title: &'static str) -> Shown {
    Shown { name, title, is_rate: false, is_time: false, detail: false }
}

const fn detail(shown: Shown) -> Shown {
    Shown { detail: true, ..shown }
}

/// All figures, in the order in which they are shown; a workload has some of them.
pub const SHOWN: &[Shown] = &[
    rate("ops_per_second", "operations a second"),
    time("seconds_per_round", "time from a broadcast until all have had the mutex"),
    time("wake_s", "until the waker is done"),
    time("awake_s", "until the last thread is awake"),
    detail(time("wait_p50_s", "wait, median")),
    detail(time("wait_p99_s", "wait, 99th percentile")),
    time("wait_p999_s", "wait, 99.9th percentile"),
    detail(time("wait_max_s", "longest wait")),
    time("read_wait_p999_s", "readers' wait, 99.9th percentile"),
    time("write_wait_p999_s", "writers' wait, 99.9th percentile"),
    index("jain", "Jain's fairness over the threads (1: all got the same)"),
    index("transfers_per_op", "cache lines that move between cores, an operation"),
    detail(index("far_transfers_per_op", "the same between memory nodes or sockets")),
    index("sleeps_per_op", "sleeps in the kernel, an operation"),
    detail(index("preemptions_per_op", "preemptions, an operation")),
    detail(index("cpu_ns_per_op", "processor time an operation, nanoseconds")),
];

impl Shown {
    pub fn text(&self, value: f64) -> String {
        match (self.is_rate, self.is_time) {
            (true, _) => compact(value),
            (_, true) => with_unit(value, Unit::Seconds),
            _ => digits(value),
        }
    }
}

/// The distinct values of something, in the order of their first appearance.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

/// Outcomes of one machine and workload, by their cases' labels and contestants.
pub struct Grid<'a> {
    pub machine: &'a str,
    pub workload: &'a str,
    pub rows: Vec<String>,
    pub columns: Vec<&'a str>,
    outcomes: Vec<&'a Outcome>,
}

impl<'a> Grid<'a> {
    /// One for each machine and workload.
    pub fn all(outcomes: &'a [Outcome]) -> Vec<Grid<'a>> {
        let place =
            |outcome: &'a Outcome| (outcome.case.machine.as_str(), outcome.case.workload.as_str());
        let of = |(machine, workload)| {
            let outcomes: Vec<&Outcome> =
                outcomes.iter().filter(|each| place(each) == (machine, workload)).collect();
            Grid {
                machine,
                workload,
                rows: distinct(outcomes.iter().map(|each| each.case.label())),
                columns: distinct(outcomes.iter().map(|each| each.case.contestant.as_str())),
                outcomes,
            }
        };
        distinct(outcomes.iter().map(place)).into_iter().map(of).collect()
    }

    pub fn outcome(&self, row: &str, column: &str) -> Option<&'a Outcome> {
        self.outcomes
            .iter()
            .find(|each| each.case.label() == row && each.case.contestant == column)
            .copied()
    }

    pub fn has(&self, figure: &str) -> bool {
        self.outcomes.iter().any(|each| each.figure(figure).is_some())
    }

    /// The tables of all figures that are no details.
    pub fn text(&self) -> String {
        let mut text = format!("== {} on {}\n\n", self.workload, self.machine);
        for shown in SHOWN.iter().filter(|shown| !shown.detail && self.has(shown.name)) {
            text += &format!("{}\n{}\n", shown.title, render(1, 0, &self.table(shown)));
        }
        text
    }

    /// One figure's table.
    pub fn table(&self, shown: &Shown) -> Table {
        let cell = |row: &str, column: &str| match self.outcome(row, column) {
            Some(Outcome { failure: Some(_), .. }) => Cell::new("FAILED", Tone::Loss),
            Some(outcome) => {
                let value = outcome.figure(shown.name);
                Cell::plain(value.map_or("-".to_owned(), |value| shown.text(value)))
            }
            None => Cell::plain("-"),
        };
        let row = |name: &String| {
            let cells = self.columns.iter().map(|column| cell(name, column));
            std::iter::once(Cell::plain(name)).chain(cells).collect()
        };
        let header = std::iter::once("case").chain(self.columns.iter().copied());
        Table::new(shown.title, header, self.rows.iter().map(row))
    }
}

/// A table of plain cells as text, aligned as `render` does.
pub fn plain<H: Into<String>>(
    names: usize,
    words: usize,
    header: impl IntoIterator<Item = H>,
    rows: Vec<Vec<String>>,
) -> String {
    let rows = rows.into_iter().map(|row| row.into_iter().map(Cell::plain).collect());
    render(names, words, &Table::new("", header, rows))
}

/// A line for each failure.
pub fn failures(outcomes: &[Outcome]) -> String {
    let line = |outcome: &Outcome| {
        let (case, reason) = (&outcome.case, outcome.failure.as_ref()?);
        Some(format!(
            "FAILED: {} {} on {} with {}, {}: {reason}\n",
            case.workload,
            case.label(),
            case.machine,
            case.contestant,
            case.seed_and_constants()
        ))
    };
    outcomes.iter().filter_map(line).collect()
}
