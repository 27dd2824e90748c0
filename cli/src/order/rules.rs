//! Which recorded steps can stop threads in a circle.
//!
//! A circle's step `i` is a thread that holds `held(i)` and waits for `taken(i)`, which the thread
//! of step `i + 1` holds. All of it has to be possible at one moment:
//!
//! - Each step is another thread's.
//! - What two of the threads hold at that moment excludes each other nowhere: a lock that both
//!   hold, unless both for reading, is a gate that keeps them apart.
//! - The holder stops the one that waits: not both read. Readers of a rwlock that prefers
//!   writers wait for readers if a writer waits in between: then some other thread has to write it,
//!   and to get there in spite of what the threads of the circle hold.

use furwock_record::{
    BEHIND_WRITERS, HELD_READ, MANY_THREADS, TAKEN_READ, WAITED, WAKES, WAKES_WITHOUT, WRITES,
};

use super::{Edge, Gate, Node};

/// Threads that write one lock.
struct Writer {
    lock: Node,
    thread: Option<u32>,
    holds: Vec<Gate>,
}

pub struct Rules {
    writers: Vec<Writer>,
}

impl Rules {
    pub fn of(edges: &[Edge]) -> Self {
        let mut read_behind: Vec<Node> =
            edges.iter().filter(|edge| edge.is(BEHIND_WRITERS)).map(|edge| edge.taken).collect();
        read_behind.sort_unstable();
        read_behind.dedup();
        let writes = edges.iter().filter(|edge| {
            let is_lock = !edge.is(TAKEN_READ | WAITED | WAKES | WAKES_WITHOUT);
            is_lock && read_behind.binary_search(&edge.taken).is_ok()
        });
        let writers = writes.map(|edge| Writer {
            lock: edge.taken,
            thread: thread(edge),
            holds: if edge.is(WRITES) { edge.gates.clone() } else { held(edge) },
        });
        Self { writers: writers.collect() }
    }

    /// Whether `next` may stand in a circle with `steps`, of which the last one waits for what it
    /// holds.
    pub fn may_follow(&self, steps: &[&Edge], next: &Edge) -> bool {
        steps.last().is_none_or(|last| self.stops(next, last))
            && steps.iter().all(|step| are_compatible(step, next))
    }

    /// Whether steps that may follow one another are a circle.
    pub fn is_circle(&self, steps: &[&Edge]) -> bool {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return false };
        let turns = || steps.iter().zip(steps.iter().cycle().skip(1));
        self.stops(first, last)
            && turns()
                .all(|(waits, holds)| !are_reads(holds, waits) || self.is_written(steps, waits))
    }

    /// Whether a thread that stands at `holds` stops one that stands at `waits`, at least if a
    /// writer comes between them.
    fn stops(&self, holds: &Edge, waits: &Edge) -> bool {
        let may_be_written = || self.writers.iter().any(|writer| writer.lock == waits.taken);
        !are_reads(holds, waits) || waits.is(BEHIND_WRITERS) && may_be_written()
    }

    /// Whether another thread can come to wait for writing what `waits` wants to read.
    fn is_written(&self, steps: &[&Edge], waits: &Edge) -> bool {
        let of_the_lock = self.writers.iter().filter(|writer| writer.lock == waits.taken);
        of_the_lock.into_iter().any(|writer| {
            steps.iter().all(|step| {
                are_different(thread(step), writer.thread) && is_free_of(&held(step), &writer.holds)
            })
        })
    }
}

/// A step that says that a thread which wakes others has taken a lock before. It holds nothing by
/// which a second thread would be kept out.
fn is_wake(edge: &Edge) -> bool {
    edge.is(WAKES)
}

fn are_reads(holds: &Edge, waits: &Edge) -> bool {
    holds.is(HELD_READ) && waits.is(TAKEN_READ)
}

fn are_compatible(one: &Edge, other: &Edge) -> bool {
    are_different(thread(one), thread(other))
        && (is_wake(one) || is_wake(other) || is_free_of(&held(one), &held(other)))
}

/// The thread, if it was one only.
fn thread(edge: &Edge) -> Option<u32> {
    (!edge.is(MANY_THREADS)).then_some(edge.thread)
}

fn are_different(one: Option<u32>, other: Option<u32>) -> bool {
    one.is_none() || one != other
}

/// All that the thread holds while it takes the second.
fn held(edge: &Edge) -> Vec<Gate> {
    let first = Gate { lock: edge.held, for_reading: edge.is(HELD_READ) };
    std::iter::once(first).chain(edge.gates.iter().copied()).collect()
}

/// Whether two threads may hold these at once.
fn is_free_of(one: &[Gate], other: &[Gate]) -> bool {
    let excludes = |a: &Gate, b: &Gate| a.lock == b.lock && !(a.for_reading && b.for_reading);
    !one.iter().any(|a| other.iter().any(|b| excludes(a, b)))
}
