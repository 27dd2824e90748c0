//! Tables and text in lines of a given width, and as Markdown.

use super::table::{folded, render};
use crate::lines::Lines;
use crate::report::model::{Cell, Table};

/// How a table's columns stand, and which of them it can do without.
#[derive(Clone, Copy, Default)]
pub struct Columns<'a> {
    /// The first that are aligned to the left, and repeated where a table is folded.
    pub names: usize,
    /// The last that are aligned to the left.
    pub words: usize,
    /// Those that are left out together where there is no room, the first of these groups first.
    pub spare: &'a [&'a [usize]],
}

/// The table in lines of at most `width` letters. Where that is too little, spare columns are left
/// out, and a last line names them; then it is folded; and where not even that fits, each row
/// becomes a list. No cell is broken while a line has room for it.
pub fn fitted(columns: Columns, width: usize, table: &Table) -> String {
    let Columns { names, words, spare } = columns;
    if row_width(table) <= width {
        return render(names, words, table);
    }
    for count in 1..=spare.len() {
        let spare = spare[..count].concat();
        let without = without(&spare, table);
        if row_width(&without) <= width {
            let mut omitted = spare.clone();
            omitted.sort_unstable();
            let omitted: Vec<&str> =
                omitted.iter().map(|column| table.header[*column].as_str()).collect();
            let note = format!(
                "Left out here: {}. COLUMNS={} shows them.",
                omitted.join(", "),
                row_width(table)
            );
            let words_left = (table.header.len() - words..table.header.len())
                .filter(|column| !spare.contains(column));
            let text = render(names, words_left.count(), &without);
            return text + &wrapped(width, &note);
        }
    }
    let fits_beside_names = |column: &usize| {
        let named: usize = (0..names).map(|name| column_width(name, table) + 2).sum();
        named + column_width(*column, table) <= width
    };
    if (names..table.header.len()).all(|column| fits_beside_names(&column)) {
        folded(names, width, table)
    } else {
        listed(width, table)
    }
}

/// Does it fit as it is?
pub fn fits(width: usize, table: &Table) -> bool {
    row_width(table) <= width
}

/// A row's first cell in a line of its own, and each other cell behind its column's name.
fn listed(width: usize, table: &Table) -> String {
    let mut lines = Lines::within(width);
    for row in &table.rows {
        lines.plain(&row[0].text);
        for (name, cell) in table.header.iter().zip(row).skip(1) {
            if !cell.text.is_empty() {
                lines.add("  ", "      ", &format!("{name}: {}", cell.text));
            }
        }
    }
    lines.into_text()
}

/// Text in lines of at most `width` letters; its own ends of lines are kept.
pub fn wrapped(width: usize, text: &str) -> String {
    let mut lines = Lines::within(width);
    text.lines().for_each(|line| lines.add("", "", line));
    lines.into_text()
}

/// As Markdown has tables.
pub fn markdown(names: usize, table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let escaped = |text: &str| text.replace('|', "\\|");
    let header = table.header.iter().map(|name| escaped(name)).collect();
    let marks = (0..table.header.len()).map(|at| if at < names { ":--" } else { "--:" });
    let rows = table.rows.iter().map(|row| row.iter().map(|cell| escaped(&cell.text)).collect());
    let lines = [header, marks.map(str::to_owned).collect()].into_iter().chain(rows);
    lines.map(line).collect()
}

fn without(omitted: &[usize], table: &Table) -> Table {
    let kept = |column: &usize| !omitted.contains(column);
    let columns: Vec<usize> = (0..table.header.len()).filter(kept).collect();
    let header = columns.iter().map(|column| &table.header[*column]);
    let row = |row: &Vec<Cell>| columns.iter().map(|column| row[*column].clone()).collect();
    Table::new("", header, table.rows.iter().map(row))
}

fn column_width(column: usize, table: &Table) -> usize {
    let cells = table.rows.iter().map(|row| row[column].text.chars().count());
    cells.chain([table.header[column].chars().count()]).max().unwrap_or_default()
}

fn row_width(table: &Table) -> usize {
    let columns = table.header.len();
    (0..columns).map(|column| column_width(column, table)).sum::<usize>() + 2 * (columns - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide() -> Table {
        let row =
            |name: &str| [name, "1.23 s", "1.00 s", "1.23x", "faster"].map(Cell::plain).into();
        Table::new(
            "",
            ["case", "glibc", "furwock", "gain", "verdict"],
            [row("one"), row("another")],
        )
    }

    #[test]
    fn spare_columns_are_left_out_and_named() {
        let columns = Columns { names: 1, words: 1, spare: &[&[2], &[1]] };
        let plain =
            |width| anstream::adapter::strip_str(&fitted(columns, width, &wide())).to_string();
        assert!(
            plain(80).starts_with("case      glibc  furwock   gain  verdict\n"),
            "{}",
            plain(80)
        );
        assert!(!plain(80).contains("Left out"));
        let text = plain(32);
        assert!(text.starts_with("case      glibc   gain  verdict"), "{text}");
        assert!(text.contains("Left out here: furwock."), "{text}");
        assert!(plain(30).contains("Left out here: glibc, furwock."), "{}", plain(30));
    }

    #[test]
    fn no_line_is_longer_than_the_width() {
        for width in 20..90 {
            for spare in [&[][..], &[&[2, 1][..]]] {
                let text = fitted(Columns { names: 1, words: 1, spare }, width, &wide());
                assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
                assert!(text.contains("1.23x") && text.contains("another"), "{width}: {text}");
            }
        }
    }

    #[test]
    fn markdown_has_a_line_for_each_row() {
        let text = markdown(1, &wide());
        assert!(text.starts_with("| case | glibc |"), "{text}");
        assert_eq!(text.lines().nth(1).unwrap(), "| :-- | --: | --: | --: | --: |");
        assert_eq!(text.lines().count(), 4);
    }
}
