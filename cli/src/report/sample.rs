//! A page with every kind of block, as the commands make them, for the tests.

use super::model::{
    Axis, BarGroup, Bars, Block, Cell, Chart, Finding, HeatCell, HeatMap, HeatRow, Noise,
    NoiseLevel, Page, Point, Section, Series, SeriesKind, Table, Tally, Tone,
};
use crate::measuring::number::Unit;

const NAMES: [(&str, SeriesKind); 4] = [
    ("furwock", SeriesKind::Ours),
    ("furwock-preload", SeriesKind::Ours),
    ("glibc", SeriesKind::Peer),
    ("parking_lot", SeriesKind::Peer),
];

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub fn page() -> Page {
    let finding = |tone, text: &str| Finding { tone, text: text.to_owned() };
    Page {
        title: "furwock: what it does to programs that wait, 8 threads & more".to_owned(),
        provenance: texts(&["AMD EPYC 9V74, 8 CPUs", "furwock bench mutex --report page.html"]),
        verdict: None,
        tally: Some(Tally::of(
            ["case", "cases"],
            [Tone::Win, Tone::Win, Tone::Win, Tone::Neutral, Tone::Loss, Tone::Win],
        )),
        noise: Some(Noise { level: NoiseLevel::Kept, text: "2 rounds kept & counted".to_owned() }),
        warnings: texts(&["Interrupted: these are the results until then."]),
        summary: vec![
            finding(Tone::Win, "A mutex under 64 threads is 3.1x as fast as glibc's."),
            finding(Tone::Loss, "An uncontended lock and unlock takes 18 ns, parking_lot's 11."),
            finding(Tone::Neutral, "Memory is the same within what the rounds differ."),
        ],
        sections: vec![
            Section::new("Locks", texts(&["Threads contend."]), vec![Block::HeatMap(heat_map())]),
            Section::new("Tails", Vec::new(), vec![Block::Chart(tails())]),
            Section::new("Growth", Vec::new(), vec![Block::Chart(growth())]),
            Section::new("Published and here", Vec::new(), vec![Block::Bars(bars())]),
            Section::new("All figures", Vec::new(), vec![Block::Table(table())]),
        ],
    }
}

fn heat_map() -> HeatMap {
    let ratios = [
        [HeatCell::Ratio(3.1), HeatCell::NoDifference(1.02), HeatCell::Failed],
        [HeatCell::Ratio(0.4), HeatCell::Ratio(400.0), HeatCell::Absent],
    ];
    let row = |(name, ratios): (&str, [HeatCell; 3])| HeatRow {
        name: name.to_owned(),
        ratios: ratios.into(),
    };
    HeatMap {
        caption: "furwock's speed over each of the others".to_owned(),
        columns: texts(&["glibc", "parking_lot", "nsync"]),
        rows: ["1/1 x 2", "10/10 x 64"].into_iter().zip(ratios).map(row).collect(),
        notes: texts(&["Medians of 15 rounds."]),
    }
}

/// A series for each name, of points that `point` makes from its number.
fn all_series(points: usize, point: impl Fn(usize, usize) -> Point, note: &str) -> Vec<Series> {
    let of = |(index, (name, kind)): (usize, (&str, SeriesKind))| Series {
        name: name.to_owned(),
        kind,
        points: (0..points).map(|at| point(index, at)).collect(),
        note: note.to_owned(),
    };
    NAMES.into_iter().enumerate().map(of).collect()
}

fn tails() -> Chart {
    let point = |index: usize, case: usize| Point {
        x: 1e6 / (case + index + 1) as f64,
        y: 1e-6 * (case * case + index + 1) as f64,
        range: None,
        label: format!("1/1 x {}", 1 << case),
    };
    Chart {
        caption: "The tail against the rate".to_owned(),
        x: Axis::new("operations a second", Unit::PerSecond),
        y: Axis::new("wait, 99.9th percentile", Unit::Seconds),
        series: all_series(6, point, ""),
        joined: false,
        notes: texts(&["Best is below on the right."]),
    }
}

fn growth() -> Chart {
    let point = |index: usize, step: usize| {
        let x = 10_f64.powf(step as f64 / 2.0).round();
        let y = 2.0e-7 * x.powf(index as f64 / 6.0);
        Point { x, y, range: Some((y * 0.7, y * 1.4)), label: String::new() }
    };
    let mut series = all_series(11, point, "grows as n^0.50");
    let bound = [(1.0, 1e-7), (1e5, 1e-7)];
    let bound = bound.map(|(x, y)| Point { x, y, range: None, label: String::new() });
    series.push(Series {
        name: "bound".to_owned(),
        kind: SeriesKind::Bound,
        points: bound.into(),
        note: "not measured".to_owned(),
    });
    Chart {
        caption: "Time to wake one thread, by how many others wait".to_owned(),
        x: Axis::new("waiting threads", Unit::Count),
        y: Axis::new("time of a wake", Unit::Seconds),
        series,
        joined: true,
        notes: texts(&["Thin bars: the least and the greatest round."]),
    }
}

pub fn bars() -> Bars {
    let groups = [
        ("one of 100000 waiters woken", Some(5900.0), Some(5120.0)),
        ("rwlock, 8 threads", Some(1.86), Some(0.97)),
        ("two threads in turn", None, Some(0.5)),
    ];
    let group = |(name, published, here): (&str, _, _)| BarGroup {
        name: name.to_owned(),
        values: vec![published, here],
        outcome: here.map(|here: f64| if here > 1.0 { Tone::Win } else { Tone::Loss }),
    };
    Bars {
        caption: "Gains, published and here".to_owned(),
        axis: "gain, times".to_owned(),
        kinds: texts(&["published", "here"]),
        groups: groups.into_iter().map(group).collect(),
        notes: texts(&["A dash: nothing was published."]),
    }
}

fn table() -> Table {
    let row = |case: &str, rate: &str, ratio: &str, tone, remark: &str| {
        vec![Cell::plain(case), Cell::plain(rate), Cell::new(ratio, tone), Cell::plain(remark)]
    };
    let rows = [
        row("1/1 x 2", "10.0 M/s", "2.00x", Tone::Win, "<interrupted> & repeated"),
        row("1/1 x 64", "9.0 M/s", "0.90x", Tone::Loss, ""),
    ];
    Table::new("Every case", ["case", "glibc", "ratio", "remark"], rows)
        .with_note("A wait is counted from the call to the return.")
}
