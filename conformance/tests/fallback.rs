//! Where furwock can't work it leaves the program to glibc, with one line, or silently if asked.

use furwock_conformance::program::Run;
use furwock_conformance::seccomp::{NUMBER, allow, argument, jump, live_under, load, refuse};
use furwock_conformance::{Artifact, Side, Test, scratch};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

const LIMIT: Duration = Duration::from_secs(40);

fn run(command: Command) -> Run {
    Run::of(command, LIMIT)
}

fn program(name: &str, folder: &Path) -> PathBuf {
    Artifact::program(&format!("pthread/{name}.c"), folder, name).build()
}

/// Refuses mappings that ask for pages to write on and reserve no memory for them: furwock's.
/// (glibc's heaps are mapped without access first.)
fn no_tables() -> Vec<libc::sock_filter> {
    vec![
        load(NUMBER),
        jump(libc::BPF_JEQ, libc::SYS_mmap as u32, 0, 5),
        load(argument(2)),
        jump(libc::BPF_JSET, libc::PROT_WRITE as u32, 0, 3),
        load(argument(3)),
        jump(libc::BPF_JSET, libc::MAP_NORESERVE as u32, 0, 1),
        refuse(libc::ENOMEM),
        allow(),
    ]
}

/// Refuses wakes of private words, as a kernel does that doesn't know them. (Threads end by a wake
/// of a shared word.)
fn no_private_wakes() -> Vec<libc::sock_filter> {
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    vec![
        load(NUMBER),
        jump(libc::BPF_JEQ, libc::SYS_futex as u32, 0, 3),
        load(argument(1)),
        jump(libc::BPF_JEQ, wake as u32, 0, 1),
        refuse(libc::ENOSYS),
        allow(),
    ]
}

/// Lets `command` start under a filter.
fn under(mut command: Command, filter: Vec<libc::sock_filter>) -> Command {
    // SAFETY: two system calls.
    unsafe { command.pre_exec(move || live_under(&filter)) };
    command
}

fn assert_says_once(stderr: &str, what: &str) {
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("furwock: ") && stderr.contains(what), "{stderr}");
}

/// A furwock that is off passes all of a program's tests that glibc passes: the objects are
/// glibc's.
fn check_all(name: &str, filter: fn() -> Vec<libc::sock_filter>) {
    let folder = scratch(&format!("fallback-{name}"));
    let program = program(name, &folder);
    let tests = Test::list(&program);
    assert!(!tests.is_empty());
    for test in tests.iter().filter(|test| test.holds_on(Side::Glibc)) {
        let mut command = under(Side::Furwock.command(&program), filter());
        command.arg(&test.name).env("CONFORMANCE_SIDE", Side::Glibc.name());
        let run = run(command);
        let why = format!("{}: {}", test.name, run.stderr);
        assert!(matches!(run.status, Some(0 | 77)), "{why}");
        assert!(run.stderr.starts_with("furwock: the kernel gives no memory"), "{why}");
    }
}

#[test]
fn mutexes_are_glibcs_when_the_table_cannot_be_mapped() {
    check_all("mutex", no_tables);
}

#[test]
fn condvars_are_glibcs_when_the_table_cannot_be_mapped() {
    check_all("cond", no_tables);
}

#[test]
fn rwlocks_are_glibcs_when_the_table_cannot_be_mapped() {
    check_all("rwlock_states", no_tables);
}

fn first_test(name: &str, folder: &str) -> (PathBuf, Test) {
    let program = program(name, &scratch(folder));
    let test = Test::list(&program).remove(0);
    (program, test)
}

