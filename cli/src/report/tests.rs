use roxmltree::{Document, Node, ParsingOptions};

use super::model::{
    Axis, BarGroup, Bars, Block, Cell, Chart, HeatCell, HeatMap, HeatRow, Page, Point, Section,
    Series, SeriesKind, Table,
};
use super::{html, sample, svg, text};
use crate::measuring::number::Unit;

/// An XML parser wants every element closed, which is more than HTML asks for.
fn parsed(document: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    match Document::parse_with_options(document, options) {
        Ok(document) => document,
        Err(error) => panic!("{error}"),
    }
}

fn elements<'a, 'input: 'a>(
    of: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    of.descendants().filter(move |node| node.tag_name().name() == name)
}

fn words(node: Node) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

fn page_of(blocks: Vec<Block>) -> Page {
    const HEADING: &str = "A < B & \"C\"";
    let sections = vec![
        Section::new(HEADING, Vec::new(), blocks),
        Section::new(HEADING, Vec::new(), Vec::new()),
    ];
    Page { title: "<T>".to_owned(), sections, ..Page::default() }
}

fn chart(unit: Unit, points: &[(f64, f64)]) -> Chart {
    let points = points
        .iter()
        .map(|&(x, y)| Point {
            x,
            y,
            range: Some((y / 2.0, y * 2.0)),
            label: "</title>".to_owned(),
        })
        .collect();
    Chart {
        caption: "<caption>".to_owned(),
        x: Axis::new("<axis>", unit),
        y: Axis::new("<axis>", unit),
        series: vec![Series {
            name: "\"#FE0501\"".to_owned(),
            kind: SeriesKind::Ours,
            points,
            note: "<note>".to_owned(),
        }],
        joined: true,
        notes: Vec::new(),
    }
}

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let page = html(&sample::page());
    let document = parsed(&page);
    assert_eq!(elements(document.root(), "h1").count(), 1);
    let anchors: Vec<_> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    for link in elements(document.root(), "a") {
        let target = link.attribute("href").expect("a target").strip_prefix('#');
        assert!(anchors.contains(&target.expect("a place on the page")));
    }
    assert_eq!(elements(document.root(), "script").count(), 0);
    for fetching in ["src=", "url(", "@import", "<link", "http-equiv"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"));
}

#[test]
fn every_point_is_in_the_data() {
    let sample = sample::page();
    let page = html(&sample);
    let document = parsed(&page);
    let charts: Vec<&Chart> = sample
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        })
        .collect();
    let figures: Vec<Node> = elements(document.root(), "figure")
        .filter(|figure| figure.attribute("class") == Some("chart"))
        .collect();
    assert_eq!(figures.len(), charts.len());
    for (chart, figure) in charts.into_iter().zip(figures) {
        let details = elements(figure, "details").next().expect("data");
        let body = elements(details, "tbody").next().expect("rows");
        let rows: Vec<Vec<String>> = elements(body, "tr")
            .map(|row| row.children().filter(Node::is_element).map(words).collect())
            .collect();
        let points: Vec<(&Series, &Point)> = chart
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(move |point| (series, point)))
            .collect();
        assert_eq!(rows.len(), points.len());
        for (row, (series, point)) in rows.iter().zip(points) {
            assert_eq!(row[0], series.name);
            assert!(row.contains(&text::figure(point.x, chart.x.unit)));
            assert!(row.contains(&text::figure(point.y, chart.y.unit)));
        }
    }
}

#[test]
fn pictures_say_what_they_are() {
    let page = html(&sample::page());
    for svg in elements(parsed(&page).root(), "svg") {
        let hidden = svg.attribute("aria-hidden") == Some("true");
        let named = svg.attribute("role") == Some("img")
            && svg.attribute("aria-label").is_some_and(|label| label.len() > 20);
        assert!(hidden || named);
    }
}

#[test]
fn no_stand_in_for_a_colour_is_left() {
    let page = html(&sample::page());
    assert!(!page.contains("\"#FE"));
    let style = include_str!("style.css");
    for (start, _) in page.match_indices("var(--") {
        let name = page[start + 4..].split(')').next().expect("a name");
        assert!(style.contains(&format!("{name}:")), "{name}");
    }
}

