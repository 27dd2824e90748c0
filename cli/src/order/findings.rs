//! What is reported: circles, put together where the same code does the same with other locks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use furwock_record::{MANY_THREADS, WAITED, WAKES, WAKES_WITHOUT, WRITES};

use super::cycles::{Cycles, cycles};
use super::{Edge, Gate, Names, Node, Order, Suppressions};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A thread takes what it holds.
    Itself,
    /// Locks in different orders.
    Inversion,
    /// A wait for a condvar or a semaphore, with a lock that those take first which end it.
    Wait,
    /// The same for a thread's end.
    Join,
    /// Locks in different orders, by where they were made: no two threads did it with the same
    /// locks. A hint.
    ByPlace,
    /// A wait while another lock was held, which those that end the wait don't need. A hint.
    HeldWhileWaiting,
}

impl Kind {
    /// Whether it can deadlock by what was seen.
    pub fn counts(self) -> bool {
        !matches!(self, Kind::ByPlace | Kind::HeldWhileWaiting)
    }

    pub fn word(self) -> &'static str {
        match self {
            Kind::Itself => "itself",
            Kind::Inversion => "inversion",
            Kind::Wait => "wait",
            Kind::Join => "join",
            Kind::ByPlace => "by place",
            Kind::HeldWhileWaiting => "held while waiting",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub kind: Kind,
    /// A step for each thread: it holds the first and waits for the second, which the next one's
    /// thread holds, or will signal.
    pub steps: Vec<Edge>,
    /// How many other circles are like it.
    pub alike: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub findings: Vec<Finding>,
    /// How many were left out by which suppression.
    pub suppressed: BTreeMap<String, usize>,
    /// The graph was too large to look at all circles.
    pub is_cut: bool,
}

impl Findings {
    pub fn of(order: &Order, suppressions: &Suppressions, names: &dyn Names) -> Self {
        let Cycles { cycles: by_object, is_cut } = cycles(&order.edges);
        let mut found = Self { is_cut, ..Self::default() };
        let mut groups = Groups::default();
        for cycle in &by_object {
            let steps: Vec<Edge> = cycle.iter().map(|&at| order.edges[at].clone()).collect();
            groups.add(kind(&steps, order), steps);
        }
        let seen: BTreeSet<(u32, u32)> =
            groups.list.iter().flat_map(|finding| stacks(&finding.steps)).collect();
        for steps in by_place(order, &mut found.is_cut) {
            // The same code with locks that still exist says more.
            if !stacks(&steps).iter().all(|pair| seen.contains(pair)) {
                groups.add(Kind::ByPlace, steps);
            }
        }
        for step in held_while_waiting(order, &groups.list) {
            groups.add(Kind::HeldWhileWaiting, vec![step]);
        }
        for finding in groups.list {
            match suppressions.covering(&finding, order, names) {
                Some(name) => *found.suppressed.entry(name).or_default() += 1 + finding.alike,
                None => found.findings.push(finding),
            }
        }
        found.findings.sort_by_key(|finding| (finding.kind, finding.steps.len()));
        found
    }

    /// Whether something could deadlock.
    pub fn any_counts(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.counts())
    }
}

/// Findings by their kind and stacks.
#[derive(Default)]
struct Groups {
    list: Vec<Finding>,
    by_stacks: HashMap<(Kind, Vec<(u32, u32)>), usize>,
}

impl Groups {
    fn add(&mut self, kind: Kind, steps: Vec<Edge>) {
        let mut key = stacks(&steps);
        let are_known = key.iter().all(|&(held, taken)| held != 0 || taken != 0);
        key.sort_unstable();
        if are_known && let Some(&at) = self.by_stacks.get(&(kind, key.clone())) {
            self.list[at].alike += 1;
            return;
        }
        self.by_stacks.insert((kind, key), self.list.len());
        self.list.push(Finding { kind, steps, alike: 0 });
    }
}

fn stacks(steps: &[Edge]) -> Vec<(u32, u32)> {
    steps.iter().map(|step| (step.held_stack, step.taken_stack)).collect()
}

fn kind(steps: &[Edge], order: &Order) -> Kind {
    let mut waits = steps.iter().filter(|step| step.is(WAITED));
    match (steps, waits.next()) {
        ([_], _) => Kind::Itself,
        (_, None) => Kind::Inversion,
        (_, Some(wait)) if order.locks[wait.taken].is_thread => Kind::Join,
        (_, Some(_)) => Kind::Wait,
    }
}

/// Circles of places at which locks were made, that are closed by locks which no longer exist.
fn by_place(order: &Order, is_cut: &mut bool) -> Vec<Vec<Edge>> {
    let place = |node: Node| {
        let lock = &order.locks[node];
        lock.made_by.filter(|_| lock.is_gone)
    };
    let mut places: BTreeMap<u32, Node> = BTreeMap::new();
    for made_by in (0..order.locks.len()).filter_map(place) {
        let next = places.len();
        places.entry(made_by).or_insert(next);
    }
    // What isn't gone keeps a number of its own, so that it can be a gate.
    let number = |node: Node| place(node).map_or(places.len() + node, |made_by| places[&made_by]);
    let of_gone = |(_, edge): &(usize, &Edge)| {
        !edge.is(WAITED | WAKES | WAKES_WITHOUT | WRITES)
            && number(edge.held) < places.len()
            && number(edge.taken) < places.len()
            && number(edge.held) != number(edge.taken)
    };
    let gone: Vec<(usize, &Edge)> = order.edges.iter().enumerate().filter(of_gone).collect();
    let classes = gone.iter().map(|(_, edge)| Edge {
        held: number(edge.held),
        taken: number(edge.taken),
        // The same code might run on other threads.
        flags: edge.flags | MANY_THREADS,
        gates: edge.gates.iter().map(|gate| Gate { lock: number(gate.lock), ..*gate }).collect(),
        ..(*edge).clone()
    });
    let Cycles { cycles: found, is_cut: was_cut } = cycles(&classes.collect::<Vec<_>>());
    *is_cut |= was_cut;
    let steps = |cycle: &Vec<usize>| cycle.iter().map(|&at| gone[at].1.clone()).collect();
    found.iter().map(steps).collect()
}

/// Waits with a lock held that are in no circle: those that wake needn't take it.
fn held_while_waiting(order: &Order, findings: &[Finding]) -> Vec<Edge> {
    let reported: BTreeSet<(Node, Node)> = findings
        .iter()
        .flat_map(|finding| finding.steps.iter().map(|step| (step.held, step.taken)))
        .collect();
    let waits = order.edges.iter().filter(|edge| edge.is(WAITED));
    waits.filter(|edge| !reported.contains(&(edge.held, edge.taken))).cloned().collect()
}
