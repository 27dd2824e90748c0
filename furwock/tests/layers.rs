//! The layers of the crate: which folder may name which, read from the paths in the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The layers from the ground up. A file belongs to the longest entry that its path begins with,
/// and may name files of its own layer and of those above it in this table.
const LAYERS: [&str; 19] = [
    "sys/",
    "prim/",
    "lot/node/",
    "lot/bucket/",
    "lot/wait/",
    "lot/",
    "futex/",
    "lock/",
    "shared/",
    "linux/",
    "sync/",
    "std_compat/",
    "future/",
    "inspect/",
    "unstable.rs",
    "models/",
    "generated/",
    "random_schedules.rs",
    "lib.rs",
];

/// Layers in which a file may not even name the `mod.rs` of its own folder, which names it.
/// Elsewhere `mod.rs` may define what its files share.
const STRICT: [&str; 6] = ["sys/", "prim/", "lot/node/", "lot/bucket/", "lot/wait/", "lot/"];

/// A source file: its path below `src`, and its text.
type Source = (String, String);

/// For each file, the files that it names.
type Names = BTreeMap<String, BTreeSet<String>>;

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

fn layer(file: &str) -> usize {
    let fitting = LAYERS.iter().enumerate().filter(|(_, layer)| file.starts_with(**layer));
    let longest = fitting.max_by_key(|(_, layer)| layer.len());
    longest.unwrap_or_else(|| panic!("{file} is in no layer")).0
}

/// The path of the module that a file is: `lot/node/mod.rs` is `lot`, `node`.
fn module(file: &str) -> Vec<&str> {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Vec::new() } else { path.split('/').collect() }
}

/// Words, `::` and single characters, without comments, strings and visibilities.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                break;
            } else if first == '"' {
                let end = rest[1..].replace("\\\"", "__").find('"').map_or(rest.len(), |at| at + 2);
                rest = &rest[end..];
                continue;
            } else if rest.starts_with("pub(in ") {
                rest = &rest[rest.find(')').expect("a visibility ends on its line") + 1..];
                continue;
            } else if rest.starts_with("::") {
                2
            } else if first.is_alphanumeric() || first == '_' {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            rest = &rest[length..];
        }
    }
    tokens
}

/// The paths that begin at `at`, one for each end of its groups. Returns where they end.
fn paths(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = if tokens[at] == "," { at + 1 } else { paths(tokens, at, &path, found) };
                }
                return at + 1;
            }
            Some(word) if word.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                path.push(word.to_owned());
                at += 1;
            }
            _ => at += 1,
        }
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    if tokens.get(at).is_some_and(|token| token == "as") {
        at += 2;
    }
    found.push(path);
    at
}

/// The files that `file` names.
fn named(file: &str, text: &str, modules: &BTreeMap<Vec<&str>, &str>) -> BTreeSet<String> {
    let own = module(file);
    let tokens = tokens(text);
    let (mut depth, mut inline, mut at) = (0, Vec::new(), 0);
    let mut absolute: Vec<Vec<String>> = Vec::new();
    while at < tokens.len() {
        let next = |ahead: usize| tokens.get(at + ahead).map(String::as_str);
        match tokens[at].as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                }
            }
            "mod" if next(2) == Some("{") => inline.push(depth),
            "mod" if next(2) == Some(";") => {
                let child =
                    own.iter().map(|name| name.to_string()).chain(next(1).map(String::from));
                absolute.push(child.collect());
            }
            "crate" | "super" | "self"
                if next(1) == Some("::") && (at == 0 || tokens[at - 1] != "::") =>
            {
                let mut found = Vec::new();
                at = paths(&tokens, at, &[], &mut found);
                absolute.extend(found.iter().filter_map(|path| resolve(path, &own, inline.len())));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let file_of = |path: &Vec<String>| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        (1..=path.len()).rev().find_map(|length| modules.get(&path[..length]).copied())
    };
    absolute.iter().filter_map(file_of).filter(|other| *other != file).map(String::from).collect()
}

/// A path from the crate's root; `None` if it stays within its file.
fn resolve(path: &[String], own: &[&str], inline: usize) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let base = match path[0].as_str() {
        "crate" => &own[..0],
        "super" if ups > inline => &own[..own.len() - (ups - inline)],
        "self" if inline == 0 => own,
        _ => return None,
    };
    let rest = path[ups.max(1)..].iter().cloned();
    Some(base.iter().map(|name| name.to_string()).chain(rest).collect())
}

