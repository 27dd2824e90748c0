//! A chart in figures: readable without the picture, and exact.

use super::model::{Cell, Chart, Point, Table, Tone};
use super::plot;
use super::text;

pub fn table(chart: &Chart) -> Table {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let labelled = points().any(|point| !point.label.is_empty());
    let ranged = points().any(|point| point.range.is_some());
    let mut header = vec!["Series".to_owned()];
    header.extend(labelled.then(|| "Case".to_owned()));
    header.extend([chart.x.title.clone(), chart.y.title.clone()]);
    header.extend(ranged.then(|| "Least to greatest".to_owned()));
    let row = |name: &str, point: &Point| {
        let unit = chart.y.unit;
        let mut row = vec![name.to_owned()];
        row.extend(labelled.then(|| point.label.clone()));
        row.extend([text::figure(point.x, chart.x.unit), text::figure(point.y, unit)]);
        row.extend(ranged.then(|| match point.range {
            Some((least, greatest)) => {
                format!("{} to {}", text::figure(least, unit), text::figure(greatest, unit))
            }
            None => text::NOTHING.to_owned(),
        }));
        row.into_iter().map(|text| Cell { text, tone: Tone::Neutral }).collect()
    };
    let rows = chart
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| row(&series.name, point)))
        .collect();
    Table { caption: String::new(), header, rows, notes: Vec::new() }
}

/// The picture in a sentence or two.
pub fn description(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let kind = if chart.joined { "Lines" } else { "Points" };
    let scale = |logarithmic| if logarithmic { ", logarithmic" } else { "" };
    format!(
        "{}. {kind}: {} (up{}) by {} (across{}), for {}. The figures are in the table below.",
        chart.caption.trim_end_matches('.'),
        chart.y.title,
        scale(chart.y.logarithmic),
        chart.x.title,
        scale(chart.x.logarithmic),
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") },
    )
}

/// Which points are missing from the picture, and why.
pub fn omission(chart: &Chart) -> Option<String> {
    let points = chart.series.iter().flat_map(|series| &series.points);
    let (drawn, missing): (Vec<_>, Vec<_>) = points.partition(|point| plot::is_drawn(chart, point));
    let why = if chart.x.logarithmic || chart.y.logarithmic {
        "a logarithmic axis has no place for zero, nor any axis for what has no end"
    } else {
        "an axis has no place for what has no end"
    };
    match (drawn.len(), missing.len()) {
        (0, 0) => Some("There are no points to show.".to_owned()),
        (_, 0) => None,
        (_, 1) => Some(format!("One point is in the data but not in the picture: {why}.")),
        (_, many) => Some(format!("{many} points are in the data but not in the picture: {why}.")),
    }
}
