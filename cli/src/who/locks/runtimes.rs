//! What the functions of language runtimes and databases say about a wait that their locks' words
//! don't tell.

use crate::symbols::Stack;
use crate::who::process::Process;
use crate::who::stacks::Symbols;

/// Functions inside a runtime's lock are few.
const NEAR: usize = 12;

/// How names begin of the files that the functions are in: anything, for Go's.
const JVM: &[&str] = &["libjvm."];
const PYTHON: &[&str] = &["python", "libpython"];
const MARIADB: &[&str] = &["mariadbd", "mysqld", "libmariadbd"];
const POSTGRESQL: &[&str] = &["postgres"];
const GO: &[&str] = &[""];

const MONITOR: &str = "a Java monitor: the JVM knows its owner, and `jstack PID` tells";
const ROW: &str = "a row lock of InnoDB's: information_schema.innodb_lock_waits tells its holder";
const LIGHT: &str = "a lightweight lock of PostgreSQL's, which keeps no owner";
const IDLE: &str = "one of Go's threads, idle";

/// Files, a function in them or the beginning of its name, and what it says.
const SAYS: [(&[&str], &str, &str); 15] = [
    (JVM, "ObjectMonitor::enter", MONITOR),
    (JVM, "ObjectMonitor::EnterI", MONITOR),
    (JVM, "ObjectMonitor::wait", "Java's Object.wait"),
    (
        JVM,
        "Parker::park",
        "parked by Java's LockSupport: `jstack PID` tells for which lock, and its owner",
    ),
    (PYTHON, "PyThread_acquire_lock", "a lock of Python's (threading.Lock), which keeps no owner"),
    (PYTHON, "_PyMutex_Lock", "a mutex of Python's, which keeps no owner"),
    (
        MARIADB,
        "MDL_wait::timed_wait",
        "a metadata lock of MariaDB's: information_schema.metadata_lock_info tells its holder",
    ),
    (MARIADB, "lock_wait", ROW),
    (
        POSTGRESQL,
        "ProcSleep",
        "a lock of PostgreSQL's: pg_blocking_pids(PID) tells which processes have it",
    ),
    (POSTGRESQL, "LWLockAcquire", LIGHT),
    (GO, "runtime.mPark", IDLE),
    (GO, "runtime.templateThread", IDLE),
    (GO, "runtime.stopm", IDLE),
    (GO, "runtime.stoplockedm", "its goroutine is parked"),
    (GO, "runtime.lock2", "a lock of Go's runtime, which keeps no owner"),
];

/// What the innermost function that is known says.
pub fn says(stack: &Stack) -> Option<&'static str> {
    let near = stack.frames.iter().take(NEAR);
    near.filter(|frame| frame.origin.is_some()).find_map(|frame| {
        frame.places.iter().find_map(|place| of(frame.file_name(), &place.function))
    })
}

fn of(file: &str, function: &str) -> Option<&'static str> {
    let is_in = |files: &[&str]| files.iter().any(|name| file.starts_with(name));
    // "lock_wait(...)" and "LWLockAcquireOrWait", but not "lock_waiting".
    let is_it = |name: &str| {
        let rest = function.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_lowercase()))
    };
    let mut known = SAYS.iter();
    known.find(|(files, name, _)| is_in(files) && is_it(name)).map(|(_, _, says)| *says)
}

/// Whether the process has Go in it, whose goroutines move between threads: what one locks on one
/// thread, in C, it may unlock on another.
pub fn has_go(process: &Process, symbols: &mut Symbols) -> bool {
    let mut code = process.maps.iter().filter(|map| map.is_executable);
    code.any(|map| symbols.image(process, map).is_some_and(|image| image.is_of_go()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_for_what_it_is_only_in_its_own_file() {
        let python = ("libpython3.11.so.1.0", "PyThread_acquire_lock_timed");
        for (file, name) in [("libjvm.so", "Parker::park"), python, ("server", "runtime.lock2")] {
            assert!(of(file, name).is_some(), "{name}");
        }
        assert_eq!(of("mariadbd", "lock_wait(que_thr_t*)"), Some(ROW));
        assert_eq!(of("server", "lock_wait"), None);
        assert_eq!(of("mariadbd", "lock_waiting"), None);
        assert_eq!(of("libjvm.so", "MyParker::park"), None);
    }
}
