//! Files, folders, modules and functions that documents and comments cite exist.

use crate::tree::{File, quoted, tracked};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Endings of names that are files' and nothing else.
const ENDINGS: [&str; 9] = ["rs", "md", "sh", "py", "c", "cpp", "svg", "toml", "3"];

/// This file plants citations, and a changelog's entries keep the names of their time.
const NAMES_WHAT_IS_GONE: [&str; 2] = ["furwock/tests/tidy/citations.rs", "CHANGELOG.md"];

/// What a text may cite though the repository doesn't define it.
const ELSEWHERE: [(&str, &str); 10] = [
    ("RwLock::upgradable_read", "lock_api's"),
    ("prop_oneof", "proptest's"),
    ("jmp_buf", "C's"),
    ("get_mempolicy", "a system call"),
    ("futex_wait_multiple_setup", "the kernel's"),
    ("wait_lock", "the kernel's"),
    ("list_op_pending", "the kernel's"),
    ("lll_lock_wait_private", "glibc's probe"),
    ("mutex_init", "glibc's probe"),
    ("cond_init", "glibc's probe"),
];

/// Interfaces of which a text may name any function.
const OTHERS_FAMILIES: [&str; 5] = ["pthread_", "thrd_", "tss_", "sched_", "rt_"];

/// Crates and languages whose names are written as paths are.
const OTHERS_ROOTS: [&str; 14] = [
    "std",
    "core",
    "libc",
    "loom",
    "shuttle",
    "clap",
    "parking_lot",
    "parking_lot_core",
    "lock_api",
    "process",
    "Pin",
    "u32",
    "i32",
    "usize",
];

/// What the repository has, looked up by name.
struct Tree<'f> {
    paths: HashSet<&'f str>,
    /// Of each item: the files that define it.
    items: HashMap<&'f str, Vec<&'f File>>,
    /// All words of code and scripts.
    words: HashSet<&'f str>,
}

/// The words that stand before an item's name where it is defined.
const DEFINES: [&str; 11] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "mod",
    "const",
    "static",
    "type",
    "union",
    "macro_rules!",
    "#define",
];

fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_!#".contains(letter);
    line.split(move |letter| !is_part(letter)).filter(|word| !word.is_empty())
}

impl<'f> Tree<'f> {
    fn new(files: &'f [File]) -> Self {
        let mut paths = HashSet::new();
        let mut items: HashMap<_, Vec<_>> = HashMap::new();
        let mut known = HashSet::new();
        for file in files {
            let mut path = file.path.as_str();
            paths.insert(path);
            while let Some((folder, _)) = path.rsplit_once('/') {
                paths.insert(folder);
                path = folder;
            }
            if !file.is("md") && !file.is("3") {
                known.extend(file.code().flat_map(words));
            }
            if !file.is("rs") && !file.is("c") && !file.is("h") {
                continue;
            }
            for line in file.code() {
                let mut before = "";
                let is_reexported = line.contains("use ") || line.trim_start().starts_with('}');
                for (index, word) in words(line).enumerate() {
                    // A variant or field begins its line; a re-export, or a macro's item, is
                    // anywhere.
                    if DEFINES.contains(&before) || index == 0 || is_reexported {
                        items.entry(word).or_default().push(file);
                    }
                    before = word;
                }
            }
        }
        Self { paths, items, words: known }
    }

    fn has_path(&self, cited: &str, from: &str) -> bool {
        let cited = cited.trim_end_matches('/');
        let ending = format!("/{cited}");
        // From the root, from the citing file's folder or its package, or by the end of its path.
        self.paths.contains(cited)
            || self.paths.contains(joined(from, cited).as_str())
            || self.paths.iter().any(|path| path.ends_with(&ending))
    }

    /// Whether `module` (or type) has an item of that name.
    fn has_item(&self, module: &str, item: &str) -> bool {
        let Some(defined_in) = self.items.get(item) else {
            // A module has its file's name.
            return self.is_module(item) && self.is_module(module);
        };
        let types = self.items.get(module).map_or(&[][..], Vec::as_slice);
        defined_in.iter().any(|file| {
            let parts = file.path.trim_end_matches(".rs").split('/');
            let is_there =
                parts.into_iter().any(|part| part == module || part.replace('-', "_") == module);
            is_there || types.iter().any(|other| std::ptr::eq(*other, *file))
        }) || module.starts_with(|first: char| first.is_ascii_uppercase()) && !types.is_empty()
    }

    fn is_module(&self, name: &str) -> bool {
        self.has_path(name, "") || self.has_path(&format!("{name}.rs"), "")
    }
}

