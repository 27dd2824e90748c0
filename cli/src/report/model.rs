//! The contents of a report. The page that shows it knows nothing of benchmarks.

use crate::measuring::number::Unit;

/// A standalone page.
pub struct Page {
    pub title: String,
    /// The machine, the command, the date: one line each.
    pub provenance: Vec<String>,
    /// What a reader should know after ten seconds.
    pub summary: Vec<Finding>,
    pub sections: Vec<Section>,
}

/// One of the summary's sentences.
#[derive(Clone)]
pub struct Finding {
    pub tone: Tone,
    pub text: String,
}

/// Whether a finding speaks for furwock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Win,
    Loss,
    Neutral,
}

#[derive(Clone)]
pub struct Section {
    pub heading: String,
    /// What was measured, and how to read the pictures; one paragraph each.
    pub text: Vec<String>,
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn new(heading: impl Into<String>, text: Vec<String>, blocks: Vec<Block>) -> Self {
        Section { heading: heading.into(), text, blocks }
    }
}

#[derive(Clone)]
pub enum Block {
    Table(Table),
    HeatMap(HeatMap),
    Chart(Chart),
    Bars(Bars),
    Timeline(Timeline),
    Flame(Flame),
    Folded(Folded),
}

/// Figures in words and numbers, for the page and for the terminal. `rows` does not include the
/// header.
#[derive(Clone)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Text below the table on the page.
    pub notes: Vec<String>,
}

impl Table {
    pub fn new(
        caption: impl Into<String>,
        header: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> Self {
        Table {
            caption: caption.into(),
            header: header.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().collect(),
            notes: Vec::new(),
        }
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

#[derive(Clone)]
pub struct Cell {
    pub text: String,
    /// Its colour; the text has the same meaning without colour.
    pub tone: Tone,
}

impl Cell {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Neutral)
    }
}

/// A grid of ratios: furwock's figure over a peer's, more than 1 where furwock does better. Cells
/// show the ratio and are coloured by its logarithm.
#[derive(Clone)]
pub struct HeatMap {
    pub caption: String,
    pub columns: Vec<String>,
    pub rows: Vec<HeatRow>,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct HeatRow {
    pub name: String,
    /// In the columns' order.
    pub ratios: Vec<HeatCell>,
}

#[derive(Clone, Copy)]
pub enum HeatCell {
    /// A ratio that the rounds' spread supports.
    Ratio(f64),
    /// A ratio of which the rounds don't say that it is one: inconclusive.
    NoDifference(f64),
    Failed,
    Absent,
}

/// Points in a plane whose axes are logarithmic.
#[derive(Clone)]
pub struct Chart {
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Whether lines join a series' points, in their order.
    pub joined: bool,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Axis {
    pub title: String,
    pub unit: Unit,
}

impl Axis {
    pub fn new(title: impl Into<String>, unit: Unit) -> Self {
        Axis { title: title.into(), unit }
    }
}

#[derive(Clone)]
pub struct Series {
    pub name: String,
    pub kind: SeriesKind,
    pub points: Vec<Point>,
    /// Follows the name in the key, such as a fitted exponent.
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesKind {
    /// Not a measurement: drawn dashed and without marks.
    Bound,
    Peer,
    /// One of furwock's own: highlighted.
    Ours,
}

#[derive(Clone)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Least and greatest of the rounds, if they are to be shown.
    pub range: Option<(f64, f64)>,
    /// Its case, shown with its figures.
    pub label: String,
}

/// Groups of bars to compare, such as published and measured gains. Their lengths are on a
/// logarithmic scale and begin at 1: no gain and no loss.
#[derive(Clone)]
pub struct Bars {
    pub caption: String,
    /// What a bar's length means.
    pub axis: String,
    /// Short names of the bars in a group, such as "published" and "here".
    pub kinds: Vec<String>,
    pub groups: Vec<BarGroup>,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct BarGroup {
    pub name: String,
    /// In the kinds' order; `None` where there is no figure.
    pub values: Vec<Option<f64>>,
}

/// What several lanes, such as threads, were busy with over one time.
#[derive(Clone)]
pub struct Timeline {
    pub caption: String,
    /// What the colours mean, in their order.
    pub key: Vec<String>,
    pub lanes: Vec<Lane>,
    /// The first and the last moment.
    pub ends: [String; 2],
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Lane {
    pub name: String,
    pub spans: Vec<Span>,
}

/// Where it begins and how long it is, as parts of the whole; how much of it is meant, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: f64,
    pub share: f64,
    pub fill: f64,
    pub colour: usize,
}

/// Amounts by stacks, the outermost frame first.
#[derive(Clone)]
pub struct Flame {
    pub caption: String,
    pub stacks: Vec<(Vec<String>, u64)>,
    /// An amount in words.
    pub amount: fn(u64) -> String,
    pub notes: Vec<String>,
}

/// Text that is folded at first.
#[derive(Clone)]
pub struct Folded {
    pub summary: String,
    pub text: String,
}
