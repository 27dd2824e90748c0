//! How long a suite takes is the same wherever it is said.

use crate::tree::{File, tracked};

/// What takes how long, on the machine of docs/benchmarks.md. Documents name a suite by its command
/// on the same line; a command's help is in the source of that name, a script's in the script.
const SUITES: [(&str, &str, &str); 13] = [
    // By command, by source, and the time.
    ("scripts/try.sh", "", "3 minutes"),
    ("scripts/test.sh", "scripts/test.sh", "12 minutes"),
    ("scripts/models.sh", "scripts/models.sh", "9 minutes"),
    ("scripts/miri.sh", "scripts/miri.sh", "2 minutes"),
    ("scripts/real-programs.sh", "scripts/real-programs.sh", "2 minutes"),
    (".ci/run", ".ci/run", "40 minutes"),
    ("bench papers", "papers", "5 minutes"),
    ("bench scaling", "scaling", "2 minutes"),
    ("bench memory", "memory", "10 seconds"),
    ("bench mutex", "mutex", "3 minutes"),
    ("bench rwlock", "rwlock", "3 minutes"),
    ("bench quick", "quick", "20 seconds"),
    ("furwock compare` runs", "builtin_cases", "20 seconds"),
];

/// The times in a line: "about 5 minutes", "some 10 seconds".
fn times(line: &str) -> Vec<String> {
    let words: Vec<_> = line.split(|letter: char| !letter.is_alphanumeric()).collect();
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut times = Vec::new();
    for three in words.windows(3) {
        let is_about = ["about", "some"].contains(&three[0].to_lowercase().as_str());
        let is_number = three[1].chars().all(|digit| digit.is_ascii_digit());
        if is_about && is_number && ["minutes", "seconds"].contains(&three[2]) {
            times.push(format!("{} {}", three[1], three[2]));
        }
    }
    times
}

/// The suite that a line of a file speaks of.
fn suite(file: &File, line: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let named = SUITES.iter().find(|(command, ..)| line.contains(command));
    named.or_else(|| {
        SUITES.iter().find(|(_, source, _)| {
            file.path == *source || (file.is_below("cli/src") && file.stem() == *source)
        })
    })
}

/// Sources whose comments speak of other times.
fn speaks_of_suites(file: &File) -> bool {
    let is_a_script = file.is("sh") || file.path == ".ci/run";
    file.is("md") && file.path != "CHANGELOG.md" || is_a_script || file.is_below("cli/src")
}

fn disagreements(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| speaks_of_suites(file)) {
        for (number, line) in file.prose() {
            for time in times(line) {
                match suite(file, line) {
                    Some((_, _, told)) if *told == time => {}
                    Some((command, _, told)) => {
                        found.push(format!("{}:{number}: {command}: {told}, not {time}", file.path))
                    }
                    None => found.push(format!("{}:{number}: which suite: {time}", file.path)),
                }
            }
        }
    }
    found
}

#[test]
fn durations_agree() {
    crate::nothing(disagreements(tracked()), "these differ from the table of suites");
}

#[test]
fn a_duration_that_differs_is_found() {
    let planted = |path: &str, line: &str| disagreements(&[File::new(path, line)]);
    assert_eq!(planted("a.md", "sh scripts/test.sh # about 12 minutes"), [""; 0]);
    let other = planted("a.md", "sh scripts/test.sh # about 15 minutes");
    assert_eq!(other, ["a.md:1: scripts/test.sh: 12 minutes, not 15 minutes"]);
    let help = planted("cli/src/x/papers/mod.rs", "/// About 9 minutes. For each paper.");
    assert_eq!(help, ["cli/src/x/papers/mod.rs:1: bench papers: 5 minutes, not 9 minutes"]);
    assert_eq!(planted("a.md", "takes some 3 seconds"), ["a.md:1: which suite: 3 seconds"]);
}
