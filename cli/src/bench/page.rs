//! What a page shows of a benchmark.

use super::benchmark::Benchmark;
use super::figure::{Better, Figure, Unit};
use super::figure_table;
use super::results::{BenchmarkResults, CaseResults, Entry};
use super::standing::{CaseSpeeds, FAIR, Over, Speeds};
use crate::contestants::Contestant;
use crate::measuring::number::{self, times};
use crate::measuring::tally::counted;
use crate::report::model::{
    Axis, Block, Chart, Finding, HeatCell, HeatMap, HeatRow, Point, Section, Series, SeriesKind,
    Table, Tally, Tone,
};
use crate::statistics::exponent;

/// The figure whose tail is drawn against the rate.
const TAIL: &str = "wait_p999_s";
/// A curve has at least so many points.
const CURVE_MIN: usize = 3;

/// How furwock stands in a benchmark: a sentence for each of its peers and for the best of each
/// case, with the worst case.
pub fn findings(results: &BenchmarkResults) -> Vec<Finding> {
    let speeds = results.speeds();
    let title = results.benchmark.title;
    let mut findings = Vec::new();
    for ours in [Contestant::Furwock, Contestant::FurwockPreload] {
        let overs: Vec<Over> = if ours == Contestant::Furwock {
            speeds.all_over().collect()
        } else {
            // The preload replaces glibc.
            let glibc = |over: &Over| matches!(over, Over::Peer(Contestant::Glibc));
            speeds.all_over().filter(glibc).collect()
        };
        findings.extend(overs.into_iter().filter_map(|over| finding(title, &speeds, ours, over)));
    }
    findings
}

/// The last sentence of the text: furwock over the best peer, the preload over glibc.
pub fn conclusion(results: &BenchmarkResults) -> String {
    let speeds = results.speeds();
    let all = [
        (Contestant::Furwock, Over::Best, "the best peer"),
        (Contestant::Furwock, Over::Peer(Contestant::Glibc), "glibc"),
        (Contestant::FurwockPreload, Over::Peer(Contestant::Glibc), "glibc"),
    ];
    let said = |(ours, over, peer): (Contestant, Over, &str)| {
        let tally = speeds.tally(ours, over);
        let words = ["faster", "slower"];
        (tally.all() > 0).then(|| format!("{ours} over {peer} is {}", tally.said(words)))
    };
    let said: Vec<String> = all.into_iter().filter_map(said).collect();
    let said = match said.as_slice() {
        [] => "nothing was compared, which takes one of furwock's and a peer".to_owned(),
        said => said.join("; "),
    };
    let failed = results.entries().filter(|(_, entry)| entry.failure.is_some()).count();
    let failed = match failed {
        0 => String::new(),
        failed => format!(" {} FAILED.", counted(failed, "result")),
    };
    let (name, cases) = (results.benchmark.name, counted(results.cases.len(), "case"));
    format!("{name}, {cases}: {said}.{failed}")
}

/// One contestant over one peer: how many cases, by how much, which is the worst.
fn finding(title: &str, speeds: &Speeds, ours: Contestant, over: Over) -> Option<Finding> {
    let ratio = |case: &CaseSpeeds| Some((case.case.clone(), speeds.ratio_over(case, ours, over)?));
    let ratios: Vec<_> = speeds.cases.iter().filter_map(ratio).collect();
    if ratios.is_empty() {
        return None;
    }
    let mean = crate::statistics::geometric_mean(
        &ratios.iter().map(|(_, ratio)| ratio.ratio).collect::<Vec<_>>(),
    );
    let losses: Vec<_> =
        ratios.iter().filter(|(_, ratio)| ratio.differs && ratio.ratio < 1.0).collect();
    let tally = speeds.tally(ours, over);
    let worst = losses.iter().min_by(|one, other| one.1.ratio.total_cmp(&other.1.ratio));
    let worst = worst.map_or_else(String::new, |(case, ratio)| {
        format!("; its worst case is {case} ({})", times(ratio.ratio))
    });
    let tone = match mean {
        _ if mean > 1.02 && tally.better > tally.worse => Tone::Win,
        _ if mean < 0.98 && tally.worse > tally.better => Tone::Loss,
        _ => Tone::Neutral,
    };
    let name = ours.name();
    let peer = match over {
        Over::Peer(peer) => peer.name(),
        Over::Best => "the best peer of each case",
        Over::BestFair => "the best fair peer of each case",
        Over::BestByOtherRounds => "the best peer by other rounds",
    };
    let text = format!(
        "{title}: {name} has {} the speed of {peer} (geometric mean): {}{worst}.",
        times(mean),
        tally.said(["faster", "slower"])
    );
    Some(Finding { tone, text })
}

