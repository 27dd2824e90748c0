//! Each litmus test is named for a section or a premise of ORDERING.md, and its weakened forms for
//! mutants that exist. (scripts/litmus.sh runs them.)

use crate::tree::{File, tracked};

fn text(path: &str) -> &'static str {
    &tracked().iter().find(|file| file.path == path).expect("it is there").text
}

fn tests() -> impl Iterator<Item = &'static File> {
    tracked().iter().filter(|file| file.is_below("litmus") && file.is("litmus"))
}

/// What is wrong with a test, given ORDERING.md and the list of mutants.
fn wrong(test: &File, orderings: &str, mutants: &str) -> Vec<String> {
    let mut found = Vec::new();
    let name = test.text.lines().next().and_then(|line| line.strip_prefix("AArch64 "));
    if name != Some(test.stem()) {
        found.push(format!("{}: begins with the name {name:?}", test.path));
    }
    let is_premise = orderings.contains(&format!("\n| {} | ", test.stem()));
    let section: Vec<_> = test.stem().splitn(3, '-').take(2).collect();
    if !is_premise && !orderings.contains(&format!("\n## {}: ", section.join("-"))) {
        found.push(format!("{}: neither a premise nor a section", test.path));
    }
    let weakened = test.text.lines().filter(|line| line.starts_with("Weakened"));
    let mut count = 0;
    for line in weakened {
        count += 1;
        let name = line.split(['=', ' ']).nth(1).unwrap_or_default();
        let is_mutant = name.starts_with(|first: char| first.is_ascii_uppercase());
        if is_mutant && !mutants.contains(&format!("\n    {name},")) {
            found.push(format!("{}: no mutant {name}", test.path));
        }
    }
    if count == 0 {
        found.push(format!("{}: has no weakened form", test.path));
    }
    found
}

#[test]
fn litmus_tests_are_of_what_exists() {
    let (orderings, mutants) = (text("ORDERING.md"), text("furwock/src/prim/mutant.rs"));
    assert!(tests().count() > 30);
    crate::nothing(tests().flat_map(|test| wrong(test, orderings, mutants)).collect(), "correct");
}

#[test]
fn a_litmus_test_of_nothing_is_found() {
    let orderings = "\n## O-1: a check\n\n| O-2a | it holds | a test |\n";
    let planted = |name: &str, body: &str| {
        let file = File::new(&format!("litmus/{name}.litmus"), body);
        wrong(&file, orderings, "\n    Known,")
    };
    let weak = "\nWeakened1=Known P0 STLR -> STR";
    assert_eq!(planted("O-1-kernel", &format!("AArch64 O-1-kernel{weak}")), [""; 0]);
    assert_eq!(planted("O-2a", &format!("AArch64 O-2a{weak}")), [""; 0]);
    assert_eq!(planted("O-3a", &format!("AArch64 O-3a{weak}")).len(), 1);
    assert_eq!(planted("O-2a", &format!("AArch64 O-2b{weak}")).len(), 1);
    assert_eq!(planted("O-2a", "AArch64 O-2a").len(), 1);
    assert_eq!(planted("O-2a", "AArch64 O-2a\nWeakened1=Gone P0 STLR -> STR").len(), 1);
}
