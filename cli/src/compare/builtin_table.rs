//! The table of the built-in workloads: a row for each figure of each cell.

use std::path::Path;

use anstyle::AnsiColor;
use serde::Serialize;

use super::cells::{Better, Row};
use super::runs::Series;
use super::side::Both;
use crate::measuring::machine::Machine;
use crate::measuring::number::{digits, multiple, times, with_unit};
use crate::measuring::table::{Align, paint, render as render_rows};
use crate::measuring::workload_run::Run;
use crate::statistics::{Spread, Verdict, median, ratio, verdict};

pub const HEADER: [&str; 10] = [
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

/// One row: medians, and the gains pair by pair (more than 1 where furwock does better).
#[derive(Serialize)]
pub struct Summary {
    workload: String,
    figure: &'static str,
    #[serde(skip)]
    row: &'static Row,
    /// None before the first pair.
    pub measured: Option<Measured>,
    pub ok: bool,
}

#[derive(Serialize)]
pub struct Measured {
    median: Both<f64>,
    pub gain: Spread,
    voluntary_switches_per_operation: Both<f64>,
    pub verdict: Verdict,
}

impl Summary {
    pub fn of(series: &Series) -> Vec<Summary> {
        let rows = series.cell.rows.iter();
        rows.map(|row| Summary {
            workload: series.cell.name.clone(),
            figure: row.figure,
            row,
            measured: (!series.pairs.is_empty()).then(|| Measured::of(series, row)),
            ok: series.failure.is_none(),
        })
        .collect()
    }
}

impl Summary {
    /// What it is of, in a line.
    pub fn title(&self) -> String {
        format!("{}: {}", self.workload, self.row.label)
    }

    /// A row of the table.
    pub fn words(&self) -> Vec<String> {
        cells(self)
    }
}

impl Measured {
    fn of(series: &Series, row: &Row) -> Self {
        let figure = values(series, row.figure);
        let switches = values(series, "voluntary_per_op");
        let pairs = figure.glibc.iter().zip(&figure.furwock);
        let gains: Vec<f64> =
            pairs.map(|(glibc, furwock)| gain(row.better, *glibc, *furwock)).collect();
        Measured {
            median: figure.map(|values| median(values)),
            gain: Spread::of(&gains),
            voluntary_switches_per_operation: switches.map(|values| median(values)),
            verdict: verdict(&gains),
        }
    }
}

fn values(series: &Series, figure: &str) -> Both<Vec<f64>> {
    // A figure that a report lacks is no number.
    let of = |run: &Run| run.report.figures.get(figure).copied().unwrap_or(f64::NAN);
    Both {
        glibc: series.pairs.iter().map(|pair| of(&pair.runs.glibc)).collect(),
        furwock: series.pairs.iter().map(|pair| of(&pair.runs.furwock)).collect(),
    }
}

fn gain(better: Better, glibc: f64, furwock: f64) -> f64 {
    match better {
        Better::Less => ratio(glibc, furwock),
        Better::More => ratio(furwock, glibc),
    }
}

pub fn render(machine: &Machine, series: &[Series], summary: &[Summary], preload: &Path) -> String {
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    rows.extend(summary.iter().map(Summary::words));
    let align = [
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Left,
    ];
    let pairs = series.iter().map(|series| series.pairs.len()).max().unwrap_or_default();
    let mut text = format!("{machine}\n\n{}\n", render_rows(&align, &rows));
    text += &format!(
        "Medians of up to {pairs} pairs; gain is the median of the pairs' ratios, more than 1 \
         where furwock does better.\nSwitches are voluntary ones per {}.\n",
        operations(series)
    );
    text += &failures(series);
    text += &not_replaced(series, preload);
    text
}

fn cells(summary: &Summary) -> Vec<String> {
    let Summary { row, .. } = summary;
    let mut cells = vec![summary.workload.clone(), row.label.to_owned()];
    match &summary.measured {
        None => cells.extend(["-", "-", "-", "-", "-", "-"].map(str::to_owned)),
        Some(measured) => cells.extend([
            with_unit(measured.median.glibc, row.unit),
            with_unit(measured.median.furwock, row.unit),
            times(measured.gain.median),
            format!("({}–{})", multiple(measured.gain.min), multiple(measured.gain.max)),
            digits(measured.voluntary_switches_per_operation.glibc),
            digits(measured.voluntary_switches_per_operation.furwock),
        ]),
    }
    cells.push(match (summary.ok, &summary.measured) {
        (false, _) => paint("FAILED", AnsiColor::Red),
        (true, Some(_)) => "ok".to_owned(),
        (true, None) => "-".to_owned(),
    });
    cells.push(match &summary.measured {
        Some(measured) if summary.ok => word(measured.verdict, row.words),
        _ => String::new(),
    });
    cells
}

fn word(verdict: Verdict, [better, worse]: [&str; 2]) -> String {
    match verdict {
        Verdict::Faster => paint(better, AnsiColor::Green),
        Verdict::Slower => paint(worse, AnsiColor::Red),
        Verdict::NoDifference => "no difference".to_owned(),
        Verdict::TooFewPairs => "too few pairs".to_owned(),
    }
}

/// What switches are counted per, each named once.
fn operations(series: &[Series]) -> String {
    let mut names: Vec<&str> = series.iter().map(|series| series.cell.operation).collect();
    names.dedup();
    names.join(" / ")
}

fn failures(series: &[Series]) -> String {
    let failed = series.iter().filter_map(|series| Some((&series.cell, series.failure.as_ref()?)));
    let line = |name: &str, side, reason: &str| format!("FAILED: {name} on {side}: {reason}\n");
    failed.map(|(cell, failure)| line(&cell.name, failure.side, &failure.reason)).collect()
}

/// A library that replaces nothing would make a comparison of glibc with itself.
fn not_replaced(series: &[Series], preload: &Path) -> String {
    let mut runs = series.iter().flat_map(|series| &series.pairs).map(|pair| &pair.runs.furwock);
    let stray = runs.find(|run| Path::new(&run.report.locks_from) != preload);
    stray.map_or_else(String::new, |run| {
        format!(
            "Warning: on furwock's side pthread_mutex_lock came from {}, not from {}.\n",
            run.report.locks_from,
            preload.display()
        )
    })
}
