//! A document's table: rows of published figures beside measured ones, each with a verdict.

use anstyle::AnsiColor;
use serde::Serialize;

use super::super::benchmark::Benchmark;
use super::super::contestant::Contestant;
use super::super::results::{BenchmarkResults, Entry};
use crate::measuring::machine::Machine;
use crate::measuring::number::times;
use crate::measuring::table::{Align, paint, render as render_rows};
use crate::report::model::{BarGroup, Bars, Block, Cell, Finding, Section, Table, Tone};
use crate::statistics::{differ, ratio};

/// How far below the published gain still counts as reached: what two runs on one machine differ by.
const REACHED: f64 = 0.98;
const BEATEN: f64 = 1.02;

pub struct Document {
    pub number: u8,
    pub year: u16,
    pub title: &'static str,
    pub source: &'static str,
    /// What it was about, and what is measured here for it.
    pub text: &'static [&'static str],
    pub benchmarks: fn() -> Vec<Benchmark>,
    pub rows: fn(&Measured) -> Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub what: String,
    /// Figures as the document has them.
    pub published: String,
    /// What the document's change gained; none if it gives no figure.
    pub published_gain: Option<f64>,
    pub measured: String,
    pub gain: Option<Gain>,
    pub verdict: Verdict,
}

/// A measured gain: more than 1 where furwock is better.
#[derive(Serialize, Clone, Copy)]
pub struct Gain {
    pub gain: f64,
    /// Does the spread of the rounds support that there is a difference?
    pub differs: bool,
}

#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum Verdict {
    Beaten,
    Reached,
    Short(String),
    /// No gain was published to compare with.
    Ahead,
    NoDifference,
    Behind,
    NotMeasured(String),
}

impl Row {
    /// A row whose verdict follows from the gains; `short` says why it may be short.
    pub fn new(
        what: impl Into<String>,
        published: impl Into<String>,
        published_gain: Option<f64>,
        measured: impl Into<String>,
        gain: Option<Gain>,
        short: &str,
    ) -> Row {
        let verdict = match (published_gain, gain) {
            (_, None) => Verdict::NotMeasured("interrupted, or a run failed".to_owned()),
            // A gain that the rounds don't support is none, however near it is to what was published;
            // and with few rounds, whether it is short isn't known either.
            (Some(published), Some(Gain { gain, differs: true })) if is_gain(published) => {
                match gain / published {
                    BEATEN.. => Verdict::Beaten,
                    REACHED.. => Verdict::Reached,
                    _ => Verdict::Short(short.to_owned()),
                }
            }
            // Where the document lost, or gave no figure, the row stands for itself: who loses less than
            // the document's change did still loses.
            (_, Some(Gain { differs: false, .. })) => Verdict::NoDifference,
            (_, Some(Gain { gain, .. })) if gain > 1.0 => Verdict::Ahead,
            (_, Some(_)) => Verdict::Behind,
        };
        let (what, published, measured) = (what.into(), published.into(), measured.into());
        Row { what, published, published_gain, measured, gain, verdict }
    }

    /// Did the document gain anything here?
    fn has_published_gain(&self) -> bool {
        self.published_gain.is_some_and(is_gain)
    }

    fn words(&self) -> [String; 5] {
        [
            self.what.clone(),
            self.published.clone(),
            self.published_gain.map_or_else(|| "—".to_owned(), times),
            self.measured.clone(),
            self.gain.map_or_else(
                || "—".to_owned(),
                |gain| format!("{}{}", if gain.differs { "" } else { "~" }, times(gain.gain)),
            ),
        ]
    }
}

/// A change that gained less than what two runs differ by gained nothing.
fn is_gain(published: f64) -> bool {
    published >= BEATEN
}

impl Verdict {
    pub fn tone(&self) -> Tone {
        match self {
            Verdict::Beaten | Verdict::Reached | Verdict::Ahead => Tone::Win,
            Verdict::Short(_) | Verdict::Behind => Tone::Loss,
            Verdict::NoDifference | Verdict::NotMeasured(_) => Tone::Neutral,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Verdict::Beaten => "beaten",
            Verdict::Reached => "reached",
            Verdict::Short(_) => "short",
            Verdict::Ahead => "ahead",
            Verdict::NoDifference => "no difference",
            Verdict::Behind => "behind",
            Verdict::NotMeasured(_) => "not measured",
        }
    }

    fn why(&self) -> &str {
        match self {
            Verdict::Short(why) | Verdict::NotMeasured(why) => why,
            _ => "",
        }
    }
}

#[derive(Serialize)]
pub struct Seed<'a> {
    #[serde(serialize_with = "number_and_title")]
    pub document: &'a Document,
    pub rows: Vec<Row>,
}

fn number_and_title<S: serde::Serializer>(
    document: &&Document,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}. {}", document.number, document.title))
}

const HEADER: [&str; 6] = ["", "published", "gain", "here", "gain", "verdict"];

