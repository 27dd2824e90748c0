//! Tables of plain text: the first column to the left, figures to the right.

use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Lays out rows of equal length, the first of them the header, with two spaces between columns.
pub fn render(align: &[Align], rows: &[Vec<String>]) -> String {
    let width_of =
        |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..align.len()).map(width_of).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(align).zip(&widths);
        let cells: Vec<String> =
            cells.map(|((cell, align), width)| pad(cell, *align, *width)).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn pad(cell: &str, align: Align, width: usize) -> String {
    let blank = " ".repeat(width.saturating_sub(columns(cell)));
    match align {
        Align::Left => format!("{cell}{blank}"),
        Align::Right => format!("{blank}{cell}"),
    }
}

pub fn paint(text: &str, color: AnsiColor) -> String {
    let style = Style::new().fg_color(Some(color.into()));
    format!("{style}{text}{style:#}")
}

/// Columns that a text takes on a terminal: colours take none.
fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_whatever_the_colours() {
        let row = |one: &str, two: &str| vec![one.to_owned(), two.to_owned()];
        let rows = [row("name", "x"), row("a", "12.5"), row("\u{1b}[32mgreen\u{1b}[0m", "1–2")];
        let text = render(&[Align::Left, Align::Right], &rows);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "name      x\na      12.5\ngreen   1–2\n");
    }
}
