//! One thread in words.

use std::time::Duration;

use super::lines::TIED;
use crate::who::chains::{Asleep, ThreadId, World};
use crate::who::locks::{Kind, Wait, is_of_a_library, is_start, lock_frame};
use crate::who::stacks::image::Place;
use crate::who::stacks::{Frame, Stack};

/// Frames of a stack that are printed.
const SHOWN: usize = 10;

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

/// The program's own function that a thread is in, or the innermost.
pub fn place(stack: &Stack) -> Option<String> {
    let frames = &stack.frames[first(stack)..];
    let image =
        |frame: &Frame| frame.image.as_ref().map_or("", |image| image.name.as_str()).to_owned();
    for frame in frames {
        if frame.places.is_empty() && !is_of_a_library("", &image(frame)) {
            return Some(address(frame));
        }
        let own = |place: &&Place| !is_of_a_library(&place.function, &image(frame));
        if let Some(place) = frame.places.iter().find(own) {
            return Some(function(place));
        }
    }
    let mut all = frames.iter().flat_map(|frame| frame.places.iter());
    all.find(|place| !place.function.is_empty()).map(function)
}

/// The first frame that tells a reader something: the lock's function, or the last one of a library
/// before the program's own.
fn first(stack: &Stack) -> usize {
    if let Some(frame) = lock_frame(stack) {
        return frame;
    }
    let is_library = |frame: &Frame| {
        let image = frame.image.as_ref().map_or("", |image| image.name.as_str());
        let all = frame.places.iter().all(|place| is_of_a_library(&place.function, image));
        if frame.places.is_empty() { is_of_a_library("", image) } else { all }
    };
    let program = stack.frames.iter().position(|frame| !is_library(frame));
    program.map_or(0, |at| at.saturating_sub(1))
}

fn function(place: &Place) -> String {
    match source(place) {
        Some(source) => format!("{} ({source})", place.function),
        None => place.function.clone(),
    }
}

fn source(place: &Place) -> Option<String> {
    let file = place.file.as_ref()?;
    let file = file.rsplit('/').next().unwrap_or(file);
    Some(place.line.map_or(file.to_owned(), |line| format!("{file}:{line}")))
}

/// Code without a name: where in which file, by its build-id.
fn address(frame: &Frame) -> String {
    match &frame.image {
        Some(image) => {
            let id = image.build_id.as_ref();
            let id =
                id.map_or(String::new(), |id| format!(", build-id {}", &id[..id.len().min(12)]));
            format!("{}+{:#x} (no symbols{id})", image.name, frame.address)
        }
        None => format!("{:#x} (generated code)", frame.code),
    }
}

/// A stack's lines from the lock's function on.
pub fn stack(stack: &Stack) -> Vec<String> {
    let mut lines = Vec::new();
    let lock = lock_frame(stack);
    // Below it is what Rust's std does to start a thread.
    let is_begun = |place: &Place| place.function.contains("__rust_begin_short_backtrace");
    for (at, frame) in stack.frames.iter().enumerate().skip(first(stack)) {
        if frame.places.iter().any(is_begun) {
            break;
        }
        if frame.places.is_empty() {
            lines.push(address(frame));
        }
        // What a lock's function has inlined tells nothing.
        let inner = if lock == Some(at) { frame.places.len().saturating_sub(1) } else { 0 };
        for place in frame.places[inner..].iter().filter(|place| !is_start(&place.function)) {
            if lock == Some(at) {
                let name = place.function.trim_start_matches('_');
                // The preload's own name for one of pthread's.
                let last = name.rsplit("::").next().filter(|last| last.starts_with("pthread_"));
                let name = last.unwrap_or(name);
                lines.push(name.strip_suffix("_slow").unwrap_or(name).to_owned());
                continue;
            }
            let source = source(place).map_or(String::new(), |source| format!("  {source}"));
            let inlined = if place.is_inlined { "  (inlined)" } else { "" };
            lines.push(format!("{}{source}{inlined}", place.function));
        }
    }
    let more = lines.len().saturating_sub(SHOWN);
    if more > 1 {
        lines.truncate(SHOWN);
        lines.push(format!("... {more} more"));
    }
    if let Some(why) = stack.ends_early {
        lines.push(format!("(the stack isn't whole: {why})"));
    }
    lines
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