#[test]
fn words_are_never_markup() {
    let page = page_of(vec![Block::Chart(chart(Unit::Count, &[(1.0, 2.0)]))]);
    let page = html(&page);
    let document = parsed(&page);
    let title = elements(document.root(), "h1").next().map(words);
    assert_eq!(title.as_deref(), Some("<T>"));
    assert!(words(document.root()).contains("\"#FE0501\""));
    let anchors: Vec<_> =
        elements(document.root(), "h2").filter_map(|heading| heading.attribute("id")).collect();
    assert_eq!(anchors, ["a-b-c", "a-b-c-2"]);
}

#[test]
fn charts_of_any_points_are_drawn() {
    let lists: [&[(f64, f64)]; 8] = [
        &[],
        &[(5.0, 5.0)],
        &[(0.0, 0.0)],
        &[(3.0, 7.0), (3.0, 7.0), (3.0, 7.0)],
        &[(0.0, 1.0), (1.0, 0.0), (2.0, 4.0)],
        &[(1.0, 1e-300), (1e300, 1.0), (f64::MAX, f64::MIN_POSITIVE)],
        &[(f64::NAN, 1.0), (1.0, f64::INFINITY), (f64::NEG_INFINITY, f64::NAN)],
        &[(-4.0, -2.0), (-1.0, -7.0)],
    ];
    for points in lists {
        for unit in [Unit::Count, Unit::Seconds, Unit::PerSecond, Unit::Kibibytes] {
            let page = html(&page_of(vec![Block::Chart(chart(unit, points))]));
            parsed(&page);
            assert!(!page.contains("NaN"), "{points:?}");
        }
    }
    let mut empty = chart(Unit::Count, &[]);
    empty.series.clear();
    parsed(&html(&page_of(vec![Block::Chart(empty)])));
}

#[test]
fn points_that_are_not_drawn_are_counted() {
    let page = |points| html(&page_of(vec![Block::Chart(chart(Unit::Count, points))]));
    assert!(page(&[(0.0, 1.0), (1.0, 1.0)]).contains("One point is in the data but not"));
    assert!(page(&[]).contains("no points to show"));
    assert!(!page(&[(1.0, 1.0)]).contains("not in the picture"));
}

#[test]
fn bars_of_any_values_are_drawn() {
    let values =
        [Some(0.0), None, Some(f64::INFINITY), Some(f64::NAN), Some(1e300), Some(-3.0), Some(1.0)];
    for groups in [0, 1, 3] {
        let group = || BarGroup { name: "<g>".to_owned(), values: values.to_vec(), outcome: None };
        let bars = Bars {
            caption: "<c>".to_owned(),
            axis: "&".to_owned(),
            kinds: vec!["published".to_owned()],
            groups: (0..groups).map(|_| group()).collect(),
            notes: vec!["a note that is long ".repeat(30)],
        };
        let picture = svg(&bars);
        parsed(&picture);
        assert!(!picture.contains("NaN"));
        let page = html(&page_of(vec![Block::Bars(bars)]));
        parsed(&page);
        assert!(!page.contains("NaN"));
        assert!(groups == 0 || page.contains('—'));
    }
}

#[test]
fn the_picture_of_bars_has_every_figure() {
    let picture = svg(&sample::bars());
    let document = parsed(&picture);
    let written: Vec<String> = elements(document.root(), "text").map(words).collect();
    for group in sample::bars().groups {
        for value in group.values {
            let value = value.map_or("—".to_owned(), text::times);
            assert!(written.contains(&value), "{value}");
        }
    }
    assert!(picture.contains("prefers-color-scheme"));
}

#[test]
fn tables_and_grids_of_any_shape_are_drawn() {
    let ratios = vec![
        HeatCell::Ratio(f64::NAN),
        HeatCell::Ratio(0.0),
        HeatCell::Ratio(f64::INFINITY),
        HeatCell::NoDifference(1e300),
        HeatCell::Failed,
        HeatCell::Absent,
    ];
    let page = html(&page_of(vec![
        Block::HeatMap(HeatMap {
            caption: String::new(),
            columns: Vec::new(),
            rows: vec![
                HeatRow { name: String::new(), ratios },
                HeatRow { name: String::new(), ratios: Vec::new() },
            ],
            notes: Vec::new(),
        }),
        Block::Table(Table::new("", [""; 0], [Vec::new(), vec![Cell::plain("1")]])),
    ]));
    parsed(&page);
}
