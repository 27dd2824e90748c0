//! The tests and mutants that ORDERING.md's table of premises names exist.

use crate::tree::{File, quoted, tracked};
use std::collections::HashSet;

fn text(path: &str) -> &'static str {
    &tracked().iter().find(|file| file.path == path).expect("it is there").text
}

fn files(folder: &str, extension: &str) -> impl Iterator<Item = &'static File> {
    tracked().iter().filter(move |file| file.is_below(folder) && file.is(extension))
}

/// The rows of the section: id, premise, what checks it.
fn rows(document: &str) -> Vec<[String; 3]> {
    let section = document.split("\n## Premises\n").nth(1).expect("ORDERING.md has the section");
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id "));
    lines.map(cells).collect()
}

fn cells(line: &str) -> [String; 3] {
    let cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned());
    let cells: Vec<_> = cells.collect();
    cells.try_into().unwrap_or_else(|_| panic!("not three cells: {line}"))
}

fn is_mutant(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The functions that a Rust source marks as tests, and those that a program without libtest lists.
fn rust_tests(source: &str) -> HashSet<&str> {
    let mut tests = HashSet::new();
    for after in source.split("#[test]").skip(1) {
        let name = after.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
        tests.extend(name);
    }
    let listed = source.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    tests.extend(listed.filter_map(|line| line.split('"').next()));
    tests
}

/// The functions that a C source makes tests of.
fn c_tests(source: &str) -> HashSet<&str> {
    let macros = ["TEST(", "TEST_FURWOCK_ONLY("];
    let named = source.lines().filter_map(|line| {
        let line = line.trim();
        macros.iter().find_map(|listed| line.strip_prefix(listed))
    });
    named.filter_map(|line| line.split([',', ')']).next()).collect()
}

/// What the table names and doesn't exist.
fn missing<'d>(
    rows: &'d [[String; 3]],
    tests: &HashSet<&str>,
    rejects: impl Fn(&str) -> bool,
) -> Vec<&'d str> {
    let all = rows.iter().flat_map(|[_, _, checks]| quoted(checks));
    all.filter(|name| if is_mutant(name) { !rejects(name) } else { !tests.contains(name) })
        .collect()
}

#[test]
fn what_checks_a_premise_exists() {
    let rows = rows(text("ORDERING.md"));
    let mut tests = HashSet::new();
    for folder in ["furwock/src", "furwock/tests"] {
        tests.extend(files(folder, "rs").flat_map(|file| rust_tests(&file.text)));
    }
    tests.extend(files("conformance/pthread", "c").flat_map(|file| c_tests(&file.text)));
    // The suite of clauses lists itself there, and checks that.
    tests.extend(quoted(text("docs/conformance.md")));
    let rejects = |mutant: &str| {
        let call = format!("rejects(Mutant::{mutant},");
        files("furwock/src", "rs").any(|file| file.text.contains(&call))
    };
    let missing = missing(&rows, &tests, rejects);
    assert!(missing.is_empty(), "the table names what doesn't exist: {missing:#?}");
}

#[test]
fn every_row_says_what_checks_it() {
    let rows = rows(text("ORDERING.md"));
    assert!(rows.len() > 80, "{} rows", rows.len());
    let mut ids = HashSet::new();
    for [id, premise, checks] in &rows {
        assert!(ids.insert(id), "{id} has two rows");
        assert!(premise.ends_with('.'), "{id}: not a sentence: {premise}");
        let says = ["Not checked", "Doubtful", "Broken", "Changed"];
        let has_one =
            quoted(checks).next().is_some() || says.iter().any(|say| checks.contains(say));
        assert!(has_one, "{id}: {checks}");
    }
}

#[test]
fn every_mutant_has_a_row() {
    let rows = rows(text("ORDERING.md"));
    let named: HashSet<_> = rows.iter().flat_map(|[_, _, checks]| quoted(checks)).collect();
    let source = text("furwock/src/prim/mutant.rs");
    let body = source.split("\nmutants! {").nth(1).and_then(|rest| rest.split("\n}").next());
    let mutants = body.expect("the list").lines().map(str::trim).filter(|line| is_mutant(line));
    let left_out: Vec<_> = mutants
        .map(|line| line.trim_end_matches(','))
        .filter(|name| !named.contains(name))
        .collect();
    assert!(left_out.is_empty(), "mutants of no premise: {left_out:?}");
}

#[test]
fn a_name_of_nothing_is_found() {
    let row = |checks: &str| [String::from("X"), String::from("Y."), String::from(checks)];
    let rows = [row("`there_is`, `there_is_not`; `Rejected`, `Unknown`"), row("Not checked.")];
    let tests = rust_tests("#[test]\n#[ignore]\nfn there_is() {}\nfn there_is_not() {}");
    let rejects = |mutant: &str| mutant == "Rejected";
    assert_eq!(missing(&rows, &tests, rejects), ["there_is_not", "Unknown"]);
}
