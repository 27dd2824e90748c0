//! Rules for the repository's texts: what they cite or link to exists, they agree with the code and
//! with each other, and their lines are short enough to read. Each rule is a function from files to
//! what is wrong with them, and has a test that plants a violation.

mod citations;
mod durations;
mod facts;
mod lines;
mod links;
mod litmus;
mod orderings;
mod premises;
mod tree;
mod words;

/// Fails with all that a rule has found.
#[track_caller]
fn nothing(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}
