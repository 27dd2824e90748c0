//! The picture of a chart: axes, lines and marks, without any words but the axes' own.

use std::fmt::Write as _;

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{IntoFont, TextStyle};

use super::axis::{Scale, has_place};
use super::ink::{self, Ink};
use super::look::{Look, Looks};
use super::mark::{self, Area, Failed, Pixel, stroke};
use super::model::{Axis, Chart, Point, Series, SeriesKind};
use super::{labels, text};

/// A picture's size. A phone gets a picture of its own: in a scaled-down one the text would be too
/// small.
#[derive(Clone, Copy)]
pub struct Size {
    pub width: u32,
    pub height: u32,
    /// The text's height, in the picture's own pixels.
    pub text: u32,
    /// How much larger the marks are, in pixels.
    pub mark_growth: i32,
    pub labels_across: usize,
    pub labels_down: usize,
    /// Whether pointing at a mark shows its figures. Phones have no pointer.
    pub hints: bool,
}

pub const WIDE: Size = Size {
    width: 820,
    height: 460,
    text: 14,
    mark_growth: 0,
    labels_across: 11,
    labels_down: 8,
    hints: true,
};
pub const NARROW: Size = Size {
    width: 360,
    height: 340,
    text: 13,
    mark_growth: -1,
    labels_across: 5,
    labels_down: 7,
    hints: false,
};

/// Plotters writes fonts smaller than requested.
const FONT_FACTOR: f64 = 1.24;

/// The SVG element, whose name and description are in `label`.
pub fn picture(chart: &Chart, looks: &Looks, size: Size, class: &str, label: &str) -> String {
    let mut drawing = String::new();
    let backend = SVGBackend::with_string(&mut drawing, (size.width, size.height));
    let hints = match drawn(&backend.into_drawing_area(), chart, looks, size) {
        Ok(hints) => hints,
        // Drawing to memory does not fail. If it did, the data below the picture would remain.
        Err(error) => format!("<desc>{}</desc>", text::escape(&error.to_string())),
    };
    format!(
        r#"<svg class="{class}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" font-size="{text}">
{body}{titles}{hints}</svg>
"#,
        width = size.width,
        height = size.height,
        label = text::escape(label),
        text = size.text,
        body = ink::named(inside(&drawing)),
        titles = titles(chart, size),
    )
}

/// A series' line and mark, for the key.
pub fn swatch(look: Look, joined: bool) -> String {
    let (width, height) = (if joined { 34 } else { 18 }, 18);
    let mut drawing = String::new();
    {
        let area = SVGBackend::with_string(&mut drawing, (width, height)).into_drawing_area();
        let (across, middle) = (width as i32, height as i32 / 2);
        // Nothing fails in memory.
        let _ = (|| {
            if joined || look == Look::Bound {
                mark::line(&area, look, vec![(1, middle), (across - 1, middle)])?;
            }
            mark::mark(&area, look, (across / 2, middle), 0)?;
            area.present()
        })();
    }
    format!(
        r#"<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" aria-hidden="true">{}</svg>"#,
        ink::named(inside(&drawing))
    )
}

/// The content of the drawing, without the element around it.
fn inside(drawing: &str) -> &str {
    let start = drawing.find('>').map_or(0, |end| end + 1);
    let end = drawing.rfind("</svg>").unwrap_or(drawing.len());
    drawing.get(start..end).unwrap_or_default().trim_start()
}

/// The axes' titles, both horizontal for legibility: one above its axis, one below.
fn titles(chart: &Chart, size: Size) -> String {
    let baseline = size.text + 2;
    format!(
        r#"<text class="axis" x="2" y="{baseline}">{y_title}</text>
<text class="axis" x="{right}" y="{bottom}" text-anchor="end">{x_title}</text>
"#,
        right = size.width - 4,
        bottom = size.height - 6,
        y_title = text::escape(&fitting(&format!("↑ {}", chart.y.title), size)),
        x_title = text::escape(&fitting(&format!("{} →", chart.x.title), size)),
    )
}

/// The title cut to the picture's width: the whole title is in the data's header.
fn fitting(title: &str, size: Size) -> String {
    let room = f64::from(size.width) / f64::from(size.text) - 1.0;
    match text::lines(title, room).as_slice() {
        [] => String::new(),
        [whole] => whole.clone(),
        [first, ..] => format!("{first} …"),
    }
}

fn values(chart: &Chart, of: fn(&Point) -> Vec<f64>) -> impl Iterator<Item = f64> {
    chart.series.iter().flat_map(|series| &series.points).flat_map(of)
}

