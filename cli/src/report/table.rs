//! Tables of figures, by themselves and as the data behind a picture.

use std::fmt::Write as _;

use super::model::{Table, Tone};
use super::text::{self, escape, paragraphs};

pub fn html(table: &Table) -> String {
    format!(
        "<figure class=\"table\">\n<figcaption>{}</figcaption>\n{}{}</figure>\n",
        escape(&table.caption),
        scrolling(table, &table.caption),
        paragraphs("note", &table.notes),
    )
}

/// The data of a picture, folded.
pub fn data(table: &Table, of: &str) -> String {
    format!(
        "<details>\n<summary>Data</summary>\n{}</details>\n",
        scrolling(table, &format!("Data: {of}"))
    )
}

/// A table in a scrolling box, since it may be wider than the page. The keyboard can scroll it too.
fn scrolling(table: &Table, name: &str) -> String {
    boxed(name, &format!("<table>\n{}</table>\n", rows(table)))
}

pub fn boxed(name: &str, content: &str) -> String {
    format!(
        "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">\n{content}</div>\n",
        escape(name)
    )
}

fn rows(table: &Table) -> String {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0).max(table.header.len());
    let numeric: Vec<bool> = (0..columns).map(|column| is_numeric(table, column)).collect();
    let class = |column: usize| if numeric[column] { r#" class="number""# } else { "" };

    let mut rows = String::from("<thead><tr>");
    for column in 0..columns {
        let title = table.header.get(column).map_or("", String::as_str);
        let _ = match title {
            "" => write!(rows, "<td{}></td>", class(column)),
            _ => write!(rows, r#"<th scope="col"{}>{}</th>"#, class(column), escape(title)),
        };
    }
    rows += "</tr></thead>\n<tbody>\n";
    for cells in &table.rows {
        rows += "<tr>";
        for (column, cell) in cells.iter().enumerate() {
            let words = toned(cell.tone, &escape(&cell.text));
            let _ = match column {
                0 => write!(rows, r#"<th scope="row"{}>{words}</th>"#, class(column)),
                _ => write!(rows, r#"<td{}>{words}</td>"#, class(column)),
            };
        }
        rows += &"<td></td>".repeat(columns - cells.len());
        rows += "</tr>\n";
    }
    rows + "</tbody>\n"
}

fn toned(tone: Tone, words: &str) -> String {
    match tone {
        Tone::Neutral => words.to_owned(),
        Tone::Win => format!(r#"<span class="win">{words}</span>"#),
        Tone::Loss => format!(r#"<span class="loss">{words}</span>"#),
    }
}

/// Whether the column is numeric: numbers are aligned to the right.
fn is_numeric(table: &Table, column: usize) -> bool {
    let texts = || {
        table
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.text.trim())
            .filter(|text| !matches!(*text, "" | text::NOTHING | "-" | "–"))
    };
    let begins = |text: &str| {
        text.trim_start_matches(['-', '−', '+', '±', '=', '≈', '<', '>', '~'])
            .trim_start()
            .starts_with(|first: char| first.is_ascii_digit() || first == '∞')
    };
    texts().next().is_some() && texts().all(begins)
}
