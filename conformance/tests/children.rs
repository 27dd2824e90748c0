//! `FURWOCK_CHILDREN=0`: furwock serves the program, and not the programs that it starts.

use furwock_conformance::program::stdout_of;
use furwock_conformance::{Artifact, built, preload, scratch};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(40);

/// Each shell prints the variable, if it is set at all, and whether it has furwock mapped.
const SHOW: &str = "echo \"${LD_PRELOAD-unset}\"; \
                    grep -q furwock_preload /proc/$$/maps && echo mapped || echo not mapped";

/// What a shell prints, and then a shell that it starts.
fn shells(ld_preload: &str, children: Option<&str>) -> Vec<String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{SHOW}; sh -c '{SHOW}'; exit 0")]);
    shell.env("LD_PRELOAD", ld_preload).env_remove("FURWOCK_CHILDREN");
    if let Some(value) = children {
        shell.env("FURWOCK_CHILDREN", value);
    }
    stdout_of(shell, LIMIT).lines().map(str::to_owned).collect()
}

fn own() -> &'static str {
    preload().to_str().expect("the target folder's path is text")
}

fn other(folder: &Path, name: &str) -> String {
    Artifact::library("start/empty.c", folder, name).build().to_str().unwrap().to_owned()
}

#[test]
fn children_inherit_furwock_unless_told_otherwise() {
    for children in [None, Some("1"), Some("")] {
        assert_eq!(shells(own(), children), [own(), "mapped", own(), "mapped"]);
    }
}

#[test]
fn the_variable_goes_when_nothing_else_was_named() {
    assert_eq!(shells(own(), Some("0")), ["unset", "mapped", "unset", "not mapped"]);
}

#[test]
fn other_libraries_stay_in_their_order() {
    let folder = scratch("children");
    let (a, b) = (other(&folder, "first"), other(&folder, "second"));
    let own = own();
    let both = format!("{a}:{b}");
    for (before, after) in [
        (format!("{own}:{a}"), &a),
        (format!("{a}:{own}"), &a),
        (format!("{own} {a}::{b}"), &both),
        (format!("{a} {own}:{b}"), &both),
        (format!("{own}:{a}:{own}:{b} "), &both),
    ] {
        let expected = [after.as_str(), "mapped", after, "not mapped"];
        assert_eq!(shells(&before, Some("0")), expected, "{before}");
    }
}

/// Another name of the file is the same library; another file of the same name isn't.
#[test]
fn it_knows_itself_by_the_file() {
    let folder = scratch("children-links");
    let link = folder.join("link.so");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(preload(), &link).unwrap();
    let link = link.to_str().unwrap();
    assert_eq!(shells(link, Some("0")), ["unset", "mapped", "unset", "not mapped"]);

    let namesake = other(&folder, "furwock_preload");
    assert!(namesake.ends_with("/libfurwock_preload.so"));
    let lines = shells(&format!("{namesake}:{}", own()), Some("0"));
    assert_eq!(lines[0], namesake);
}

/// A library that the loader had to search for.
#[test]
fn it_knows_itself_by_a_bare_name() {
    let mut shell = Command::new("sh");
    shell.args(["-c", SHOW]).env("LD_PRELOAD", preload().file_name().unwrap());
    shell.env("LD_LIBRARY_PATH", preload().parent().unwrap()).env("FURWOCK_CHILDREN", "0");
    assert_eq!(stdout_of(shell, LIMIT), "unset\nmapped\n");
}

#[test]
fn the_command_has_an_option_for_it() {
    let command = built("furwock-cli", "furwock");
    let run = |options: &[&str]| {
        let mut run = Command::new(&command);
        run.arg("run").args(options).args(["--", "sh", "-c", &format!("{SHOW}; sh -c '{SHOW}'")]);
        run.env("FURWOCK_PRELOAD", preload()).env_remove("LD_PRELOAD");
        run.env_remove("FURWOCK_CHILDREN");
        stdout_of(run, LIMIT).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(run(&["--no-children"]), ["unset", "mapped", "unset", "not mapped"]);
    assert_eq!(run(&[]), [own(), "mapped", own(), "mapped"]);
}