impl Seed<'_> {
    fn heading(&self) -> String {
        format!("{}. {}", self.document.number, self.document.title)
    }

    pub fn text(&self) -> String {
        let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
        rows.extend(self.rows.iter().map(|row| {
            let word = match row.verdict.tone() {
                Tone::Win => paint(row.verdict.word(), AnsiColor::Green),
                Tone::Loss => paint(row.verdict.word(), AnsiColor::Red),
                Tone::Neutral => row.verdict.word().to_owned(),
            };
            row.words().into_iter().chain([word]).collect()
        }));
        let align =
            [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
        let mut text = format!("{} ({})\n", self.heading(), self.document.source);
        text += &render_rows(&align, &rows);
        for (why, rows) in self.reasons() {
            text += &format!("{}: {why}\n", rows.join("; "));
        }
        text
    }

    /// Why rows are short: each reason once, with its rows.
    fn reasons(&self) -> Vec<(&str, Vec<&str>)> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in self.rows.iter().filter(|row| !row.verdict.why().is_empty()) {
            match reasons.iter_mut().find(|(why, _)| *why == row.verdict.why()) {
                Some((_, rows)) => rows.push(&row.what),
                None => reasons.push((row.verdict.why(), vec![&row.what])),
            }
        }
        reasons
    }

    pub fn finding(&self) -> Finding {
        let with_figures: Vec<&Row> =
            self.rows.iter().filter(|row| row.has_published_gain()).collect();
        let count = |wanted: &[&str]| {
            with_figures.iter().filter(|row| wanted.contains(&row.verdict.word())).count()
        };
        let (kept, short) = (count(&["beaten", "reached"]), count(&["short"]));
        let gains = self.rows.iter().filter_map(|row| Some((row, row.gain?.gain)));
        let best = gains.clone().max_by(|one, other| one.1.total_cmp(&other.1));
        let worst = gains.min_by(|one, other| one.1.total_cmp(&other.1));
        let said = |found: Option<(&Row, f64)>| {
            found.map_or_else(
                || "none".to_owned(),
                |(row, gain)| format!("{} ({})", times(gain), row.what),
            )
        };
        let tone = match (kept, short) {
            (0, 0) => Tone::Neutral,
            (kept, short) if kept >= short => Tone::Win,
            _ => Tone::Loss,
        };
        let text = format!(
            "{}: {kept} of {} published gains reached or beaten, {short} short{}. Best here: {}; \
             least: {}.",
            self.heading(),
            with_figures.len(),
            match count(&["no difference"]) {
                0 => String::new(),
                count => format!(", {count} without a difference that the rounds' spread supports"),
            },
            said(best),
            said(worst)
        );
        Finding { tone, text }
    }

    pub fn section(&self) -> Section {
        let plain = |text: String| Cell { text, tone: Tone::Neutral };
        let rows = self.rows.iter().map(|row| {
            let tone = row.verdict.tone();
            let verdict = Cell { text: row.verdict.word().to_owned(), tone };
            row.words().into_iter().map(plain).chain([verdict]).collect()
        });
        let mut notes: Vec<String> = self
            .reasons()
            .into_iter()
            .map(|(why, rows)| format!("{}: {why}.", rows.join("; ")))
            .collect();
        notes.push(
            "Gain: more than 1 is better; ~: no difference that the rounds' spread supports."
                .to_owned(),
        );
        let table = Table {
            caption: "Published, and measured here".to_owned(),
            header: ["row", "published", "gain", "here", "gain here", "verdict"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.collect(),
            notes,
        };
        let mut text: Vec<String> =
            self.document.text.iter().map(|line| (*line).to_owned()).collect();
        text.push(format!("Source: {}.", self.document.source));
        let mut blocks = Vec::new();
        if self.rows.iter().any(|row| row.gain.is_some()) {
            let groups = self.rows.iter().filter(|row| row.gain.is_some()).map(group);
            blocks
                .push(Block::Bars(bars("Gains, published and here".to_owned(), groups.collect())));
        }
        blocks.push(Block::Table(table));
        // The page numbers its sections itself.
        Section {
            heading: format!("{} ({})", self.document.title, self.document.year),
            text,
            blocks,
        }
    }
}

fn group(row: &Row) -> BarGroup {
    BarGroup {
        name: row.what.clone(),
        values: vec![row.published_gain, row.gain.map(|gain| gain.gain)],
    }
}

fn bars(caption: String, groups: Vec<BarGroup>) -> Bars {
    Bars {
        caption,
        axis: "gain, times".to_owned(),
        kinds: vec!["published".to_owned(), "here".to_owned()],
        groups,
        logarithmic: true,
        neutral: 1.0,
        notes: Vec::new(),
    }
}

/// Each document's rows that have a published gain, for one picture; at most four of each.
pub fn picture(seeds: &[Seed]) -> impl FnOnce(&Machine) -> Bars + use<> {
    const ROWS_MAX: usize = 4;
    let groups: Vec<BarGroup> = seeds
        .iter()
        .flat_map(|seed| {
            let rows: Vec<&Row> = seed
                .rows
                .iter()
                .filter(|row| row.published_gain.is_some() && row.gain.is_some())
                .collect();
            // Spread over the table, first and last among them.
            let count = rows.len().min(ROWS_MAX);
            let at = |index: usize| index * (rows.len() - 1) / (count - 1).max(1);
            let named = |row: &Row| {
                let group = group(row);
                BarGroup { name: format!("{}: {}", seed.document.year, group.name), ..group }
            };
            (0..count).map(|index| named(rows[at(index)])).collect::<Vec<_>>()
        })
        .collect();
    move |machine| {
        let caption =
            "What each document published as its gain, and what furwock gains here".to_owned();
        Bars { notes: vec![machine.to_string()], ..bars(caption, groups) }
    }
}

