//! Circles of classes: locks that were made at one place count as one. So what one thread does with
//! two locks, and another does the other way round with two others of the same makes, is a circle;
//! were they the same two, it would be one of objects.
//!
//! - A lock without a place is a class by itself.
//! - Locks of one class that are held at once are ordered by something else, such as their
//!   addresses or a list that is walked hand over hand: a step from one to another is none.
//! - Two locks of one class are one as gates, too: a tree's lock keeps threads from its nodes, and
//!   another tree's from others.
//! - Waits for condvars, semaphores and threads are looked at by object only.

use std::collections::{BTreeMap, BTreeSet};

use furwock_record::{MANY_THREADS, TAKEN_READ, WAITED, WAKES, WAKES_WITHOUT, WRITES};

use super::cycles::{Cycles, cycles};
use super::{Edge, Gate, Node, Order};

/// Steps of one class of threads from one class of locks to another, which are alike.
struct Steps<'o> {
    class: Edge,
    /// The steps themselves, the first of each thread.
    own: Vec<&'o Edge>,
}

/// The circles, in steps that were recorded. `known` are those of objects: a circle of the same
/// classes says nothing new.
pub fn circles(order: &Order, known: &[BTreeSet<Node>], is_cut: &mut bool) -> Vec<Vec<Edge>> {
    let number = |node: Node| match order.locks[node].class {
        Some(class) => class,
        None => order.locks.len() + node,
    };
    let all = steps(order, number);
    let edges: Vec<Edge> = all.iter().map(|steps| steps.class.clone()).collect();
    let Cycles { cycles: found, is_cut: was_cut } = cycles(&edges);
    *is_cut |= was_cut;
    let classes = |locks: &BTreeSet<Node>| -> BTreeSet<Node> {
        locks.iter().map(|&lock| number(lock)).collect()
    };
    // Two locks of one class say nothing of others.
    let known = known.iter().map(|locks| (locks.len(), classes(locks)));
    let known: BTreeSet<BTreeSet<Node>> =
        known.filter(|(count, classes)| *count == classes.len()).map(|(_, each)| each).collect();
    let is_new = |cycle: &&Vec<usize>| {
        let own: BTreeSet<Node> = cycle.iter().map(|&at| edges[at].held).collect();
        let is_same = |known: &BTreeSet<Node>| match known.len() {
            1 => *known == own,
            _ => known.is_subset(&own),
        };
        !known.iter().any(is_same)
    };
    found.iter().filter(is_new).map(|cycle| recorded(cycle, &all)).collect()
}

/// Steps between classes, each once.
fn steps(order: &Order, number: impl Fn(Node) -> Node) -> Vec<Steps<'_>> {
    let mut by_key: BTreeMap<_, usize> = BTreeMap::new();
    let mut all: Vec<Steps<'_>> = Vec::new();
    let locks = order.edges.iter().filter(|edge| !edge.is(WAITED | WAKES | WAKES_WITHOUT));
    for edge in locks {
        let Some(class) = step(edge, &number) else { continue };
        let flags = class.flags & !MANY_THREADS;
        let key = (class.held, class.taken, flags, class.gates.clone());
        match by_key.get(&key) {
            Some(&at) => {
                let steps = &mut all[at];
                if steps.class.thread != class.thread {
                    steps.class.flags |= MANY_THREADS;
                }
                steps.class.flags |= class.flags & MANY_THREADS;
                if steps.own.iter().all(|own| own.thread != edge.thread) {
                    steps.own.push(edge);
                }
            }
            None => {
                by_key.insert(key, all.len());
                all.push(Steps { class, own: vec![edge] });
            }
        }
    }
    all
}

/// A step as one between classes; none within a class, but for what is said of writers.
fn step(edge: &Edge, number: impl Fn(Node) -> Node) -> Option<Edge> {
    let (held, taken) = (number(edge.held), number(edge.taken));
    let gate = |gate: &Gate| Gate { lock: number(gate.lock), ..*gate };
    let mut gates: Vec<Gate> = edge.gates.iter().map(gate).collect();
    let mut flags = edge.flags;
    if held == taken && edge.held != edge.taken {
        if edge.is(TAKEN_READ) {
            return None;
        }
        let for_reading = edge.is(furwock_record::HELD_READ);
        gates.push(Gate { lock: held, for_reading });
        flags = WRITES | flags & MANY_THREADS;
    }
    gates.sort_unstable();
    gates.dedup();
    Some(Edge { held, taken, flags, gates, ..edge.clone() })
}

/// A circle in recorded steps: of different threads, where there are such.
fn recorded(cycle: &[usize], all: &[Steps<'_>]) -> Vec<Edge> {
    let mut threads: BTreeSet<u32> = BTreeSet::new();
    let mut steps = Vec::new();
    for &at in cycle {
        let own = &all[at].own;
        let other = own.iter().find(|step| !threads.contains(&step.thread));
        let step = *other.unwrap_or(&own[0]);
        threads.insert(step.thread);
        steps.push(step.clone());
    }
    steps
}