/// Every case of furwock beside each peer.
pub fn tally(all: &[BenchmarkResults]) -> Option<Tally> {
    let mut tones = Vec::new();
    for results in all {
        let speeds = results.speeds();
        let Some(ours) = speeds.ours().next() else { continue };
        let peers = speeds.all_over().filter(|over| matches!(over, Over::Peer(_)));
        for over in peers.collect::<Vec<_>>() {
            let ratios = speeds.cases.iter().filter_map(|case| speeds.ratio_over(case, ours, over));
            tones.extend(ratios.map(|ratio| match ratio.differs {
                true if ratio.ratio > 1.0 => Tone::Win,
                true => Tone::Loss,
                false => Tone::Neutral,
            }));
        }
    }
    let what = ["case of furwock beside a peer", "cases of furwock beside a peer"];
    (!tones.is_empty()).then(|| Tally::of(what, tones))
}

pub fn section(results: &BenchmarkResults) -> Section {
    let mut blocks = Vec::new();
    blocks.extend(heat_map(results).map(Block::HeatMap));
    blocks.extend(standings(results).into_iter().flatten().map(Block::Table));
    blocks.extend(curves(results).into_iter().map(Block::Chart));
    blocks.extend(tails(results).into_iter().map(Block::Chart));
    let Benchmark { title, what, case_key, figures, .. } = &results.benchmark;
    let table = |figure| figure_table::table(figure, results, Contestant::name);
    blocks.extend(figures.iter().filter_map(table).map(Block::Table));
    Section::new(*title, vec![(*what).to_owned(), (*case_key).to_owned()], blocks)
}

/// The ratios to the best peers, and the means.
fn standings(results: &BenchmarkResults) -> Option<[Table; 2]> {
    let speeds = results.speeds();
    let [standings, mut means] = [Speeds::standings_table, Speeds::means_table]
        .map(|table| table(&speeds, Contestant::name));
    if speeds.knows_fairness() {
        means = means.with_note(format!(
            "A peer is fair in a case if the median of Jain's index over its rounds is {FAIR} or \
             more: of two threads, one does at most twice as much as the other."
        ));
    }
    speeds.can_stand().then_some([standings, means])
}

/// How rounds are measured.
pub fn method() -> Vec<String> {
    let paragraphs = [
        "Each round of each implementation runs in a process of its own. The rounds of all are \
         interleaved in rotating order, so that a machine that drifts favours none. Figures are \
         medians over the rounds.",
        "Before and after each round a thread on every CPU looks for gaps in time. A round next to \
         a gap of more than a millisecond is dropped and run again, once; the numbers of dropped \
         and of kept noisy rounds are below.",
        "Every round checks its own result: if a lock doesn't exclude, a wake is lost or an item \
         comes twice, it counts as failed.",
        "A ratio is that of two medians. Its interval is that of the rank-sum test over the \
         rounds, at 90 %: of equal pairs one in ten at most shows a difference by chance. A ratio \
         whose interval contains 1 is inconclusive, unless all of it is within 1 % of 1.",
        "Of several equal peers the best of a case is one that was lucky, so that a mean over the \
         best is too low. The mean over the best by other rounds compares each round with the peer \
         that was the fastest in the others.",
        "The bound in the pictures of locks is min(holders/(cs + h), CPUs/(cs + ncs + h)): \
         sections inside the lock follow each other, and at most as many threads work as there are \
         CPUs. h is the time of the two atomic instructions that take and release a lock.",
    ];
    paragraphs.map(str::to_owned).into()
}