fn drawn(area: &Area, chart: &Chart, looks: &Looks, size: Size) -> Result<String, Failed> {
    let across_values = values(chart, |point| vec![point.x]);
    let across = Scale::around(chart.x.unit, across_values, size.labels_across);
    let down = Scale::around(
        chart.y.unit,
        values(chart, |point| {
            let (least, greatest) = point.range.unwrap_or((point.y, point.y));
            vec![point.y, least, greatest]
        }),
        size.labels_down,
    );
    let longest = down.labels().iter().map(|label| text::ems(label)).fold(1.0, f64::max);
    let label_width = (longest * f64::from(size.text) + 14.0) as u32;
    let mut plane = ChartBuilder::on(area)
        .margin_top(size.text + 14)
        .margin_right(20)
        .margin_bottom(size.text + 12)
        .x_label_area_size(size.text + 12)
        .y_label_area_size(label_width)
        .build_cartesian_2d(across, down)?;
    let font = ("sans-serif", f64::from(size.text) * FONT_FACTOR).into_font();
    let colour = Ink::Label.stand_in();
    let label = TextStyle::from(font).color(&colour).pos(Pos::new(HPos::Center, VPos::Center));
    plane
        .configure_mesh()
        .axis_style(stroke(Ink::Axis, 1))
        .bold_line_style(stroke(Ink::Grid, 1))
        .light_line_style(stroke(Ink::FaintGrid, 1))
        .label_style(label)
        .set_all_tick_mark_size(4)
        .draw()?;

    let pixel = |x: f64, y: f64| plane.backend_coord(&(x, y));
    let mut hints = String::new();
    let mut points: Vec<(SeriesKind, Pixel, &str)> = Vec::new();
    for (series, look) in in_order(chart, looks) {
        let is_bound = series.kind == SeriesKind::Bound;
        for run in runs(series) {
            if chart.joined || is_bound {
                let points: Vec<Pixel> = run.iter().map(|point| pixel(point.x, point.y)).collect();
                if points.len() > 1 {
                    mark::line(area, look, points)?;
                }
            }
        }
        for point in series.points.iter().filter(|point| is_drawn(point)) {
            let place = pixel(point.x, point.y);
            if let Some((least, greatest)) = point.range.filter(|_| !is_bound) {
                mark::range(area, look, [pixel(point.x, least), pixel(point.x, greatest)])?;
            }
            mark::mark(area, look, place, size.mark_growth)?;
            points.push((series.kind, place, &point.label));
            if size.hints && !is_bound {
                let _ = writeln!(hints, "{}", hint(chart, series, point, place));
            }
        }
    }
    area.present()?;
    if !hints.is_empty() {
        hints = format!("<g fill=\"transparent\">\n{hints}</g>\n");
    }
    let (across, down) = plane.plotting_area().get_pixel_range();
    let room = [(across.start, down.start), (across.end, down.end)];
    let names = if chart.joined { String::new() } else { names(points, room, size) };
    Ok(names + &hints)
}

/// The names of the points, ours first.
fn names(mut points: Vec<(SeriesKind, Pixel, &str)>, room: [Pixel; 2], size: Size) -> String {
    let marks: Vec<Pixel> = points.iter().map(|(_, place, _)| *place).collect();
    points.retain(|(kind, _, name)| *kind != SeriesKind::Bound && !name.is_empty());
    points.sort_by_key(|(kind, ..)| std::cmp::Reverse(*kind));
    let names: Vec<(Pixel, &str)> =
        points.into_iter().map(|(_, place, name)| (place, name)).collect();
    let text = f64::from(size.text) - 3.0;
    let mut written = format!("<g class=\"names\" font-size=\"{text}\">\n");
    for labels::Label { text, x, baseline } in labels::placed(&names, &marks, room, text) {
        let text = text::escape(text);
        let _ = writeln!(written, r#"<text x="{x:.1}" y="{baseline:.1}">{text}</text>"#);
    }
    written + "</g>\n"
}

/// The series in drawing order. Ours come last and so lie on top.
fn in_order<'a>(chart: &'a Chart, looks: &Looks) -> Vec<(&'a Series, Look)> {
    let mut series: Vec<_> =
        chart.series.iter().map(|series| (series, looks.look(series))).collect();
    series.sort_by_key(|(series, _)| series.kind);
    series
}

/// Runs of points that can all be drawn: a line does not cross a point that cannot.
fn runs(series: &Series) -> impl Iterator<Item = &[Point]> {
    series.points.split(|point| !is_drawn(point))
}

pub fn is_drawn(point: &Point) -> bool {
    has_place(point.x) && has_place(point.y)
}

/// Shows a point's figures when a pointer is on it.
fn hint(chart: &Chart, series: &Series, point: &Point, (x, y): Pixel) -> String {
    let mut words = series.name.clone();
    if !point.label.is_empty() {
        let _ = write!(words, ", {}", point.label);
    }
    let shown =
        |axis: &Axis, value: f64| format!("\n{}: {}", axis.title, text::figure(value, axis.unit));
    words += &shown(&chart.x, point.x);
    words += &shown(&chart.y, point.y);
    if let Some((least, greatest)) = point.range {
        let unit = chart.y.unit;
        let _ =
            write!(words, " ({} to {})", text::figure(least, unit), text::figure(greatest, unit));
    }
    let words = text::escape(&words);
    format!(r#"<circle cx="{x}" cy="{y}" r="9"><title>{words}</title></circle>"#)
}
