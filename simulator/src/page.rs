//! The page of a grid: as that of the benchmarks, by the same code.

use crate::measuring::number::Unit;
use crate::outcome::Outcome;
use crate::report::model::{
    Axis, Block, Chart, Finding, HeatCell, HeatMap, HeatRow, Page, Point, Section, Series,
    SeriesKind, Tone,
};
use crate::tables::{Grid, SHOWN, distinct};

/// furwock's own among the contestants.
const OURS: &str = "furwock";
/// Behind by more than this share, a case is named in the summary.
const BEHIND: f64 = 0.8;

pub fn page(outcomes: &[Outcome], provenance: Vec<String>) -> Page {
    let grids = Grid::all(outcomes);
    Page {
        title: "furwock on simulated machines".to_owned(),
        provenance,
        summary: grids.iter().filter_map(finding).collect(),
        sections: grids.iter().map(section).collect(),
        ..Page::default()
    }
}

/// How furwock stands against the best of the others, over the grid's cases.
fn finding(grid: &Grid) -> Option<Finding> {
    let ratios: Vec<(&String, f64)> =
        grid.rows.iter().filter_map(|row| Some((row, ratio_to_best(grid, row)?))).collect();
    if ratios.is_empty() {
        return None;
    }
    let behind: Vec<_> = ratios.iter().filter(|(_, ratio)| *ratio < BEHIND).collect();
    let worst = ratios.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let tone = match behind.len() {
        0 if worst.1 >= 1.0 => Tone::Win,
        0 => Tone::Neutral,
        _ => Tone::Loss,
    };
    Some(Finding {
        tone,
        text: format!(
            "{} on {}: behind the best yardstick by more than a fifth in {} of {} cases; the worst \
             is {} ({:.2}x).",
            grid.workload,
            grid.machine,
            behind.len(),
            ratios.len(),
            worst.0,
            worst.1
        ),
    })
}

fn ratio_to_best(grid: &Grid, row: &str) -> Option<f64> {
    let ours = grid.outcome(row, OURS)?.rate();
    let others = grid.columns.iter().filter(|column| **column != OURS);
    let best =
        others.filter_map(|column| Some(grid.outcome(row, column)?.rate())).fold(0.0, f64::max);
    (best > 0.0).then_some(ours / best)
}

fn section(grid: &Grid) -> Section {
    let mut blocks: Vec<Block> = heat_map(grid).map(Block::HeatMap).into_iter().collect();
    blocks.extend(charts(grid).into_iter().map(Block::Chart));
    let tables = SHOWN.iter().filter(|shown| grid.has(shown.name));
    blocks.extend(tables.map(|shown| Block::Table(grid.table(shown))));
    const TEXT: &str = "All figures are in virtual time. Cases: nanoseconds of work inside/outside \
                        of the lock x threads.";
    let heading = format!("{} on {}", grid.workload, grid.machine);
    Section::new(heading, vec![TEXT.to_owned()], blocks)
}

fn heat_map(grid: &Grid) -> Option<HeatMap> {
    let peers: Vec<&str> = grid.columns.iter().copied().filter(|name| *name != OURS).collect();
    if peers.len() == grid.columns.len() {
        return None;
    }
    let cell = |row: &str, peer: &str| match (grid.outcome(row, OURS), grid.outcome(row, peer)) {
        (Some(ours), Some(theirs)) if ours.failure.is_some() || theirs.failure.is_some() => {
            HeatCell::Failed
        }
        (Some(ours), Some(theirs)) if theirs.rate() > 0.0 => {
            HeatCell::Ratio(ours.rate() / theirs.rate())
        }
        _ => HeatCell::Absent,
    };
    let row = |name: &String| HeatRow {
        name: name.clone(),
        ratios: peers.iter().map(|peer| cell(name, peer)).collect(),
    };
    Some(HeatMap {
        caption: "furwock's operations a second over each of the others'".to_owned(),
        columns: peers.iter().map(|name| (*name).to_owned()).collect(),
        rows: grid.rows.iter().map(row).collect(),
        notes: vec!["More than 1: furwock is faster.".to_owned()],
    })
}

/// The rate over the number of threads: a picture for each set of sections.
fn charts(grid: &Grid) -> Vec<Chart> {
    let outcomes = || {
        grid.rows
            .iter()
            .flat_map(|row| grid.columns.iter().filter_map(move |column| grid.outcome(row, column)))
    };
    let series_of = |outcome: &Outcome| {
        let label = outcome.case.label();
        label.rsplit_once(" x ").map_or(String::new(), |(sections, _)| sections.to_owned())
    };
    let chart = |sections: String| {
        let points = |column: &str| {
            let of = |outcome: &&Outcome| {
                outcome.case.contestant == column && series_of(outcome) == sections
            };
            let point = |outcome: &Outcome| Point {
                x: outcome.case.threads as f64,
                y: outcome.rate(),
                range: None,
                label: outcome.case.label(),
            };
            outcomes().filter(of).map(point).collect::<Vec<_>>()
        };
        let series: Vec<Series> = grid
            .columns
            .iter()
            .map(|column| Series {
                name: (*column).to_owned(),
                kind: if *column == OURS { SeriesKind::Ours } else { SeriesKind::Peer },
                points: points(column),
                note: String::new(),
            })
            .collect();
        let most = series.iter().map(|series| series.points.len()).max().unwrap_or_default();
        (most >= 3).then(|| Chart {
            caption: format!("{} on {} {sections}", grid.workload, grid.machine),
            x: Axis::new("threads", Unit::Count),
            y: Axis::new("operations a second", Unit::PerSecond),
            series,
            joined: true,
            notes: vec!["Higher is better.".to_owned()],
        })
    };
    distinct(outcomes().map(series_of)).into_iter().filter_map(chart).collect()
}