fn heat_map(results: &BenchmarkResults) -> Option<HeatMap> {
    let speeds = results.speeds();
    // One of ours over each peer, and the preload over glibc, which it replaces.
    let mut pairs: Vec<(Contestant, Over, String)> = Vec::new();
    let ours: Vec<Contestant> = speeds.ours().collect();
    let first = *ours.first()?;
    if !speeds.can_stand() {
        return None;
    }
    let name = |over| match over {
        Over::Peer(peer) => peer.name(),
        Over::Best => "best peer",
        Over::BestFair => "best fair peer",
        Over::BestByOtherRounds => "best by other rounds",
    };
    // The best of one peer is that peer.
    let is_alone = speeds.peers().count() == 1;
    let overs = speeds.all_over().filter(|over| !is_alone || matches!(over, Over::Peer(_)));
    pairs.extend(overs.map(|over| (first, over, name(over).to_owned())));
    if first != Contestant::FurwockPreload && ours.contains(&Contestant::FurwockPreload) {
        let over = [Contestant::Glibc, Contestant::Kernel];
        let over = over.into_iter().find(|peer| results.contestants.contains(peer));
        let named = |peer| (Contestant::FurwockPreload, Over::Peer(peer), preload_over(peer));
        pairs.extend(over.map(named));
    }
    let cell = |case: &CaseSpeeds, one: Contestant, over: Over| {
        let failed = |contestant| {
            let entry = results.case(&case.case).and_then(|results| results.entry(contestant));
            entry.is_some_and(|entry: &Entry| entry.failure.is_some())
        };
        match speeds.ratio_over(case, one, over) {
            Some(ratio) if ratio.differs => HeatCell::Ratio(ratio.ratio),
            Some(ratio) => HeatCell::NoDifference(ratio.ratio),
            None if failed(one) || speeds.peer(case, over).is_some_and(failed) => HeatCell::Failed,
            None => HeatCell::Absent,
        }
    };
    let row = |case: &CaseSpeeds| HeatRow {
        name: case.case.clone(),
        ratios: pairs.iter().map(|(one, over, _)| cell(case, *one, *over)).collect(),
    };
    Some(HeatMap {
        caption: format!("Speed of {first} over each of the others"),
        columns: pairs.iter().map(|(_, _, name)| name.clone()).collect(),
        rows: speeds.cases.iter().map(row).collect(),
        notes: vec![format!(
            "{} More than 1: furwock is faster. By {}.",
            results.benchmark.case_key,
            results.benchmark.figures[0].short_title()
        )],
    })
}

fn preload_over(peer: Contestant) -> String {
    format!("preload over {peer}")
}

/// A value in the unit of its axis.
fn on_axis(unit: Unit, value: f64) -> f64 {
    if unit == Unit::Nanoseconds { value / 1e9 } else { value }
}

fn axis(figure: &Figure) -> Axis {
    let unit = match figure.unit {
        Unit::PerSecond => number::Unit::PerSecond,
        Unit::Time | Unit::Wait | Unit::Nanoseconds => number::Unit::Seconds,
        Unit::Index => number::Unit::Count,
    };
    Axis::new(figure.short_title(), unit)
}

/// The names of the curves, in the cases' order.
fn series_names(results: &BenchmarkResults) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for case in &results.cases {
        let name = case.case.place.series.as_str();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn cases_of<'a>(results: &'a BenchmarkResults, series: &str) -> Vec<&'a CaseResults> {
    results.cases.iter().filter(|case| case.case.place.series == series).collect()
}

