//! Numbers that documents give are the code's.

use crate::tree::{File, tracked};

/// A constant and its value in the sources, and how documents say it.
struct Fact {
    constant: &'static str,
    value: &'static str,
    document: &'static str,
    says: &'static str,
}

const fn fact(
    constant: &'static str,
    value: &'static str,
    document: &'static str,
    says: &'static str,
) -> Fact {
    Fact { constant, value, document, says }
}

const FACTS: [Fact; 16] = [
    fact("HAND_OFF_AFTER", "from_millis(5)", "docs/man/furwock_mutex_lock.3", "waited for 5 ms"),
    fact("HAND_OFF_AFTER", "from_millis(5)", "docs/man/furwock_mutex_lock_with.3", "after 5 ms"),
    fact("HAND_OFF_AFTER", "from_millis(5)", "capi/src/options.rs", "the plain call's 5 ms"),
    fact("TURN_NS", "1_300_000", "docs/experiments.md", "**1.3 ms**"),
    fact("SHORT_TURN_NS", "250_000", "DESIGN.md", "It is 0.25 ms for"),
    fact("LONG_WAIT_NS", "10_000_000", "DESIGN.md", "for W > 10 ms"),
    fact("MOST_PARTS", "4", "DESIGN.md", "a quarter at the least"),
    fact("LEAST", "25", "DESIGN.md", "25 from eight on"),
    fact("TELLING", "25", "DESIGN.md", "25 of them end it"),
    fact("SPARSE_NS", "TURN_NS / 1_000", "DESIGN.md", "every 1.3 us, a thousandth of the turn"),
    fact("OWNER_CHECK", "from_millis(20)", "capi/src/options.rs", "about every 20 ms"),
    fact("OWNER_CHECK", "from_millis(20)", "docs/man/furwock_mutex_lock_with.3", "every 20 ms"),
    fact("ROWS", "512", "docs/man/furwock_rwlock_init.3", "512 at most"),
    fact("CHUNK_THREADS", "256", "docs/sandboxes.md", "the first 256 nodes"),
    fact("FAN_OUT", "4", "furwock/src/linux/mod.rs", "wakes four"),
    fact("PLAIN", "8", "furwock/src/linux/mod.rs", "more than eight"),
];

/// What the sources define a constant as, wherever they do.
fn values<'f>(files: &'f [File], constant: &str) -> Vec<&'f str> {
    let definition = format!("const {constant}: ");
    let sources = files.iter().filter(|file| file.is_below("furwock/src"));
    let definitions = sources.flat_map(|file| file.text.split(&definition).skip(1));
    definitions.filter_map(|rest| Some(rest.split_once(" = ")?.1.split_once(';')?.0)).collect()
}

/// Whether `value` stands in `text` by itself, and not in a longer number.
fn has(text: &str, value: &str) -> bool {
    let within = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
    text.match_indices(value).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + value.len()..]);
        !within(before.chars().next_back()) && !within(after.chars().next())
    })
}

fn untrue(files: &[File], facts: &[Fact]) -> Vec<String> {
    let mut found = Vec::new();
    for Fact { constant, value, document, says } in facts {
        let values = values(files, constant);
        if !values.iter().any(|defined| has(defined, value)) {
            found.push(format!("{constant} isn't {value}, as {document} has it: {values:?}"));
        }
        let said = files.iter().find(|file| file.path == *document);
        let said = said.map(|file| file.text.split_whitespace().collect::<Vec<_>>().join(" "));
        if !said.is_some_and(|said| said.replace("/// ", "").contains(says)) {
            found.push(format!("{document} doesn't say \"{says}\" of {constant}"));
        }
    }
    found
}

#[test]
fn numbers_are_the_codes() {
    crate::nothing(untrue(tracked(), &FACTS), "change the document, the code or the table");
}

#[test]
fn a_number_that_differs_is_found() {
    let facts = [fact("TURN", "20", "a.md", "every 20 ms")];
    let planted = |code: &str, says: &str| {
        untrue(&[File::new("furwock/src/a.rs", code), File::new("a.md", says)], &facts)
    };
    assert_eq!(planted("const TURN: u32 = 20;", "looks every\n20 ms"), [""; 0]);
    assert_eq!(planted("const TURN: u32 = 200;", "every 20 ms").len(), 1);
    assert_eq!(planted("const TURN: u32 = 20;", "every 30 ms").len(), 1);
}
