//! Every `FURWOCK_*` variable that the sources name is in `docs/environment.md`, those that the
//! product reads are in `furwock run --help`, and neither names any other.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Scratch, Text};

const PREFIX: &str = "FURWOCK_";
/// What looks like a variable's name in the sources and is none: the C header's guard.
const NO_VARIABLE: &str = "FURWOCK_H";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names in `text` that `open` stands before and `close` behind.
fn names(text: &str, open: &str, close: &str) -> BTreeSet<String> {
    text.match_indices(&format!("{open}{PREFIX}"))
        .filter_map(|(at, _)| {
            let rest = &text[at + open.len()..];
            let end = rest.find(|letter: char| !letter.is_ascii_uppercase() && letter != '_')?;
            rest[end..].starts_with(close).then(|| rest[..end].to_owned())
        })
        .filter(|name| name != NO_VARIABLE)
        .collect()
}

/// The names that are string literals in the source `path`, or somewhere below it.
fn literals(path: &Path) -> BTreeSet<String> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        return entries.flat_map(|entry| literals(&entry.unwrap().path())).collect();
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs" | "c" | "cpp" | "h") => names(&fs::read_to_string(path).unwrap(), "\"", "\""),
        _ => BTreeSet::new(),
    }
}

fn literals_of(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().flat_map(|path| literals(&root().join(path))).collect()
}

/// The names that begin a row of a table under `title`.
fn documented(title: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/environment.md")).unwrap();
    let (_, part) = text.split_once(&format!("## {title}\n")).expect("the page has this part");
    let part = part.split("\n## ").next().unwrap();
    let rows: String = part.lines().filter(|line| line.starts_with("| `")).collect();
    names(&rows, "| `", "` | ")
}

/// Sources that only tests, models and builds with mutants have.
const NO_PRODUCT: [&str; 3] =
    ["furwock/src/generated", "furwock/src/prim/mutant.rs", "cli/src/order/programs.rs"];

fn read_by_the_product() -> BTreeSet<String> {
    &literals_of(&["cli/src", "preload/src", "furwock/src", "capi/src"]) - &literals_of(&NO_PRODUCT)
}

#[test]
fn the_page_names_what_the_product_reads() {
    assert!(
        read_by_the_product().len() >= 4,
        "the sources are no longer where they are looked for"
    );
    assert_eq!(documented("To run programs"), read_by_the_product());
}

#[test]
fn the_page_names_what_the_tests_read() {
    let crates = ["cli", "preload", "furwock", "capi", "conformance"];
    let only_tests = &literals_of(&crates) - &read_by_the_product();
    // This file says what a name looks like, and furwock.h has a macro.
    let no_variables = [PREFIX, "FURWOCK_ALIGNED"];
    let only_tests: BTreeSet<String> =
        only_tests.into_iter().filter(|name| !no_variables.contains(&name.as_str())).collect();
    assert_eq!(documented("To work on furwock"), only_tests);
}

#[test]
fn the_help_names_what_the_product_reads() {
    let scratch = Scratch::new("the_help_names_what_the_product_reads");
    for option in ["--help", "-h"] {
        let help = scratch.furwock(&["run", option]).output().unwrap().out();
        assert_eq!(names(&help, "", ""), read_by_the_product(), "{help}");
    }
}
