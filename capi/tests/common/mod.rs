//! The libraries under test, and programs in C on them.

#![allow(dead_code, reason = "not every test file needs all of it")]

use furwock_conformance::program::{kill_group, wait};
use furwock_conformance::{Artifact, built, scratch};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// For programs without a watchdog of their own.
const LIMIT: Duration = Duration::from_secs(60);

/// What a static library of Rust's needs besides libc, where that is not one file.
pub const SYSTEM_LIBRARIES: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lutil"];

/// This package's folder.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `libfurwock.so.0`, built now, as it is installed.
pub fn shared_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let built = built("furwock-capi", "libfurwock.so");
        let from = built.parent().expect("it is in a folder");
        let script = package().join("../scripts/c-libraries.sh");
        let made = Command::new("sh").arg(script).arg(from).arg(from.join("c")).status();
        assert!(made.expect("a shell").success(), "scripts/c-libraries.sh");
        from.join("c/libfurwock.so.0")
    })
}

/// `libfurwock.a`, made with the shared one.
pub fn static_library() -> PathBuf {
    shared_library().with_file_name("libfurwock.a")
}

/// A folder that holds the shared library under both of its names, as an installed one does.
pub fn library_folder(folder: &Path) -> &Path {
    for name in ["libfurwock.so", "libfurwock.so.0"] {
        let link = folder.join(name);
        let _ = std::fs::remove_file(&link);
        symlink(shared_library(), link).expect("the target folder is writable");
    }
    folder
}

/// A program of this package's, in C or C++, with what it needs to find furwock.h. `folder` is the
/// caller's own.
pub fn program(source: &str, folder: &Path) -> Artifact {
    let source = package().join(source);
    let name = source.file_stem().expect("a file's name").to_str().expect("ASCII");
    let cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let source = source.to_str().expect("the checkout's path is UTF-8");
    let program = Artifact::program(source, folder, name);
    let program = if cpp { program.cpp().with(&["-std=c++17"]) } else { program };
    program.with(&[
        &format!("-I{}", package().join("../include").display()),
        &format!("-I{}", package().join("../conformance/pthread").display()),
    ])
}

/// A folder for one test's files.
pub fn folder(test: &str) -> PathBuf {
    scratch(&format!("capi-{test}"))
}

/// Runs a program; panics unless it ends well, and in time.
pub fn run(program: &Path, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).env_remove("LD_PRELOAD").process_group(0);
    let mut child = command.spawn().expect("the program can be started");
    let ended = wait(&mut child, LIMIT).expect("a child can be waited for");
    kill_group(&child);
    let status = ended.unwrap_or_else(|| panic!("{} still runs", program.display()));
    assert!(status.success(), "{}: {status}", program.display());
}
