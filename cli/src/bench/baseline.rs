//! An earlier run, and what has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::figure::{CPU, Figure};
use super::results::BenchmarkResults;
use super::standing::Ratio;
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_USAGE};
use crate::harness::Report;
use crate::measuring::layout::{self, Columns};
use crate::measuring::machine::Machine;
use crate::measuring::tally::counted;
use crate::report::model::{Block, Cell, Section, Table};
use crate::statistics::{Gain, Interval, Verdict, median};

pub struct Baseline {
    path: PathBuf,
    /// The words after `furwock`, as it was run then.
    command: Vec<String>,
    machine: Value,
    /// What was measured, by benchmark, case and implementation.
    rounds: BTreeMap<[String; 3], Earlier>,
}

/// One implementation in one case, then.
struct Earlier {
    /// The case's parameters: its name has only some of them.
    parameters: BTreeMap<String, f64>,
    /// Each round's figures.
    rounds: Vec<BTreeMap<String, f64>>,
}

/// One figure of one implementation in one case, then and now.
#[derive(Serialize)]
pub struct Change {
    benchmark: &'static str,
    case: String,
    #[serde(rename = "impl")]
    contestant: Contestant,
    figure: &'static str,
    #[serde(skip)]
    title: &'static str,
    #[serde(skip)]
    shown: [String; 2],
    then: f64,
    now: f64,
    /// More than 1 where it is better now.
    gain: f64,
    /// Does the whole interval lie on one side of 1?
    differs: bool,
    interval: Option<Interval>,
    #[serde(skip)]
    verdict: Verdict,
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let unusable = |what: String| {
            let message = format!("baseline {}: {what}", path.display());
            Failure::new(STATUS_USAGE, message)
        };
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let document: Document = serde_json::from_str(&text)
            .map_err(|error| unusable(format!("not JSON as --json writes it: {error}")))?;
        let Document { command, machine, benchmarks } = document;
        let rounds = rounds(benchmarks);
        if rounds.is_empty() {
            const EMPTY: &str =
                "it has no rounds; write one with `furwock bench WORKLOAD --json FILE`";
            return Err(unusable(EMPTY.to_owned()));
        }
        Ok(Baseline { path: path.to_owned(), command, machine, rounds })
    }

    /// The words after `furwock bench`, as it was run then.
    pub fn words(&self) -> Result<Vec<String>, Failure> {
        match self.command.split_first() {
            Some((first, words)) if first == "bench" => Ok(words.to_vec()),
            _ => Err(self.cannot_repeat()),
        }
    }

    /// Those words are no command of today's.
    pub fn cannot_repeat(&self) -> Failure {
        let path = self.path.display();
        let message = format!("baseline {path}: can't tell what was run then; name the workload");
        Failure::new(STATUS_USAGE, message)
    }

    /// Warns of other causes of a difference.
    fn warn_of_another_machine(&self) {
        let now = serde_json::to_value(Machine::this()).unwrap_or_default();
        for key in ["cpu", "cpus", "kernel", "glibc"] {
            if self.machine[key] != now[key] {
                let (then, now) = (&self.machine[key], &now[key]);
                anstream::eprintln!(
                    "furwock: warning: the baseline's {key} was {then}, now it is {now}"
                );
            }
        }
        let pinned_then = self.command.iter().any(|word| word == "--pin");
        if pinned_then != std::env::args().any(|word| word == "--pin") && self.is_given_a_command()
        {
            anstream::eprintln!("furwock: warning: only one of the two runs was pinned (--pin)");
        }
    }

    /// Was the workload named, and not taken from the baseline?
    fn is_given_a_command(&self) -> bool {
        let workload = self.command.get(1);
        workload.is_some_and(|workload| std::env::args().any(|word| word == *workload))
    }

    /// The changes of the figure that ranks and of processor time, wherever both runs measured
    /// them. (Of the many other figures some would differ by chance.)
    pub fn changes(&self, benchmarks: &[BenchmarkResults]) -> Vec<Change> {
        let (mut changes, mut others) = (Vec::new(), 0);
        for results in benchmarks {
            let telling =
                |(index, figure): &(usize, &Figure)| *index == 0 || figure.name == CPU.name;
            let figures: Vec<_> =
                results.benchmark.figures.iter().enumerate().filter(telling).collect();
            for (case, entry) in results.entries() {
                let name = results.benchmark.name;
                let key = [name, &case.name, entry.contestant.name()].map(str::to_owned);
                let Some(then) = self.rounds.get(&key) else { continue };
                let same = |(name, value): &(&str, f64)| then.parameters.get(*name) == Some(value);
                if then.parameters.len() != case.parameters.len()
                    || !case.parameters.iter().all(same)
                {
                    others += 1;
                    continue;
                }
                for (_, figure) in &figures {
                    let rounds = then.rounds.iter();
                    let old: Vec<f64> =
                        rounds.filter_map(|round| round.get(figure.name).copied()).collect();
                    let new = entry.values(figure.name);
                    if !old.is_empty() && !new.is_empty() {
                        changes.push(change(
                            (name, &case.name),
                            entry.contestant,
                            figure,
                            &old,
                            &new,
                        ));
                    }
                }
            }
        }
        if others > 0 {
            anstream::eprintln!(
                "furwock: baseline {}: {others} results have other parameters than now, and are \
                 not compared",
                self.path.display()
            );
        }
        if changes.is_empty() {
            anstream::eprintln!(
                "furwock: baseline {}: nothing that was measured now is in it",
                self.path.display()
            );
        } else {
            let said = |key: &str| self.machine[key].as_str().unwrap_or("unknown");
            anstream::eprintln!(
                "furwock: baseline {}: {}, Linux {}, glibc {}, {}",
                self.path.display(),
                said("cpu"),
                said("kernel"),
                said("glibc"),
                said("date")
            );
            self.warn_of_another_machine();
        }
        changes
    }
}

