//! A stack in words.

use super::functions::{is_of_a_library, is_start, lock_frame};
use super::image::Place;
use super::{Frame, Stack};

/// Frames of a stack that are printed.
const SHOWN: usize = 10;

/// The program's own function that a thread is in, or the innermost.
pub fn place(stack: &Stack) -> Option<String> {
    let frames = &stack.frames[first(stack)..];
    for frame in frames {
        if frame.places.is_empty() && !is_of_a_library("", frame.file_name()) {
            return Some(address(frame));
        }
        let own = |place: &&Place| !is_of_a_library(&place.function, frame.file_name());
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
        let image = frame.file_name();
        let all = frame.places.iter().all(|place| is_of_a_library(&place.function, image));
        if frame.places.is_empty() { is_of_a_library("", image) } else { all }
    };
    let program = stack.frames.iter().position(|frame| !is_library(frame));
    program.map_or(0, |at| at.saturating_sub(1))
}

pub(super) fn function(place: &Place) -> String {
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
pub(super) fn address(frame: &Frame) -> String {
    match &frame.origin {
        Some(origin) => {
            let id = origin.build_id.as_ref();
            let id =
                id.map_or(String::new(), |id| format!(", build-id {}", &id[..id.len().min(12)]));
            format!("{}+{:#x} (no symbols{id})", origin.name, frame.address)
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
                // The preload's own name for one of the C library's.
                let is_cs = |last: &&str| last.starts_with("pthread_") || last.starts_with("sem_");
                let last = name.rsplit("::").next().filter(is_cs);
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

/// A stack's functions, without sources: the innermost first. Code without a name is its file's.
pub fn functions(stack: &Stack) -> Vec<String> {
    let mut functions = Vec::new();
    for frame in &stack.frames {
        if frame.places.is_empty() {
            let name = frame.file_name();
            functions.push(if name.is_empty() {
                "[generated]".to_owned()
            } else {
                format!("[{name}]")
            });
        }
        let named = frame.places.iter().filter(|place| !is_start(&place.function));
        functions.extend(named.map(|place| place.function.clone()));
    }
    functions
}
