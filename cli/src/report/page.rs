//! The document: what comes first, the contents, the sections.

use std::fmt::Write as _;

use super::look::Looks;
use super::model::{Block, Page, Section};
use super::text::{escape, paragraphs};
use super::{bars, chart, first, flame, folded, heat, table, timeline};

/// Sections whose first picture is shown at once.
const OPEN: usize = 7;

const STYLE: &str = include_str!("style.css");

/// The whole page, as a file to be opened in a browser or printed.
pub fn html(page: &Page) -> String {
    let looks = Looks::of(page);
    let anchors = anchors(&page.sections);
    let sections: String = page
        .sections
        .iter()
        .zip(&anchors)
        .enumerate()
        .map(|(place, (of, anchor))| section(of, anchor, &looks, place))
        .collect();
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
{first}{provenance}</header>
{contents}{sections}</main>
</body>
</html>
"#,
        title = escape(&page.title),
        provenance = provenance(&page.provenance),
        first = first::html(page),
        contents = contents(&page.sections, &anchors),
    )
}

/// The machine, and the rest folded.
fn provenance(lines: &[String]) -> String {
    let Some((machine, rest)) = lines.split_first() else { return String::new() };
    let machine = format!("<p class=\"provenance\">{}</p>\n", escape(machine));
    if rest.is_empty() {
        return machine;
    }
    let rest: String = rest.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!(
        "{machine}<details class=\"provenance\">\n<summary>Versions and more</summary>\n<ul>\n\
         {rest}</ul>\n</details>\n"
    )
}

fn contents(sections: &[Section], anchors: &[String]) -> String {
    if sections.is_empty() {
        return String::new();
    }
    let mut contents = String::from("<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n");
    for (section, anchor) in sections.iter().zip(anchors) {
        let heading = escape(&section.heading);
        let _ = writeln!(contents, "<li><a href=\"#{anchor}\">{heading}</a></li>");
    }
    contents + "</ol>\n</nav>\n"
}

/// Its text and its first picture. What else there is, is folded: other pictures, and tables below
/// a picture, or after the first table.
fn section(section: &Section, anchor: &str, looks: &Looks, place: usize) -> String {
    let heading = escape(&section.heading);
    let text = paragraphs("text", &section.text);
    let first = section.blocks.iter().position(is_picture).unwrap_or(0);
    let is_open = place < OPEN && !section.folded;
    let (mut shown, mut texts) = (String::new(), String::new());
    let (mut pictures, mut tables) = (Vec::new(), Vec::new());
    for (at, each) in section.blocks.iter().enumerate() {
        match each {
            _ if at == first && is_open => shown += &block(each, looks),
            Block::Folded(text) => texts += &folded::html(text),
            Block::Table(_) => tables.push(each),
            _ => pictures.push(each),
        }
    }
    let folded = folds(&pictures, "pictures", looks) + &folds(&tables, "tables", looks) + &texts;
    let text = if section.folded { fold("one", "Show", &text) } else { text };
    format!("<section>\n<h2 id=\"{anchor}\">{heading}</h2>\n{text}{shown}{folded}</section>\n")
}

/// One fold for all: a block by itself is called by its caption.
fn folds(blocks: &[&Block], what: &str, looks: &Looks) -> String {
    let html: String = blocks.iter().map(|each| block(each, looks)).collect();
    match blocks {
        [] => String::new(),
        [one] => fold("one", caption(one), &html),
        [first, ..] => {
            let (count, name) = (blocks.len(), caption(first));
            fold("several", &format!("{count} {what}: {name}, and others"), &html)
        }
    }
}

fn fold(class: &str, summary: &str, html: &str) -> String {
    let summary = escape(if summary.is_empty() { "More" } else { summary });
    format!("<details class=\"{class}\">\n<summary>{summary}</summary>\n{html}</details>\n")
}

fn is_picture(block: &Block) -> bool {
    !matches!(block, Block::Table(_) | Block::Folded(_))
}

fn caption(block: &Block) -> &str {
    match block {
        Block::Table(table) => &table.caption,
        Block::HeatMap(map) => &map.caption,
        Block::Chart(chart) => &chart.caption,
        Block::Bars(bars) => &bars.caption,
        Block::Timeline(lanes) => &lanes.caption,
        Block::Flame(graph) => &graph.caption,
        Block::Folded(text) => &text.summary,
    }
}

fn block(block: &Block, looks: &Looks) -> String {
    match block {
        Block::Table(table) => table::html(table),
        Block::HeatMap(map) => heat::html(map),
        Block::Chart(chart) => chart::html(chart, looks),
        Block::Bars(bars) => bars::html(bars),
        Block::Timeline(lanes) => timeline::html(lanes),
        Block::Flame(graph) => flame::html(graph),
        Block::Folded(text) => folded::html(text),
    }
}

/// The anchors come from the headings, so that links stay valid when sections are inserted before
/// them.
fn anchors(sections: &[Section]) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for section in sections {
        let words: Vec<String> = section
            .heading
            .to_lowercase()
            .split(|character: char| !character.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let plain = if words.is_empty() { "section".to_owned() } else { words.join("-") };
        let mut anchor = plain.clone();
        let mut number = 2;
        while anchors.contains(&anchor) {
            anchor = format!("{plain}-{number}");
            number += 1;
        }
        anchors.push(anchor);
    }
    anchors
}
