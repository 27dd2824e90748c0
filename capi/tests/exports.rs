//! What the shared library shows to a linker, a loader, and a reader of manual pages.

mod common;

use common::{folder, package, run, shared_library, static_library};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, Stdio};

fn output(program: &str, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).arg(shared_library()).output();
    let run = run.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(run.status.success(), "{program}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("names are ASCII")
}

/// Where tools find the engine's waiters: no function, and nothing that programs use.
const FOR_TOOLS: &str = "furwock_inspect";

/// What the shared library exports, each with its version.
fn versions() -> BTreeMap<String, String> {
    let symbols = output("nm", &["--dynamic", "--defined-only", "--format=posix"]);
    let names = symbols.lines().filter_map(|line| line.split(' ').next());
    // The versions themselves are absolute symbols, without one.
    let names = names.filter_map(|name| name.split_once("@@"));
    names.map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

fn all_exported() -> BTreeSet<String> {
    versions().into_keys().collect()
}

/// What `libfurwock.map` says, in the same form.
fn agreed() -> BTreeMap<String, String> {
    let map = fs::read_to_string(package().join("libfurwock.map")).expect("it is there");
    let (mut version, mut agreed) = ("", BTreeMap::new());
    for line in map.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(node) = line.strip_suffix(" {") {
            version = node;
        } else if let Some(name) = line.strip_suffix(';').filter(|name| name.contains("furwock")) {
            agreed.insert(name.to_owned(), version.to_owned());
        }
    }
    agreed
}

/// A function that goes, or that comes without a version, shows here. `libfurwock.map` says how to
/// add one.
#[test]
fn what_is_exported_is_as_agreed() {
    let agreed = agreed();
    assert!(agreed.values().any(|version| version == "FURWOCK_0.2"));
    assert_eq!(versions(), agreed);
}

/// Programs in C may run where there is none, and nothing here unwinds.
#[test]
fn libgcc_is_not_needed() {
    let dynamic = output("readelf", &["--wide", "--dynamic"]);
    assert!(dynamic.contains("Shared library: [libc.so"), "{dynamic}");
    assert!(!dynamic.contains("libgcc"), "{dynamic}");
}

#[test]
fn the_static_library_shows_only_furwock() {
    let mut nm = Command::new("nm");
    nm.args(["--extern-only", "--defined-only", "--format=posix"]).arg(static_library());
    let symbols = nm.output().expect("nm");
    let symbols = String::from_utf8(symbols.stdout).expect("names are ASCII");
    let names = symbols.lines().filter(|line| !line.ends_with(':'));
    let names: BTreeSet<_> =
        names.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert_eq!(names, agreed().into_keys().collect());
}

/// Both have the standard library's symbols, of the same compiler or of two.
#[test]
fn a_program_may_have_another_library_of_rusts() {
    let folder = folder("two-rust-libraries");
    let other = folder.join("libother.a");
    let rustc = Command::new("rustc")
        .args(["--edition=2024", "-O", "--crate-type=staticlib", "-o"])
        .arg(&other)
        .arg(package().join("tests/common/other.rs"))
        .status();
    assert!(rustc.expect("rustc").success());
    let (other, furwock) = (other.display().to_string(), static_library().display().to_string());
    // Rust's own libraries rely on the linker to leave out what isn't used.
    let with = [&furwock, &other, "-Wl,--gc-sections"];
    let program = common::program("tests/two_libraries.c", &folder).with(&with);
    run(&program.with(&common::SYSTEM_LIBRARIES).build(), &[]);
}

/// What programs use.
fn exported() -> BTreeSet<String> {
    let mut exported = all_exported();
    exported.remove(FOR_TOOLS);
    exported
}

#[test]
fn tools_find_the_engines_waiters() {
    assert!(all_exported().contains(FOR_TOOLS));
}

