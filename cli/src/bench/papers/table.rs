//! A paper's rows as text, as a section of the page, and in the picture of all papers.

use clap::ValueEnum;
use serde::{Serialize, Serializer};

use super::Paper;
use super::row::Row;
use crate::measuring::layout::{self, Columns};
use crate::measuring::machine::Machine;
use crate::measuring::number::times;
use crate::measuring::width::width;
use crate::report::model::{
    BarGroup, Bars, Block, Cell, Finding, Outcomes, Section, Table, Tally, Tone,
};

impl Paper {
    /// `Molnar 2003`.
    pub fn name(&self) -> String {
        let author = self.author.to_possible_value().expect("none is skipped");
        let (first, rest) = author.get_name().split_at(1);
        format!("{}{rest} {}", first.to_uppercase(), self.year)
    }
}

#[derive(Serialize)]
pub struct Answered {
    #[serde(serialize_with = "name")]
    pub paper: &'static Paper,
    pub rows: Vec<Row>,
}

fn name<S: Serializer>(paper: &Paper, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&paper.name())
}

impl Answered {
    fn heading(&self) -> String {
        format!("{}: {}", self.paper.name(), self.paper.title)
    }

    fn table(&self) -> Table {
        let row = |row: &Row| {
            let verdict = Cell::new(row.verdict.word(), row.verdict.tone());
            row.words().into_iter().map(Cell::plain).chain([verdict]).collect()
        };
        let header = ["row", "published", "gain", "here", "gain here", "verdict"];
        Table::new("Published, and measured here", header, self.rows.iter().map(row))
    }

    pub fn text(&self) -> String {
        let width = width();
        let heading = format!("{} ({})", self.heading(), self.paper.source);
        let mut text = layout::wrapped(width, &heading);
        let columns = Columns { names: 1, words: 1, ..Columns::default() };
        text += &layout::fitted(columns, width, &self.table());
        self.reasons().iter().for_each(|reason| text += &layout::wrapped(width, reason));
        text
    }

    /// Why rows are short: each reason once, with its rows.
    fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in self.rows.iter().filter(|row| !row.verdict.why().is_empty()) {
            match reasons.iter_mut().find(|(why, _)| *why == row.verdict.why()) {
                Some((_, rows)) => rows.push(&row.what),
                None => reasons.push((row.verdict.why(), vec![&row.what])),
            }
        }
        reasons.iter().map(|(why, rows)| format!("{}: {why}", rows.join("; "))).collect()
    }

    /// How many gains were published, how many of them were reached or beaten, and missed.
    pub fn kept(&self) -> [usize; 3] {
        let published = self.rows.iter().filter(|row| row.has_published_gain());
        let count = |wanted: &[&str]| {
            let found = published.clone().filter(|row| wanted.contains(&row.verdict.word()));
            found.count()
        };
        [published.clone().count(), count(&["beaten", "reached"]), count(&["short"])]
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
            match count(&["inconclusive"]) {
                0 => String::new(),
                count => format!(", {count} inconclusive"),
            },
            said(best),
            said(worst)
        );
        Finding { tone, text }
    }

    pub fn section(&self) -> Section {
        let mut table = self.table();
        table.notes.extend(self.reasons().iter().map(|reason| format!("{reason}.")));
        let table = table.with_note("Gain: more than 1 is better; a range is inconclusive.");
        let mut text: Vec<String> = self.paper.text.iter().map(|line| (*line).to_owned()).collect();
        text.push(format!("Source: {}.", self.paper.source));
        let groups: Vec<BarGroup> =
            self.rows.iter().filter(|row| row.gain.is_some()).map(group).collect();
        let bars = bars("Gains, published and here", groups);
        let bars = (!bars.groups.is_empty()).then_some(Block::Bars(bars));
        let blocks = bars.into_iter().chain([Block::Table(table)]).collect();
        Section::new(self.heading(), text, blocks)
    }
}

fn group(row: &Row) -> BarGroup {
    BarGroup {
        name: row.what.clone(),
        values: vec![row.published_gain, row.gain.map(|gain| gain.gain)],
        outcome: Some(row.verdict.tone()),
    }
}

fn bars(caption: &str, groups: Vec<BarGroup>) -> Bars {
    Bars {
        caption: caption.to_owned(),
        axis: "gain, times".to_owned(),
        kinds: vec!["published".to_owned(), "here".to_owned()],
        groups,
        notes: Vec::new(),
    }
}

/// The rows with a published gain, by whether it was reached here.
pub fn tally(answers: &[Answered]) -> Tally {
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    let judged = rows.filter(|row| row.has_published_gain() && row.gain.is_some());
    let words = Outcomes { win: "reached or beaten", neutral: "inconclusive", loss: "short" };
    Tally {
        words,
        ..Tally::of(["published gain", "published gains"], judged.map(|row| row.verdict.tone()))
    }
}

/// Each paper's rows that have a published gain, for one picture; at most four of each.
pub fn picture(answers: &[Answered], machine: &Machine) -> Bars {
    const ROWS_MAX: usize = 4;
    let of_paper = |answer: &Answered| -> Vec<BarGroup> {
        let both = |row: &&Row| row.published_gain.is_some() && row.gain.is_some();
        let rows: Vec<&Row> = answer.rows.iter().filter(both).collect();
        // Spread over the table, first and last among them.
        let count = rows.len().min(ROWS_MAX);
        let at = |index: usize| index * (rows.len() - 1) / (count - 1).max(1);
        let named = |row: &Row| {
            let group = group(row);
            BarGroup { name: format!("{}: {}", answer.paper.name(), group.name), ..group }
        };
        (0..count).map(|index| named(rows[at(index)])).collect()
    };
    let groups = answers.iter().flat_map(of_paper).collect();
    let caption = "What each paper published as its gain, and what furwock gains here";
    Bars { notes: vec![machine.to_string()], ..bars(caption, groups) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::papers::Author;
    use crate::bench::papers::row::tests::row;

    #[test]
    fn a_paper_says_what_was_reached_and_what_not() {
        static PAPER: Paper = Paper {
            author: Author::Molnar,
            year: 2003,
            title: "Requeue",
            source: "a mail",
            text: &["text"],
            benchmarks: Vec::new,
            rows: |_| Vec::new(),
        };
        let rows = vec![row(Some(2.0), 2.5, true), row(Some(2.0), 1.5, true), row(None, 0.5, true)];
        let answer = Answered { paper: &PAPER, rows };
        let text = answer.text();
        assert!(text.contains("a row: two are not eighty"), "{text}");
        assert!(
            answer.finding().text.contains("1 of 2 published gains"),
            "{}",
            answer.finding().text
        );
        let rows = vec![row(Some(2.0), 2.5, true), row(Some(0.5), 0.6, true)];
        let lost = Answered { paper: &PAPER, rows };
        assert!(lost.finding().text.contains("1 of 1 published gains"), "{}", lost.finding().text);
        assert_eq!(answer.section().blocks.len(), 2);
    }
}
