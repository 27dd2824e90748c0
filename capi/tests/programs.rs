//! Programs in C and C++ on the header and the libraries: the tests of `calls.c`, `locks.c` and
//! `types.c`, the examples, and a plug-in that is loaded at run time.

mod common;

use common::{SYSTEM_LIBRARIES, folder, library_folder, program, run, static_library};
use furwock_conformance::{Ended, Side, Test};
use std::path::Path;

fn check_all(program: &Path) {
    let tests = Test::list(program);
    assert!(!tests.is_empty());
    let mut failures = Vec::new();
    for test in tests {
        let ended = furwock_conformance::run(program, &test, Side::Glibc);
        println!("{}: {ended}", test.name);
        if let Ended::Failed(why) = ended {
            failures.push(format!("{}: {why}", test.name));
        }
    }
    assert!(failures.is_empty(), "failed:\n  {}", failures.join("\n  "));
}

fn check_on_the_shared_library(source: &str, folder: &Path) {
    let libraries = library_folder(folder);
    check_all(&program(source, folder).linked_with(libraries, "furwock").build());
}

fn check_on_the_static_library(source: &str, folder: &Path) {
    common::shared_library();
    let library = static_library();
    let library = library.to_str().expect("the checkout's path is UTF-8");
    check_all(&program(source, folder).with(&[library]).with(&SYSTEM_LIBRARIES).build());
}

#[test]
fn calls_on_the_shared_library() {
    check_on_the_shared_library("tests/calls.c", &folder("calls-shared"));
}

#[test]
fn calls_on_the_static_library() {
    check_on_the_static_library("tests/calls.c", &folder("calls-static"));
}

#[test]
fn locks_on_the_shared_library() {
    check_on_the_shared_library("tests/locks.c", &folder("locks-shared"));
}

#[test]
fn locks_on_the_static_library() {
    check_on_the_static_library("tests/locks.c", &folder("locks-static"));
}

#[test]
fn types_on_the_shared_library() {
    check_on_the_shared_library("tests/types.c", &folder("types-shared"));
}

#[test]
fn types_on_the_static_library() {
    check_on_the_static_library("tests/types.c", &folder("types-static"));
}

#[test]
fn a_library_that_is_loaded_at_run_time() {
    let folder = folder("dlopen");
    let libraries = library_folder(&folder);
    let library = libraries.join("libfurwock.so.0");
    let library = library.to_str().expect("the checkout's path is UTF-8");
    run(&program("tests/dlopen.c", &folder).with(&["-ldl"]).build(), &[library]);
}

macro_rules! examples {
    ($($test:ident: $source:literal $($flag:literal)?;)*) => {
        $(
            #[test]
            fn $test() {
                let folder = folder(concat!("example-", stringify!($test)));
                let example = program(concat!("examples/", $source), &folder).with(&["-pedantic"]);
                $(let example = example.with(&[$flag]);)?
                if example.has_compiler() {
                    run(&example.linked_with(library_folder(&folder), "furwock").build(), &[]);
                } else {
                    println!("skipped: no compiler");
                }
            }
        )*

        const EXAMPLES: &[&str] = &[$($source),*];
    };
}

examples! {
    cache: "cache.c";
    cancel: "cancel.cpp" "-std=c++2a";
    guards: "guards.cpp" "-std=c++11";
    heartbeat: "heartbeat.cpp" "-std=c++11";
    last_look: "last_look.c";
    latch: "latch.cpp";
    ledger: "ledger.c";
    many_words: "many_words.c";
    poll: "poll.c";
    pool: "pool.c";
    producer_consumer: "producer_consumer.c";
    queue: "queue.c";
    settings: "settings.cpp";
    urgent: "urgent.c";
    wide_word: "wide_word.c";
}

#[test]
fn every_example_is_run() {
    let examples = std::fs::read_dir(common::package().join("examples")).expect("it is there");
    let names = examples.map(|example| example.expect("it can be read").file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().expect("ASCII")).collect();
    names.sort();
    assert_eq!(names, EXAMPLES, "an example that `examples!` doesn't name");
}
