//! Tools that watch a program's locks: furwock leaves the program to them, with a message, and they
//! find what they find without it.

use furwock_conformance::program::Run;
use furwock_conformance::{Artifact, Side, preload, scratch};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// The tools end with this status if they find anything.
const FOUND: i32 = 66;

fn run(command: Command) -> Run {
    Run::of(command, LIMIT)
}

/// The program, built with these flags; `None`, with a message, if this machine can't build it so.
fn watched(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = scratch(&format!("tools-{name}"));
    if !can_build(flags) {
        println!("{name}: skipped: cc can't build with {flags:?} here");
        return None;
    }
    let program = Artifact::program("tools/watched.c", &folder, name).with(flags).build();
    let alone = run(Side::Glibc.command(&program));
    assert_eq!((alone.status, alone.stderr.as_str()), (Some(0), ""), "without furwock");
    Some(program)
}

/// Whether `cc` can build the shortest program with these flags.
fn can_build(flags: &[&str]) -> bool {
    let mut compile = Command::new("cc");
    compile.args(["-x", "c", "-pthread", "-o", "/dev/null", "-"]).args(flags);
    let child = compile.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("cc can be called");
    let written = child.stdin.take().expect("piped above").write_all(b"int main(void){return 0;}");
    written.is_ok() && child.wait().is_ok_and(|status| status.success())
}

fn check_left_alone(program: &Path, says: &str) {
    let loud = run(Side::Furwock.command(program));
    assert_eq!(loud.status, Some(0), "{}", loud.stderr);
    assert_eq!(loud.stderr.lines().count(), 1, "{}", loud.stderr);
    assert!(loud.stderr.starts_with("furwock: ") && loud.stderr.contains(says), "{}", loud.stderr);

    let mut command = Side::Furwock.command(program);
    command.env("FURWOCK_QUIET", "1");
    let quiet = run(command);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (Some(0), ""));

    // It isn't blind: a race is found as without furwock.
    let mut command = Side::Furwock.command(program);
    command.arg("race").env("TSAN_OPTIONS", format!("exitcode={FOUND}"));
    let race = run(command);
    assert_eq!(race.status, Some(FOUND), "{}", race.stderr);
}

#[test]
fn thread_sanitizer_as_a_library() {
    if let Some(program) = watched("thread", &["-g", "-DONCE", "-fsanitize=thread"]) {
        check_left_alone(&program, "ThreadSanitizer");
    }
}

#[test]
fn thread_sanitizer_linked_in() {
    if let Some(program) =
        watched("thread-static", &["-g", "-DONCE", "-fsanitize=thread", "-static-libtsan"])
    {
        check_left_alone(&program, "of its own");
    }
}

#[test]
fn address_sanitizer_linked_in() {
    let flags = ["-g", "-DONCE", "-fsanitize=address", "-static-libasan"];
    if let Some(program) = watched("address-static", &flags) {
        let run = run(Side::Furwock.command(&program));
        assert_eq!(run.status, Some(0), "{}", run.stderr);
    }
}

/// What `furwock run` advises for a program on AddressSanitizer's library.
#[test]
fn address_sanitizer_as_a_library_goes_before_furwock() {
    let Some(program) = watched("address", &["-g", "-DONCE", "-fsanitize=address"]) else { return };
    let refused = run(Side::Furwock.command(&program));
    assert_ne!(refused.status, Some(0), "the sanitizer no longer asks to be the first");

    let cc = Command::new("cc").arg("-print-file-name=libasan.so").output().unwrap();
    let library = String::from_utf8(cc.stdout).unwrap();
    let mut command = Side::Furwock.command(&program);
    command.env("LD_PRELOAD", format!("{}:{}", library.trim(), preload().display()));
    let run = run(command);
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn valgrind() {
    let folder = scratch("tools-valgrind");
    let program = Artifact::program("tools/watched.c", &folder, "plain").with(&["-g"]).build();
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|run| run.status.success()) {
        println!("valgrind: skipped: it isn't installed");
        return;
    }
    let under = |tool: &str, quiet: bool, argument: Option<&str>| {
        let mut command = Command::new("valgrind");
        command.args(["-q", &format!("--error-exitcode={FOUND}"), &format!("--tool={tool}")]);
        command.arg(&program).args(argument).env("LD_PRELOAD", preload());
        if quiet {
            command.env("FURWOCK_QUIET", "1");
        }
        run(command)
    };
    for tool in ["helgrind", "memcheck", "drd"] {
        let loud = under(tool, false, None);
        assert_eq!(loud.status, Some(0), "{tool}: {}", loud.stderr);
        assert_eq!(loud.stderr.lines().count(), 1, "{tool}: {}", loud.stderr);
        assert!(loud.stderr.starts_with("furwock: valgrind"), "{tool}: {}", loud.stderr);
        let quiet = under(tool, true, None);
        assert_eq!((quiet.status, quiet.stderr.as_str()), (Some(0), ""), "{tool}");
    }
    assert_eq!(under("helgrind", true, Some("race")).status, Some(FOUND));
}
