//! A chart on the page: the picture for two widths, its key, and its data.

use std::fmt::Write as _;

use super::chart_data;
use super::look::Looks;
use super::model::{Chart, Series, SeriesKind};
use super::plot;
use super::table;
use super::text::{escape, paragraphs};

pub fn html(chart: &Chart, looks: &Looks) -> String {
    let description = chart_data::description(chart);
    let mut inside = format!(
        "<figcaption>{}</figcaption>\n{}{}",
        escape(&chart.caption),
        plot::picture(chart, looks, plot::WIDE, "wide", &description),
        plot::picture(chart, looks, plot::NARROW, "narrow", &description),
    );
    inside += "<ul class=\"key\">\n";
    for series in ours_first(chart) {
        inside += &entry(chart, series, looks);
    }
    inside += "</ul>\n";
    inside += &paragraphs("note", chart_data::omission(chart).as_slice());
    inside += &paragraphs("note", &chart.notes);
    inside += &table::data(&chart_data::table(chart), &chart.caption);
    format!("<figure class=\"chart\">\n{inside}</figure>\n")
}

fn ours_first(chart: &Chart) -> impl Iterator<Item = &Series> {
    let (ours, others): (Vec<_>, Vec<_>) =
        chart.series.iter().partition(|series| series.kind == SeriesKind::Ours);
    ours.into_iter().chain(others)
}

fn entry(chart: &Chart, series: &Series, looks: &Looks) -> String {
    let look = looks.look(series);
    let name = escape(&series.name);
    let name = if series.kind == SeriesKind::Ours { format!("<b>{name}</b>") } else { name };
    let mut entry = format!("<li>{}<span>{name}", plot::swatch(look, chart.joined));
    if !series.note.is_empty() {
        let _ = write!(entry, r#" <span class="aside">{}</span>"#, escape(&series.note));
    }
    entry + "</span></li>\n"
}