#[test]
fn quiet_is_quiet() {
    let (program, test) = first_test("mutex", "fallback-quiet");
    let with = |quiet: Option<&str>| {
        let mut command = under(Side::Furwock.command(&program), no_tables());
        command.arg(&test.name);
        if let Some(value) = quiet {
            command.env("FURWOCK_QUIET", value);
        }
        run(command)
    };
    let loud = with(None);
    assert_eq!(loud.status, Some(0));
    assert_says_once(&loud.stderr, "memory");
    assert_says_once(&with(Some("0")).stderr, "memory");
    let quiet = with(Some("1"));
    assert_eq!((quiet.status, quiet.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_kernel_without_private_futexes_is_told_of() {
    let (program, test) = first_test("mutex", "fallback-futex");
    let mut command = under(Side::Furwock.command(&program), no_private_wakes());
    command.arg(&test.name);
    assert_says_once(&run(command).stderr, "private futexes");
}

#[test]
fn nothing_is_said_when_all_is_well() {
    let (program, test) = first_test("mutex", "fallback-well");
    let mut command = Side::Furwock.command(&program);
    command.arg(&test.name);
    let run = run(command);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
}

/// What the loader maps for `program` under the preload, by its paths.
fn mapped(program: &Path) -> Vec<PathBuf> {
    let mut command = Side::Furwock.command(program);
    let run = command.env("LD_TRACE_LOADED_OBJECTS", "1").output().expect("it can be started");
    let lines = String::from_utf8(run.stdout).expect("paths are ASCII");
    let words = lines.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// A container with the C library and nothing else, in which there is no libgcc_s to unwind with.
#[test]
fn a_container_without_libgcc_starts_programs() {
    let folder = scratch("fallback-container");
    let root = folder.join("root");
    let program = program("sandboxed", &folder);
    for file in mapped(&program).iter().chain([&program]) {
        assert!(!file.display().to_string().contains("libgcc_s"), "{}", file.display());
        let place = root.join(file.strip_prefix("/").expect("absolute"));
        fs::create_dir_all(place.parent().expect("a file's folder")).expect("it is our folder");
        fs::copy(file, place).expect("it is our folder");
    }
    for test in ["linux_seccomp__mutexes", "linux_seccomp__condvars"] {
        let mut command = Side::Furwock.command(&program);
        command.arg(test).current_dir("/");
        let new = CString::new(root.as_os_str().as_bytes()).expect("no NUL");
        let enter = move || {
            // SAFETY: in the forked child; the path outlives the call.
            if unsafe { libc::chroot(new.as_ptr()) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        };
        // SAFETY: one system call.
        unsafe { command.pre_exec(enter) };
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            println!("skipped: only root may enter a container");
            return;
        }
        let run = run(command);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{test}");
    }
}

/// A program that has loaded libgcc_s before furwock begins: nothing that furwock asks for may run
/// constructors before their time, libc's among them.
#[test]
fn a_program_with_libgcc_finds_its_environment() {
    let folder = scratch("fallback-environment");
    let program = Artifact::program("start/environment.cpp", &folder, "environment").cpp().build();
    for side in [Side::Glibc, Side::Furwock] {
        let mut command = side.command(&program);
        command.env("CONFORMANCE_VALUE", "is there");
        assert_eq!(run(command).status, Some(0), "{}", side.name());
    }
}

/// With just as much address space as the program itself needs, there is none for the table.
#[test]
fn a_limit_on_address_space_is_survived() {
    let folder = scratch("fallback-limit");
    let program = Artifact::program("start/lean.c", &folder, "lean").build();
    let limited = |pages: u64| {
        let mut command = Side::Furwock.command(&program);
        let limit = libc::rlimit { rlim_cur: pages * 4096, rlim_max: libc::RLIM_INFINITY };
        let set = move || {
            // SAFETY: reads one struct.
            let failed = unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } != 0;
            if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        // SAFETY: one system call.
        unsafe { command.pre_exec(set) };
        run(command)
    };
    // The least that the loader, the libraries and the program run in, to the page.
    let (mut too_few, mut enough) = (16, 1 << 20);
    let ample = limited(enough);
    assert_eq!((ample.status, ample.stderr.as_str()), (Some(0), ""));
    while enough - too_few > 1 {
        let pages = too_few + (enough - too_few) / 2;
        match limited(pages).status {
            Some(0) => enough = pages,
            _ => too_few = pages,
        }
    }
    assert_says_once(&limited(enough).stderr, "memory");
}
