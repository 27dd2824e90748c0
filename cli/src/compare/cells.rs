//! The built-in workloads that `furwock compare` runs: a cell is one workload at one size.

use serde::{Serialize, Serializer};

use crate::measuring::number::Unit;

/// How much shorter the cells of `--quick` are.
const QUICK: f64 = 0.25;

#[derive(Serialize, Clone)]
pub struct Cell {
    pub name: String,
    pub workload: &'static str,
    #[serde(serialize_with = "as_map")]
    pub parameters: Vec<(&'static str, f64)>,
    /// What a voluntary switch is counted per.
    pub operation: &'static str,
    #[serde(skip)]
    pub rows: &'static [Row],
    /// The parameter that says how long the cell takes.
    #[serde(skip)]
    length: &'static str,
}

/// A figure of a workload's report that becomes a row of the table.
#[derive(Debug)]
pub struct Row {
    pub figure: &'static str,
    pub label: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// What furwock is called if it does better, and if it does worse.
    pub words: [&'static str; 2],
}

const SPEED: [&str; 2] = ["faster", "slower"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
}

const ROUND: [Row; 1] = [Row {
    figure: "seconds_per_round",
    label: "time a round",
    unit: Unit::Seconds,
    better: Better::Less,
    words: SPEED,
}];
const GAMES: [Row; 1] = [Row {
    figure: "seconds",
    label: "time for all games",
    unit: Unit::Seconds,
    better: Better::Less,
    words: SPEED,
}];
const OPERATIONS: [Row; 1] = [Row {
    figure: "ops_per_second",
    label: "operations",
    unit: Unit::PerSecond,
    better: Better::More,
    words: SPEED,
}];
const FAIRNESS: [Row; 2] = [
    Row {
        figure: "wait_max_s",
        label: "longest wait",
        unit: Unit::Seconds,
        better: Better::Less,
        words: ["shorter", "longer"],
    },
    Row {
        figure: "jain",
        label: "Jain's fairness",
        unit: Unit::Index,
        better: Better::More,
        words: ["fairer", "less fair"],
    },
];
const ITEMS: [Row; 1] = [Row {
    figure: "items_per_second",
    label: "items",
    unit: Unit::PerSecond,
    better: Better::More,
    words: SPEED,
}];

fn as_map<S: Serializer>(pairs: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

pub fn all() -> Vec<Cell> {
    let cond_perf = [(16, 4000), (200, 600), (1000, 100)];
    let pp = [(128, 1000), (1024, 10)];
    let mutex = [
        (10.0, 10.0, &[2, 4, 16, 64][..]),
        (1.0, 1.0, &[2, 4, 16, 64]),
        (0.0, 0.0, &[1, 2, 4, 16, 64]),
    ];
    let queue = [(1, 1, 16), (4, 4, 16), (16, 16, 64)];

    let mut cells: Vec<Cell> = Vec::new();
    for mutex_kept in [false, true] {
        let cell = |(threads, rounds)| cond_perf_cell(threads, rounds, mutex_kept);
        cells.extend(cond_perf.map(cell));
    }
    cells.extend(pp.map(|(games, iterations)| pp_cell(games, iterations)));
    for (critical, other, threads) in mutex {
        cells.extend(threads.iter().map(|threads| mutex_cell(critical, other, *threads)));
    }
    cells.push(fairness_cell());
    cells.extend(
        queue.map(|(producers, consumers, capacity)| queue_cell(producers, consumers, capacity)),
    );
    cells
}

/// The same work, less of it.
pub fn quick(mut cell: Cell) -> Cell {
    for (key, value) in &mut cell.parameters {
        if *key == cell.length {
            let shorter = *value * QUICK;
            *value = if *key == "seconds" { shorter } else { shorter.ceil() };
        }
    }
    cell
}

/// With `mutex_kept` the broadcast is sent while the mutex is held, as most programs do it.
fn cond_perf_cell(threads: u32, rounds: u32, mutex_kept: bool) -> Cell {
    let how = if mutex_kept { ", mutex kept" } else { "" };
    Cell {
        name: format!("cond-perf {threads} threads{how}"),
        workload: "cond-perf",
        parameters: vec![
            ("threads", threads.into()),
            ("rounds", rounds.into()),
            ("mutex-kept", u32::from(mutex_kept).into()),
        ],
        operation: "woken thread",
        rows: &ROUND,
        length: "rounds",
    }
}

fn pp_cell(games: u32, iterations: u32) -> Cell {
    Cell {
        name: format!("pp {games} games x {iterations}"),
        workload: "pp",
        parameters: vec![("games", games.into()), ("iterations", iterations.into())],
        operation: "turn",
        rows: &GAMES,
        // The games' length is part of their name.
        length: "",
    }
}

fn mutex_cell(critical_us: f64, other_us: f64, threads: u32) -> Cell {
    let plural = if threads == 1 { "thread" } else { "threads" };
    // Free sections are shorter than the reading of a clock: time one lock call in 64 there.
    let sample = if critical_us + other_us == 0.0 { 64.0 } else { 1.0 };
    Cell {
        name: format!("mutex {critical_us}/{other_us} us, {threads} {plural}"),
        workload: "mutex",
        parameters: vec![
            ("cs", critical_us),
            ("ncs", other_us),
            ("threads", threads.into()),
            ("seconds", 0.4),
            ("sample", sample),
        ],
        operation: "operation",
        rows: &OPERATIONS,
        length: "seconds",
    }
}

/// Two seconds, because shorter runs say little of fairness.
fn fairness_cell() -> Cell {
    let mut cell = Cell { rows: &FAIRNESS, ..mutex_cell(0.1, 1.0, 64) };
    cell.parameters.iter_mut().filter(|(key, _)| *key == "seconds").for_each(|(_, s)| *s = 2.0);
    cell
}

fn queue_cell(producers: u32, consumers: u32, capacity: u32) -> Cell {
    Cell {
        name: format!("queue {producers} to {consumers}, room for {capacity}"),
        workload: "queue",
        parameters: vec![
            ("producers", producers.into()),
            ("consumers", consumers.into()),
            ("capacity", capacity.into()),
            ("items", 200_000.0),
        ],
        operation: "item",
        rows: &ITEMS,
        length: "items",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_cells_apart() {
        let mut names: Vec<String> = all().into_iter().map(|cell| cell.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn quick_shortens_the_length_and_nothing_else() {
        let cell = quick(mutex_cell(10.0, 10.0, 2));
        assert!(cell.parameters.contains(&("seconds", 0.1)));
        assert!(cell.parameters.contains(&("cs", 10.0)));
        assert!(quick(cond_perf_cell(1000, 30, true)).parameters.contains(&("rounds", 8.0)));
        assert_eq!(quick(pp_cell(128, 1000)).parameters, pp_cell(128, 1000).parameters);
    }
}
