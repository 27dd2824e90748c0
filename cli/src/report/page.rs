//! The document: what comes first, the contents, the sections.

use std::fmt::Write as _;

use super::look::Looks;
use super::model::{Block, Finding, Page, Section, Tone};
use super::text::{escape, paragraphs};
use super::{bars, chart, flame, folded, heat, table, timeline};

const STYLE: &str = include_str!("style.css");

/// The whole page, as a file to be opened in a browser or printed.
pub fn html(page: &Page) -> String {
    let looks = Looks::of(page);
    let anchors = anchors(&page.sections);
    let sections: String = page
        .sections
        .iter()
        .zip(&anchors)
        .map(|(of, anchor)| section(of, anchor, &looks))
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
{provenance}{summary}</header>
{contents}{sections}</main>
</body>
</html>
"#,
        title = escape(&page.title),
        provenance = provenance(&page.provenance),
        summary = summary(&page.summary),
        contents = contents(&page.sections, &anchors),
    )
}

fn provenance(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<ul class=\"provenance\">\n{lines}</ul>\n")
}

fn summary(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut summary = String::from(
        "<section class=\"summary\" aria-label=\"Summary\">\n<h2>Summary</h2>\n<ul>\n",
    );
    for finding in findings {
        let (class, word) = match finding.tone {
            Tone::Win => ("win", "▲ ahead"),
            Tone::Loss => ("loss", "▼ behind"),
            Tone::Neutral => ("neutral", "● neutral"),
        };
        let _ = writeln!(
            summary,
            r#"<li class="{class}"><b>{word}</b> <span>{}</span></li>"#,
            escape(&finding.text)
        );
    }
    summary + "</ul>\n</section>\n"
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

fn section(section: &Section, anchor: &str, looks: &Looks) -> String {
    let heading = escape(&section.heading);
    let text = paragraphs("text", &section.text);
    let blocks: String = section
        .blocks
        .iter()
        .map(|block| match block {
            Block::Table(table) => table::html(table),
            Block::HeatMap(map) => heat::html(map),
            Block::Chart(chart) => chart::html(chart, looks),
            Block::Bars(bars) => bars::html(bars),
            Block::Timeline(lanes) => timeline::html(lanes),
            Block::Flame(graph) => flame::html(graph),
            Block::Folded(text) => folded::html(text),
        })
        .collect();
    format!(
        "<section aria-labelledby=\"{anchor}\">\n<h2 id=\"{anchor}\">{heading}</h2>\n{text}{blocks}</section>\n"
    )
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