/// `55 % less`, of what costs.
pub fn percent_less(before: f64, after: f64) -> String {
    // (Nothing before and after is the same: time in the kernel is counted in ticks.)
    let percent = (1.0 - ratio(after, before)) * 100.0;
    if percent < 0.0 { format!("{:.0} % more", -percent) } else { format!("{percent:.0} % less") }
}

/// What was measured, to look things up in.
pub struct Measured<'a>(pub &'a [BenchmarkResults]);

/// One implementation in one case.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub benchmark: &'a str,
    pub case: &'a str,
}

impl Measured<'_> {
    fn entry(&self, place: Place, contestant: Contestant) -> Option<&Entry> {
        let results = self.0.iter().filter(|results| results.benchmark.name == place.benchmark);
        let case = results.filter_map(|results| results.case(place.case)).next()?;
        case.entry(contestant).filter(|entry| entry.failure.is_none())
    }

    pub fn median(&self, place: Place, contestant: Contestant, figure: &str) -> Option<f64> {
        self.entry(place, contestant)?.median(figure)
    }

    /// Of each round.
    pub fn values(&self, place: Place, contestant: Contestant, figure: &str) -> Vec<f64> {
        self.entry(place, contestant).map_or(Vec::new(), |entry| entry.values(figure))
    }

    /// Of one's cost over the other's; more than 1 where `ours` costs less.
    pub fn saving(
        &self,
        place: Place,
        (ours, theirs): (Contestant, Contestant),
        figure: &str,
    ) -> Option<Gain> {
        let (one, other) = (self.entry(place, ours)?, self.entry(place, theirs)?);
        let gain = ratio(other.median(figure)?, one.median(figure)?);
        Some(Gain { gain, differs: differ(&one.values(figure), &other.values(figure)) })
    }

    /// Of one's rate over the other's.
    pub fn speed_up(
        &self,
        place: Place,
        (ours, theirs): (Contestant, Contestant),
        figure: &str,
    ) -> Option<Gain> {
        let saving = self.saving(place, (ours, theirs), figure)?;
        Some(Gain { gain: 1.0 / saving.gain, ..saving })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: Option<f64>, gain: f64, differs: bool) -> Row {
        Row::new(
            "a row",
            "1 s",
            published,
            "2 s",
            Some(Gain { gain, differs }),
            "two are not eighty",
        )
    }

    #[test]
    fn verdicts_follow_from_gains() {
        let verdict = |published, gain, differs| row(published, gain, differs).verdict;
        assert_eq!(verdict(Some(2.0), 2.5, true), Verdict::Beaten);
        assert_eq!(verdict(Some(2.0), 1.99, true), Verdict::Reached);
        assert_eq!(verdict(Some(2.0), 1.5, true), Verdict::Short("two are not eighty".to_owned()));
        assert_eq!(verdict(None, 1.5, true), Verdict::Ahead);
        assert_eq!(verdict(None, 1.5, false), Verdict::NoDifference);
        assert_eq!(verdict(None, 0.5, true), Verdict::Behind);
        // Chance is no gain.
        assert_eq!(verdict(Some(1.04), 1.05, false), Verdict::NoDifference);
        // Where the document lost, losing less is no win.
        assert_eq!(verdict(Some(0.65), 0.8, true), Verdict::Behind);
        assert_eq!(verdict(Some(0.65), 1.01, false), Verdict::NoDifference);
        assert_eq!(verdict(Some(1.0), 1.2, true), Verdict::Ahead);
        let none = Row::new("a row", "", Some(1.0), "", None, "");
        assert!(matches!(none.verdict, Verdict::NotMeasured(_)));
    }

    #[test]
    fn a_seed_says_what_was_reached_and_what_not() {
        let document = Document {
            number: 1,
            year: 2003,
            title: "Requeue",
            source: "a mail",
            text: &["text"],
            benchmarks: Vec::new,
            rows: |_| Vec::new(),
        };
        let rows = vec![row(Some(2.0), 2.5, true), row(Some(2.0), 1.5, true), row(None, 0.5, true)];
        let seed = Seed { document: &document, rows };
        let text = seed.text();
        assert!(text.contains("a row: two are not eighty"), "{text}");
        assert!(seed.finding().text.contains("1 of 2 published gains"), "{}", seed.finding().text);
        let rows = vec![row(Some(2.0), 2.5, true), row(Some(0.5), 0.6, true)];
        let lost = Seed { document: &document, rows };
        assert!(lost.finding().text.contains("1 of 1 published gains"), "{}", lost.finding().text);
        assert_eq!(seed.section().blocks.len(), 2);
    }
}
