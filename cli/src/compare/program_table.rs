//! The figures of a program's runs, side by side, and what they say.

use serde::Serialize;

use super::program::{Measured, Statuses};
use super::side::{Both, Pair};
use super::{gains, method, tone};
use crate::bench::outcome::{ON_A_BUSY_MACHINE, loud};
use crate::measuring::child::Sample;
use crate::measuring::layout::{self, Columns};
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::number::{Unit, interval, multiple, times, with_unit};
use crate::measuring::tally::{Tally, counted, sentence};
use crate::measuring::width::width;
use crate::report::model::{Block, Cell, Finding, Page, Section, Table, Tone};
use crate::statistics::gain::PAIRS_MIN;
use crate::statistics::{Gain, Interval, Pairs, Spread, Verdict, median, ratio};

/// All of them are costs: less is better.
const FIGURES: [Figure; 5] = [
    Figure {
        name: "wall time",
        label: "wall time",
        unit: Unit::Seconds,
        words: ["faster", "slower"],
        of: |sample| sample.wall_s,
    },
    Figure {
        name: "CPU time (user + system)",
        label: "CPU time",
        unit: Unit::Seconds,
        words: LESS,
        of: |sample| sample.user_s + sample.system_s,
    },
    Figure {
        name: "voluntary switches",
        label: "voluntary switches",
        unit: Unit::Count,
        words: LESS,
        of: |sample| sample.voluntary_switches,
    },
    Figure {
        name: "involuntary switches",
        label: "involuntary switches",
        unit: Unit::Count,
        words: LESS,
        of: |sample| sample.involuntary_switches,
    },
    Figure {
        name: "peak RSS",
        label: "peak RSS",
        unit: Unit::Kibibytes,
        words: LESS,
        of: |sample| sample.peak_rss_kib,
    },
];
const LESS: [&str; 2] = ["less", "more"];
/// Those that become sentences.
const WALL: usize = 0;
const CPU: usize = 1;

struct Figure {
    name: &'static str,
    label: &'static str,
    unit: Unit,
    /// Better and worse.
    words: [&'static str; 2],
    of: fn(&Sample) -> f64,
}

#[derive(Serialize)]
pub struct Summary {
    /// On wall time.
    pub verdict: Verdict,
    pub figures: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub figure: &'static str,
    #[serde(skip)]
    shown: &'static Figure,
    median: Both<f64>,
    /// Furwock's figure over glibc's, pair by pair.
    ratio: Spread,
    #[serde(flatten)]
    pub gain: Gain,
    pub verdict: Verdict,
}

impl Summary {
    /// Of at least one pair.
    pub fn of(pairs: &[Pair]) -> Self {
        let figures: Vec<Row> = FIGURES.iter().map(|figure| row(figure, pairs)).collect();
        Summary { verdict: figures[WALL].verdict, figures }
    }

