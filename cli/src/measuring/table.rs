//! Tables as plain text.

use anstyle::{AnsiColor, Style};

use crate::report::model::{Cell, Table, Tone};

/// Header and rows, with two spaces between columns. The first `names` columns and the last `words`
/// are aligned to the left, figures to the right.
pub fn render(names: usize, words: usize, table: &Table) -> String {
    let header: Vec<Cell> = table.header.iter().map(Cell::plain).collect();
    let rows = || std::iter::once(&header).chain(&table.rows);
    let width = |cell: &Cell| cell.text.chars().count();
    let widest = |column: usize| rows().map(|row| width(&row[column])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..header.len()).map(widest).collect();
    let cell = |(column, cell): (usize, &Cell)| {
        let (blank, text) = (" ".repeat(widths[column] - width(cell)), painted(cell));
        match (names..header.len() - words).contains(&column) {
            true => format!("{blank}{text}"),
            false => format!("{text}{blank}"),
        }
    };
    let line = |row: &Vec<Cell>| {
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows().map(line).collect()
}

/// The same in at most `columns` columns of text: what is too wide becomes several tables, each
/// with the first `names` columns.
pub fn folded(names: usize, columns: usize, table: &Table) -> String {
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| row[column].text.chars().count());
        cells.chain([table.header[column].chars().count()]).max().unwrap_or_default()
    };
    let named: usize = (0..names).map(width).sum::<usize>() + 2 * names.saturating_sub(1);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for column in names..table.header.len() {
        let needed = width(column) + 2;
        match parts.last_mut() {
            Some(part) if needed <= room => part.push(column),
            _ => {
                parts.push((0..names).chain([column]).collect());
                room = columns.saturating_sub(named).max(needed);
            }
        }
        room -= needed;
    }
    let part = |part: &Vec<usize>| {
        let header = part.iter().map(|column| &table.header[*column]);
        let row = |row: &Vec<Cell>| part.iter().map(|column| row[*column].clone()).collect();
        render(names, 0, &Table::new("", header, table.rows.iter().map(row)))
    };
    parts.iter().map(part).collect()
}

fn painted(cell: &Cell) -> String {
    let colour = match cell.tone {
        Tone::Win => AnsiColor::Green,
        Tone::Loss => AnsiColor::Red,
        Tone::Neutral => return cell.text.clone(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{}{style:#}", cell.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_coloured_cells() {
        let row = |name, tone, figure: &str| vec![Cell::new(name, tone), Cell::plain(figure)];
        let rows = [row("a", Tone::Neutral, "12.5"), row("green", Tone::Win, "1–2")];
        let text = render(1, 0, &Table::new("", ["name", "x"], rows));
        assert!(text.contains("\u{1b}[32mgreen"), "{text:?}");
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "name      x\na      12.5\ngreen   1–2\n");
    }

    #[test]
    fn what_is_too_wide_is_folded() {
        let row = ["a case", "1", "22", "333"].map(Cell::plain).into();
        let table = Table::new("", ["case", "one", "two", "three"], [row]);
        assert_eq!(folded(1, 80, &table), render(1, 0, &table));
        let text = folded(1, 16, &table);
        assert_eq!(text, "case    one  two\na case    1   22\ncase    three\na case    333\n");
        // A column that has no room anywhere is shown all the same.
        assert_eq!(folded(1, 3, &table).lines().count(), 6);
    }
}
