//! Words that stop a reader, and names that things no longer have.

use crate::tree::{File, tracked};

/// What isn't written, and what is instead.
const FORBIDDEN: [(&str, &str); 14] = [
    ("whoever", "a thread that, the waiter that"),
    ("those who", "threads that, waiters that"),
    ("anybody who", "any thread that"),
    ("everybody who", "all threads that"),
    ("nobody who", "no thread that"),
    ("how is measured", "how we measure"),
    ("whom that doesn't", "leave it out"),
    ("bench seeds", "bench papers"),
    ("five documents", "five papers"),
    ("locks.md", "docs/experiments.md"),
    ("deferred::must", "name a function that there is"),
    ("wake bit", "wakes are counted"),
    ("(`bias`)", "name a module that there is"),
    ("whatever their real-time priority", "queues are ranked by it"),
];

/// This file names them, and a changelog's old entries keep theirs.
const NAMES_THEM: [&str; 2] = ["furwock/tests/tidy/words.rs", "CHANGELOG.md"];

fn forbidden(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !NAMES_THEM.contains(&file.path.as_str())) {
        for (number, line) in file.lines() {
            let line = line.to_lowercase();
            for (word, instead) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
                found.push(format!("{}:{number}: {word}: {instead}", file.path));
            }
        }
    }
    found
}

#[test]
fn no_forbidden_word_is_used() {
    crate::nothing(forbidden(tracked()), "say it otherwise");
}

#[test]
fn a_forbidden_word_is_found() {
    for (word, instead) in FORBIDDEN {
        let planted = [File::new("a.md", &format!("First.\nThen {} comes.", word.to_uppercase()))];
        assert_eq!(forbidden(&planted), [format!("a.md:2: {word}: {instead}")]);
    }
}