fn change(
    (benchmark, case): (&'static str, &str),
    contestant: Contestant,
    figure: &Figure,
    then: &[f64],
    now: &[f64],
) -> Change {
    let (then_median, now_median) = (median(then), median(now));
    let speeds =
        |values: &[f64]| values.iter().map(|value| figure.speed(*value)).collect::<Vec<_>>();
    let gain = Gain::of_rounds(&speeds(now), &speeds(then));
    Change {
        benchmark,
        case: case.to_owned(),
        contestant,
        figure: figure.name,
        title: figure.short_title(),
        shown: [then_median, now_median].map(|value| figure.text(value)),
        then: then_median,
        now: now_median,
        gain: gain.gain,
        differs: gain.differs(),
        interval: gain.interval,
        verdict: gain.verdict(),
    }
}

/// The parts of `--json`'s document that are needed here.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    machine: Value,
    #[serde(default)]
    benchmarks: Vec<ThenBenchmark>,
}

#[derive(Deserialize)]
struct ThenBenchmark {
    name: String,
    cases: Vec<ThenCase>,
}

#[derive(Deserialize)]
struct ThenCase {
    name: String,
    #[serde(default)]
    parameters: BTreeMap<String, f64>,
    results: Vec<ThenResult>,
}

#[derive(Deserialize)]
struct ThenResult {
    #[serde(rename = "impl")]
    contestant: String,
    failure: Option<String>,
    rounds: Vec<ThenRound>,
}

#[derive(Deserialize)]
struct ThenRound {
    report: Report,
}

fn rounds(benchmarks: Vec<ThenBenchmark>) -> BTreeMap<[String; 3], Earlier> {
    let mut all = BTreeMap::new();
    for benchmark in benchmarks {
        for ThenCase { name, parameters, results } in benchmark.cases {
            // A result that failed has no figures that count.
            let whole = |result: &ThenResult| result.failure.is_none() && !result.rounds.is_empty();
            for result in results.into_iter().filter(whole) {
                let key = [benchmark.name.clone(), name.clone(), result.contestant];
                let rounds = result.rounds.into_iter().map(|round| round.report.figures).collect();
                all.insert(key, Earlier { parameters: parameters.clone(), rounds });
            }
        }
    }
    all
}

/// The changes that differ: the losses, then the gains.
fn differing(changes: &[Change]) -> Vec<&Change> {
    let mut differing: Vec<&Change> = changes.iter().filter(|change| change.differs).collect();
    differing.sort_by(|one, other| one.gain.total_cmp(&other.gain));
    differing
}

fn table(changes: &[Change]) -> Table {
    let row = |change: &Change| {
        let [then, now] = &change.shown;
        let case = format!("{} {}", change.benchmark, change.case);
        let words = [&case, change.contestant.name(), change.title, then, now];
        let Change { gain: ratio, differs, interval, verdict, .. } = *change;
        let gain = Ratio { ratio, differs, interval, verdict };
        let gain = Cell::new(gain.shown(), gain.tone());
        words.into_iter().map(Cell::plain).chain([gain]).collect()
    };
    Table::new(
        "Figures that differ, the greatest losses first",
        ["case", "implementation", "figure", "then", "now", "gain"],
        differing(changes).into_iter().map(row),
    )
    .with_note("Gain: more than 1 where it is better now.")
}

fn summary(changes: &[Change]) -> String {
    let ours = |change: &&&Change| change.contestant.is_ours();
    let (losses, gains): (Vec<&Change>, Vec<&Change>) =
        differing(changes).into_iter().partition(|change| change.gain < 1.0);
    format!(
        "{} compared with the baseline: {} better ({} of furwock's), {} worse ({} of furwock's), \
         {} undecided. Changes of the peers come from the machine, or from chance: one figure in \
         ten differs by chance alone, more if the machine is noisier now.",
        counted(changes.len(), "figure"),
        gains.len(),
        gains.iter().filter(ours).count(),
        losses.len(),
        losses.iter().filter(ours).count(),
        changes.len() - gains.len() - losses.len()
    )
}

pub fn render(changes: &[Change], width: usize) -> String {
    let table = table(changes);
    let columns = Columns { names: 3, ..Columns::default() };
    let shown = match table.rows.as_slice() {
        [] => String::new(),
        _ => layout::fitted(columns, width, &table),
    };
    let summary = layout::wrapped(width, &summary(changes));
    format!("since the baseline, more than 1 where it is better now\n{shown}{summary}")
}

pub fn section(changes: &[Change]) -> Section {
    let blocks = vec![Block::Table(table(changes))];
    Section::new("Since the baseline", vec![summary(changes)], blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_gains_whichever_way_a_figure_points() {
        let less = Figure::time("seconds", "");
        let of = |then: &[f64], now: &[f64]| {
            change(("mutex", "1/1 x 2"), Contestant::Furwock, &less, then, now)
        };
        let slower = of(&[1.0, 1.01, 1.02], &[2.0, 2.02, 2.04]);
        assert!((slower.gain - 0.5).abs() < 1e-9 && slower.differs);
        let same = of(&[1.0, 1.01, 1.02], &[1.005, 1.015, 1.02]);
        assert!(!same.differs);
        let text = render(&[slower, same], 80);
        assert!(text.contains("2 figures compared") && text.contains("1 worse (1 of"), "{text}");
        assert!(text.contains("0.50x"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_earlier_run_is_refused() {
        let message = |path: &str| Baseline::read(Path::new(path)).err().unwrap().to_string();
        assert!(message("/no/such/file").contains("/no/such/file"));
        assert!(message("/proc/self/status").contains("not JSON"));
    }
}
