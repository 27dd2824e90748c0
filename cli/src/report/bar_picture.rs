//! A bar chart as a standalone picture with its own style, for places that show pictures but no
//! pages.

use std::fmt::Write as _;

use super::bar_scale::BarScale;
use super::bars::{KINDS, description};
use super::model::Bars;
use super::text::{self, ems, escape, lines, shortest, times};

const STYLE: &str = include_str!("bar_picture.css");

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 20.0;
const TEXT: f64 = 13.0;
const LINE: f64 = 18.0;
const BAR: f64 = 13.0;
const BETWEEN_GROUPS: f64 = 9.0;
/// Room for the figures after the longest bars.
const VALUE_ROOM: f64 = 58.0;
const MOST_NAME_EMS: f64 = 19.0;

/// Draws from top to bottom.
struct Picture {
    body: String,
    y: f64,
}

impl Picture {
    fn text(&mut self, class: &str, x: f64, baseline: f64, anchor: &str, words: &str) {
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{baseline:.1}" text-anchor="{anchor}">{}</text>"#,
            escape(words)
        );
    }

    fn paragraph(&mut self, class: &str, size: f64, words: &str) {
        for line in lines(words, (WIDTH - 2.0 * MARGIN) / size) {
            self.y += size * 1.35;
            self.text(class, MARGIN, self.y, "start", &line);
        }
    }

    fn line(&mut self, class: &str, x: f64, top: f64, bottom: f64) {
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x:.1}" y1="{top:.1}" x2="{x:.1}" y2="{bottom:.1}"/>"#
        );
    }

    fn bar(&mut self, kind: usize, x: f64, width: f64) {
        let _ = writeln!(
            self.body,
            r#"<rect class="kind-{}" x="{x:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
            kind % KINDS + 1,
            self.y + 1.0,
            width.max(2.0),
            BAR - 2.0,
        );
    }
}

/// The bars as a standalone picture.
pub fn svg(bars: &Bars) -> String {
    let mut picture = Picture { body: String::new(), y: 14.0 };
    picture.paragraph("caption", 16.0, &bars.caption);
    key(&mut picture, bars);
    plot(&mut picture, bars);
    for note in &bars.notes {
        picture.y += 4.0;
        picture.paragraph("muted", TEXT, note);
    }
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{label}">
<title>{title}</title>
<style>
{STYLE}</style>
<rect class="paper" x="0.5" y="0.5" width="{inner_width:.1}" height="{inner_height:.1}" rx="8"/>
{body}</svg>
"#,
        height = picture.y + 16.0,
        inner_width = WIDTH - 1.0,
        inner_height = picture.y.round() + 15.0,
        label = escape(&label(bars)),
        title = escape(&bars.caption),
        body = picture.body,
    )
}

/// The description contains all figures, since there is no table beside the picture.
fn label(bars: &Bars) -> String {
    let mut label = description(bars).replace(" The figures are in the table below.", "");
    for group in &bars.groups {
        let values: Vec<String> = group
            .values
            .iter()
            .zip(&bars.kinds)
            .map(|(value, kind)| format!("{kind} {}", value.map_or("none".to_owned(), times)))
            .collect();
        let _ = write!(label, " {}: {}.", group.name, values.join(", "));
    }
    label
}

fn key(picture: &mut Picture, bars: &Bars) {
    picture.y += 14.0;
    let mut x = MARGIN;
    for (index, kind) in bars.kinds.iter().enumerate() {
        picture.bar(index, x, 26.0);
        picture.text("", x + 33.0, picture.y + BAR - 1.0, "start", kind);
        x += 33.0 + (ems(kind) + 2.0) * TEXT;
    }
    picture.y += BAR + 12.0;
}

fn plot(picture: &mut Picture, bars: &Bars) {
    let scale = BarScale::of(bars);
    let names: Vec<Vec<String>> =
        bars.groups.iter().map(|group| lines(&group.name, MOST_NAME_EMS)).collect();
    let longest = names.iter().flatten().map(|line| ems(line)).fold(0.0, f64::max);
    let left = MARGIN + longest.min(MOST_NAME_EMS + 4.0) * TEXT + 10.0;
    let room = WIDTH - MARGIN - VALUE_ROOM - left;
    let at = |fraction: f64| left + fraction * room;
    let ticks = scale.ticks(7);

    let kinds = |values: &[Option<f64>]| bars.kinds.len().max(values.len()).max(1);
    let heights: Vec<f64> = bars
        .groups
        .iter()
        .zip(&names)
        .map(|(group, name)| {
            f64::max(kinds(&group.values) as f64 * BAR, name.len() as f64 * (LINE - 3.0))
                + BETWEEN_GROUPS
        })
        .collect();
    let (top, bottom) = (picture.y, picture.y + heights.iter().sum::<f64>());
    for &tick in &ticks {
        picture.line("grid", at(scale.fraction(tick)), top, bottom);
    }
    let mut figures = Vec::new();
    for ((group, name), height) in bars.groups.iter().zip(&names).zip(&heights) {
        let next = picture.y + height;
        let middle = picture.y + height / 2.0;
        let first = middle - (name.len() as f64 - 1.0) * (LINE - 3.0) / 2.0 + TEXT * 0.36;
        for (index, line) in name.iter().enumerate() {
            let baseline = first + index as f64 * (LINE - 3.0);
            picture.text("", left - 10.0, baseline, "end", line);
        }
        picture.y = middle - kinds(&group.values) as f64 * BAR / 2.0;
        for kind in 0..kinds(&group.values) {
            let value = group.values.get(kind).copied().flatten().filter(|value| !value.is_nan());
            let (words, end) = match value {
                Some(value) => {
                    let (begin, end) = scale.span(value);
                    picture.bar(kind, at(begin), (end - begin) * room);
                    (times(value), end)
                }
                None => (text::NOTHING.to_owned(), scale.origin()),
            };
            figures.push((at(end) + 6.0, picture.y + BAR - 2.0, words));
            picture.y += BAR;
        }
        picture.y = next;
    }
    picture.line("neutral", at(scale.origin()), top - 2.0, bottom + 2.0);
    // Above the line: a bar may end just short of it.
    for (x, baseline, words) in figures {
        picture.text("small figure", x, baseline, "start", &words);
    }
    picture.y = bottom + LINE;
    for &tick in &ticks {
        let words = format!("{}x", shortest(tick));
        picture.text("muted small", at(scale.fraction(tick)), picture.y, "middle", &words);
    }
    picture.y += LINE;
    picture.text("", left, picture.y, "start", &bars.axis);
    picture.y += 4.0;
}
