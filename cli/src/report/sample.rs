//! A page with every kind of block, as the commands make them, for the tests.

use super::model::{
    Axis, AxisUnit, BarGroup, Bars, Block, Cell, Chart, Finding, HeatCell, HeatMap, HeatRow, Page,
    Point, Section, Series, Table, Tone,
};

const NAMES: [(&str, bool); 7] = [
    ("furwock", true),
    ("furwock fair", true),
    ("glibc", false),
    ("parking_lot", false),
    ("std", false),
    ("nsync", false),
    ("usync", false),
];

/// A number between 0 and 1, the same each time.
fn scatter(index: usize) -> f64 {
    ((index as f64 * 12.9898).sin() * 43758.5453).fract().abs()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub fn page() -> Page {
    Page {
        title: "furwock: what it does to programs that wait, 8 threads & more".to_owned(),
        provenance: texts(&[
            "AMD EPYC 9V74, 8 processors, 2 nodes; Linux 6.8.0; glibc 2.41",
            "furwock bench --report page.html --rounds 15 --threads 1,2,4,8,16,32,64 --section 0..2000ns --peers all",
            "2026-03-14, furwock 0.1.0; the machine was quiet in 14 of 15 rounds",
        ]),
        summary: vec![
            finding(
                Tone::Win,
                "A mutex under 64 threads hands over 3.1x as many sections a second as glibc's, and its longest wait is 40 times shorter.",
            ),
            finding(
                Tone::Win,
                "Waking one of 100000 waiters takes 480 ns; the kernel's takes 2.9 ms.",
            ),
            finding(
                Tone::Loss,
                "An uncontended lock and unlock takes 18 ns where parking_lot takes 11 ns.",
            ),
            finding(
                Tone::Neutral,
                "Programs that seldom wait run as fast as they did: 0.99x to 1.02x in 9 of 11.",
            ),
            finding(Tone::Loss, "Two threads that take turns hand over 0.62x as often."),
            finding(Tone::Neutral, "Memory is the same within what the rounds differ."),
        ],
        sections: vec![
            locks(),
            Section {
                heading: "Throughput against waiting".to_owned(),
                text: texts(&[
                    "Each mark is one case. Higher is more sections a second, further left is a shorter wait for the unluckiest in a hundred: the best place is the upper left.",
                ]),
                blocks: vec![Block::Chart(latency())],
            },
            Section {
                heading: "Scaling with waiters".to_owned(),
                text: texts(&[
                    "One thread is woken out of many that wait at different addresses. A level line means that the number of waiters doesn't matter.",
                ]),
                blocks: vec![Block::Chart(scaling()), Block::Chart(threads())],
            },
            Section {
                heading: "Published and today".to_owned(),
                text: texts(&[
                    "What others published of their speed-ups, and what the same programs gain here today.",
                ]),
                blocks: vec![Block::Bars(bars())],
            },
            Section {
                heading: "All figures".to_owned(),
                text: Vec::new(),
                blocks: vec![Block::Table(table())],
            },
        ],
    }
}

fn finding(tone: Tone, text: &str) -> Finding {
    Finding { tone, text: text.to_owned() }
}

fn cases() -> impl Iterator<Item = String> {
    ["mutex", "rwlock, 5% writers", "condvar"].into_iter().flat_map(|kind| {
        [1, 2, 8, 64].into_iter().flat_map(move |threads| {
            ["short", "long"].into_iter().map(move |length| format!("{kind}, {threads}T, {length}"))
        })
    })
}

fn locks() -> Section {
    let rows = cases()
        .enumerate()
        .map(|(row, name)| HeatRow {
            name,
            ratios: (0..NAMES.len())
                .map(|column| {
                    let ratio = 2_f64.powf(scatter(row * 7 + column) * 6.0 - 2.4);
                    match (row * 7 + column) % 19 {
                        3 => HeatCell::Failed,
                        7 => HeatCell::Absent,
                        _ if (0.8..1.15).contains(&ratio) => HeatCell::NoDifference(ratio),
                        11 => HeatCell::Ratio(ratio * 400.0),
                        _ => HeatCell::Ratio(ratio),
                    }
                })
                .collect(),
        })
        .collect();
    let map = HeatMap {
        caption: "furwock's throughput over each peer's".to_owned(),
        corner: "Case".to_owned(),
        columns: texts(&["glibc", "parking_lot", "std", "nsync", "usync", "abseil", "folly"]),
        rows,
        notes: texts(&["Median of 15 rounds. T: threads."]),
    };
    Section {
        heading: "Locks".to_owned(),
        text: texts(&[
            "Threads take a lock, work for a while, and let go. A section is short (50 ns) or long (2 us).",
        ]),
        blocks: vec![Block::HeatMap(map)],
    }
}

fn series(name: &str, ours: bool, points: Vec<Point>, note: &str) -> Series {
    Series { name: name.to_owned(), ours, bound: false, points, note: note.to_owned() }
}

fn axis(title: &str, logarithmic: bool, unit: AxisUnit) -> Axis {
    Axis { title: title.to_owned(), logarithmic, unit }
}

/// A series for each name, of points that `point` makes from its number.
fn all_series(points: usize, point: impl Fn(usize, usize) -> Point, note: &str) -> Vec<Series> {
    let of = |(index, (name, ours)): (usize, &(&str, bool))| {
        series(name, *ours, (0..points).map(|at| point(index, at)).collect(), note)
    };
    NAMES.iter().enumerate().map(of).collect()
}

fn latency() -> Chart {
    let cases: Vec<String> = cases().collect();
    let point = |index: usize, case: usize| {
        let chance = scatter(index * 31 + case);
        Point {
            x: 10_f64.powf(-6.5 + chance * 4.0 + index as f64 * 0.12),
            y: 10_f64.powf(7.6 - chance * 2.0 - scatter(case * 3 + index)),
            range: None,
            label: cases[case].clone(),
        }
    };
    Chart {
        caption: "Sections a second against the wait of the unluckiest hundredth".to_owned(),
        x: axis("99th percentile of the wait", true, AxisUnit::Seconds),
        y: axis("Sections a second", true, AxisUnit::PerSecond),
        series: all_series(cases.len(), point, ""),
        joined: false,
        notes: texts(&["The same threads in all cases."]),
    }
}

fn scaling() -> Chart {
    let point = |index: usize, step: usize| {
        let x = 10_f64.powf(step as f64 / 2.0).round();
        let y = 2.0e-7 * x.powf(index as f64 / 6.0) * (0.85 + 0.3 * scatter(index * 11 + step));
        Point { x, y, range: Some((y * 0.7, y * 1.4)), label: String::new() }
    };
    Chart {
        caption: "Time to wake one thread, by how many others wait".to_owned(),
        x: axis("Waiting threads", true, AxisUnit::Count),
        y: axis("Time of a wake", true, AxisUnit::Seconds),
        series: all_series(11, point, "grows as n^0.50"),
        joined: true,
        notes: texts(&["Thin bars reach from the least to the greatest round."]),
    }
}

fn threads() -> Chart {
    let point = |index: usize, step: usize| {
        let x = f64::from(1u32 << step);
        let y = (3.2e7 - index as f64 * 3.5e6) * (x / (x + 3.0)) / (1.0 + x * 4e-4 * index as f64);
        Point { x, y, range: None, label: String::new() }
    };
    let mut series = all_series(11, point, "");
    let bound = [(1.0, 1.2e7), (4.0, 3.4e7), (1024.0, 3.4e7)];
    let points = bound.map(|(x, y)| Point { x, y, range: None, label: String::new() });
    series.push(Series {
        bound: true,
        ..self::series("as fast as memory allows", false, points.into(), "a bound, not measured")
    });
    Chart {
        caption: "Sections a second by threads".to_owned(),
        x: axis("Threads", true, AxisUnit::Count),
        y: axis("Sections a second", false, AxisUnit::PerSecond),
        series,
        joined: true,
        notes: Vec::new(),
    }
}

pub fn bars() -> Bars {
    let groups = [
        ("Wake of one among 100000 waiters", Some(5900.0), Some(5120.0)),
        ("memcached, 64 threads", Some(1.31), Some(1.22)),
        ("ferret", Some(1.86), Some(0.97)),
        ("Ping-pong of two threads", None, Some(0.5)),
        ("Barrier of 512 threads", Some(240.0), Some(310.0)),
        ("Handing over a contended mutex, long sections", Some(3.4), Some(3.1)),
        ("x264", Some(1.0), Some(1.0)),
    ];
    Bars {
        caption: "Speed-ups over the kernel's futexes: published, and measured today".to_owned(),
        axis: "Times as fast as the kernel's futexes (logarithmic)".to_owned(),
        kinds: texts(&["published", "today"]),
        groups: groups
            .into_iter()
            .map(|(name, published, today)| BarGroup {
                name: name.to_owned(),
                values: vec![published, today],
            })
            .collect(),
        logarithmic: true,
        neutral: 1.0,
        notes: texts(&[
            "Medians of 15 rounds on 8 processors; a dash: nothing was published, or the program no longer builds.",
        ]),
    }
}

fn table() -> Table {
    let header = texts(&["Case", "glibc", "furwock", "Ratio", "Verdict", "Remark"]);
    let rows = cases()
        .enumerate()
        .map(|(index, case)| {
            let ratio = 2_f64.powf(scatter(index) * 4.0 - 1.5);
            let (tone, verdict) = match ratio {
                ahead if ahead > 1.1 => (Tone::Win, "faster"),
                behind if behind < 0.9 => (Tone::Loss, "slower"),
                _ => (Tone::Neutral, "the same"),
            };
            let plain = |text: String| Cell { text, tone: Tone::Neutral };
            vec![
                plain(case),
                plain(format!("{:.1} M/s", 10.0 * scatter(index + 5))),
                plain(format!("{:.1} M/s", 10.0 * scatter(index + 5) * ratio)),
                Cell { text: format!("{ratio:.2}x"), tone },
                Cell { text: verdict.to_owned(), tone },
                plain(if index % 5 == 0 { "<interrupted> & repeated" } else { "" }.to_owned()),
            ]
        })
        .collect();
    Table {
        caption: "Every case, with the rounds' spread".to_owned(),
        header,
        rows,
        notes: texts(&["A wait is counted from the call to the return."]),
    }
}
