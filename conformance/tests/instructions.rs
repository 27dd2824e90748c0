//! No uncontended path takes over 5 % more instructions than the changelog says.

use furwock_conformance::build::sources;
use furwock_conformance::instructions::count::{count, obstacle};
use furwock_conformance::instructions::{Counts, Stated, Verdict};
use furwock_conformance::scratch;
use std::fs;
use std::path::Path;

#[test]
#[ignore = "another compiler counts otherwise: scripts/instruction-counts.sh, which CI runs"]
fn the_changelog_covers_them() {
    if let Some(obstacle) = obstacle() {
        println!("skipped: {obstacle}");
        return;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_furwock-instructions"));
    let counted =
        count(program, &scratch("instructions")).unwrap_or_else(|error| panic!("{error}"));
    for (path, count) in &counted {
        println!("{count:6}  {path}");
    }
    let changelog = fs::read_to_string(sources().join("../CHANGELOG.md")).expect("it is there");
    let stated = Stated::read(&changelog).unwrap_or_else(|error| panic!("{error}"));
    let verdict = Verdict::new(&counted, &stated);
    println!("{verdict}");
    assert!(verdict.is_good(), "instruction counts have grown: see above");
}

#[allow(unused)]
fn unused(_: Counts) {}
