//! What all tests of the command need: a scratch folder, small things compiled in it, the command.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub mod sample;

/// The command: the one that `$FURWOCK_COMMAND` named when this was compiled, or else cargo's, of
/// this program's profile.
pub const FURWOCK: &str = match option_env!("FURWOCK_COMMAND") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_furwock"),
};

/// How wide the tables of tests are.
pub const WIDE: usize = 400;

/// A library that replaces nothing.
const STUB: &str = "int furwock_stub;";
/// A library whose mutexes exclude nothing.
const BROKEN: &str = "int pthread_mutex_lock(void *m) { (void)m; return 0; }\n\
                      int pthread_mutex_unlock(void *m) { (void)m; return 0; }\n";

/// A folder of the test's own, empty at its start.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder.canonicalize().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Compiles C; false if the compiler or a library that it needs is missing.
    pub fn compile(&self, source: &str, output: &str, flags: &[&str]) -> bool {
        let file = self.path(&format!("{output}.c"));
        fs::write(&file, source).unwrap();
        let mut cc = Command::new("cc");
        cc.args(flags).arg("-o").arg(self.path(output)).arg(file);
        cc.output().is_ok_and(|output| output.status.success())
    }

    pub fn stub(&self) -> PathBuf {
        self.library(STUB, "stub.so")
    }

    pub fn broken(&self) -> PathBuf {
        self.library(BROKEN, "broken.so")
    }

    fn library(&self, source: &str, name: &str) -> PathBuf {
        assert!(self.compile(source, name, &["-shared", "-fPIC"]), "cc must be there");
        self.path(name)
    }

    /// Copies by cp: a file that this process writes cannot be executed while another test forks.
    pub fn copy(&self, from: &str, name: &str) -> PathBuf {
        let to = self.path(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        assert!(Command::new("cp").arg(from).arg(&to).status().unwrap().success());
        to
    }

    /// A file that all users may execute, made by another process as in `copy`.
    pub fn executable(&self, content: impl AsRef<[u8]>, name: &str) -> PathBuf {
        let (data, path) = (self.path(&format!("{name}.data")), self.path(name));
        fs::write(&data, content).unwrap();
        let install = Command::new("install").args(["-m", "755"]).arg(data).arg(&path).status();
        assert!(install.unwrap().success());
        path
    }

    /// The command, with a stub for the library.
    pub fn furwock(&self, arguments: &[&str]) -> Command {
        furwock_with(&self.stub(), arguments)
    }
}

/// The command, with this library.
pub fn furwock_with(preload: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(FURWOCK);
    command.args(arguments).env("FURWOCK_PRELOAD", preload).env_remove("LD_PRELOAD");
    // Sentences that tests look for are in one line.
    command.env("COLUMNS", WIDE.to_string());
    command
}

/// Runs a command that must succeed.
pub fn succeed(mut command: Command) -> Output {
    let run = command.output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{} {}", run.out(), run.err());
    run
}

pub fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

pub trait Text {
    fn out(&self) -> String;
    fn err(&self) -> String;
}

impl Text for Output {
    fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}