/// A series for each contestant that has a point in any of the cases.
fn series_of(
    results: &BenchmarkResults,
    cases: &[&CaseResults],
    point: impl Fn(&CaseResults, &Entry) -> Option<Point>,
) -> Vec<Series> {
    let series = |contestant: &Contestant| Series {
        name: contestant.name().to_owned(),
        kind: if contestant.is_ours() { SeriesKind::Ours } else { SeriesKind::Peer },
        points: cases.iter().filter_map(|case| point(case, case.entry(*contestant)?)).collect(),
        note: String::new(),
    };
    let all = results.contestants.iter().map(series);
    all.filter(|series| !series.points.is_empty()).collect()
}

/// The first figure over the number in which the cases differ: one picture for each series of
/// cases.
fn curves(results: &BenchmarkResults) -> Vec<Chart> {
    let rank = &results.benchmark.figures[0];
    let chart = |name: &str| {
        let cases = cases_of(results, name);
        (cases.len() >= CURVE_MIN).then(|| curve(results, rank, name, &cases))
    };
    series_names(results).into_iter().filter_map(chart).collect()
}

fn curve(results: &BenchmarkResults, figure: &Figure, name: &str, cases: &[&CaseResults]) -> Chart {
    let mut series = series_of(results, cases, |case, entry| {
        let spread = entry.spread(figure.name)?;
        Some(Point {
            x: case.case.place.x,
            y: on_axis(figure.unit, spread.median),
            range: Some((on_axis(figure.unit, spread.min), on_axis(figure.unit, spread.max))),
            label: case.case.name.clone(),
        })
    });
    if figure.better == Better::Less {
        for series in &mut series {
            let points: Vec<(f64, f64)> =
                series.points.iter().map(|point| (point.x, point.y)).collect();
            series.note = exponent(&points).map_or_else(String::new, |fit| format!("~ x^{fit:.2}"));
        }
    }
    let bound: Vec<Point> = cases
        .iter()
        .filter_map(|case| {
            let (x, y) = (case.case.place.x, case.case.bound?);
            Some(Point { x, y, range: None, label: case.case.name.clone() })
        })
        .collect();
    if !bound.is_empty() {
        let name = "bound".to_owned();
        let kind = SeriesKind::Bound;
        series.push(Series { name, kind, points: bound, note: String::new() });
    }
    let x_title = cases[0].case.place.x_title;
    let better = match figure.better {
        Better::Less => "Lower is better.",
        Better::More => "Higher is better.",
    };
    Chart {
        caption: format!("{}: {name}", results.benchmark.title),
        x: Axis::new(x_title, number::Unit::Count),
        y: axis(figure),
        series,
        joined: true,
        notes: vec![format!("{better} Thin bars: the least and the greatest round.")],
    }
}

/// The tail of the waits against the rate: one picture for each series of cases.
fn tails(results: &BenchmarkResults) -> Vec<Chart> {
    let rank = &results.benchmark.figures[0];
    let Some(tail) = results.benchmark.figures.iter().find(|figure| figure.name == TAIL) else {
        return Vec::new();
    };
    if rank.better == Better::Less {
        return Vec::new();
    }
    let chart = |name: &str| {
        let cases = cases_of(results, name);
        let series = series_of(results, &cases, |case, entry| {
            Some(Point {
                x: on_axis(rank.unit, entry.median(rank.name)?),
                y: on_axis(tail.unit, entry.median(tail.name)?),
                range: None,
                label: case.case.name.clone(),
            })
        });
        (!series.is_empty()).then(|| Chart {
            caption: format!("{}: {name}: the tail against the rate", results.benchmark.title),
            x: axis(rank),
            y: axis(tail),
            series,
            joined: false,
            notes: vec!["Best is below on the right: many operations, short waits.".to_owned()],
        })
    };
    series_names(results).into_iter().filter_map(chart).collect()
}
