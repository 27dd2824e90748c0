//! The order in which a program took its locks, and what could deadlock by it though it did not:
//! `furwock run --lock-order`.
//!
//! The recording library writes an [`Edge`] when a thread takes a lock while it holds another.
//! `rules` says which of them can stand in a circle together, `cycles` looks for circles, `classes`
//! for those of locks that were made at the same places; `findings` puts those together that are
//! alike, `suppressions` leaves out what the user knows;
//! `picture` and `document` are the output. docs/lock-order.md says what the rules promise.

mod classes;
mod cycles;
mod document;
mod findings;
mod picture;
#[cfg(test)]
mod programs;
mod recorded;
mod rules;
mod suppressions;
#[cfg(test)]
mod tests;

pub use findings::{Finding, Findings};
pub use recorded::{options, report, report_document};
pub use suppressions::Suppressions;

use picture::text;

/// A possible deadlock was found, and the user wants to know by the status.
pub const STATUS_FOUND: i32 = 3;

/// What the user wants of a report.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub suppressions: Suppressions,
    /// Locks that were made at one place count as one, besides objects by themselves.
    pub by_place: bool,
}

/// What a lock is in the graph: its place in [`Order::locks`].
pub type Node = usize;

/// Something that threads wait for.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    /// For people: "mutex journal (0x5613fd8870a0)".
    pub text: String,
    /// The name alone: what the program calls it, a symbol or the address.
    pub name: String,
    /// The place where it was made, if it is known.
    pub made_in: Option<String>,
    /// What those have in common that were made at one place: a number for each.
    pub class: Option<usize>,
    /// It no longer exists.
    pub is_gone: bool,
    /// It is a thread, which others wait for by joining it.
    pub is_thread: bool,
}

/// A lock that was held beside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gate {
    pub lock: Node,
    pub for_reading: bool,
}

/// A thread took, or waited for, `taken` while it held `held`.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    pub held: Node,
    pub taken: Node,
    /// The numbers of stacks, 0 if unknown.
    pub held_stack: u32,
    pub taken_stack: u32,
    /// The first thread that did so.
    pub thread: u32,
    /// [`furwock_record::HELD_READ`] and its likes.
    pub flags: u32,
    pub count: u64,
    pub gates: Vec<Gate>,
}

impl Edge {
    pub fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub locks: Vec<Lock>,
    pub edges: Vec<Edge>,
    /// Locks, threads and steps that there was no room for.
    pub lost: u64,
    /// Stacks that there was no room for.
    pub lost_stacks: u64,
}

/// A function in a stack, as people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub function: String,
    /// The source line, or the file that it is in.
    pub place: String,
}

/// What stacks and threads are called.
pub trait Names {
    /// The innermost function first.
    fn stack(&self, number: u32) -> Vec<Frame>;
    /// "alice (28939)".
    fn thread(&self, tid: u32) -> String;
}
