//! The clause-by-clause suite of `posix/`, on both sides, and the table of it in
//! docs/conformance.md.
//!
//! `FURWOCK_WRITE_CONFORMANCE=1` writes the table anew; otherwise it must be what the programs
//! list.

use furwock_conformance::build::sources;
use furwock_conformance::check::{check, folder};
use furwock_conformance::{Artifact, Side, Test};
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

macro_rules! pages {
    ($($name:ident;)*) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];

        $(mod $name {
            use super::*;

            #[test]
            fn on_glibc() {
                check(stringify!($name), Side::Glibc, program(stringify!($name), Side::Glibc));
            }

            #[test]
            fn on_furwock() {
                check(stringify!($name), Side::Furwock, program(stringify!($name), Side::Furwock));
            }
        })*
    };
}

pages! {
    mutex;
    mutexattr;
    cond;
    c11;
    condattr;
    semaphore;
    barrier;
    spin;
    once;
    rwlock;
    rwlockattr;
    cancellation;
    process;
}

fn program(name: &str, side: Side) -> PathBuf {
    let folder = folder(&format!("posix-{name}"), side);
    Artifact::program(&format!("posix/{name}.c"), &folder, name).build()
}

#[test]
fn every_source_is_run() {
    let folder = fs::read_dir(sources().join("posix")).expect("the folder is here");
    for entry in folder {
        let path = entry.expect("it can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("ASCII");
        let is_source = path.extension().is_some_and(|is| is == "c");
        assert!(!is_source || PROGRAMS.contains(&name), "{name}.c isn't in `pages`");
    }
}

#[test]
fn the_table_is_what_the_programs_list() {
    let path = sources().join("../docs/conformance.md");
    let committed = fs::read_to_string(&path).expect("docs/conformance.md");
    let (before, rest) = committed.split_once(BEGIN).expect("the mark before the table");
    let (_, after) = rest.split_once(END).expect("the mark behind the table");
    let current = format!("{before}{BEGIN}\n{}{END}{after}", table());
    if env::var_os("FURWOCK_WRITE_CONFORMANCE").is_some() {
        fs::write(&path, &current).expect("it can be written");
        return;
    }
    assert!(
        committed == current,
        "docs/conformance.md isn't what the programs list: FURWOCK_WRITE_CONFORMANCE=1 cargo test \
         -p furwock-conformance --test posix"
    );
}

const BEGIN: &str = "<!-- the table begins: written by conformance/tests/posix.rs -->";
const END: &str = "<!-- the table ends -->";

/// All clauses by page, in the order of the programs.
fn table() -> String {
    let folder_of_table = |name: &str| furwock_conformance::scratch(&format!("table-{name}"));
    let mut pages: Vec<(String, String)> = Vec::new();
    for &name in PROGRAMS {
        let source = format!("posix/{name}.c");
        let program = Artifact::program(&source, &folder_of_table(name), name).build();
        for test in Test::list(&program) {
            let clause = test.clause.as_ref().unwrap_or_else(|| panic!("{}: no clause", test.name));
            let at = pages.iter().position(|(page, _)| *page == clause.page).unwrap_or_else(|| {
                pages.push((clause.page.clone(), String::new()));
                pages.len() - 1
            });
            let holds = |side| if test.holds_on(side) { "yes" } else { "no" };
            let (glibc, furwock) = (holds(Side::Glibc), holds(Side::Furwock));
            let row = &mut pages[at].1;
            write!(row, "| {} | {}", clause.section, clause.says).expect("a string grows");
            if !test.reason.is_empty() {
                write!(row, " ({})", test.reason).expect("a string grows");
            }
            writeln!(row, " | {glibc} | {furwock} | `{}` |", test.name).expect("a string grows");
        }
    }
    let mut text = String::new();
    for (page, rows) in pages {
        writeln!(text, "\n### {page}\n\n| clause | it says | glibc | furwock | test |\n|---|---|---|---|---|\n{rows}")
            .expect("a string grows");
    }
    text
}
