//! What the functions of language runtimes and databases say about a wait that their locks' words
//! don't tell.

use crate::who::process::Process;
use crate::who::stacks::{Stack, Symbols};

/// Functions inside a runtime's lock are few.
const NEAR: usize = 12;

/// How a name is compared.
enum Is {
    Exactly(&'static str),
    Beginning(&'static str),
}
use Is::{Beginning, Exactly};

const SAYS: [(Is, &str); 16] = [
    (
        Beginning("ObjectMonitor::enter"),
        "a Java monitor: the JVM knows its owner, and `jstack PID` tells",
    ),
    (
        Beginning("ObjectMonitor::EnterI"),
        "a Java monitor: the JVM knows its owner, and `jstack PID` tells",
    ),
    (Beginning("ObjectMonitor::wait"), "Java's Object.wait"),
    (
        Exactly("Parker::park"),
        "parked by Java's LockSupport: `jstack PID` tells which lock it is and which thread owns it",
    ),
    (
        Beginning("PyThread_acquire_lock"),
        "a lock of Python's (threading.Lock and others), which keeps no owner here",
    ),
    (Beginning("_PyMutex_Lock"), "a mutex of Python's, which keeps no owner"),
    (
        Exactly("MDL_wait::timed_wait"),
        "a metadata lock of MariaDB's or MySQL's: metadata_lock_info tells which session has it",
    ),
    (
        Beginning("lock_wait"),
        "a row lock of InnoDB's: information_schema.innodb_lock_waits tells which session has it",
    ),
    (
        Exactly("ProcSleep"),
        "a lock of PostgreSQL's: pg_blocking_pids(PID) tells which processes have it",
    ),
    (Exactly("LWLockAcquire"), "a lightweight lock of PostgreSQL's, which keeps no owner"),
    (Exactly("LWLockAcquireOrWait"), "a lightweight lock of PostgreSQL's, which keeps no owner"),
    (Exactly("runtime.mPark"), "one of Go's threads, idle"),
    (Exactly("runtime.templateThread"), "one of Go's threads, idle"),
    (Exactly("runtime.stopm"), "one of Go's threads, idle"),
    (Exactly("runtime.stoplockedm"), "its goroutine is parked"),
    (Exactly("runtime.lock2"), "a lock of Go's runtime, which keeps no owner"),
];

/// What the innermost function that is known says.
pub fn says(stack: &Stack) -> Option<&'static str> {
    let near = stack.frames.iter().take(NEAR).flat_map(|frame| frame.places.iter());
    near.map(|place| place.function.as_str()).find_map(|function| {
        let is_it = |(is, _): &&(Is, _)| match is {
            Exactly(name) => function == *name,
            // `lock_wait(...)`, but not `lock_waiting`.
            Beginning(name) => function
                .strip_prefix(name)
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_lowercase())),
        };
        SAYS.iter().find(is_it).map(|(_, says)| *says)
    })
}

/// Whether the process has Go in it, whose goroutines move between threads: what one locks on one
/// thread, in C, it may unlock on another.
pub fn has_go(process: &Process, symbols: &mut Symbols) -> bool {
    let mut code = process.maps.iter().filter(|map| map.is_executable);
    code.any(|map| symbols.image(process, map).is_some_and(|image| image.is_of_go()))
}
