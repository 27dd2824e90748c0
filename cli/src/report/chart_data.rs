//! A chart in figures: readable without the picture, and exact.

use super::model::{Cell, Chart, Point, Table};
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
        row.into_iter().map(Cell::plain).collect()
    };
    let rows = chart
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| row(&series.name, point)));
    Table::new("", header, rows)
}

/// The picture in a sentence or two.
pub fn description(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let kind = if chart.joined { "Lines" } else { "Points" };
    format!(
        "{}. {kind}: {} (up) by {} (across), both logarithmic, for {}. The figures are in the \
         table below.",
        chart.caption.trim_end_matches('.'),
        chart.y.title,
        chart.x.title,
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") },
    )
}

/// How many points are missing from the picture, and why.
pub fn omission(chart: &Chart) -> Option<String> {
    const WHY: &str = "a logarithmic axis cannot show zero or infinity";
    let points = chart.series.iter().flat_map(|series| &series.points);
    let (drawn, missing): (Vec<_>, Vec<_>) = points.partition(|point| plot::is_drawn(point));
    match (drawn.len(), missing.len()) {
        (0, 0) => Some("There are no points to show.".to_owned()),
        (_, 0) => None,
        (_, 1) => Some(format!("One point is in the data but not in the picture: {WHY}.")),
        (_, many) => Some(format!("{many} points are in the data but not in the picture: {WHY}.")),
    }
}
