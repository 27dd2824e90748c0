//! The columns of a table that have room beside a name.

use crate::contention::words;

/// A column; a kind is written from the left, and figures from the right.
pub struct Column {
    pub title: &'static str,
    /// What is written above several of them.
    pub of: &'static str,
    pub width: usize,
    /// The highest is left out first.
    pub rank: usize,
}

/// Names have at least as much room.
const NAMES_AT_LEAST: usize = 14;

/// Those of `all` that are shown.
pub struct Columns<'c> {
    all: &'c [Column],
    shown: Vec<bool>,
    /// The width of names.
    pub names: usize,
}

impl<'c> Columns<'c> {
    /// As many as fit into `width` beside names, which have `names` letters in a wide table.
    pub fn fitting(all: &'c [Column], names: usize, width: usize) -> Self {
        let room = |ranks: usize| {
            let shown = all.iter().filter(|column| column.rank < ranks);
            width.saturating_sub(shown.map(|column| 1 + column.width).sum())
        };
        let ranks = (1..=all.len()).rev().find(|&ranks| room(ranks) >= NAMES_AT_LEAST.min(names));
        let ranks = ranks.unwrap_or(0);
        let shown = all.iter().map(|column| column.rank < ranks).collect();
        Self { all, shown, names: room(ranks).min(names) }
    }

    fn shown(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.all.iter().enumerate().filter(|(at, _)| self.shown[*at])
    }

    /// A line that says what groups of columns are about.
    pub fn groups(&self) -> String {
        let mut line = " ".repeat(self.names);
        let shown: Vec<&Column> = self.shown().map(|(_, column)| column).collect();
        for group in shown.chunk_by(|one, other| one.of == other.of) {
            let width: usize = group.iter().map(|column| 1 + column.width).sum();
            line += &if group.len() == 1 {
                format!("{:>width$}", group[0].of)
            } else {
                format!(" {:^1$}", group[0].of, width - 1)
            };
        }
        line
    }

    pub fn titles(&self, names: &str) -> String {
        let titles: Vec<&str> = self.all.iter().map(|column| column.title).collect();
        self.row(names, &titles)
    }

    /// One cell for each column, also of those that aren't shown.
    pub fn row(&self, name: &str, cells: &[impl AsRef<str>]) -> String {
        let names = self.names;
        let mut line = format!("{:names$}", words::fitted(name, names));
        for (at, column) in self.shown() {
            let (cell, width) = (cells[at].as_ref(), column.width);
            line += &match column.title {
                "kind" => format!(" {cell:width$}"),
                _ => format!(" {cell:>width$}"),
            };
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Column; 3] = [
        Column { title: "kind", of: "", width: 6, rank: 2 },
        Column { title: "total", of: "waits", width: 7, rank: 0 },
        Column { title: "longest", of: "waits", width: 7, rank: 1 },
    ];

    #[test]
    fn less_room_leaves_out_the_highest_ranks() {
        let cells = ["mutex", "1.00 s", "20.0 ms"];
        let lines = |width| {
            let columns = Columns::fitting(&ALL, 15, width);
            [columns.groups(), columns.titles("lock"), columns.row("the_name_of_a_lock", &cells)]
        };
        assert_eq!(lines(80), lines(38));
        assert_eq!(
            lines(38),
            [
                "                            waits     ",
                "lock            kind     total longest",
                "the_nam…_a_lock mutex   1.00 s 20.0 ms",
            ]
        );
        assert_eq!(lines(36)[1], "lock              total longest");
        assert_eq!(lines(29)[2], "the_nam…_a_lock  1.00 s");
        assert_eq!(lines(20)[2], "the_nam…_a_lock");
        for width in 15..80 {
            assert!(lines(width).iter().all(|line| line.chars().count() <= width), "{width}");
        }
    }
}
