//! Bars on the page: plain boxes, whose text keeps its size on any width.

use std::fmt::Write as _;

use super::bar_scale::BarScale;
use super::model::{Bars, Cell, Table, Tone};
use super::text::{self, escape, paragraphs, shortest, times};
use super::{first, table};

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
        let count = bars.kinds.len().max(group.values.len());
        for index in 0..count {
            let outcome = group.outcome.filter(|_| index + 1 == count);
            picture += &bar(&scale, index, group.values.get(index).copied().flatten(), outcome);
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

fn bar(scale: &BarScale, kind: usize, value: Option<f64>, outcome: Option<Tone>) -> String {
    let Some(value) = value.filter(|value| !value.is_nan()) else {
        return format!(
            r#"<div class="bar"><span style="left:{}">{}</span></div>"#,
            percent(scale.origin()),
            text::NOTHING
        );
    };
    let (begin, end) = scale.span(value);
    let (class, sign) = match outcome {
        Some(tone) => (format!("part-{}", first::class(tone)), format!("{} ", first::sign(tone))),
        None => (format!("kind-{}", kind % KINDS + 1), String::new()),
    };
    format!(
        r#"<div class="bar"><i class="{class}" style="left:{};width:{}"></i><span style="left:{}">{sign}{}</span></div>"#,
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

/// The kinds; of the last one the outcomes that occur, if its bars have them.
fn key(bars: &Bars) -> String {
    let mut key = String::from("<ul class=\"key\">\n");
    let mut entry = |class: &str, sign: &str, name: &str| {
        let _ = writeln!(
            key,
            r#"<li><i class="swatch {class}"></i><span>{sign}{}</span></li>"#,
            escape(name)
        );
    };
    for (index, kind) in bars.kinds.iter().enumerate() {
        let of_last: Vec<Option<Tone>> = match index + 1 == bars.kinds.len() {
            true => bars.groups.iter().map(|group| group.outcome).collect(),
            false => Vec::new(),
        };
        if of_last.is_empty() || of_last.contains(&None) {
            entry(&format!("kind-{}", index % KINDS + 1), "", kind);
        }
        for (tone, word) in
            [(Tone::Win, "better"), (Tone::Neutral, "inconclusive"), (Tone::Loss, "worse")]
        {
            if of_last.contains(&Some(tone)) {
                let (class, sign) = (first::class(tone), first::sign(tone));
                entry(&format!("part-{class}"), &format!("{sign} "), &format!("{kind}: {word}"));
            }
        }
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
