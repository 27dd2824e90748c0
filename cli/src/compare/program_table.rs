//! The figures of a program's runs, side by side.

use serde::Serialize;

use super::side::{Both, Pair};
use super::{gains, tone};
use crate::measuring::child::Sample;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::number::{Unit, multiple, times, with_unit};
use crate::measuring::table;
use crate::report::model::{Block, Cell, Finding, Section, Table};
use crate::statistics::{PAIRS_MIN, Spread, Verdict, median, ratio, verdict};

/// All of them are costs: less is better.
const FIGURES: [Figure; 5] = [
    Figure { name: "wall time", unit: Unit::Seconds, of: |sample| sample.wall_s },
    Figure {
        name: "CPU time (user + system)",
        unit: Unit::Seconds,
        of: |sample| sample.user_s + sample.system_s,
    },
    Figure {
        name: "voluntary switches",
        unit: Unit::Count,
        of: |sample| sample.voluntary_switches,
    },
    Figure {
        name: "involuntary switches",
        unit: Unit::Count,
        of: |sample| sample.involuntary_switches,
    },
    Figure { name: "peak RSS", unit: Unit::Kibibytes, of: |sample| sample.peak_rss_kib },
];

struct Figure {
    name: &'static str,
    unit: Unit,
    of: fn(&Sample) -> f64,
}

#[derive(Serialize)]
pub struct Summary {
    pub verdict: Verdict,
    pub figures: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub figure: &'static str,
    #[serde(skip)]
    unit: Unit,
    median: Both<f64>,
    /// Furwock's figure over glibc's, pair by pair.
    ratio: Spread,
}

impl Summary {
    /// Of at least one pair; the verdict is on wall time.
    pub fn of(pairs: &[Pair]) -> Self {
        let wall: Vec<f64> = pairs
            .iter()
            .map(|pair| ratio(pair.samples.glibc.wall_s, pair.samples.furwock.wall_s))
            .collect();
        let figures = FIGURES.iter().map(|figure| row(figure, pairs)).collect();
        Summary { verdict: verdict(&wall), figures }
    }

    pub fn finding(&self, pairs: &[Pair]) -> Finding {
        Finding { tone: tone(self.verdict), text: sentence(self, pairs) }
    }

    fn table(&self) -> Table {
        Table::new("What the runs took", HEADER, self.figures.iter().map(cells))
            .with_note("Costs: less than 1 is better for furwock.")
    }

    pub fn section(&self, command: &str, pairs: usize) -> Section {
        let costs = self.figures.iter().filter(|row| row.ratio.median > 0.0);
        let bars = gains(costs.map(|row| (row.figure.to_owned(), 1.0 / row.ratio.median)));
        let text = vec![format!("{command}, {pairs} pairs of runs.")];
        Section::new("The program", text, vec![bars, Block::Table(self.table())])
    }
}

const HEADER: [&str; 6] =
    ["median of runs", "glibc", "furwock", "furwock/glibc", "(min–max)", "quartiles"];

fn row(figure: &Figure, pairs: &[Pair]) -> Row {
    let values: Vec<Both<f64>> = pairs.iter().map(|pair| pair.samples.map(figure.of)).collect();
    let ratios: Vec<f64> = values.iter().map(|both| ratio(both.furwock, both.glibc)).collect();
    let glibc: Vec<f64> = values.iter().map(|both| both.glibc).collect();
    let furwock: Vec<f64> = values.iter().map(|both| both.furwock).collect();
    Row {
        figure: figure.name,
        unit: figure.unit,
        median: Both { glibc: median(&glibc), furwock: median(&furwock) },
        ratio: Spread::of(&ratios),
    }
}

pub fn render(machine: &Machine, pairs: &[Pair], summary: &Summary, noise: &NoiseFilter) -> String {
    let table = table::render(1, 0, &summary.table());
    let mut text = format!("{machine}\n\n{table}\n{}\n", sentence(summary, pairs));
    if let Some(noise) = noise.summary("pairs") {
        text += &format!("{noise}\n");
    }
    text
}

fn cells(row: &Row) -> Vec<Cell> {
    let Spread { min, lower_quartile, median, upper_quartile, max } = row.ratio;
    let words = [
        row.figure.to_owned(),
        with_unit(row.median.glibc, row.unit),
        with_unit(row.median.furwock, row.unit),
        times(median),
        format!("({}–{})", multiple(min), multiple(max)),
        format!("{}–{}", multiple(lower_quartile), multiple(upper_quartile)),
    ];
    words.map(Cell::plain).into()
}

fn sentence(summary: &Summary, pairs: &[Pair]) -> String {
    let cost = summary.figures[0].ratio;
    let between = |least, most| format!("pairs between {} and {}", times(least), times(most));
    match summary.verdict {
        Verdict::Faster => format!(
            "furwock is {} faster ({})",
            times(1.0 / cost.median),
            between(1.0 / cost.max, 1.0 / cost.min)
        ),
        Verdict::Slower => {
            format!("furwock is {} slower ({})", times(cost.median), between(cost.min, cost.max))
        }
        Verdict::NoDifference => {
            let slower = |pair: &&Pair| pair.samples.furwock.wall_s > pair.samples.glibc.wall_s;
            format!(
                "no difference: furwock takes {} of glibc's time ({}, {} of {} slower)",
                times(cost.median),
                between(cost.min, cost.max),
                pairs.iter().filter(slower).count(),
                pairs.len()
            )
        }
        Verdict::TooFewPairs => {
            format!("no verdict: {} pairs are too few, {PAIRS_MIN} are needed", pairs.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::side::Side;

    fn pairs(glibc_s: f64, furwock_s: &[f64]) -> Vec<Pair> {
        let sample = |wall_s| Sample {
            wall_s,
            voluntary_switches: 4.0,
            peak_rss_kib: 2048.0,
            ..Sample::default()
        };
        let pair = |furwock_s: &f64| Pair {
            order: Side::order(0),
            samples: Both { glibc: sample(glibc_s), furwock: sample(*furwock_s) },
        };
        furwock_s.iter().map(pair).collect()
    }

    #[test]
    fn says_which_is_faster_and_by_how_much() {
        let said = |pairs: &[Pair]| sentence(&Summary::of(pairs), pairs);
        assert_eq!(
            said(&pairs(2.0, &[1.0, 1.0, 0.8, 1.0, 1.25])),
            "furwock is 2.00x faster (pairs between 1.60x and 2.50x)"
        );
        assert_eq!(
            said(&pairs(1.0, &[2.0, 2.0, 2.5, 2.0, 1.6])),
            "furwock is 2.00x slower (pairs between 1.60x and 2.50x)"
        );
        assert!(said(&pairs(1.0, &[0.5, 2.0, 0.5, 2.0, 1.5])).starts_with("no difference"));
        assert!(said(&pairs(1.0, &[0.5; 4])).starts_with("no verdict"));
    }

    #[test]
    fn ratios_are_costs() {
        let summary = Summary::of(&pairs(2.0, &[1.0]));
        let words = cells(&summary.figures[0]).into_iter().map(|cell| cell.text);
        assert_eq!(
            words.collect::<Vec<_>>(),
            ["wall time", "2.00 s", "1.00 s", "0.50x", "(0.50–0.50)", "0.50–0.50"]
        );
        // No switches on either side are as many as on the other.
        assert_eq!(summary.figures[3].ratio.median, 1.0);
    }
}
