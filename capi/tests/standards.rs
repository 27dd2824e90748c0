//! `furwock.h` and `furwock.hpp` as each standard of C and C++ has them, by gcc and by clang, with
//! more warnings than programs ask for; what `furwock.hpp` promises, on both libraries.

mod common;

use common::{SYSTEM_LIBRARIES, folder, library_folder, package, run, static_library};
use std::path::Path;
use std::process::{Command, Stdio};

/// Strict ones, which leave feature-test macros undefined, and GNU's.
const C: [&str; 7] = ["c99", "gnu99", "c11", "gnu11", "c17", "c2x", "c23"];
const CPP: [&str; 8] = ["c++11", "gnu++11", "c++14", "c++17", "c++20", "gnu++20", "c++2b", "c++23"];

const WARNINGS: [&str; 7] =
    ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef"];

/// A compiler for a standard, if it is there and knows the standard.
fn compiler(name: &str, standard: &str) -> Option<Command> {
    let mut command = Command::new(name);
    command.arg(format!("-std={standard}")).args(["-O2", "-pthread", "-Werror"]);
    let mut probe = Command::new(name);
    let language = if standard.contains("++") { "c++" } else { "c" };
    probe.arg(format!("-std={standard}")).args(["-fsyntax-only", "-x", language, "/dev/null"]);
    let known = probe.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !known {
        println!("skipped: {name} -std={standard}: no such compiler, or standard");
    }
    known.then_some(command)
}

fn include() -> String {
    format!("-I{}", package().join("../include").display())
}

fn compiles(mut command: Command, what: &str) {
    let run = command.output().expect("it has just been called");
    assert!(run.status.success(), "{what}: {}", String::from_utf8_lossy(&run.stderr));
}

/// Compiles `source`, without linking, and returns how many compilers knew how many standards.
fn check(compilers: &[&str], standards: &[&str], source: &str, warnings: &[&str]) -> usize {
    let mut compiled = 0;
    for standard in standards {
        for name in compilers {
            let Some(mut command) = compiler(name, standard) else { continue };
            command.args(WARNINGS).args(warnings).arg(include()).arg("-fsyntax-only");
            command.arg(package().join(source));
            compiles(command, &format!("{name} -std={standard}"));
            compiled += 1;
        }
    }
    compiled
}

#[test]
fn the_header_is_clean_in_c() {
    let compiled = check(&["cc", "clang"], &C, "tests/header.c", &["-Wc++-compat"]);
    assert!(compiled >= 5, "cc knows C99 to C17");
}

#[test]
fn the_header_is_clean_in_cpp() {
    check(&["c++", "clang++"], &CPP, "tests/header.cpp", &["-Wold-style-cast"]);
}

/// gcc compiles it below, with the same warnings.
#[test]
fn the_cpp_header_is_clean_by_clang() {
    let standards = ["c++11", "c++14", "c++17", "c++20", "c++2b"];
    check(&["clang++"], &standards, "tests/cpp.cpp", &["-Wold-style-cast"]);
}

/// Builds `tests/cpp.cpp` and runs it.
fn check_cpp(name: &str, standard: &str, folder: &Path, libraries: &[&str]) {
    let Some(mut command) = compiler(name, standard) else { return };
    let program = folder.join(format!("{name}-{standard}"));
    command.args(WARNINGS).arg("-Wold-style-cast");
    command.arg(include()).arg("-o").arg(&program).arg(package().join("tests/cpp.cpp"));
    command.args(libraries);
    compiles(command, &format!("{name} -std={standard}"));
    run(&program, &[]);
}

fn check_cpp_on_the_shared_library(standard: &str) {
    let folder = folder(&format!("cpp-{standard}"));
    let libraries = library_folder(&folder).display().to_string();
    let path = [format!("-L{libraries}"), format!("-Wl,-rpath,{libraries}")];
    check_cpp("c++", standard, &folder, &[&path[0], &path[1], "-lfurwock"]);
}

macro_rules! each_standard {
    ($($test:ident: $standard:literal;)*) => {$(
        #[test]
        fn $test() {
            check_cpp_on_the_shared_library($standard);
        }
    )*};
}

each_standard! {
    cpp_11: "c++11";
    cpp_14: "c++14";
    cpp_17: "c++17";
    cpp_20: "c++20";
    cpp_23: "c++23";
}

#[test]
fn cpp_on_the_static_library() {
    let folder = folder("cpp-static");
    let library = static_library().display().to_string();
    let mut libraries = vec![library.as_str()];
    libraries.extend(SYSTEM_LIBRARIES);
    check_cpp("c++", "c++17", &folder, &libraries);
}

#[test]
fn cpp_by_clang() {
    let folder = folder("cpp-clang");
    let library = static_library().display().to_string();
    let mut libraries = vec![library.as_str()];
    libraries.extend(SYSTEM_LIBRARIES);
    check_cpp("clang++", "c++20", &folder, &libraries);
}

/// A program may do without exceptions.
#[test]
fn the_cpp_header_needs_no_exceptions() {
    let Some(mut command) = compiler("c++", "c++11") else { return };
    command.args(["-fno-exceptions", "-fno-rtti", "-fsyntax-only"]).args(WARNINGS);
    command.arg(include()).args(["-x", "c++", "-include", "furwock.hpp", "/dev/null"]);
    compiles(command, "c++ -fno-exceptions");
}