#[test]
fn nothing_but_furwock_is_exported() {
    let exported = exported();
    assert!(exported.contains("furwock_futex"));
    let others: Vec<_> = exported.iter().filter(|name| !name.starts_with("furwock_")).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// By the preprocessor, so that comments don't count.
#[test]
fn what_is_exported_is_declared() {
    let header = package().join("../include/furwock.h");
    let declared = Command::new("cc").args(["-E", "-P"]).arg(header).output().expect("cc");
    let declared = String::from_utf8(declared.stdout).expect("the header is ASCII");
    let declared: BTreeSet<_> = declared
        .split('(')
        .filter_map(|before| before.rsplit([' ', '*', '\n']).next())
        .filter(|name| name.starts_with("furwock_"))
        .map(str::to_owned)
        .collect();
    assert_eq!(declared, exported());
}

#[test]
fn the_loader_is_told_what_matters() {
    let dynamic = output("readelf", &["--wide", "--dynamic"]);
    assert!(dynamic.contains("[libfurwock.so.0]"), "soname:\n{dynamic}");
    assert!(dynamic.contains("BIND_NOW"), "lazy binding:\n{dynamic}");
    assert!(dynamic.contains("NODELETE"), "may be unloaded:\n{dynamic}");
    assert!(!dynamic.contains("TEXTREL"), "text relocations:\n{dynamic}");
    let segments = output("readelf", &["--wide", "--segments"]);
    let stack = segments.lines().find(|line| line.contains("GNU_STACK"));
    assert!(stack.is_some_and(|line| !line.contains("RWE")), "executable stack:\n{segments}");
}

/// What glibc can give to a library that is loaded late is little, and shared with others.
#[test]
fn static_thread_local_storage_is_small() {
    let segments = output("readelf", &["--wide", "--segments"]);
    let line = segments.lines().find(|line| line.trim_start().starts_with("TLS"));
    let Some(line) = line else { return };
    let size = line.split_whitespace().nth(5).expect("the size in memory");
    let size = size.strip_prefix("0x").and_then(|size| u64::from_str_radix(size, 16).ok());
    assert!(size.is_some_and(|size| size <= 256), "thread-local storage: {line}");
}

/// The pages that are made at install, which lead to others.
fn aliases() -> BTreeMap<String, String> {
    let script = package().join("../scripts/man-aliases.sh");
    let run = Command::new("sh").arg(script).output().expect("a shell");
    let lines = String::from_utf8(run.stdout).expect("names are ASCII");
    let pairs = lines.lines().map(|line| line.split_once(' ').expect("a name and a page"));
    pairs.map(|(name, page)| (name.to_owned(), page.to_owned())).collect()
}

#[test]
fn each_function_has_a_manual_page_that_names_it() {
    let (exported, aliases) = (exported(), aliases());
    for name in &exported {
        let page = aliases.get(name).unwrap_or(name);
        let text = fs::read_to_string(package().join(format!("../docs/man/{page}.3")));
        let text = text.unwrap_or_else(|error| panic!("{name}: docs/man/{page}.3: {error}"));
        let described = text.lines().any(|line| line.contains(&format!("{name}(")));
        assert!(described, "{name} leads to docs/man/{page}.3, which lacks its prototype");
    }
    let others: Vec<_> = aliases.keys().filter(|name| !exported.contains(*name)).collect();
    assert!(others.is_empty(), "pages name what isn't exported: {others:?}");
}

#[test]
fn each_manual_page_is_well_formed() {
    const SECTIONS: [&str; 6] =
        ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "EXAMPLES", "SEE ALSO"];
    let groff = Command::new("groff").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !groff {
        println!("warnings not looked for: no groff");
    }
    for page in fs::read_dir(package().join("../docs/man")).expect("it is there") {
        let page = page.expect("it can be read").path();
        let text = fs::read_to_string(&page).expect("a text file");
        if groff {
            let check = Command::new("groff")
                .args(["-t", "-man", "-ww", "-z", "-Tutf8"])
                .arg(&page)
                .output();
            let says = check.expect("it has just been there").stderr;
            assert!(says.is_empty(), "{}", String::from_utf8_lossy(&says));
        }
        if page.file_name().is_some_and(|name| name == "furwock.3") {
            continue;
        }
        let mut lines = text.lines();
        for section in SECTIONS {
            let heading = [format!(".SH {section}"), format!(".SH \"{section}\"")];
            let found = lines.any(|line| heading.iter().any(|heading| line == heading));
            assert!(found, "{}: no {section}, or not in its place", page.display());
        }
    }
}
