//! Tables of plain text.

use anstyle::{AnsiColor, Style};

/// Lays out rows of equal length, the first of them the header, with two spaces between columns.
/// The first `names` columns and the last `words` are aligned to the left, figures to the right.
pub fn render(names: usize, words: usize, rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width_of =
        |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width_of).collect();
    let cell = |(column, cell): (usize, &String)| {
        let blank = " ".repeat(widths[column].saturating_sub(width(cell)));
        match (names..columns - words).contains(&column) {
            true => format!("{blank}{cell}"),
            false => format!("{cell}{blank}"),
        }
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

pub fn paint(text: &str, color: AnsiColor) -> String {
    let style = Style::new().fg_color(Some(color.into()));
    format!("{style}{text}{style:#}")
}

/// The width of a text on a terminal: colours have none.
fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_coloured_cells() {
        let row = |one: &str, two: &str| vec![one.to_owned(), two.to_owned()];
        let rows = [row("name", "x"), row("a", "12.5"), row("\u{1b}[32mgreen\u{1b}[0m", "1–2")];
        let text = render(1, 0, &rows);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "name      x\na      12.5\ngreen   1–2\n");
    }
}
