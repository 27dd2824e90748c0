//! ORDERING.md's table of premises: what it says that checks a premise exists, and can fail.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of all files in `folder` that end so.
fn sources(folder: &str, extension: &str) -> String {
    let mut folders = vec![repository().join(folder)];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                text += &read(&path);
            }
        }
    }
    text
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

/// What stands between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_mutant(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// The functions that a Rust source marks as tests, and those that a test without libtest lists.
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

/// The functions that a C source makes tests or clauses of.
fn c_tests(source: &str) -> HashSet<&str> {
    let macros = ["TEST(", "TEST_FURWOCK_ONLY(", "CLAUSE(", "CLAUSE_FURWOCK_ONLY("];
    let named = source.lines().filter_map(|line| {
        let line = line.trim();
        macros.iter().find_map(|listed| line.strip_prefix(listed))
    });
    named.filter_map(|line| line.split([',', ')']).next()).collect()
}

/// What the table names that there is not.
fn missing<'d>(rows: &'d [[String; 3]], tests: &HashSet<&str>, rejected: &str) -> Vec<&'d str> {
    let all = rows.iter().flat_map(|[_, _, checks]| names(checks));
    all.filter(|name| {
        if is_mutant(name) {
            !rejected.contains(&format!("rejects(Mutant::{name},"))
        } else {
            !tests.contains(name)
        }
    })
    .collect()
}

#[test]
fn what_checks_a_premise_exists() {
    let document = read(&repository().join("ORDERING.md"));
    let rows = rows(&document);
    let [library, tests] = ["furwock/src", "furwock/tests"].map(|folder| sources(folder, "rs"));
    let c = ["conformance/pthread", "conformance/posix"].map(|folder| sources(folder, "c"));
    let mut all = rust_tests(&library);
    all.extend(rust_tests(&tests));
    all.extend(c.iter().flat_map(|source| c_tests(source)));
    let missing = missing(&rows, &all, &library);
    assert!(missing.is_empty(), "the table names what there is not: {missing:#?}");
}

#[test]
fn every_row_says_what_checks_it() {
    let document = read(&repository().join("ORDERING.md"));
    let rows = rows(&document);
    assert!(rows.len() > 80, "{} rows", rows.len());
    let mut ids = HashSet::new();
    for [id, premise, checks] in &rows {
        assert!(ids.insert(id), "{id} is there twice");
        assert!(premise.ends_with('.'), "{id}: not a sentence: {premise}");
        let says = ["Not checked", "Doubtful", "Broken", "Changed"];
        let is_told = names(checks).next().is_some() || says.iter().any(|say| checks.contains(say));
        assert!(is_told, "{id}: {checks}");
    }
}

#[test]
fn every_mutant_stands_in_the_table() {
    let document = read(&repository().join("ORDERING.md"));
    let rows = rows(&document);
    let named: HashSet<_> = rows.iter().flat_map(|[_, _, checks]| names(checks)).collect();
    let source = read(&repository().join("furwock/src/prim/mutant.rs"));
    let body = source.split("\nmutants! {").nth(1).and_then(|rest| rest.split("\n}").next());
    let mutants = body.expect("the list").lines().map(str::trim).filter(|line| is_mutant(line));
    let left_out: Vec<_> = mutants
        .map(|line| line.trim_end_matches(','))
        .filter(|name| !named.contains(name))
        .collect();
    assert!(left_out.is_empty(), "mutants of no premise: {left_out:?}");
}

#[test]
fn a_name_that_there_is_not_is_found() {
    let row = |checks: &str| [String::from("X"), String::from("Y."), String::from(checks)];
    let rows = [row("`there_is`, `there_is_not`; `Rejected`, `Unknown`"), row("Not checked.")];
    let tests = rust_tests("#[test]\n#[ignore]\nfn there_is() {}\nfn there_is_not() {}");
    let rejected = "rejects(Mutant::Rejected, 2, scenario);";
    assert_eq!(missing(&rows, &tests, rejected), ["there_is_not", "Unknown"]);
}
