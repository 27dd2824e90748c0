//! The contents of a report. The page that shows it knows nothing of benchmarks.

/// A standalone page.
#[derive(Clone)]
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

#[derive(Clone)]
pub enum Block {
    Table(Table),
    HeatMap(HeatMap),
    Chart(Chart),
    Bars(Bars),
}

/// Figures in words and numbers. `rows` does not include the header.
#[derive(Clone)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Text below the table.
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct Cell {
    pub text: String,
    /// Its colour; the text has the same meaning without colour.
    pub tone: Tone,
}

/// A grid of ratios: furwock's figure over a peer's, more than 1 where furwock does better. Cells
/// show the ratio and are coloured by its logarithm.
#[derive(Clone)]
pub struct HeatMap {
    pub caption: String,
    /// What the rows are; shown in the corner.
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
    /// A ratio that it doesn't support: no difference.
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
    /// Whether lines join a series' points, in their order.
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
    /// Given in seconds, written in a fitting unit: `10 ms`.
    Seconds,
    /// Given per second: `10 M/s`.
    PerSecond,
    Bytes,
}

#[derive(Clone)]
pub struct Series {
    pub name: String,
    /// Whether it is one of furwock's own. These are highlighted.
    pub ours: bool,
    /// Whether it is a bound, not a measurement: drawn dashed and without marks.
    pub bound: bool,
    pub points: Vec<Point>,
    /// Follows the name in the key, such as a fitted exponent.
    pub note: String,
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

/// Groups of bars to compare, such as published and measured figures.
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
    /// Where a line crosses all bars: no gain and no loss.
    pub neutral: f64,
    pub notes: Vec<String>,
}

#[derive(Clone)]
pub struct BarGroup {
    pub name: String,
    /// In the kinds' order; `None` where there is no figure.
    pub values: Vec<Option<f64>>,
}