/// `cited`, from the folder of `from`, without "..".
fn joined(from: &str, cited: &str) -> String {
    let mut parts: Vec<_> = from.split('/').collect();
    parts.pop();
    for part in cited.split('/') {
        match part {
            ".." => _ = parts.pop(),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_path(word: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let name = stem.rsplit('/').next().unwrap_or(stem);
    // Documents have names in capitals; anything else so is a placeholder, or a number.
    let is_a_name = name.chars().any(|letter| letter.is_ascii_lowercase());
    let is_a_document = ending == "md" && name.len() > 4;
    ENDINGS.contains(&ending) && word.chars().all(letters) && (is_a_name || is_a_document)
}

/// Words that look like files: backticked, linked, or bare. A manual page that includes another
/// names it from where pages are installed.
fn paths(prose: &str) -> Vec<&str> {
    let edges = |letter: char| letter.is_whitespace() || "`()[]<>{},;:\"'*|=#".contains(letter);
    let words = prose.split(edges).map(|word| word.trim_end_matches(['.', '?', '!']));
    let words = words.map(|word| word.trim_start_matches("man3/"));
    words.filter(|word| is_path(word) && !word.starts_with('/')).collect()
}

/// `module::item`, without arguments, and without names that stand for the crate.
fn item_path(quoted: &str) -> Option<Vec<&str>> {
    let path = quoted.split(['(', '<', ' ']).next()?.trim_end_matches("::*");
    let parts: Vec<_> = path
        .split("::")
        .filter(|part| !["crate", "super", "self", "furwock"].contains(part))
        .collect();
    let is_name = |part: &&str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    (path.contains("::") && !parts.is_empty() && parts.iter().all(is_name)).then_some(parts)
}

/// A name of several words, as our functions, fields and variables have.
fn is_our_name(quoted: &str) -> bool {
    if OTHERS_FAMILIES.iter().any(|family| quoted.starts_with(family)) {
        return false;
    }
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let parts: Vec<_> = quoted.split('_').collect();
    parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && part.chars().all(is_part))
}

/// Sections that a line cites: `DESIGN.md, "Handlers"`, or a link to `DESIGN.md#handlers`.
fn sections(prose: &str) -> Vec<(&str, &str)> {
    let mut cited = Vec::new();
    for (at, _) in prose.match_indices(".md") {
        let (before, after) = (&prose[..at + 3], &prose[at + 3..]);
        let edges = |letter: char| letter.is_whitespace() || "`([".contains(letter);
        let Some(document) = before.rsplit(edges).next() else { continue };
        let quoted = after.strip_prefix(", \"").and_then(|rest| rest.split_once('"'));
        let linked = after.strip_prefix('#').and_then(|rest| rest.split_once(')'));
        cited.extend(quoted.or(linked).map(|(section, _)| (document, section)));
    }
    cited
}

/// Whether a document has a section of that title, or one that a link names so.
fn has_section(document: &File, section: &str) -> bool {
    let anchor = |title: &str| {
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        title.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    document.text.lines().any(|line| {
        let title = line.trim_start_matches('#').trim();
        let begins = line.strip_prefix("**").is_some_and(|rest| rest.starts_with(section));
        begins || line.starts_with('#') && (title == section || anchor(title) == section)
    })
}

fn missing(files: &[File]) -> Vec<String> {
    let tree = Tree::new(files);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !NAMES_WHAT_IS_GONE.contains(&file.path.as_str())) {
        for (number, prose) in file.prose() {
            let at = |what: &str| format!("{}:{number}: {what}", file.path);
            let is_elsewhere = |name: &str| ELSEWHERE.iter().any(|(other, _)| *other == name);
            let gone = paths(prose).into_iter().filter(|path| !tree.has_path(path, &file.path));
            found.extend(gone.map(at));
            for (document, section) in sections(prose) {
                let path = joined(&file.path, document);
                let cited = files.iter().find(|file| file.path == path || file.path == document);
                if cited.is_some_and(|document| !has_section(document, section)) {
                    found.push(at(&format!("{document}, {section}")));
                }
            }
            if !file.is("md") && !file.is("rs") {
                continue;
            }
            for quoted in quoted(prose) {
                let is_known = tree.words.contains(quoted) || tree.is_module(quoted);
                if is_our_name(quoted) && !is_known && !is_elsewhere(quoted) {
                    found.push(at(quoted));
                }
                let Some(parts) = item_path(quoted) else { continue };
                let is_there = match parts[..] {
                    [root, ..] if OTHERS_ROOTS.contains(&root) => true,
                    [item] => tree.items.contains_key(item) || tree.is_module(item),
                    [.., module, item] => tree.has_item(module, item),
                    [] => true,
                };
                if !is_there && !is_elsewhere(quoted) {
                    found.push(at(quoted));
                }
            }
        }
    }
    found
}

#[test]
fn what_is_cited_exists() {
    crate::nothing(missing(tracked()), "cited, and not there");
}

#[test]
fn a_citation_of_nothing_is_found() {
    static CODE: LazyLock<File> = LazyLock::new(|| {
        let code = "pub struct Debt;\nimpl Debt {\n    fn settle(&self) {}\n}\n";
        File::new("furwock/src/lot/left.rs", code)
    });
    let planted = |prose: &str| {
        let code = File::new(&CODE.path, &CODE.text);
        missing(&[code, File::new("docs/a.md", &format!("## Its part\n{prose}"))])
    };
    for there in [
        "`lot/left.rs`",
        "[a](../docs/a.md)",
        "`lot::Debt`",
        "`Debt::settle`",
        "`std::x::y`",
        "docs/a.md, \"Its part\"",
        "[a](a.md#its-part)",
    ] {
        assert_eq!(planted(there), [""; 0]);
    }
    for gone in [
        "`gone_for_good`",
        "lot/gone.rs",
        "[a](b.md)",
        "`lot::gone`",
        "`gone::Debt`",
        "`left::must`",
    ] {
        assert_eq!(planted(gone).len(), 1, "{gone}");
    }
}
