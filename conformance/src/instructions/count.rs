//! Counts, under callgrind.

use crate::build::built;
use crate::program::run_to_end;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Repetitions in the shorter of two calls. The longer has twice as many: the difference is the
/// cost of so many repetitions.
pub const TIMES: u64 = 1000;

/// The function of `furwock-instructions` that is counted.
const COUNTED: &str = "furwock_counted";

/// Its calls for each operation: two of the code around it, and two of both together.
const CALLS: usize = 4;

/// A face of furwock takes a second or two.
const LIMIT: Duration = Duration::from_secs(60);

/// Instructions of each path: `FACE: NAME`.
pub type Counts = BTreeMap<String, u64>;

/// The interfaces of furwock.
const FACES: [Face; 3] = [
    Face { name: "crate", argument: "crate", file: None },
    Face { name: "C library", argument: "library", file: Some(("furwock-capi", "libfurwock.so")) },
    Face {
        name: "preload",
        argument: "preload",
        file: Some(("furwock-preload", "libfurwock_preload.so")),
    },
];

struct Face {
    name: &'static str,
    /// Its name in the program's arguments.
    argument: &'static str,
    /// The package that builds it, and what is built.
    file: Option<(&'static str, &'static str)>,
}

/// The reason why nothing can be counted here, if there is one.
pub fn obstacle() -> Option<&'static str> {
    let found = Command::new("valgrind").arg("--version").output();
    if !cfg!(target_arch = "x86_64") {
        Some("the counts that are stated are x86-64's")
    } else if cfg!(debug_assertions) {
        Some("the counts that are stated are those of the release profile")
    } else if !found.is_ok_and(|run| run.status.success()) {
        Some("valgrind isn't installed")
    } else {
        None
    }
}

/// Counts all operations of `program`; callgrind writes to `folder`.
///
/// # Errors
/// What went wrong.
pub fn count(program: &Path, folder: &Path) -> Result<Counts, String> {
    let mut counts = Counts::new();
    for face in &FACES {
        let counted = count_face(face, program, &folder.join(face.argument))
            .map_err(|error| format!("{}: {error}", face.name))?;
        counts.extend(counted.into_iter().map(|(name, count)| (path(face.name, &name), count)));
    }
    Ok(counts)
}

/// The name of a path.
pub fn path(face: &str, name: &str) -> String {
    format!("{face}: {name}")
}

fn count_face(face: &Face, program: &Path, folder: &Path) -> Result<Vec<(String, u64)>, String> {
    empty(folder)?;
    let (names, out) = (folder.join("names"), folder.join("counts"));
    let mut command = Command::new("valgrind");
    // The environment must not lead to other paths.
    command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path)));
    command.args(["-q", "--tool=callgrind"]);
    command.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={COUNTED}"));
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(program).arg(&names).arg(face.argument);
    command.args(face.file.map(|(package, file)| built(package, file)));
    let (status, says) = run_to_end(command, LIMIT);
    let says = says.trim();
    match status.map_err(|error| error.to_string())? {
        // The preload prints a line if it leaves something to glibc; valgrind may print its own.
        Some(status) if status.success() && !says.contains("furwock: ") => {}
        Some(status) => return Err(format!("{status}: {says}")),
        None => return Err(format!("still running after {} s; {says}", LIMIT.as_secs())),
    }
    let names = fs::read_to_string(names).map_err(|error| error.to_string())?;
    let names: Vec<&str> = names.lines().collect();
    let totals = totals(&out, CALLS * names.len())?;
    let operations = names.into_iter().zip(totals.chunks_exact(CALLS));
    operations.map(|(name, totals)| Ok((name.to_owned(), each(name, totals)?))).collect()
}

/// The cost of one repetition, without the code around it.
fn each(name: &str, totals: &[u64]) -> Result<u64, String> {
    // The difference between a call and the one with twice the repetitions.
    let [around, with_it] =
        [0, 2].map(|shorter| totals[shorter + 1].saturating_sub(totals[shorter]));
    let own = with_it.saturating_sub(around);
    if own == 0 {
        return Err(format!("{name}: takes no instructions: the compiler has seen through it"));
    }
    if own % TIMES != 0 {
        return Err(format!(
            "{name}: {TIMES} repetitions take {own} instructions: they aren't all alike. Warm up what \
             is counted, or count something steadier"
        ));
    }
    Ok(own / TIMES)
}

fn empty(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The totals of callgrind's files, in the order in which it wrote them: `out.1`, `out.2`, ... One
/// more, at the end of the program, has nothing in it.
fn totals(out: &Path, expected: usize) -> Result<Vec<u64>, String> {
    (1..=expected).map(|number| total(&numbered(out, number))).collect()
}

fn numbered(out: &Path, number: usize) -> PathBuf {
    PathBuf::from(format!("{}.{number}", out.display()))
}

fn total(file: &Path) -> Result<u64, String> {
    let says = fs::read_to_string(file)
        .map_err(|error| format!("callgrind hasn't written {}: {error}", file.display()))?;
    let total = says.lines().find_map(|line| line.strip_prefix("totals: "));
    total
        .and_then(|total| total.trim().parse().ok())
        .ok_or_else(|| format!("callgrind has written no totals to {}", file.display()))
}
