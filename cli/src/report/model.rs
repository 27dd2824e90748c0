//! The contents of a report. The page that shows it knows nothing of benchmarks.

use crate::measuring::number::Unit;

/// A standalone page.
#[derive(Default)]
pub struct Page {
    pub title: String,
    /// The machine, the command, the date: one line each.
    pub provenance: Vec<String>,
    /// The answer in a sentence. Without it the tally's is shown.
    pub verdict: Option<Finding>,
    pub tally: Option<Tally>,
    pub noise: Option<Noise>,
    /// What makes the figures incomplete or doubtful.
    pub warnings: Vec<String>,
    /// What a reader should know after ten seconds.
    pub summary: Vec<Finding>,
    pub sections: Vec<Section>,
}

/// How many comparisons furwock won, lost, and neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// What is counted, in the singular and the plural.
    pub what: [&'static str; 2],
    /// What the three outcomes are called.
    pub words: Outcomes<&'static str>,
    pub counts: Outcomes<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes<T> {
    pub win: T,
    pub neutral: T,
    pub loss: T,
}

impl Tally {
    pub fn of(what: [&'static str; 2], tones: impl IntoIterator<Item = Tone>) -> Self {
        let mut counts = Outcomes::default();
        for tone in tones {
            *match tone {
                Tone::Win => &mut counts.win,
                Tone::Neutral => &mut counts.neutral,
                Tone::Loss => &mut counts.loss,
            } += 1;
        }
        let words = Outcomes { win: "better", neutral: "inconclusive", loss: "worse" };
        Tally { what, words, counts }
    }

    /// What is counted, and how many.
    pub fn counted(&self) -> String {
        let total = self.total();
        format!("{total} {}", self.what[usize::from(total != 1)])
    }

    pub fn total(&self) -> usize {
        self.counts.win + self.counts.neutral + self.counts.loss
    }
}

/// Whether other work disturbed the machine while it measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    pub level: NoiseLevel,
    /// The rest of "Noise:".
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseLevel {
    Quiet,
    /// What was disturbed was measured again.
    Repeated,
    /// Some of the figures come from disturbed runs.
    Kept,
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
    /// All of it is folded at first.
    pub folded: bool,
}

impl Section {
    pub fn new(heading: impl Into<String>, text: Vec<String>, blocks: Vec<Block>) -> Self {
        Section { heading: heading.into(), text, blocks, folded: false }
    }

    pub fn folded(self) -> Self {
        Section { folded: true, ..self }
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
    /// What the last bar's colour and mark say; `None` if it has the colour of its kind.
    pub outcome: Option<Tone>,
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
