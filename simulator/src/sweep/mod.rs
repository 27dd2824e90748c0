//! What furwock's constants are worth: each is set to other values than its own, one at a time, on
//! all machines.
//!
//! The cells run once with all defaults, which also tells which constants a cell asks for: only
//! those are varied in it.

mod plan;
mod verdict;

use std::collections::HashSet;
use std::path::PathBuf;

use crate::case::Case;
use crate::constants::{self, Constant};
use crate::measuring::number::Unit;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::pool;
use crate::report::model::{
    Axis, Block, Cell, Chart, Finding, Page, Point, Section, Series, SeriesKind, Table, Tone,
};
use crate::tables::{self, distinct, plain};
use verdict::{Baseline, OnMachine, Verdict, judge, loss, verdict};

/// The default runs with so many seeds, so that its own spread is known.
const SEEDS: u64 = 3;

/// What came of one constant.
pub struct Swept {
    constant: Constant,
    default: u64,
    machines: Vec<OnMachine>,
    verdict: Verdict,
}

/// All that was found, and what was run for it.
pub struct Sweep {
    pub outcomes: Vec<Outcome>,
    /// Constants that no cell asks for.
    unused: Vec<Constant>,
    swept: Vec<Swept>,
    noise: f64,
    /// Cells whose rate depends on the seed too much to be judged.
    unsteady: Vec<String>,
}

/// Runs a sweep.
pub fn run(options: &Options, jobs: usize) -> Result<Sweep, String> {
    let asked = asked(options)?;
    if !options.from.is_empty() {
        return Ok(Sweep::of(asked, read(&options.from)?));
    }
    let machines = match &options.machine[..] {
        [] => machine::NAMES.map(str::to_owned).into(),
        some => some.to_vec(),
    };
    let mut cells = Vec::new();
    for machine in &machines {
        cells.extend(plan::cells(options, machine)?);
    }
    let seeded = |case: &Case| {
        let case = case.clone();
        (0..SEEDS).map(move |more| Case { seed: case.seed + more, ..case.clone() })
    };
    let cases: Vec<Case> = cells.iter().flat_map(seeded).collect();
    eprintln!("furwock-simulate: {} cells with the defaults", cases.len());
    let before = pool::run(&cases, jobs);
    let varied: Vec<Case> =
        asked.iter().flat_map(|(constant, values)| vary(&before, constant, values)).collect();
    eprintln!("furwock-simulate: {} cells with other values", varied.len());
    let after = pool::run(&varied, jobs);
    Ok(Sweep::of(asked, before.into_iter().chain(after).collect()))
}

