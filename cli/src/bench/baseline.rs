//! An earlier run, and what has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::contestant::Contestant;
use super::figure::{CPU, Figure};
use super::results::BenchmarkResults;
use super::standing::Ratio;
use crate::failure::{Failure, STATUS_USAGE};
use crate::measuring::machine::Machine;
use crate::measuring::table::{Align, render as render_rows};
use crate::report::model::{Block, Cell, Section, Table, Tone};
use crate::statistics::{differ, median};

pub struct Baseline {
    path: PathBuf,
    /// The words after `furwock`, as it was run then.
    command: Vec<String>,
    machine: String,
    machine_then: Value,
    /// What was measured, by benchmark, case and implementation.
    rounds: BTreeMap<[String; 3], Earlier>,
}

/// One implementation in one case, then.
struct Earlier {
    /// The case's, of which its name says only some.
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
    /// Does the spread of the rounds support it?
    differs: bool,
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let unusable = |what: String| {
            let message = format!("baseline {}: {what}", path.display());
            Failure::new(STATUS_USAGE, message)
        };
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| unusable(format!("not JSON as --json writes it: {error}")))?;
        let rounds = rounds(&document);
        if rounds.is_empty() {
            return Err(unusable(
                "no rounds are in it; write one with `furwock bench WORKLOAD --json FILE`"
                    .to_owned(),
            ));
        }
        let words = document["command"].as_array();
        let words = words.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned()));
        let machine = &document["machine"];
        let said = |key: &str| machine[key].as_str().unwrap_or("unknown").to_owned();
        Ok(Baseline {
            path: path.to_owned(),
            command: words.collect(),
            machine_then: machine.clone(),
            machine: format!(
                "{}, Linux {}, glibc {}, {}",
                said("cpu"),
                said("kernel"),
                said("glibc"),
                said("date")
            ),
            rounds,
        })
    }

    /// The words after `furwock bench`, as it was run then.
    pub fn words(&self) -> Result<Vec<String>, Failure> {
        match self.command.split_first() {
            Some((first, words)) if first == "bench" => Ok(words.to_vec()),
            _ => Err(self.not_to_be_run()),
        }
    }

    /// For whoever can't make anything of those words.
    pub fn not_to_be_run(&self) -> Failure {
        let path = self.path.display();
        let message = format!("baseline {path}: can't tell what was run then; name the workload");
        Failure::new(STATUS_USAGE, message)
    }

    /// What differs beside furwock isn't furwock's doing.
    fn warn_of_another_machine(&self) {
        let now = serde_json::to_value(Machine::this()).unwrap_or_default();
        for key in ["cpu", "cpus", "kernel", "glibc"] {
            if self.machine_then[key] != now[key] {
                let (then, now) = (&self.machine_then[key], &now[key]);
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

    /// Of all that was measured both then and now: the figure that ranks, and processor time. (Of the
    /// many others some would differ by chance.)
    pub fn changes(&self, benchmarks: &[BenchmarkResults]) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut others = 0;
        for results in benchmarks {
            for case in &results.cases {
                let parameters = case.case.parameters.iter();
                let parameters: BTreeMap<String, f64> =
                    parameters.map(|(name, value)| ((*name).to_owned(), *value)).collect();
                for entry in &case.entries {
                    let key = [
                        results.benchmark.name.to_owned(),
                        case.case.name.clone(),
                        entry.contestant.name().to_owned(),
                    ];
                    let Some(Earlier { parameters: then, rounds }) = self.rounds.get(&key) else {
                        continue;
                    };
                    if *then != parameters {
                        others += 1;
                        continue;
                    }
                    let telling =
                        |(index, figure): &(usize, &Figure)| *index == 0 || figure.name == CPU.name;
                    let figures = results.benchmark.figures.iter().enumerate().filter(telling);
                    changes.extend(figures.filter_map(|(_, figure)| {
                        let then: Vec<f64> = rounds
                            .iter()
                            .filter_map(|round| round.get(figure.name).copied())
                            .collect();
                        let now = entry.values(figure.name);
                        (!then.is_empty() && !now.is_empty()).then(|| {
                            change(
                                (results.benchmark.name, &case.case.name),
                                entry.contestant,
                                figure,
                                &then,
                                &now,
                            )
                        })
                    }));
                }
            }
        }
        if others > 0 {
            anstream::eprintln!(
                "furwock: baseline {}: {others} results are of other parameters than now, and are not \
                 compared",
                self.path.display()
            );
        }
        if changes.is_empty() {
            anstream::eprintln!(
                "furwock: baseline {}: nothing that was measured now is in it",
                self.path.display()
            );
        } else {
            anstream::eprintln!("furwock: baseline {}: {}", self.path.display(), self.machine);
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
    Change {
        benchmark,
        case: case.to_owned(),
        contestant,
        figure: figure.name,
        title: figure.short_title(),
        shown: [then_median, now_median].map(|value| figure.text(value)),
        then: then_median,
        now: now_median,
        gain: figure.speed(now_median) / figure.speed(then_median),
        differs: differ(now, then),
    }
}

fn rounds(document: &Value) -> BTreeMap<[String; 3], Earlier> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = BTreeMap::new();
    for benchmark in list(&document["benchmarks"]) {
        for case in list(&benchmark["cases"]) {
            for result in list(&case["results"]) {
                let figures = |round: &Value| -> BTreeMap<String, f64> {
                    serde_json::from_value(round["report"]["figures"].clone()).unwrap_or_default()
                };
                let rounds: Vec<_> = list(&result["rounds"]).iter().map(figures).collect();
                // Who failed then has no figures that count.
                if !rounds.is_empty() && result["failure"].is_null() {
                    let parameters =
                        serde_json::from_value(case["parameters"].clone()).unwrap_or_default();
                    all.insert(
                        [text(&benchmark["name"]), text(&case["name"]), text(&result["impl"])],
                        Earlier { parameters, rounds },
                    );
                }
            }
        }
    }
    all
}

/// Those that differ first: the losses, then the gains.
fn told(changes: &[Change]) -> Vec<&Change> {
    let mut told: Vec<&Change> = changes.iter().filter(|change| change.differs).collect();
    told.sort_by(|one, other| one.gain.total_cmp(&other.gain));
    told
}

const HEADER: [&str; 6] = ["case", "implementation", "figure", "then", "now", "gain"];

fn words(change: &Change) -> [String; 5] {
    let [then, now] = change.shown.clone();
    [
        format!("{} {}", change.benchmark, change.case),
        change.contestant.name().to_owned(),
        change.title.to_owned(),
        then,
        now,
    ]
}

fn summary(changes: &[Change]) -> String {
    let ours = |change: &&&Change| change.contestant.is_ours();
    let told = told(changes);
    let (losses, gains): (Vec<&Change>, Vec<&Change>) =
        told.iter().partition(|change| change.gain < 1.0);
    format!(
        "{} figures compared with the baseline: {} better ({} of furwock's), {} worse ({} of \
         furwock's), {} without a difference that the rounds' spread supports. What peers gained or lost \
         is the machine's doing, or chance: one in ten differs so by chance alone, and more where the machine \
         isn't in the mood it was in then.",
        changes.len(),
        gains.len(),
        gains.iter().filter(ours).count(),
        losses.len(),
        losses.iter().filter(ours).count(),
        changes.len() - told.len()
    )
}

pub fn render(changes: &[Change]) -> String {
    let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
    rows.extend(told(changes).into_iter().map(|change| {
        let ratio = Ratio { ratio: change.gain, differs: change.differs }.shown();
        words(change).into_iter().chain([ratio]).collect()
    }));
    let mut align = vec![Align::Left; 3];
    align.resize(HEADER.len(), Align::Right);
    let table = if rows.len() > 1 { render_rows(&align, &rows) } else { String::new() };
    format!("since the baseline, more than 1 where it is better now\n{table}{}\n", summary(changes))
}

pub fn section(changes: &[Change]) -> Section {
    let plain = |text: String| Cell { text, tone: Tone::Neutral };
    let rows = told(changes).into_iter().map(|change| {
        let tone = if change.gain < 1.0 { Tone::Loss } else { Tone::Win };
        let gain = Cell { text: crate::measuring::number::times(change.gain), tone };
        words(change).into_iter().map(plain).chain([gain]).collect()
    });
    Section {
        heading: "Since the baseline".to_owned(),
        text: vec![summary(changes)],
        blocks: vec![Block::Table(Table {
            caption: "Figures that differ, the greatest losses first".to_owned(),
            header: HEADER.map(str::to_owned).to_vec(),
            rows: rows.collect(),
            notes: vec!["Gain: more than 1 where it is better now.".to_owned()],
        })],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_gains_whichever_way_a_figure_points() {
        let less = Figure {
            name: "seconds",
            title: "",
            unit: super::super::figure::Unit::Time,
            better: super::super::figure::Better::Less,
            detail: false,
        };
        let of = |then: &[f64], now: &[f64]| {
            change(("mutex", "1/1 x 2"), Contestant::Furwock, &less, then, now)
        };
        let slower = of(&[1.0, 1.01, 1.02], &[2.0, 2.02, 2.04]);
        assert!((slower.gain - 0.5).abs() < 1e-9 && slower.differs);
        let same = of(&[1.0, 1.01, 1.02], &[1.005, 1.015, 1.02]);
        assert!(!same.differs);
        let text = render(&[slower, same]);
        assert!(text.contains("2 figures compared") && text.contains("1 worse (1 of"), "{text}");
        assert!(text.contains("0.50x"), "{text}");
    }

    #[test]
    fn what_is_no_earlier_run_is_said() {
        let message = |path: &str| Baseline::read(Path::new(path)).err().unwrap().to_string();
        assert!(message("/no/such/file").contains("/no/such/file"));
        assert!(message("/proc/self/status").contains("not JSON"));
    }
}