fn names(sources: &[Source]) -> Names {
    let modules = sources.iter().map(|(file, _)| (module(file), file.as_str())).collect();
    sources.iter().map(|(file, text)| (file.clone(), named(file, text, &modules))).collect()
}

/// Whether `file` may name `other`, of its own layer, that names it in turn.
fn may_be_in_a_circle(file: &str, other: &str) -> bool {
    let encloses = file != other && module(file).starts_with(&module(other));
    encloses && !STRICT.contains(&LAYERS[layer(file)])
}

/// Whether a way leads from `from` to `to` within their layer.
fn leads(names: &Names, from: &str, to: &str) -> bool {
    let (mut next, mut seen) = (vec![from], BTreeSet::from([from]));
    while let Some(file) = next.pop() {
        for other in names[file].iter().filter(|other| !may_be_in_a_circle(file, other)) {
            if other == to {
                return true;
            }
            if layer(other) == layer(from) && seen.insert(other) {
                next.push(other);
            }
        }
    }
    false
}

/// What breaks the rules: a file that names one of a higher layer, or one of its own that names it
/// in turn.
fn faults(sources: &[Source]) -> Vec<String> {
    let names = names(sources);
    let mut faults = Vec::new();
    for (file, others) in &names {
        for other in others {
            let (own, its) = (layer(file), layer(other));
            let is_alone = || may_be_in_a_circle(file, other) || !leads(&names, other, file);
            if its > own {
                faults.push(format!("{file} names {other}, which is above it"));
            } else if its == own && !is_alone() {
                faults.push(format!("{file} and {other} name one another in a circle"));
            }
        }
    }
    faults
}

#[test]
fn each_layer_knows_those_before_it_and_no_files_import_in_a_circle() {
    let faults = faults(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
}

fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let owned = |(file, text): &(&str, &str)| (file.to_string(), text.to_string());
    faults(&files.iter().map(owned).collect::<Vec<_>>())
}

#[test]
fn a_file_that_names_a_higher_layer_is_found() {
    let higher = ("lot/bucket/mod.rs", "pub(crate) fn lock() {}");
    for text in [
        "use crate::lot::bucket::lock;",
        "use crate::{sys::clock, lot::{bucket as b, node}};",
        "mod tests {\n    use super::super::super::bucket;\n}",
        "fn f() { crate::lot::bucket::lock() }",
    ] {
        let found = planted(&[higher, ("lot/node/key.rs", text)]);
        assert_eq!(found, ["lot/node/key.rs names lot/bucket/mod.rs, which is above it"], "{text}");
    }
    let door = planted(&[("lot/mod.rs", ""), ("lot/wait/one.rs", "use crate::lot::lock;")]);
    assert_eq!(door, ["lot/wait/one.rs names lot/mod.rs, which is above it"]);
}

#[test]
fn files_that_name_one_another_in_a_circle_are_found() {
    let a = ("sys/a.rs", "use super::b::{self, B};");
    let b = ("sys/b.rs", "fn f() { super::c::g() }");
    let c = ("sys/c.rs", "use crate::sys::a::A;");
    assert_eq!(planted(&[a, b, c]).len(), 3);
    assert!(planted(&[a, b, ("sys/c.rs", "")]).is_empty());
    let door = planted(&[("sys/mod.rs", "mod a;\nfn f() {}"), ("sys/a.rs", "use super::f;")]);
    assert_eq!(door.len(), 2, "{door:?}");
    let shares = planted(&[("sync/mod.rs", "mod a;\nfn f() {}"), ("sync/a.rs", "use super::f;")]);
    assert!(shares.is_empty(), "{shares:?}");
}

#[test]
fn comments_strings_and_the_same_file_are_no_names() {
    let higher = ("lot/mod.rs", "");
    let text =
        "//! crate::lot\n/// [`crate::lot`]\npub(in crate::lot) const A: &str = \"crate::lot\";
        mod inner { use super::A; }";
    assert!(planted(&[higher, ("lot/node/key.rs", text)]).is_empty());
}
