//! One thread in words.

use std::time::Duration;

use crate::lines::TIED;
use crate::who::chains::{Asleep, ThreadId, World};
use crate::who::locks::{Kind, Wait};

/// "worker (4711)", with the process if it is another than `of`.
pub fn name(world: &World, id: ThreadId, of: i32) -> String {
    let thread = format!("{} ({})", world.name(id), id.tid);
    match world.processes.get(&id.pid) {
        Some(process) if id.pid != of => {
            format!("{thread} of process {} ({})", process.name, process.pid)
        }
        _ if id.pid != of => format!("{thread} of process {}", id.pid),
        _ => thread,
    }
}

/// What it waits for: "waits for mutex cache_lock (0x4040)".
pub fn waits(wait: &Wait, objects: &dyn Fn(u64) -> Option<String>) -> String {
    let called = |at: u64| match objects(at) {
        Some(name) => format!("{name} ({at:#x})"),
        None => format!("{at:#x}"),
    };
    let object = wait.object.map_or(String::new(), |at| format!(" {}", called(at)));
    let says = match &wait.kind {
        Kind::Running => "runs".to_owned(),
        Kind::Unknown => "does what can't be read".to_owned(),
        Kind::Call(call) if call.starts_with("stopped") || call.starts_with("ended") => {
            format!("is {call}")
        }
        Kind::Call(call) => format!("waits: {call}"),
        Kind::Join => "waits for a thread to end".to_owned(),
        Kind::RwLockRead => format!("waits for rwlock{object} to read"),
        Kind::RwLockWrite => format!("waits for rwlock{object} to write"),
        kind => format!("waits for {}{object}", kind.name()),
    };
    let mutex = wait.mutex.map_or(String::new(), |at| format!(", with mutex {}", called(at)));
    let limit = if wait.is_timed { ", with a timeout" } else { "" };
    let note = wait.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
    format!("{says}{mutex}{limit}{note}")
}

/// "12.3 s".
pub fn time(asleep: Asleep) -> Option<String> {
    let asleep = asleep?;
    Some(match asleep.as_secs() {
        0 => format!("{}{TIED}ms", asleep.as_millis()),
        1..100 => format!("{:.1}{TIED}s", asleep.as_secs_f64()),
        100..6000 => format!("{}{TIED}min", asleep.as_secs() / 60),
        seconds => format!("{}{TIED}h", seconds / 3600),
    })
}

/// Of some milliseconds, no word is made.
pub fn is_long(asleep: Asleep) -> bool {
    asleep.is_some_and(|asleep| asleep >= Duration::from_millis(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_few_digits() {
        let said = |ms| time(Some(Duration::from_millis(ms))).unwrap();
        assert_eq!(
            [20, 1234, 99_900, 600_000, 7_200_000].map(said),
            ["20 ms", "1.2 s", "99.9 s", "10 min", "2 h"].map(|said| said.replace(' ', "\u{a0}"))
        );
    }
}