/// The outcomes of several files. Those of a default may be in more than one.
fn read(files: &[PathBuf]) -> Result<Vec<Outcome>, String> {
    let mut all: Vec<Outcome> = Vec::new();
    for file in files {
        let said = |what: &dyn std::fmt::Display| format!("{}: {what}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| said(&error))?;
        let some: Vec<Outcome> = serde_json::from_str(&text).map_err(|error| said(&error))?;
        all.extend(some);
    }
    let mut known = HashSet::new();
    all.retain(|outcome| known.insert(serde_json::to_string(&outcome.case).expect("plain data")));
    Ok(all)
}

/// Those that the options name, or all.
fn asked(options: &Options) -> Result<Vec<(Constant, Vec<u64>)>, String> {
    let all = constants::all();
    if all.is_empty() {
        return Err("a sweep needs furwock: `sh scripts/simulate.sh` builds it".to_owned());
    }
    match &options.constant[..] {
        [] => Ok(all.into_iter().map(|constant| (constant, Vec::new())).collect()),
        some => some.iter().map(|text| constants::asked(text)).collect(),
    }
}

/// The cells that ask for the constant, once for each of the values.
fn vary(before: &[Outcome], constant: &Constant, asked: &[u64]) -> Vec<Case> {
    let first = before.iter().step_by(SEEDS as usize);
    let cases = |outcome: &Outcome| {
        let default = outcome.used.get(constant.name).copied();
        let case = outcome.case.clone();
        let values = default.map_or(Vec::new(), |default| plan::values(constant, default, asked));
        values.into_iter().map(move |value| Case {
            constants: [(constant.name.to_owned(), value)].into(),
            ..case.clone()
        })
    };
    first.flat_map(cases).collect()
}

impl Sweep {
    fn of(asked: Vec<(Constant, Vec<u64>)>, outcomes: Vec<Outcome>) -> Sweep {
        let has_defaults = |outcome: &&Outcome| outcome.case.constants.is_empty();
        let (before, after): (Vec<Outcome>, Vec<Outcome>) =
            outcomes.into_iter().partition(|outcome| has_defaults(&outcome));
        let baseline = Baseline(&before);
        let (mut swept, mut unused) = (Vec::new(), Vec::new());
        for (constant, _) in asked {
            let used = before.iter().find_map(|outcome| outcome.used.get(constant.name));
            match used.copied() {
                Some(default) => {
                    let machines = judge(constant.name, &baseline, &after);
                    let verdict = verdict(default, &machines);
                    swept.push(Swept { constant, default, machines, verdict });
                }
                None => unused.push(constant),
            }
        }
        let (noise, unsteady) = (baseline.noise(), baseline.unsteady());
        Sweep {
            outcomes: before.into_iter().chain(after).collect(),
            unused,
            swept,
            noise,
            unsteady,
        }
    }

    pub fn text(&self) -> String {
        let swept: String = self.swept.iter().map(Swept::text).collect();
        let unused: Vec<&str> = self.unused.iter().map(|constant| constant.name).collect();
        let unused = match &unused[..] {
            [] => String::new(),
            some => format!("no cell uses {}\n", some.join(", ")),
        };
        let summary = plain(1, 0, SUMMARY, self.swept.iter().map(Swept::row).collect());
        format!(
            "{swept}{unused}{summary}\nnot judged, because the seed decides: {}\n\
             with another seed, a cell's rate differs by {:.1} % from its mean\n",
            if self.unsteady.is_empty() { "none".to_owned() } else { self.unsteady.join(", ") },
            (self.noise - 1.0) * 100.0
        )
    }

    pub fn page(&self, provenance: Vec<String>) -> Page {
        Page {
            title: "What furwock's constants are worth on simulated machines".to_owned(),
            provenance,
            summary: self.swept.iter().map(Swept::finding).collect(),
            sections: self.swept.iter().map(Swept::section).collect(),
            ..Page::default()
        }
    }
}

/// One of a standing's figures, as a table shows it.
type Shown = fn(&verdict::Standing) -> String;

const FIGURES: [(&str, Shown); 4] = [
    ("rate over the default's, geometric mean", |standing| format!("{:.2}", standing.rate)),
    ("the worst cell's", |standing| format!("{:.2}", standing.worst.0)),
    ("99.9th percentile of waits over the default's", |standing| {
        standing.wait.map_or("-".to_owned(), |wait| format!("{wait:.2}"))
    }),
    ("Jain's index, more than the default's", |standing| format!("{:+.2}", standing.jain)),
];

/// A line for each constant. "loss" is the default's mean over the best value's.
const SUMMARY: [&str; 5] = ["constant", "default", "loss", "on", "verdict"];

impl Swept {
    fn row(&self) -> Vec<String> {
        let Constant { name, unit, .. } = self.constant;
        let (loss, on) = loss(self.default, &self.machines).unwrap_or((1.0, "-"));
        let default = format!("{} {unit}", self.default);
        let verdict = self.verdict.text(unit);
        vec![name.to_owned(), default, format!("{loss:.2}"), on.to_owned(), verdict]
    }

    fn heading(&self) -> String {
        let Constant { name, unit, file, .. } = self.constant;
        format!("{name} ({} {unit}; {file})", self.default)
    }

    fn finding(&self) -> Finding {
        let tone = match self.verdict {
            Verdict::Indifferent | Verdict::DefaultIsGood => Tone::Win,
            Verdict::OtherIsGood(_) | Verdict::MustBeLearnt => Tone::Loss,
        };
        let text = self.verdict.text(self.constant.unit);
        Finding { tone, text: format!("{}: {text}.", self.heading()) }
    }

    fn tables(&self) -> Vec<Table> {
        let mut values = distinct(self.machines.iter().flat_map(|on| on.values.keys().copied()));
        values.sort_unstable();
        let table = |(title, shown): &(&str, Shown)| {
            let row = |on: &OnMachine| {
                let cell = |value: &u64| on.values.get(value).map_or("-".to_owned(), shown);
                let names = [on.machine.clone(), on.cells.to_string()];
                names.into_iter().chain(values.iter().map(cell)).map(Cell::plain).collect()
            };
            let header = ["machine".to_owned(), "cells".to_owned()];
            let header = header.into_iter().chain(values.iter().map(u64::to_string));
            Table::new(*title, header, self.machines.iter().map(row))
        };
        FIGURES.iter().map(table).collect()
    }

    /// Where a value does best, and where it does worst.
    fn extremes(&self) -> Vec<String> {
        let all = || {
            self.machines.iter().flat_map(|on| {
                on.values.iter().map(move |(value, standing)| (on, *value, standing))
            })
        };
        let line = |word, (on, value, (ratio, cell)): (&OnMachine, u64, &(f64, String))| {
            format!("{word}: {ratio:.2} with {value}, {cell} on {}", on.machine)
        };
        let best = all()
            .max_by(|one, other| one.2.best.0.total_cmp(&other.2.best.0))
            .map(|(on, value, standing)| line("best cell", (on, value, &standing.best)));
        let worst = all()
            .min_by(|one, other| one.2.worst.0.total_cmp(&other.2.worst.0))
            .map(|(on, value, standing)| line("worst cell", (on, value, &standing.worst)));
        best.into_iter().chain(worst).collect()
    }

    fn text(&self) -> String {
        let mut text = format!("== {}\n{}\n\n", self.heading(), self.constant.what);
        for table in self.tables() {
            let rows = table.rows.into_iter();
            let rows = rows.map(|row| row.into_iter().map(|cell| cell.text).collect()).collect();
            text += &format!("{}\n{}\n", table.caption, tables::plain(1, 0, table.header, rows));
        }
        self.extremes().iter().for_each(|line| text += &format!("{line}\n"));
        text + &format!("{}\n\n", self.verdict.text(self.constant.unit))
    }

    fn section(&self) -> Section {
        let series = |on: &OnMachine| {
            let point = |value: u64, rate: f64| Point {
                x: value as f64,
                y: rate,
                range: None,
                label: format!("{value} {}", self.constant.unit),
            };
            let own = point(self.default, 1.0);
            let others = on.values.iter().map(|(value, standing)| point(*value, standing.rate));
            let mut points: Vec<Point> =
                others.chain([own]).filter(|point| point.x > 0.0).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            Series { name: on.machine.clone(), kind: SeriesKind::Peer, points, note: String::new() }
        };
        let chart = Chart {
            caption: self.heading(),
            x: Axis::new(self.constant.unit, Unit::Count),
            y: Axis::new("rate over the default's", Unit::Count),
            series: self.machines.iter().map(series).collect(),
            joined: true,
            notes: vec!["Higher is better; the default is 1.".to_owned()],
        };
        let text = [self.constant.what.to_owned(), self.verdict.text(self.constant.unit) + "."];
        let tables = self.tables().into_iter().map(Block::Table);
        let blocks = std::iter::once(Block::Chart(chart)).chain(tables).collect();
        let text = text.into_iter().chain(self.extremes()).collect();
        Section::new(self.heading(), text, blocks)
    }
}
