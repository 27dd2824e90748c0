//! Bars on the page: plain boxes, whose text keeps its size on any width.

use std::fmt::Write as _;

use super::bar_scale::BarScale;
use super::model::{Bars, Cell, Table};
use super::table;
use super::text::{self, escape, paragraphs, shortest, times};

/// As many as the style sheet has colours for.
pub const KINDS: usize = 4;

pub fn html(bars: &Bars) -> String {
    let scale = BarScale::of(bars);
    let lines = lines(&scale);
    let mut picture = String::new();
    for group in &bars.groups {
        let _ = write!(
            picture,
            "<div class=\"group\"><div class=\"name\">{}</div><div class=\"track\">{lines}",
            escape(&group.name)
        );
        for index in 0..bars.kinds.len().max(group.values.len()) {
            picture += &bar(&scale, index, group.values.get(index).copied().flatten());
        }
        picture += "</div></div>\n";
    }
    format!(
        "<figure class=\"bars{}\">\n<figcaption>{}</figcaption>\n{}<div role=\"img\" aria-label=\"{}\">\n{picture}{}</div>\n{}{}</figure>\n",
        if bars.kinds.len() == 1 { " single" } else { "" },
        escape(&bars.caption),
        key(bars),
        escape(&description(bars)),
        axis(bars, &scale),
        paragraphs("note", &bars.notes),
        table::data(&data(bars), &bars.caption),
    )
}

pub fn description(bars: &Bars) -> String {
    format!(
        "{}. Bars: {}, for {}. The figures are in the table below.",
        bars.caption.trim_end_matches('.'),
        bars.axis,
        bars.kinds.join(" and "),
    )
}

fn percent(fraction: f64) -> String {
    format!("{:.2}%", fraction * 100.0)
}

/// A line up from each tick, and the one where nothing is gained.
fn lines(scale: &BarScale) -> String {
    let mut lines = String::new();
    for tick in scale.ticks(6) {
        let _ =
            write!(lines, r#"<i class="line" style="left:{}"></i>"#, percent(scale.fraction(tick)));
    }
    let origin = percent(scale.origin());
    let _ = write!(lines, r#"<i class="line neutral" style="left:{origin}"></i>"#);
    lines
}

fn bar(scale: &BarScale, kind: usize, value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| !value.is_nan()) else {
        return format!(
            r#"<div class="bar"><span style="left:{}">{}</span></div>"#,
            percent(scale.origin()),
            text::NOTHING
        );
    };
    let (begin, end) = scale.span(value);
    format!(
        r#"<div class="bar"><i class="kind-{}" style="left:{};width:{}"></i><span style="left:{}">{}</span></div>"#,
        kind % KINDS + 1,
        percent(begin),
        percent(end - begin),
        percent(end),
        escape(&times(value)),
    )
}

fn axis(bars: &Bars, scale: &BarScale) -> String {
    let mut axis =
        String::from("<div class=\"group ends\"><div class=\"name\"></div><div class=\"track\">");
    for tick in scale.ticks(6) {
        let place = percent(scale.fraction(tick));
        let _ =
            write!(axis, r#"<span class="tick" style="left:{place}">{}x</span>"#, shortest(tick));
    }
    let _ = write!(axis, "</div></div>\n<div class=\"scale\">{}</div>\n", escape(&bars.axis));
    axis
}

fn key(bars: &Bars) -> String {
    let mut key = String::from("<ul class=\"key\">\n");
    for (index, kind) in bars.kinds.iter().enumerate() {
        let class = index % KINDS + 1;
        let _ = writeln!(
            key,
            r#"<li><i class="swatch kind-{class}"></i><span>{}</span></li>"#,
            escape(kind)
        );
    }
    key + "</ul>\n"
}

fn data(bars: &Bars) -> Table {
    let header = [""].into_iter().chain(bars.kinds.iter().map(String::as_str));
    let rows = bars.groups.iter().map(|group| {
        let values = (0..bars.kinds.len().max(group.values.len())).map(|index| {
            let value = group.values.get(index).copied().flatten();
            Cell::plain(value.map_or(text::NOTHING.to_owned(), times))
        });
        std::iter::once(Cell::plain(&group.name)).chain(values).collect()
    });
    Table::new("", header, rows)
}
