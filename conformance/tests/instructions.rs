//! No uncontended path takes over 5 % more instructions than docs/instruction-counts.txt states.

use furwock_conformance::build::sources;
use furwock_conformance::instructions::count::{count, obstacle};
use furwock_conformance::instructions::stated::FILE;
use furwock_conformance::instructions::{Counts, Stated, Verdict};
use furwock_conformance::{built, scratch};
use std::fs;

#[test]
#[ignore = "another compiler counts otherwise: scripts/instruction-counts.sh, which CI runs"]
fn the_stated_counts_cover_all() {
    if let Some(obstacle) = obstacle() {
        println!("instruction counts: skipped: {obstacle}");
        return;
    }
    let program = built("furwock-conformance", "furwock-instructions");
    let counted =
        count(&program, &scratch("instructions")).unwrap_or_else(|error| panic!("{error}"));
    for (path, count) in &counted {
        println!("{count:6}  {path}");
    }
    let verdict = Verdict::new(&counted, &stated(&file()));
    assert!(verdict.is_good(), "\n{verdict}");
    println!("{verdict}");
}

/// The repository's.
fn file() -> String {
    fs::read_to_string(sources().join("..").join(FILE)).expect("it is there")
}

fn stated(text: &str) -> Stated {
    Stated::read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn counts<const COUNT: usize>(counts: [(&str, u64); COUNT]) -> Counts {
    counts.map(|(path, count)| (path.to_owned(), count)).into()
}

/// What is said of `counted` where `text` is stated, and whether it passes.
fn verdict<const COUNT: usize>(text: &str, counted: [(&str, u64); COUNT]) -> (bool, String) {
    let verdict = Verdict::new(&counts(counted), &stated(text));
    (verdict.is_good(), verdict.to_string())
}

const STATED: &str = "\
# Says nothing: mutex 7

crate: mutex 40
crate: rwlock read 100

C library: mutex 60
crate: condvar signal 10
";

const ALL_AS_STATED: [(&str, u64); 4] = [
    ("crate: mutex", 40),
    ("crate: rwlock read", 100),
    ("C library: mutex", 60),
    ("crate: condvar signal", 10),
];

fn with(path: &str, count: u64) -> (bool, String) {
    let changed = |(other, stated)| (other, if other == path { count } else { stated });
    verdict(STATED, ALL_AS_STATED.map(changed))
}

#[test]
fn the_file_can_be_read() {
    assert!(stated(&file()).paths().count() > 40);
}

#[test]
fn as_stated() {
    let (good, says) = verdict(STATED, ALL_AS_STATED);
    assert!(good, "{says}");
    assert_eq!(says, "all 4 within 5 % of what docs/instruction-counts.txt states\n");
}

#[test]
fn grown_by_five_percent_and_by_more() {
    assert!(with("crate: mutex", 42).0);
    assert!(!with("crate: mutex", 43).0);
    assert!(with("crate: rwlock read", 105).0);
    let (good, says) = with("crate: rwlock read", 106);
    assert!(!good);
    assert_eq!(
        says,
        "\
crate: rwlock read: 106 instructions, 6.0 % more than 100
If this is meant, say why in CHANGELOG.md and state in docs/instruction-counts.txt:
crate: rwlock read 106
"
    );
}

#[test]
fn the_lines_that_are_asked_for_will_do() {
    let doubled = ALL_AS_STATED.map(|(path, count)| (path, count * 2));
    let (_, says) = verdict(STATED, doubled);
    let (_, lines) = says.split_once("counts.txt:\n").expect("lines are asked for");
    assert_eq!(lines.lines().count(), 4, "{says}");
    let (good, says) = verdict(lines, doubled);
    assert!(good, "{says}");
}

#[test]
fn shrunk() {
    assert_eq!(with("crate: rwlock read", 95), verdict(STATED, ALL_AS_STATED));
    let (good, says) = with("crate: rwlock read", 94);
    assert!(good);
    assert_eq!(
        says,
        "\
crate: rwlock read: only 94 instructions instead of 100
To keep it there, state in docs/instruction-counts.txt:
crate: rwlock read 94
"
    );
}

#[test]
fn unstated() {
    let (good, says) = verdict("", [("preload: once", 10), ("preload: spinlock", 12)]);
    assert!(!good);
    assert_eq!(
        says,
        "\
preload: once: 10 instructions, and no count is stated
preload: spinlock: 12 instructions, and no count is stated
If this is meant, say why in CHANGELOG.md and state in docs/instruction-counts.txt:
preload: once 10
preload: spinlock 12
"
    );
}

#[test]
fn counted_no_more() {
    let [_, rest @ ..] = ALL_AS_STATED;
    let (good, says) = verdict(STATED, rest);
    assert!(good);
    assert!(
        says.starts_with("crate: mutex: docs/instruction-counts.txt states a count, "),
        "{says}"
    );
}

#[test]
fn a_line_that_cannot_be_read_is_told() {
    for (line, what) in [
        ("mutex 12", "no face"),
        ("crate: mutex", "no count"),
        ("crate: mutex twelve", "no count"),
        ("crate: mutex 41", "a path that is stated above"),
    ] {
        let error = Stated::read(&format!("crate: mutex 40\n{line}\n")).expect_err(line);
        let says = format!("docs/instruction-counts.txt:2: {what} in \"{line}\"; ");
        assert!(error.starts_with(&says), "{error}");
    }
}
