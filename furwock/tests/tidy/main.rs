//! What the repository's texts promise: that what they cite exists, that they agree with the code
//! and with one another, and that they are short enough to read. Each rule is a function from files
//! to what is wrong with them, and has a test that plants a violation.

mod citations;
mod durations;
mod facts;
mod lines;
mod orderings;
mod tree;
mod words;

/// Findings with any of these in them are let pass, while these rooms are rebuilt. To be emptied.
const IN_MOTION: &[&str] = &[
    "cli/",
    "conformance/",
    "furwock/src/lock/",
    "furwock/src/lot/",
    "furwock/src/prim/",
    "furwock/src/sys/",
    "furwock/src/models/",
    "furwock/src/generated/",
    "furwock/tests/",
    "capi/tests/",
    "C-2 is cited at no site",
    "C-3 is cited at no site",
    "OWNER_CHECK isn't",
];

/// Fails with all that a rule has found.
#[track_caller]
fn nothing(mut found: Vec<String>, rule: &str) {
    found.retain(|found| !IN_MOTION.iter().any(|room| found.contains(room)));
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}
