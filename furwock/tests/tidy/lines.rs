//! No line is longer than 100 columns, but for those that can't be broken.

use crate::tree::{File, tracked};

const COLUMNS: usize = 100;
const TAB: usize = 8;

/// Files that aren't ours to break.
const WHOLE_FILES: [(&str, &str); 5] = [
    ("Cargo.lock", "cargo writes it"),
    ("LICENSE-APACHE", "the licence's own lines"),
    ("LICENSE-MIT", "the licence's own lines"),
    ("docs/gains.svg", "`furwock bench` draws it"),
    ("cli/src/report/style.css", "a rule a line"),
];

fn columns(line: &str) -> usize {
    line.chars().fold(0, |at, letter| match letter {
        '\t' => (at / TAB + 1) * TAB,
        _ => at + 1,
    })
}

/// A table's row is one line in Markdown, and an address is one word. rustfmt breaks code, and
/// leaves alone what has a long string in it.
fn cannot_be_broken(file: &File, line: &str) -> bool {
    let text = line.trim_start_matches([' ', '\t', '/', '!', '*', '#']);
    let has_string = (file.is("rs") || file.is("toml")) && line.contains('"');
    text.starts_with('|') || line.contains("https://") || has_string && text == line.trim_start()
}

fn overlong(files: &[File]) -> Vec<String> {
    let is_ours = |file: &&File| !WHOLE_FILES.iter().any(|(path, _)| file.path.ends_with(path));
    let mut found = Vec::new();
    for file in files.iter().filter(is_ours) {
        for (number, line) in file.lines() {
            let columns = columns(line);
            if columns > COLUMNS && !cannot_be_broken(file, line) {
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
    assert_eq!(planted(&format!("let a = \"{}\";", "x".repeat(101))), [""; 0]);
    assert_eq!(planted(&format!("// \"{}\"", "x".repeat(96))), ["a/b.rs:1: 101 columns"]);
    let written =
        format!("<!-- the table begins -->\n{}\n<!-- the table ends -->", "x".repeat(101));
    assert_eq!(planted(&written), [""; 0]);
}
