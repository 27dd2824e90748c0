//! The rules, on graphs made by hand.

use std::collections::BTreeSet;

use furwock_record::{
    BEHIND_WRITERS, GATE_READ, HELD_READ, MANY_THREADS, TAKEN_READ, WAITED, WAKES, WAKES_WITHOUT,
    WRITES,
};

use super::document::document;
use super::findings::Kind;
use super::picture::text;
use super::{Edge, Findings, Frame, Gate, Lock, Names, Options, Order, Suppressions};
use crate::lines::WIDTH;

/// Stack 7 is outer_7 calling inner_7.
struct Numbers;

impl Names for Numbers {
    fn stack(&self, number: u32) -> Vec<Frame> {
        let frame = |function: String| Frame { function, place: format!("bank.c:{number}") };
        match number {
            0 => Vec::new(),
            _ => vec![frame(format!("inner_{number}")), frame(format!("outer_{number}"))],
        }
    }

    fn thread(&self, tid: u32) -> String {
        format!("thread {tid}")
    }
}

/// A graph of locks "a", "b" and so on. Each edge has stacks of its own.
struct Graph(Order);

fn graph(locks: usize) -> Graph {
    let lock = |at: usize| {
        let name = char::from(b'a' + u8::try_from(at).expect("few locks")).to_string();
        Lock { text: format!("mutex {name}"), name, ..Lock::default() }
    };
    Graph(Order { locks: (0..locks).map(lock).collect(), ..Order::default() })
}

impl Graph {
    fn edge(mut self, thread: u32, held: usize, taken: usize) -> Self {
        let stack = u32::try_from(self.0.edges.len()).expect("few edges") * 2 + 1;
        let stacks = (stack, stack + 1);
        self.0.edges.push(Edge {
            held,
            taken,
            thread,
            held_stack: stacks.0,
            taken_stack: stacks.1,
            count: 1,
            ..Edge::default()
        });
        self
    }

    fn last(&mut self) -> &mut Edge {
        self.0.edges.last_mut().expect("an edge")
    }

    fn flags(mut self, flags: u32) -> Self {
        self.last().flags |= flags;
        self
    }

    /// Another lock that the last edge's thread held; with [`GATE_READ`], for reading.
    fn gate(mut self, lock: usize, flags: u32) -> Self {
        self.last().gates.push(Gate { lock, for_reading: flags == GATE_READ });
        self
    }

    fn stacks(mut self, held: u32, taken: u32) -> Self {
        (self.last().held_stack, self.last().taken_stack) = (held, taken);
        self
    }

    fn findings(&self) -> Findings {
        Findings::of(&self.0, &Options::default(), &Numbers)
    }

    /// The kinds and locks of what counts.
    fn counted(&self) -> Vec<(Kind, BTreeSet<usize>)> {
        let findings = self.findings().findings.into_iter();
        let counting = findings.filter(|finding| finding.counts);
        counting
            .map(|finding| (finding.kind, finding.steps.iter().map(|step| step.held).collect()))
            .collect()
    }
}

fn circle(kind: Kind, locks: &[usize]) -> Vec<(Kind, BTreeSet<usize>)> {
    vec![(kind, locks.iter().copied().collect())]
}

#[test]
fn an_inversion_of_two_and_of_five_locks() {
    let two = graph(2).edge(1, 0, 1).edge(2, 1, 0);
    assert_eq!(two.counted(), circle(Kind::Inversion, &[0, 1]));
    let mut five = graph(5);
    for at in 0..5 {
        five = five.edge(at, at as usize, (at as usize + 1) % 5);
    }
    assert_eq!(five.counted(), circle(Kind::Inversion, &[0, 1, 2, 3, 4]));
}

#[test]
fn an_order_is_no_circle() {
    let order = graph(3).edge(1, 0, 1).edge(2, 1, 2).edge(3, 0, 2);
    assert_eq!(order.counted(), []);
}

#[test]
fn one_thread_is_no_deadlock_unless_others_do_it_too() {
    assert_eq!(graph(2).edge(1, 0, 1).edge(1, 1, 0).counted(), []);
    let both = graph(2).edge(1, 0, 1).flags(MANY_THREADS).edge(1, 1, 0);
    assert_eq!(both.counted(), circle(Kind::Inversion, &[0, 1]));
    // Three steps need three threads.
    assert_eq!(graph(3).edge(1, 0, 1).edge(2, 1, 2).edge(1, 2, 0).counted(), []);
}

