//! The contents of a report. The page that shows it knows nothing of benchmarks.

/// A page that stands by itself.
#[derive(Clone)]
pub struct Page {
    pub title: String,
    /// The machine, the command, the date: each a line.
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

/// How something speaks for furwock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Win,
    Loss,
    Neutral,
}

#[derive(Clone)]
pub struct Section {
    pub heading: String,
    /// What was done, and how the pictures are read; a paragraph each.
    pub text: Vec<String>,
    pub blocks: Vec<Block>,
}

#[derive(Clone)]
pub enum Block {
    Table(Table),
    HeatMap(HeatMap),
    Chart(Chart),
    Bars(Bars),
}

/// Figures in words and numbers. The first row of cells is not the header.
#[derive(Clone)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// What stands below it.
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Cell {
    pub text: String,
    /// Its colour; the text has the same meaning without it.
    pub tone: Tone,
}

/// A grid of ratios: furwock's figure over a peer's, more than 1 where furwock does better.
/// Coloured by the ratio's logarithm, with the ratio in each cell.
#[derive(Clone)]
pub struct HeatMap {
    pub caption: String,
    /// What the rows are, in the corner.
    pub corner: String,
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
    /// One that it doesn't: no difference.
    NoDifference(f64),
    Failed,
    Absent,
}

/// Points in a plane.
#[derive(Clone)]
pub struct Chart {
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Are a series' points joined by lines, in their order?
    pub joined: bool,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Axis {
    pub title: String,
    pub logarithmic: bool,
    pub unit: AxisUnit,
}

/// How an axis's numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisUnit {
    /// `10k`.
    Count,
    /// Given in seconds, written in what fits: `10 ms`.
    Seconds,
    /// Given per second: `10 M/s`.
    PerSecond,
    Bytes,
}

#[derive(Clone)]
pub struct Series {
    pub name: String,
    /// Is it one of furwock's own? Those are drawn to stand out.
    pub ours: bool,
    /// Drawn as a bound, dashed and without marks, and not as something measured.
    pub bound: bool,
    pub points: Vec<Point>,
    /// Said after the name in the key, such as a fitted exponent.
    pub note: String,
}

#[derive(Clone)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Least and greatest of the rounds, if they are to be seen.
    pub range: Option<(f64, f64)>,
    /// Its case, shown with its figures.
    pub label: String,
}

/// Pairs of bars to compare: what was published, what was measured.
#[derive(Clone)]
pub struct Bars {
    pub caption: String,
    /// What a bar's length means.
    pub axis: String,
    /// Short names of the bars in a group, such as "published" and "today".
    pub kinds: Vec<String>,
    pub groups: Vec<BarGroup>,
    /// Lengths on a logarithmic scale, beginning at 1.
    pub logarithmic: bool,
    /// A line across all bars: here nothing is gained or lost.
    pub neutral: f64,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct BarGroup {
    pub name: String,
    /// In the kinds' order; none where there is no figure.
    pub values: Vec<Option<f64>>,
}
