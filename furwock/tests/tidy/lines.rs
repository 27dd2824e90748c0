//! No line is longer than 100 columns, but for those that can't be broken.

use crate::tree::{File, tracked};

const COLUMNS: usize = 100;
const TAB: usize = 8;

/// Files that aren't ours to break.
const WHOLE_FILES: [(&str, &str); 4] = [
    ("Cargo.lock", "cargo writes it"),
    ("LICENSE-APACHE", "the licence's own lines"),
    ("LICENSE-MIT", "the licence's own lines"),
    ("docs/gains.svg", "`furwock bench` draws it"),
];

fn columns(line: &str) -> usize {
    line.chars().fold(0, |at, letter| match letter {
        '\t' => (at / TAB + 1) * TAB,
        _ => at + 1,
    })
}

/// A table's row is one line in Markdown, and an address is one word.
fn cannot_be_broken(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '\t', '/', '!', '*', '#']);
    text.starts_with('|') || line.contains("https://")
}

fn overlong(files: &[File]) -> Vec<String> {
    let is_ours = |file: &&File| !WHOLE_FILES.iter().any(|(path, _)| file.path == *path);
    let mut found = Vec::new();
    for file in files.iter().filter(is_ours) {
        for (number, line) in file.lines() {
            let columns = columns(line);
            if columns > COLUMNS && !cannot_be_broken(line) {
                found.push(format!("{}:{number}: {columns} columns", file.path));
            }
        }
    }
    found
}

#[test]
fn lines_have_at_most_100_columns() {
    crate::nothing(overlong(tracked()), "break these lines");
}

#[test]
fn a_line_of_101_columns_is_found() {
    let planted = |line: &str| overlong(&[File::new("a/b.rs", line)]);
    assert_eq!(planted(&"x".repeat(100)), [""; 0]);
    assert_eq!(planted(&"x".repeat(101)), ["a/b.rs:1: 101 columns"]);
    assert_eq!(planted(&format!("\t{}", "x".repeat(93))), ["a/b.rs:1: 101 columns"]);
    assert_eq!(planted(&format!("/// | {} |", "x".repeat(101))), [""; 0]);
    let written =
        format!("<!-- the table begins -->\n{}\n<!-- the table ends -->", "x".repeat(101));
    assert_eq!(planted(&written), [""; 0]);
}