    fn table(&self) -> Table {
        let header = ["median of runs"].into_iter().chain(HEADER);
        Table::new(
            "What the runs took",
            header,
            self.figures.iter().map(|row| row.cells(row.shown.label)),
        )
        .with_note(LEGEND)
    }
}

const HEADER: [&str; 5] = ["glibc", "furwock", "gain", "95 % interval", "verdict"];
const LEGEND: &str =
    "Gain: glibc's figure divided by furwock's. More than 1 is better for furwock everywhere.";
const COLUMNS: Columns = Columns { names: 1, words: 2, spare: &[&[1, 2]] };

fn row(figure: &'static Figure, pairs: &[Pair]) -> Row {
    let values: Vec<Both<f64>> = pairs.iter().map(|pair| pair.samples.map(figure.of)).collect();
    let ratios: Vec<f64> = values.iter().map(|both| ratio(both.furwock, both.glibc)).collect();
    let all = Pairs {
        theirs: values.iter().map(|both| both.glibc).collect(),
        ours: values.iter().map(|both| both.furwock).collect(),
    };
    let gain = all.gain();
    Row {
        figure: figure.name,
        shown: figure,
        median: Both { glibc: median(&all.theirs), furwock: median(&all.ours) },
        ratio: Spread::of(&ratios),
        gain,
        verdict: gain.verdict(),
    }
}

impl Row {
    fn cells(&self, name: &str) -> Vec<Cell> {
        let Gain { gain, interval: bounds } = self.gain;
        let words = [
            name.to_owned(),
            with_unit(self.median.glibc, self.shown.unit),
            with_unit(self.median.furwock, self.shown.unit),
            times(gain),
            bounds.map_or_else(|| "-".to_owned(), interval),
        ];
        let verdict = Cell::new(word(self.verdict, self.shown.words), tone(self.verdict));
        words.into_iter().map(Cell::plain).chain([verdict]).collect()
    }
}

/// What a verdict is called.
pub fn word(verdict: Verdict, [better, worse]: [&'static str; 2]) -> &'static str {
    match verdict {
        Verdict::Faster => better,
        Verdict::Slower => worse,
        Verdict::Same => "the same",
        Verdict::Inconclusive => "inconclusive",
        Verdict::TooFewPairs => "too few pairs",
    }
}

/// All that is shown of the runs of a program.
pub struct Shown<'a> {
    pub machine: &'a Machine,
    /// With a pair at least, if there is to be a text.
    pub all: &'a [Measured],
    pub noise: &'a NoiseFilter,
    pub interrupted: bool,
    /// What the runs read and write.
    pub setup: String,
}

impl Shown<'_> {
    fn measured(&self) -> impl Iterator<Item = (&Measured, &Summary)> {
        self.all.iter().filter_map(|each| Some((each, each.summary.as_ref()?)))
    }

    fn has_parameters(&self) -> bool {
        self.all.iter().any(|each| !each.variation.settings.is_empty())
    }

    /// One of a program; of one with parameters, one of each figure that matters.
    fn tables(&self) -> Vec<Table> {
        if !self.has_parameters() {
            return self.measured().map(|(_, summary)| summary.table()).collect();
        }
        let of_figure = |at: usize| {
            let row = |(measured, summary): (&Measured, &Summary)| {
                summary.figures[at].cells(&measured.variation.name())
            };
            let header = [FIGURES[at].label].into_iter().chain(HEADER);
            Table::new(FIGURES[at].name, header, self.measured().map(row)).with_note(LEGEND)
        };
        vec![of_figure(WALL), of_figure(CPU)]
    }

    /// What must not be overlooked.
    fn alarms(&self) -> Vec<String> {
        let differ = |measured: &Measured| {
            let Both { glibc, furwock } = &measured.statuses;
            let known = |statuses: &Statuses| statuses.keys().copied().collect::<Vec<_>>();
            (known(glibc) != known(furwock)).then(|| {
                format!(
                    "THE RUNS ENDED DIFFERENTLY{}: with {} on glibc, with {} on furwock.",
                    in_brackets(&measured.variation.name()),
                    listed(glibc),
                    listed(furwock)
                )
            })
        };
        let alarm = self.noise.alarm("pair");
        alarm.into_iter().chain(self.all.iter().filter_map(differ)).collect()
    }

    fn notes(&self) -> Vec<String> {
        let ignored = |measured: &Measured| {
            let Both { glibc, furwock } = &measured.statuses;
            let failed = glibc.keys().chain(furwock.keys()).any(|status| *status != 0);
            failed.then(|| {
                format!(
                    "Ignored{}: runs ended with {} on glibc, with {} on furwock.",
                    in_brackets(&measured.variation.name()),
                    listed(glibc),
                    listed(furwock)
                )
            })
        };
        let mut notes: Vec<String> = self.all.iter().filter_map(ignored).collect();
        notes.extend(self.noise.summary("pair"));
        if self.interrupted {
            let last = self.all.last().expect("one was begun");
            notes.push(format!(
                "Interrupted after {} of {}{}: these are the results until then.",
                last.pairs.len(),
                counted(last.wanted, "pair"),
                in_brackets(&last.variation.name())
            ));
        }
        notes
    }

    fn heading(&self) -> String {
        let pairs = self.all.iter().map(|each| each.pairs.len()).sum();
        let in_all = if self.all.len() > 1 { " in all" } else { "" };
        let first = &self.all[0].variation;
        let command =
            if self.has_parameters() { first.title.clone() } else { first.words().join(" ") };
        format!("{command}: {} of runs{in_all}. {}", counted(pairs, "pair"), self.setup)
    }

    pub fn text(&self) -> String {
        let width = width();
        let wrapped = |text: &str| layout::wrapped(width, text);
        let mut text = wrapped(&self.machine.to_string());
        self.alarms().iter().for_each(|alarm| text += &format!("\n{}", loud(&wrapped(alarm))));
        text += &format!("{}\n", wrapped(&self.heading()));
        for table in self.tables() {
            text += &format!("{}\n", layout::fitted(COLUMNS, width, &table));
        }
        text += &wrapped(LEGEND);
        self.notes().iter().for_each(|note| text += &wrapped(note));
        text += &format!("\n{}", wrapped(&self.conclusion()));
        text
    }

    pub fn markdown(&self) -> String {
        let tables = self.tables();
        let tables: Vec<String> = tables.iter().map(|table| layout::markdown(1, table)).collect();
        let alarms: String = self.alarms().iter().map(|alarm| format!("**{alarm}**\n\n")).collect();
        let conclusion = if tables.is_empty() { String::new() } else { self.conclusion() };
        format!("{alarms}{}\n{LEGEND}\n\n{conclusion}\n", tables.join("\n"))
    }

    /// What all this showed, in a sentence.
    fn conclusion(&self) -> String {
        let said = match self.all {
            [one] if !self.has_parameters() => {
                let summary = one.summary.as_ref().expect("it has pairs");
                conclusion(&one.variation.title, summary, one.pairs.len())
            }
            _ => {
                let tally = |at: usize| {
                    Tally::of(self.measured().map(|(_, each)| each.figures[at].verdict))
                };
                let wall = tally(WALL).said(FIGURES[WALL].words);
                format!("{} CPU time: {}.", sentence(&wall), tally(CPU).said(LESS))
            }
        };
        let busy = if self.noise.is_busy() { ON_A_BUSY_MACHINE } else { "" };
        format!("{busy}{said}")
    }

    pub fn page(&self) -> Page {
        let mut tones = self.measured().map(|(_, summary)| tone(summary.verdict));
        let first = tones.next().unwrap_or(Tone::Neutral);
        let of_all = if tones.all(|tone| tone == first) { first } else { Tone::Neutral };
        let bars = self.measured().flat_map(|(measured, summary)| {
            let figures = if self.has_parameters() { 1 } else { summary.figures.len() };
            let told = summary.figures[..figures].iter().filter(|row| row.gain.gain > 0.0);
            let name = |row: &Row| match self.has_parameters() {
                true => measured.variation.name(),
                false => row.shown.label.to_owned(),
            };
            told.map(move |row| (name(row), row.gain.gain, Some(tone(row.verdict))))
                .collect::<Vec<_>>()
        });
        let mut blocks = vec![gains(bars)];
        blocks.extend(self.tables().into_iter().map(Block::Table));
        let how = method().into_iter().chain(self.notes()).collect();
        Page {
            title: "furwock compare: glibc's locks and furwock's".to_owned(),
            provenance: self.machine.provenance(),
            verdict: Some(Finding { tone: of_all, text: self.conclusion() }),
            noise: Some(self.noise.badge("pair")),
            warnings: self.alarms(),
            sections: vec![
                Section::new("The program", vec![self.heading()], blocks),
                Section::new("How we measured", how, Vec::new()).folded(),
            ],
            ..Page::default()
        }
    }
}

fn in_brackets(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

/// `status 0 (9 times) and 1 (once)`
fn listed(statuses: &Statuses) -> String {
    let each = |(status, count): (&i32, &usize)| match count {
        1 => format!("{status} (once)"),
        count => format!("{status} ({count} times)"),
    };
    format!("status {}", statuses.iter().map(each).collect::<Vec<_>>().join(" and "))
}

/// `furwock ran pigz 1.23 times as fast as glibc (1.18 to 1.29), with 0.90 times the CPU time.`
fn conclusion(program: &str, summary: &Summary, pairs: usize) -> String {
    let (wall, cpu) = (&summary.figures[WALL], &summary.figures[CPU]);
    let (Some(bounds), Some(cpu_bounds)) = (wall.gain.interval, cpu.gain.interval) else {
        let are = if pairs == 1 { "is" } else { "are" };
        return format!(
            "No verdict: {} {are} too few, {PAIRS_MIN} are needed (-n {PAIRS_MIN}).",
            counted(pairs, "pair")
        );
    };
    let cost = 1.0 / cpu.gain.gain;
    let cpu_time = match cpu.verdict {
        Verdict::Faster | Verdict::Slower => format!("with {} times the CPU time", multiple(cost)),
        Verdict::Same => "with the same CPU time (within 1 %)".to_owned(),
        Verdict::Inconclusive | Verdict::TooFewPairs => {
            let Interval { low, high } = cpu_bounds;
            let bounds = interval(Interval { low: 1.0 / high, high: 1.0 / low });
            format!("and whether it takes less CPU time is inconclusive ({bounds} times)")
        }
    };
    match wall.verdict {
        Verdict::Faster | Verdict::Slower => format!(
            "furwock ran {program} {} times as fast as glibc ({}), {cpu_time}.",
            multiple(wall.gain.gain),
            interval(bounds)
        ),
        Verdict::Same => {
            format!("furwock ran {program} as fast as glibc (within 1 %), {cpu_time}.")
        }
        Verdict::Inconclusive | Verdict::TooFewPairs => format!(
            "Inconclusive: furwock ran {program} {} times as fast as glibc, {cpu_time}; more pairs \
             narrow that (-n {}).",
            interval(bounds),
            4 * pairs
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::side::Side;

    fn pairs(glibc_s: &[f64], furwock_s: &[f64]) -> Vec<Pair> {
        let sample = |wall_s: f64| Sample {
            wall_s,
            user_s: 2.0 * wall_s,
            voluntary_switches: 4.0,
            peak_rss_kib: 2048.0,
            ..Sample::default()
        };
        let pair = |(glibc_s, furwock_s): (&f64, &f64)| Pair {
            order: Side::order(0),
            samples: Both { glibc: sample(*glibc_s), furwock: sample(*furwock_s) },
        };
        glibc_s.iter().zip(furwock_s).map(pair).collect()
    }

    const SIX: [f64; 6] = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0];

    fn times_of(factor: f64) -> [f64; 6] {
        SIX.map(|value| value * factor)
    }

    #[test]
    fn says_which_is_faster_and_by_how_much() {
        let said = |glibc: &[f64], furwock: &[f64]| {
            let pairs = pairs(glibc, furwock);
            conclusion("pigz", &Summary::of(&pairs), pairs.len())
        };
        assert_eq!(
            said(&times_of(2.0), &SIX),
            "furwock ran pigz 2.00 times as fast as glibc (2.00 to 2.00), with 0.50 times the CPU \
             time."
        );
        assert!(
            said(&SIX, &times_of(2.0)).starts_with("furwock ran pigz 0.50 times as fast as glibc"),
        );
        let undecided = said(&SIX, &[0.5, 2.0, 0.5, 2.0, 1.5, 1.0]);
        assert!(undecided.starts_with("Inconclusive: furwock ran pigz 0.5"), "{undecided}");
        assert!(undecided.contains("is inconclusive (") && undecided.contains("-n 24"));
        assert!(said(&SIX, &SIX).contains("as fast as glibc (within 1 %), with the same CPU time"));
        assert_eq!(
            said(&SIX[..1], &SIX[..1]),
            "No verdict: 1 pair is too few, 6 are needed (-n 6)."
        );
        assert!(said(&SIX[..5], &SIX[..5]).starts_with("No verdict: 5 pairs are too few"));
    }

    #[test]
    fn gains_are_those_of_the_medians_that_are_shown() {
        let summary = Summary::of(&pairs(&times_of(2.0), &SIX));
        let words = |at: usize| -> Vec<String> {
            let row = &summary.figures[at];
            row.cells(row.shown.label).into_iter().map(|cell| cell.text).collect()
        };
        assert_eq!(words(0), ["wall time", "2.00 s", "1.00 s", "2.00x", "2.00 to 2.00", "faster"]);
        assert_eq!(words(1)[5], "less");
        // No switches on either side are as many as on the other.
        assert_eq!(
            words(3),
            ["involuntary switches", "0", "0", "1.00x", "1.00 to 1.00", "the same"]
        );
        assert_eq!(summary.figures[0].ratio.median, 0.5);
    }
}