#[test]
fn a_gate_keeps_them_apart_unless_both_read_it() {
    let gated = |first: u32, second: u32| {
        graph(3).edge(1, 0, 1).gate(2, first).edge(2, 1, 0).gate(2, second).counted()
    };
    assert_eq!(gated(0, 0), []);
    assert_eq!(gated(0, GATE_READ), []);
    assert_eq!(gated(GATE_READ, GATE_READ), circle(Kind::Inversion, &[0, 1]));
    let one = graph(3).edge(1, 0, 1).gate(2, 0).edge(2, 1, 0);
    assert_eq!(one.counted(), circle(Kind::Inversion, &[0, 1]));
    // The gate of one step is the lock that another holds.
    let crossed = graph(3).edge(1, 0, 1).gate(2, 0).edge(2, 1, 2).edge(3, 2, 0);
    assert_eq!(crossed.counted(), []);
}

#[test]
fn an_ungated_pair_counts_beside_a_gated_one() {
    let both = graph(3).edge(1, 0, 1).gate(2, 0).edge(3, 0, 1).edge(2, 1, 0).gate(2, 0);
    assert_eq!(both.counted(), circle(Kind::Inversion, &[0, 1]));
}

#[test]
fn readers_stop_writers_only() {
    let pair = |first: u32, second: u32| {
        graph(2).edge(1, 0, 1).flags(first).edge(2, 1, 0).flags(second).counted()
    };
    let found = circle(Kind::Inversion, &[0, 1]);
    // a is read and b written by the first; b is read and a written by the second.
    assert_eq!(pair(HELD_READ, HELD_READ), found);
    assert_eq!(pair(TAKEN_READ, TAKEN_READ), found);
    // b is read by both.
    assert_eq!(pair(TAKEN_READ, HELD_READ), []);
    assert_eq!(pair(HELD_READ | TAKEN_READ, HELD_READ | TAKEN_READ), []);
}

#[test]
fn readers_wait_for_writers_that_are_preferred() {
    let pair = || {
        let first = graph(3).edge(1, 0, 1).flags(TAKEN_READ | BEHIND_WRITERS);
        first.edge(2, 1, 0).flags(HELD_READ)
    };
    assert_eq!(pair().counted(), []);
    let writes = |thread: u32| pair().edge(thread, 1, 1).flags(WRITES);
    assert_eq!(writes(3).counted(), circle(Kind::Inversion, &[0, 1]));
    // The writer is one of the threads, or is kept out.
    assert_eq!(writes(1).counted(), []);
    assert_eq!(writes(3).gate(0, 0).counted(), []);
    // A write with another lock held is one as well.
    let held = pair().edge(3, 2, 1);
    assert_eq!(held.counted(), circle(Kind::Inversion, &[0, 1]));
}

#[test]
fn a_thread_with_itself() {
    assert_eq!(graph(1).edge(1, 0, 0).counted(), circle(Kind::Itself, &[0]));
    let upgrade = graph(1).edge(1, 0, 0).flags(HELD_READ);
    assert_eq!(upgrade.counted(), circle(Kind::Itself, &[0]));
    let read = || graph(1).edge(1, 0, 0).flags(HELD_READ | TAKEN_READ | BEHIND_WRITERS);
    assert_eq!(read().counted(), []);
    assert_eq!(read().edge(1, 0, 0).flags(WRITES).counted(), []);
    assert_eq!(read().edge(2, 0, 0).flags(WRITES).counted(), circle(Kind::Itself, &[0]));
}

#[test]
fn waits_with_a_lock_that_the_waker_takes() {
    let wait = || graph(3).edge(1, 0, 1).flags(WAITED);
    let hints = |graph: Graph| -> Vec<Kind> {
        graph.findings().findings.iter().map(|finding| finding.kind).collect()
    };
    assert_eq!(wait().counted(), []);
    assert_eq!(hints(wait()), [Kind::HeldWhileWaiting]);
    let wakes = || wait().edge(2, 1, 0).flags(WAKES);
    assert_eq!(wakes().counted(), circle(Kind::Wait, &[0, 1]));
    assert_eq!(hints(wakes()), [Kind::Wait]);
    // Another thread wakes without it.
    let without = wakes().edge(3, 1, 0).flags(WAKES_WITHOUT);
    assert_eq!(hints(without), [Kind::HeldWhileWaiting]);
    let mut join = wakes();
    join.0.locks[1].is_thread = true;
    assert_eq!(join.counted(), circle(Kind::Join, &[0, 1]));
    // The waker needs another lock, whose holder needs the waiter's.
    let chain = wait().edge(2, 1, 2).flags(WAKES).edge(3, 2, 0);
    assert_eq!(chain.counted(), circle(Kind::Wait, &[0, 1, 2]));
}

#[test]
fn a_longer_circle_around_a_shorter_one_is_left_out() {
    let both = graph(3).edge(1, 0, 1).edge(2, 1, 0).edge(3, 1, 2).edge(4, 2, 0);
    assert_eq!(both.counted(), circle(Kind::Inversion, &[0, 1]));
    // One that isn't possible hides none.
    let gated = graph(4).edge(1, 0, 1).edge(1, 1, 0).edge(3, 1, 2).edge(4, 2, 0);
    assert_eq!(gated.counted(), circle(Kind::Inversion, &[0, 1, 2]));
}

