//! `docs/symbols.md` has every function that the headers declare, and agrees with the library's
//! symbol table.

use furwock_conformance::build::sources;
use furwock_conformance::{built, preload};
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const HEADERS: [&str; 3] = ["pthread.h", "semaphore.h", "threads.h"];
const TAKEN_OVER: &str = "taken over";
const FATES: [&str; 3] = [TAKEN_OVER, "passed to glibc", "not concerned"];

fn page() -> String {
    fs::read_to_string(sources().join("../docs/symbols.md")).expect("the page is there")
}

/// The rows of the tables in `text`: the functions of each, and the columns behind them.
fn rows(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let lines = text.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let mut columns = line.trim_matches('|').split('|').map(str::trim);
            let functions = columns.next().expect("a row has columns");
            let functions = functions.split(", ").map(|name| name.trim_matches('`').to_owned());
            (functions.collect(), columns.map(str::to_owned).collect())
        })
        .collect()
}

/// The fate of each function.
fn table() -> BTreeMap<String, String> {
    let page = page();
    let (declared, _) = page.split_once("## Other names").expect("the page has two tables");
    let mut table = BTreeMap::new();
    for (functions, columns) in rows(declared) {
        assert!(FATES.contains(&columns[0].as_str()), "{functions:?}: {columns:?}");
        for function in functions {
            let before = table.insert(function.clone(), columns[0].clone());
            assert_eq!(before, None, "{function} has two rows");
        }
    }
    table
}

/// What a section lists, up to the next one.
fn listed(heading: &str) -> BTreeSet<String> {
    let page = page();
    let (_, section) = page.split_once(heading).expect("the page has this section");
    let section = section.split("\n## ").next().expect("something");
    rows(section).into_iter().flat_map(|(functions, _)| functions).collect()
}

fn exported(library: &Path) -> BTreeSet<String> {
    let file = fs::read(library).expect("the library is there");
    let file = object::File::parse(file.as_slice()).expect("the library is an ELF file");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols.map(|symbol| symbol.name().expect("names are text").to_owned()).collect()
}

/// The libraries without which the loader doesn't start a program with this one.
fn needed(library: &Path) -> BTreeSet<String> {
    let file = fs::read(library).expect("the library is there");
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).expect("the library is an ELF file");
    let endian = header.endian().expect("it has one");
    let sections = header.sections(endian, data).expect("it has sections");
    let (entries, strings) =
        sections.dynamic(endian, data).expect("it can be read").expect("it is a shared library");
    let strings = sections.strings(endian, data, strings).expect("it has names");
    let names = entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED);
    names
        .map(|entry| {
            let name = entry.string(endian, strings).expect("it has a name");
            String::from_utf8(name.to_vec()).expect("names are text")
        })
        .collect()
}

/// Of the C library alone: before 2.34 it was in several files.
fn is_of_the_c_library(name: &str) -> bool {
    let parts = ["libc.so.", "ld-linux-", "libpthread.so.", "libdl.so.", "librt.so."];
    parts.iter().any(|part| name.starts_with(part))
}

/// The functions that `header` declares itself, with all of its extensions.
fn declared(header: &str) -> BTreeSet<String> {
    let mut cc = Command::new("cc");
    cc.args(["-E", "-x", "c", "-D_GNU_SOURCE", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = cc.spawn().expect("cc can be called");
    let source = format!("#include <{header}>\n");
    child.stdin.take().expect("piped above").write_all(source.as_bytes()).expect("cc reads it");
    let run = child.wait_with_output().expect("cc ends");
    assert!(run.status.success(), "cc has no <{header}>");

    let text = String::from_utf8(run.stdout).expect("headers are text");
    let ending = format!("/{header}\"");
    let (mut inside, mut own) = (false, String::new());
    for line in text.lines() {
        match line.strip_prefix("# ") {
            // Where the lines that follow come from.
            Some(marker) => {
                let file = marker.split_whitespace().nth(1);
                inside = file.is_some_and(|file| file.ends_with(&ending));
            }
            None if inside => own.extend([line, " "]),
            None => {}
        }
    }
    let declarations = own.split([';', '{', '}']).map(str::trim);
    let functions = declarations.filter_map(|text| text.strip_prefix("extern ")?.split_once('('));
    functions
        .filter_map(|(head, _)| head.split_whitespace().last())
        .map(|name| name.trim_start_matches('*').to_owned())
        .collect()
}

#[test]
fn every_declared_function_has_a_row() {
    let table = table();
    for header in HEADERS {
        let declared = declared(header);
        assert!(declared.len() > 10, "{header} is read wrongly: {declared:?}");
        let missing: Vec<_> = declared.iter().filter(|name| !table.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{header}: {missing:?}");
    }
}

#[test]
fn what_is_taken_over_is_exported_and_nothing_else() {
    let mut expected = listed("## Other names");
    for (function, fate) in table() {
        if fate == TAKEN_OVER {
            assert!(expected.insert(function.clone()), "{function} is in both tables");
        }
    }
    assert_eq!(exported(preload()), expected);
}

/// The library that records replaces the same functions, has the same names for tools, and what the
/// page lists of its own.
#[test]
fn the_recording_preload_is_the_preload() {
    let recording = built("furwock-preload-recording", "libfurwock_preload_recording.so");
    let mut expected = exported(preload());
    for name in listed("## The library that records") {
        assert!(expected.insert(name.clone()), "the preload has {name}, too");
    }
    assert_eq!(exported(&recording), expected);
    let needed = needed(&recording);
    assert!(needed.iter().all(|name| is_of_the_c_library(name)), "{needed:?}");
}

/// A program may define a function of the same name, and the loader would prefer it.
#[test]
fn the_preload_calls_its_own_functions() {
    for library in
        [preload(), &built("furwock-preload-recording", "libfurwock_preload_recording.so")]
    {
        let file = fs::read(library).expect("the library is there");
        let file = object::File::parse(file.as_slice()).expect("the library is an ELF file");
        let symbols = file.dynamic_symbol_table().expect("it has symbols");
        let relocations = file.dynamic_relocations().expect("it has relocations");
        let looked_up = relocations.filter_map(|(_, relocation)| match relocation.target() {
            RelocationTarget::Symbol(index) => symbols.symbol_by_index(index).ok(),
            _ => None,
        });
        let looked_up: Vec<_> = looked_up.collect();
        assert!(looked_up.len() > 10, "read wrongly");
        let own = looked_up
            .iter()
            .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
        let own: BTreeSet<_> = own.filter_map(|symbol| symbol.name().ok()).collect();
        assert!(own.is_empty(), "{}: {own:?}", library.display());
    }
}

/// A container may have the C library and nothing else, also not libgcc_s.
#[test]
fn the_preload_needs_the_c_library_alone() {
    let needed = needed(preload());
    assert!(needed.iter().all(|name| is_of_the_c_library(name)), "{needed:?}");
    assert!(!needed.is_empty(), "read wrongly");
}

/// Programs that are linked with it are installed with what it needs: libgcc_s, besides.
#[test]
fn the_c_face_needs_no_more_than_is_said() {
    let mut needed = needed(&built("furwock-capi", "libfurwock.so"));
    needed.remove("libgcc_s.so.1");
    assert!(needed.iter().all(|name| is_of_the_c_library(name)), "{needed:?}");
    assert!(!needed.is_empty(), "read wrongly");
}
