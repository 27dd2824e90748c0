//! Commands and options that the documents name are in the command's help.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::FURWOCK;

/// Options under a hidden second name.
const ALIASES: [(&str, &str); 1] = [("bench hash -r", "perf's name for --seconds")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The command's help, of a subcommand's subcommand too; none if there is no such command.
fn help(commands: &[&str]) -> Option<String> {
    let mut furwock = Command::new(FURWOCK);
    let output = furwock.args(commands).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Pieces of code in Markdown: a fence's lines, and what stands between backticks.
fn code(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            pieces.push(line);
        } else {
            pieces.extend(line.split('`').skip(1).step_by(2));
        }
    }
    pieces
}

/// The words of a call of `furwock`, without a comment and without the command that it is to run.
fn call(piece: &str) -> Option<Vec<&str>> {
    // A cargo call names the package.
    let piece = piece.split(" #").next().filter(|piece| !piece.contains("-p furwock"))?;
    let mut words = piece.split_whitespace();
    words.find(|word| *word == "furwock" || word.ends_with("/release/furwock"))?;
    let words: Vec<_> = words.take_while(|word| *word != "--").collect();
    (!words.is_empty()).then_some(words)
}

/// What a call names that the command doesn't have.
fn unknown(words: &[&str]) -> Vec<String> {
    let is_name =
        |word: &&&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let mut commands: Vec<&str> = words.iter().take(1).filter(is_name).copied().collect();
    // `run` and `compare` are followed by a program; the others by a workload.
    if ["bench", "workload"].contains(&words[0]) {
        commands.extend(
            words.iter().skip(1).take(1).filter(|word| !word.starts_with('-')).filter(is_name),
        );
    }
    let Some(help) = help(&commands) else { return vec![commands.join(" ")] };
    let options = words.iter().filter(|word| word.starts_with('-') && is_name(word));
    let of_help = |option: &str| {
        help.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == option)
    };
    let missing = options.filter(|option| **option != "--help" && !of_help(option));
    let missing = missing.map(|option| format!("{} {option}", commands.join(" ")));
    missing.filter(|missing| !ALIASES.iter().any(|(alias, _)| alias == missing)).collect()
}

#[test]
fn commands_and_options_in_documents_exist() {
    let mut found = BTreeSet::new();
    let mut calls = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for words in code(&text).into_iter().filter_map(call) {
            calls += 1;
            found.extend(unknown(&words).into_iter().map(|what| format!("{path:?}: {what}")));
        }
    }
    assert!(calls > 20, "{calls} calls: the documents are read wrongly");
    assert!(found.is_empty(), "not in the help: {found:#?}");
}

#[test]
fn what_the_help_does_not_have_is_found() {
    let planted = |piece| unknown(&call(piece).unwrap());
    assert_eq!(planted("target/release/furwock run --no-children -- true --gone"), [""; 0]);
    assert_eq!(planted("furwock bench mutex --gone 3 # --ignored"), ["bench mutex --gone"]);
    assert_eq!(planted("furwock bench gone --rounds 3"), ["bench gone"]);
    assert_eq!(planted("furwock vanish"), ["vanish"]);
}
