//! Files of `furwock bench mutex --json` and `furwock bench rwlock --json`, against the same grid
//! on the machine that they were measured on.

use std::path::Path;

use serde_json::Value;

use super::verdict;
use crate::case::Case;
use crate::measuring::number::{compact, digits};
use crate::outcome::Outcome;
use crate::pool;
use crate::tables::plain;

/// The file's implementations that stand here, by workload.
const STAND_INS: [(&str, &str, &str); 8] = [
    ("mutex", "furwock", "furwock"),
    ("mutex", "glibc", "glibc"),
    ("mutex", "std", "std"),
    ("mutex", "kernel", "futex"),
    ("mutex", "parking_lot", "yielding"),
    ("rwlock", "furwock", "furwock"),
    ("rwlock", "glibc", "glibc"),
    ("rwlock", "std", "std"),
];

/// Pairs that differ by more than this count, and how many of them must have the right order.
const DIFFER: f64 = 1.2;
const PAIRS_ASKED: f64 = 0.9;
/// How near a throughput must be, and in how many cells.
const NEAR: f64 = 0.25;
const CELLS_ASKED: f64 = 0.8;

/// A throughput that was measured, and the case that stands for it.
struct Cell {
    name: String,
    implementation: String,
    measured: f64,
    case: Case,
}

fn cells(machine: &str, path: &Path, seed: u64) -> Result<Vec<Cell>, String> {
    let bad = |what: &str| format!("{}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| bad(&error.to_string()))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| bad(&error.to_string()))?;
    let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut cells = Vec::new();
    for benchmark in all(&document, "benchmarks") {
        let workload = benchmark["name"].as_str().unwrap_or_default();
        for case in all(&benchmark, "cases") {
            for result in all(&case, "results") {
                let implementation = result["impl"].as_str().unwrap_or_default();
                let stand_in = STAND_INS
                    .iter()
                    .find(|(known, name, _)| *known == workload && *name == implementation);
                let rate = result["figures"]["ops_per_second"]["median"].as_f64();
                let (Some((_, _, contestant)), Some(measured)) = (stand_in, rate) else { continue };
                let parameter = |name: &str| case["parameters"][name].as_f64();
                let threads = parameter("threads").ok_or_else(|| bad("a case without threads"))?;
                let first = Case::new(machine, workload, contestant, threads as usize);
                cells.push(Cell {
                    name: format!("{workload} {}", case["name"].as_str().unwrap_or_default()),
                    implementation: implementation.to_owned(),
                    measured,
                    case: Case {
                        critical_ns: parameter("cs").unwrap_or_default() * 1e3,
                        other_ns: parameter("ncs").unwrap_or_default() * 1e3,
                        writes: parameter("writes").unwrap_or_default() / 100.0,
                        jitter: 0.02,
                        measured_us: 60_000.0,
                        warmup_us: 5_000.0,
                        accesses_max: 2_000_000,
                        seed,
                        ..first
                    },
                });
            }
        }
    }
    match cells.is_empty() {
        true => Err(bad("no case that can be simulated")),
        false => Ok(cells),
    }
}

/// Prints the cells and the shares; true if both are as high as is asked.
pub fn compare(machine: &str, path: &Path, seed: u64, jobs: usize) -> Result<bool, String> {
    let cells = cells(machine, path, seed)?;
    let known = |cell: &&Cell| {
        crate::workloads::contestants(&cell.case.workload)
            .is_ok_and(|known| known.contains(&cell.case.contestant.as_str()))
    };
    let cells: Vec<&Cell> = cells.iter().filter(known).collect();
    let cases: Vec<Case> = cells.iter().map(|cell| cell.case.clone()).collect();
    let outcomes = pool::run(&cases, jobs);
    print!("{}", crate::tables::failures(&outcomes));

    println!("{machine}: the measurement in {} against the same grid\n", path.display());
    let header = ["case", "implementation", "measured", "simulated", "ratio"];
    let mut rows = Vec::new();
    for (cell, outcome) in cells.iter().zip(&outcomes) {
        rows.push(vec![
            cell.name.clone(),
            cell.implementation.clone(),
            compact(cell.measured),
            compact(outcome.rate()),
            digits(outcome.rate() / cell.measured),
        ]);
    }
    println!("{}", plain(2, 0, header, rows));

    let near =
        |(cell, outcome): &(&&Cell, &Outcome)| (outcome.rate() / cell.measured - 1.0).abs() <= NEAR;
    let near = cells.iter().zip(&outcomes).filter(near).count();
    let (right, pairs) = right_pairs(&cells, &outcomes);
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let holds = share(right, pairs) >= PAIRS_ASKED && share(near, cells.len()) >= CELLS_ASKED;
    println!(
        "{right} of {pairs} pairs that differ by more than a fifth have the right order; {near} of \
         {} throughputs are within a quarter: {}\n",
        cells.len(),
        verdict(holds)
    );
    Ok(holds)
}

/// How many pairs of a case have the measured order, and how many there are that differ.
fn right_pairs(cells: &[&Cell], outcomes: &[Outcome]) -> (usize, usize) {
    let (mut right, mut pairs) = (0, 0);
    for (index, one) in cells.iter().enumerate() {
        for (other_index, other) in cells.iter().enumerate() {
            if one.name != other.name || one.measured < other.measured * DIFFER {
                continue;
            }
            pairs += 1;
            right += usize::from(outcomes[index].rate() > outcomes[other_index].rate());
        }
    }
    (right, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_that_differ_count() {
        let cell = |implementation: &str, measured| Cell {
            name: "mutex 1/1 x 2".to_owned(),
            implementation: implementation.to_owned(),
            measured,
            case: Case::new("sixteen", "mutex", implementation, 2),
        };
        let cells = [cell("a", 10.0), cell("b", 11.0), cell("c", 20.0)];
        let outcome = |cell: &Cell, rate: f64| Outcome {
            figures: [("ops_per_second".to_owned(), rate)].into(),
            failure: None,
            ..Outcome::failed(&cell.case, String::new())
        };
        let outcomes: Vec<Outcome> =
            cells.iter().zip([3.0, 1.0, 2.0]).map(|(cell, rate)| outcome(cell, rate)).collect();
        // Of c over a and c over b only the second is right; a and b don't differ.
        assert_eq!(right_pairs(&cells.iter().collect::<Vec<_>>(), &outcomes), (1, 2));
    }
}
