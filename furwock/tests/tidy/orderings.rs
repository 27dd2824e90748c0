//! Every argument of ORDERING.md is cited at the code it is about, and names what checks it.
//! (`citations` and `premises` check that what it names exists.)

use crate::tree::{File, quoted, tracked};
use std::collections::BTreeSet;

/// Arguments without a mutant, and why there can be none.
const WITHOUT_MUTANT: [(&str, &str); 6] = [
    ("D-1", "without it a handler waits for its own thread, which no model has: C tests do"),
    ("D-2", "the same"),
    ("M-6", "a touch after the release faults only if the memory is gone: a C test unmaps it"),
    ("P-1", "the kernel's half can't be reverted here"),
    ("RB-1", "needs a kill between two instructions: a test kills at each of them"),
    ("RB-5", "the same; on older kernels the test demands that it sees the fault"),
];

/// An argument: its ids, and its section's text.
struct Argument<'t> {
    ids: Vec<&'t str>,
    text: &'t str,
}

fn arguments(document: &str) -> Vec<Argument<'_>> {
    let sections = document.split("\n## ").skip(1);
    let with_ids = sections.filter_map(|text| Some((text.split_once(": ")?.0, text)));
    let arguments = with_ids.map(|(ids, text)| Argument { ids: ids.split(", ").collect(), text });
    arguments.filter(|argument| argument.ids.iter().all(|id| is_id(id))).collect()
}

/// "M-2" or "RB-1". (The encoding of text is none.)
fn is_id(text: &str) -> bool {
    let Some((letters, number)) = text.split_once('-') else { return false };
    let are = |text: &str, of: fn(&char) -> bool| !text.is_empty() && text.chars().all(|c| of(&c));
    letters != "UTF" && are(letters, char::is_ascii_uppercase) && are(number, char::is_ascii_digit)
}

/// Models and mutants cite an argument too, but aren't the code that it is about.
fn is_a_site(file: &File) -> bool {
    let models = ["furwock/src/models", "furwock/src/generated"];
    let is_code = ["furwock/src", "preload/src"].iter().any(|folder| file.is_below(folder));
    let is_a_model = models.iter().any(|folder| file.is_below(folder));
    is_code && file.is("rs") && !is_a_model && file.stem() != "mutant"
}

/// The ids in a source's comments, with those between the ends of "M-1 to M-4".
fn cited(file: &File) -> BTreeSet<String> {
    let is_edge = |letter: char| !letter.is_ascii_alphanumeric() && letter != '-';
    let words = file.prose().flat_map(|(_, prose)| prose.split(is_edge));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let alone = words.iter().filter(|word| is_id(word)).map(|word| (*word).to_owned());
    let ranges = words.windows(3).filter(|range| range[1] == "to").flat_map(|range| {
        let (from, to) = (number(range[0]), number(range[2]));
        let ends = from.zip(to).filter(|((of, _), (other, _))| of == other);
        ends.into_iter()
            .flat_map(|((of, from), (_, to))| (from..=to).map(move |n| format!("{of}-{n}")))
    });
    alone.chain(ranges).collect()
}

/// An id's letters and its number.
fn number(id: &str) -> Option<(&str, u32)> {
    let (letters, number) = id.split_once('-').filter(|_| is_id(id))?;
    Some((letters, number.parse().ok()?))
}

fn faults(files: &[File], without_mutant: &[(&str, &str)]) -> Vec<String> {
    let document = files.iter().find(|file| file.path == "ORDERING.md").expect("it is there");
    let sites = files.iter().filter(|file| is_a_site(file));
    let cited: BTreeSet<_> = sites.flat_map(cited).collect();
    let mut found = Vec::new();
    let arguments = arguments(&document.text);
    for Argument { ids, text } in &arguments {
        found.extend(
            ids.iter()
                .filter(|id| !cited.contains(**id))
                .map(|id| format!("{id} is cited at no site: name it where the code relies on it")),
        );
        let id = ids[0];
        let has = |what: &str| {
            let named = text.split(what).nth(1).and_then(|rest| rest.split("\n\n").next());
            named.is_some_and(|rest| quoted(rest).next().is_some())
        };
        if !has("*Model") && !has("*Test") {
            found.push(format!("{id} names neither model nor test"));
        }
        match (has("*Mutant"), without_mutant.iter().any(|(other, _)| *other == id)) {
            (false, false) => found.push(format!("{id} names no mutant")),
            (true, true) => found.push(format!("{id} has a mutant now: take it off the list")),
            _ => {}
        }
    }
    let known: BTreeSet<_> = arguments.iter().flat_map(|argument| argument.ids.clone()).collect();
    let unknown = cited.iter().filter(|id| !known.contains(id.as_str()));
    found.extend(unknown.map(|id| format!("{id} is cited, and ORDERING.md has no such argument")));
    found
}

#[test]
fn arguments_are_cited_and_checked() {
    let document = tracked().iter().find(|file| file.path == "ORDERING.md").expect("it is there");
    assert!(arguments(&document.text).len() > 30, "the sections are read wrongly");
    crate::nothing(faults(tracked(), &WITHOUT_MUTANT), "arguments, their sites and their checks");
}

#[test]
fn an_argument_without_a_site_or_a_check_is_found() {
    let planted = |document: &str, code: &str| {
        let document = File::new("ORDERING.md", document);
        faults(&[document, File::new("furwock/src/lot/a.rs", code)], &[])
    };
    let whole = "\n## A-1: a\nWhy.\n\n*Model:* `a`. *Mutant:* `B`.\n\n## B-2: b\n*Test:* `c.rs`. *Mutant:* `D`.";
    assert_eq!(planted(whole, "// A-1, B-2"), [""; 0]);
    assert_eq!(planted(&whole.replace("A-1", "B-1"), "// B-1 to B-2"), [""; 0]);
    assert_eq!(planted(whole, "// A-1").len(), 1);
    assert_eq!(planted(whole, "// A-1, B-2, B-3").len(), 1);
    assert_eq!(planted(&whole.replace("*Mutant:* `D`.", ""), "// A-1, B-2").len(), 1);
    assert_eq!(planted(&whole.replace("*Test:* `c.rs`.", ""), "// A-1, B-2").len(), 1);
    let models = [File::new("ORDERING.md", whole), File::new("furwock/src/models/a.rs", "// A-1")];
    assert_eq!(faults(&models, &[]).len(), 2);
    assert_eq!(faults(&models, &[("A-1", "none")]).len(), 3);
}