#[test]
fn the_same_code_is_reported_once() {
    let mut many = graph(20);
    for at in 0..10 {
        many = many.edge(1, 2 * at, 2 * at + 1).stacks(1, 2);
        many = many.edge(2, 2 * at + 1, 2 * at).stacks(3, 4);
    }
    let findings = many.findings().findings;
    assert_eq!((findings.len(), findings[0].alike), (1, 9));
    let out = text(&many.findings(), &many.0, &Numbers, WIDTH);
    assert!(out.contains("The same code does this with 9 more groups of locks.\n"), "{out}");
}

/// The kinds found in a graph of which these locks are of these classes, hints included.
fn kinds(mut graph: Graph, classes: &[usize]) -> Vec<Kind> {
    for (lock, &class) in graph.0.locks.iter_mut().zip(classes) {
        lock.class = Some(class);
    }
    graph.findings().findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn locks_of_the_same_makes_in_different_orders() {
    // Two threads, with other objects of the same makes.
    let pair = || graph(4).edge(1, 0, 1).edge(2, 2, 3);
    assert_eq!(kinds(pair(), &[7, 8, 8, 7]), [Kind::ByPlace]);
    assert_eq!(kinds(pair(), &[7, 8, 7, 8]), []);
    // Objects of one make are ordered by something else.
    assert_eq!(kinds(pair(), &[7, 7, 7, 7]), []);
    // One thread by itself.
    assert_eq!(kinds(graph(4).edge(1, 0, 1).edge(1, 2, 3), &[7, 8, 8, 7]), []);
    // A lock without a place is one by itself.
    let registry = || graph(3).edge(1, 0, 2).edge(2, 2, 1);
    assert_eq!(kinds(registry(), &[7, 7]), [Kind::ByPlace]);
    assert_eq!(kinds(registry(), &[]), []);
}

#[test]
fn what_counts_by_object_is_not_said_again_by_place() {
    let both = graph(4).edge(1, 0, 1).edge(2, 1, 0).edge(3, 2, 3).edge(4, 3, 2);
    assert_eq!(kinds(both, &[7, 8, 7, 8]), [Kind::Inversion; 2]);
    // A circle within a make says nothing of two makes.
    let within = graph(6).edge(1, 0, 1).edge(2, 1, 0).edge(3, 2, 4).edge(4, 5, 3);
    assert_eq!(kinds(within, &[7, 7, 7, 7, 8, 8]), [Kind::Inversion, Kind::ByPlace]);
}

#[test]
fn rules_hold_by_place() {
    let pair =
        |first: u32, second: u32| graph(6).edge(1, 0, 1).flags(first).edge(2, 2, 3).flags(second);
    let classes = [7, 8, 8, 7, 9, 9];
    // A gate, be it another object of its make.
    let gated = graph(6).edge(1, 0, 1).gate(4, 0).edge(2, 2, 3).gate(5, 0);
    assert_eq!(kinds(gated, &classes), []);
    let read = graph(6).edge(1, 0, 1).gate(4, GATE_READ).edge(2, 2, 3).gate(5, GATE_READ);
    assert_eq!(kinds(read, &classes), [Kind::ByPlace]);
    // Readers.
    assert_eq!(kinds(pair(TAKEN_READ, HELD_READ), &classes), []);
    assert_eq!(kinds(pair(HELD_READ, HELD_READ), &classes), [Kind::ByPlace]);
    // Readers behind a writer of another object of the make.
    let behind = || pair(TAKEN_READ | BEHIND_WRITERS, HELD_READ);
    assert_eq!(kinds(behind(), &classes), []);
    let written = behind().edge(3, 1, 1).flags(WRITES);
    assert_eq!(kinds(written, &classes), [Kind::ByPlace]);
    // One that reads another of them meanwhile; if it wrote that, it would be a gate.
    let nested = |flags: u32| behind().edge(3, 1, 2).flags(flags);
    assert_eq!(kinds(nested(HELD_READ), &classes), [Kind::ByPlace]);
    assert_eq!(kinds(nested(0), &classes), []);
    // Waits are looked at by object.
    let waits = graph(4).edge(1, 0, 1).flags(WAITED).edge(2, 2, 3).flags(WAKES);
    assert_eq!(kinds(waits, &[7, 8, 8, 7]), [Kind::HeldWhileWaiting]);
}

#[test]
fn circles_by_place_count_if_that_is_asked_for() {
    let mut pair = graph(4).edge(1, 0, 1).edge(2, 2, 3);
    for (lock, class) in pair.0.locks.iter_mut().zip([7, 8, 8, 7]) {
        lock.class = Some(class);
    }
    let found = |by_place: bool| {
        let options = Options { by_place, ..Options::default() };
        let found = Findings::of(&pair.0, &options, &Numbers);
        (found.any_counts(), text(&found, &pair.0, &Numbers, WIDTH))
    };
    let (counts, says) = found(false);
    assert!(!counts && says.contains("HINT: locks of 2 makes"), "{says}");
    let (counts, says) = found(true);
    assert!(counts && says.contains("POSSIBLE DEADLOCK: locks of 2 makes"), "{says}");
    assert!(says.lines().all(|line| line.chars().count() <= 80), "{says}");
}

#[test]
fn suppressions_leave_out_what_fits_all_lines() {
    let two = graph(2).edge(1, 0, 1).edge(2, 1, 0);
    let left = |file: &str| {
        let suppressions = Suppressions::parse(file).expect("a good file");
        let options = Options { suppressions, by_place: false };
        Findings::of(&two.0, &options, &Numbers).findings.len()
    };
    assert_eq!(left("[known]\nlock = a\nfunction = outer_3\n"), 0);
    assert_eq!(left("[known]\nlock = a\nfunction = outer_9\n"), 1);
    assert_eq!(left("[known]\nkind = inversion\nthread = *2\nplace = *.c:1\n"), 0);
    assert_eq!(left("[other]\nlock = x\n[known]\nkind = inv*\n"), 0);
    let suppressions = Suppressions::parse("[known]\nlock = b\n").expect("a good file");
    let options = Options { suppressions, by_place: false };
    let found = Findings::of(&two.0, &options, &Numbers);
    assert_eq!(found.suppressed.get("known"), Some(&1));
    assert!(!found.any_counts());
}

#[test]
fn a_large_graph_takes_a_moment() {
    // A thousand locks taken in order, and one inversion at their ends.
    let mut chain = graph(0);
    chain.0.locks = (0..1000).map(|_| Lock::default()).collect();
    for at in 0..990 {
        for step in [1, 3, 9] {
            chain = chain.edge(1, at, at + step).flags(MANY_THREADS);
        }
    }
    chain = chain.edge(2, 3, 0);
    let found = chain.findings();
    assert!(!found.is_cut);
    assert!(found.findings.iter().all(|finding| finding.kind == Kind::Inversion));
    assert_eq!(found.findings.len(), 1, "the way round by 1 and 2 is left out");
}

#[test]
fn the_search_gives_up_on_what_has_too_many_circles() {
    // Eight layers of eight locks, with a way from each to each of the next layer; readers at the
    // first layer don't stop those that come back to it.
    const SIDE: usize = 8;
    let mut all = graph(0);
    all.0.locks = (0..SIDE * SIDE).map(|_| Lock::default()).collect();
    for at in 0..SIDE * SIDE * SIDE {
        let (layer, from, to) = (at / (SIDE * SIDE), at / SIDE % SIDE, at % SIDE);
        let thread = u32::try_from(at).expect("small");
        all = all.edge(thread, layer * SIDE + from, (layer + 1) % SIDE * SIDE + to);
        let is_last = layer == SIDE - 1;
        let read = if is_last { TAKEN_READ } else { 0 };
        all = all.flags(if layer == 0 { HELD_READ } else { read });
    }
    assert!(all.findings().is_cut);
}

#[test]
fn the_text_fits_80_columns_and_names_both_pairs_of_stacks() {
    let mut two = graph(3).edge(1, 0, 1).edge(2, 1, 0).flags(MANY_THREADS).gate(2, 0);
    two.0.locks[0].text = format!("mutex {}", "long::".repeat(40));
    two.0.lost = 3;
    two.0.lost_stacks = 5;
    let found = two.findings();
    let out = text(&found, &two.0, &Numbers, WIDTH);
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    for stack in 1..=4 {
        assert!(out.contains(&format!("outer_{stack}  bank.c:{stack}")), "{out}");
    }
    assert!(out.contains("thread 2 and others held mutex b"), "{out}");
    assert!(out.contains("while it held mutex c as well"), "{out}");
    assert!(out.contains("3 entries found no room"), "{out}");
    assert!(out.contains("5 stacks found no room"), "{out}");
    let document = document(&found, &two.0, &Numbers);
    assert_eq!(document["findings"][0]["steps"][1]["gates"][0]["name"], "c");
    assert_eq!(document["findings"][0]["kind"], "inversion");
}

#[test]
fn nothing_found_prints_nothing() {
    let order = graph(2).edge(1, 0, 1);
    assert_eq!(text(&order.findings(), &order.0, &Numbers, WIDTH), "");
}
