//! The section of steps: one entry for each pair of locks, flags and gates. If a pair has many, or
//! the section is nearly full, the rest of a pair's share one entry, with the gates that all have.

use super::super::part::{self, Lost, lost};
use super::super::tables::{self, mix};
use super::super::thread::Me;
use super::held::{GATES, SEEN};
use core::sync::atomic::Ordering;
use furwock_record::{Edge, GATE_READ, MANY_THREADS};

const ORDER: Ordering = Ordering::Relaxed;
/// Entries of a pair with the same flags.
const VARIANTS: usize = 8;

/// Notes that the calling thread takes `taken` with `held` held.
pub(super) fn note(
    me: Me,
    held: u32,
    taken: u32,
    stacks: (u32, u32),
    flags: u32,
    gates: [u32; GATES],
) {
    let pair = u64::from(held) << 32 | u64::from(taken);
    let mut key = mix(pair ^ u64::from(flags).rotate_right(8));
    for gate in gates {
        key = mix(key ^ u64::from(gate));
    }
    let seen = &me.own.order.seen[key as usize % SEEN];
    if seen.load(ORDER) == key | 1 {
        return;
    }
    seen.store(key | 1, ORDER);
    let thread = me.thread.tid.load(ORDER);
    enter(held, taken, stacks, flags, gates, thread);
}

/// Enters a step of `thread`.
pub(super) fn enter(
    held: u32,
    taken: u32,
    stacks: (u32, u32),
    flags: u32,
    gates: [u32; GATES],
    thread: u32,
) {
    let hash = mix(u64::from(held) << 32 | u64::from(taken));
    let mut alike = 0;
    let mut first = None;
    for (_, edge) in tables::places(tables::entries::<Edge>(|sections| &sections.edges), hash) {
        if edge.claimed.compare_exchange(0, 1, ORDER, ORDER).is_ok() {
            edge.taken.store(taken + 1, ORDER);
            edge.held_stack.store(stacks.0, ORDER);
            edge.taken_stack.store(stacks.1, ORDER);
            edge.thread.store(thread, ORDER);
            edge.flags.store(flags, ORDER);
            edge.count.store(1, ORDER);
            for (to, gate) in edge.gates.iter().zip(gates) {
                to.store(gate, ORDER);
            }
            edge.held.store(held + 1, Ordering::Release);
            part::part().changes.fetch_add(1, ORDER);
            return;
        }
        let is_alike = edge.held.load(Ordering::Acquire) == held + 1
            && edge.taken.load(ORDER) == taken + 1
            && edge.flags.load(ORDER) & !MANY_THREADS == flags;
        if !is_alike {
            continue;
        }
        if edge.gates.iter().zip(gates).all(|(gate, own)| gate.load(ORDER) == own) {
            return add(edge, thread);
        }
        first = first.or(Some(edge));
        alike += 1;
        if alike == VARIANTS {
            break;
        }
    }
    match first {
        Some(edge) => {
            keep(edge, &gates);
            add(edge, thread);
        }
        None => lost(Lost::Edge),
    }
}

fn add(edge: &Edge, thread: u32) {
    edge.count.fetch_add(1, ORDER);
    if edge.thread.load(ORDER) != thread {
        edge.flags.fetch_or(MANY_THREADS, ORDER);
    }
}

/// Leaves those of an entry's gates that are among `gates` as well.
fn keep(edge: &Edge, gates: &[u32; GATES]) {
    for gate in &edge.gates {
        let now = gate.load(ORDER);
        let lock = now & !GATE_READ;
        match gates.iter().find(|&&other| lock != 0 && other & !GATE_READ == lock) {
            Some(other) => _ = gate.fetch_or(other & GATE_READ, ORDER),
            None => gate.store(0, ORDER),
        }
    }
}
