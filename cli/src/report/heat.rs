//! A grid of ratios as a table of coloured cells.

use std::fmt::Write as _;

use super::model::{HeatCell, HeatMap};
use super::table;
use super::text::{escape, paragraphs, times};

/// The steps of colour on either side; the last begins at a factor of 4.
const STEPS: i32 = 5;

pub fn html(map: &HeatMap) -> String {
    let mut grid = String::from("<table class=\"heat\">\n<thead><tr>");
    for column in std::iter::once("case").chain(map.columns.iter().map(String::as_str)) {
        let _ = write!(grid, r#"<th scope="col">{}</th>"#, escape(column));
    }
    grid += "</tr></thead>\n<tbody>\n";
    for row in &map.rows {
        let _ = write!(grid, r#"<tr><th scope="row">{}</th>"#, escape(&row.name));
        for index in 0..map.columns.len().max(row.ratios.len()) {
            grid += &cell(row.ratios.get(index).copied().unwrap_or(HeatCell::Absent));
        }
        grid += "</tr>\n";
    }
    grid += "</tbody>\n</table>\n";
    format!(
        "<figure class=\"heat-map\">\n<figcaption>{}</figcaption>\n{}{}{}</figure>\n",
        escape(&map.caption),
        legend(map),
        table::boxed(&map.caption, &grid),
        paragraphs("note", &map.notes),
    )
}

fn cell(cell: HeatCell) -> String {
    match cell {
        HeatCell::Ratio(ratio) if !ratio.is_nan() => {
            format!(r#"<td class="{}">{}</td>"#, class(ratio), escape(&times(ratio)))
        }
        HeatCell::NoDifference(ratio) if !ratio.is_nan() => {
            format!(r#"<td class="even">≈{}</td>"#, escape(&times(ratio)))
        }
        HeatCell::Failed => r#"<td class="failed">failed</td>"#.to_owned(),
        _ => r#"<td class="absent">—</td>"#.to_owned(),
    }
}

/// The step of colour, by the ratio's logarithm: half an octave a step.
fn class(ratio: f64) -> String {
    let octaves = if ratio > 0.0 { ratio.log2() } else { f64::NEG_INFINITY };
    let step = ((octaves.abs() * 2.0).floor().min(f64::from(STEPS - 1)) as i32) + 1;
    match octaves {
        0.0 => "even".to_owned(),
        ahead if ahead > 0.0 => format!("ahead-{step}"),
        _ => format!("behind-{step}"),
    }
}

/// The key: the colours from loss to win, and the words that occur in cells.
fn legend(map: &HeatMap) -> String {
    let cells = || map.rows.iter().flat_map(|row| &row.ratios);
    let mut legend = String::from("<p class=\"legend\"><span>furwock behind</span> ");
    legend += r#"<span class="ramp" aria-hidden="true">"#;
    for (class, words) in [
        ("behind-5", "¼x"),
        ("behind-4", ""),
        ("behind-3", "½x"),
        ("behind-2", ""),
        ("behind-1", ""),
        ("even", "1x"),
        ("ahead-1", ""),
        ("ahead-2", ""),
        ("ahead-3", "2x"),
        ("ahead-4", ""),
        ("ahead-5", "4x"),
    ] {
        let _ = write!(legend, r#"<i class="{class}">{words}</i>"#);
    }
    legend += "</span> <span>furwock ahead</span>";
    if cells().any(|cell| matches!(cell, HeatCell::NoDifference(_))) {
        legend += r#" <span><i class="even">≈</i> inconclusive</span>"#;
    }
    if cells().any(|cell| matches!(cell, HeatCell::Failed)) {
        legend += r#" <span><i class="failed">failed</i> the run or its check failed</span>"#;
    }
    if cells().any(|cell| matches!(cell, HeatCell::Absent)) {
        legend += r#" <span><i class="absent">—</i> not measured</span>"#;
    }
    legend + "</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_by_the_logarithm() {
        assert_eq!(class(1.0), "even");
        assert_eq!(class(1.05), "ahead-1");
        assert_eq!(class(1.0 / 1.05), "behind-1");
        assert_eq!(class(2.01), "ahead-3");
        assert_eq!(class(4.0), "ahead-5");
        assert_eq!(class(f64::INFINITY), "ahead-5");
        assert_eq!(class(0.24), "behind-5");
        assert_eq!(class(0.0), "behind-5");
        assert_eq!(class(-3.0), "behind-5");
    }
}
