//! What is reported: circles, put together where the same code does the same with other locks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use furwock_record::WAITED;

use super::classes;
use super::cycles::{Cycles, cycles};
use super::{Edge, Names, Node, Options, Order};

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
    /// locks. A hint, unless the user wants it to count.
    ByPlace,
    /// A wait while another lock was held, which those that end the wait don't need. A hint.
    HeldWhileWaiting,
}

impl Kind {
    /// Whether it is a possible deadlock, rather than a hint.
    fn counts(self, options: &Options) -> bool {
        match self {
            Kind::ByPlace => options.by_place,
            Kind::HeldWhileWaiting => false,
            _ => true,
        }
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
    /// It is a possible deadlock, rather than a hint.
    pub counts: bool,
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
    pub fn of(order: &Order, options: &Options, names: &dyn Names) -> Self {
        let Cycles { cycles: by_object, is_cut } = cycles(&order.edges);
        let mut found = Self { is_cut, ..Self::default() };
        let mut groups = Groups { options, list: Vec::new(), by_stacks: HashMap::new() };
        for cycle in &by_object {
            let steps: Vec<Edge> = cycle.iter().map(|&at| order.edges[at].clone()).collect();
            groups.add(kind(&steps, order), steps);
        }
        let seen: BTreeSet<(u32, u32)> =
            groups.list.iter().flat_map(|finding| stacks(&finding.steps)).collect();
        let locks = |finding: &Finding| finding.steps.iter().map(|step| step.held).collect();
        let known: Vec<BTreeSet<Node>> = groups.list.iter().map(locks).collect();
        for steps in classes::circles(order, &known, &mut found.is_cut) {
            // The same code with the same locks says more.
            let is_known = |pair: &(u32, u32)| *pair != (0, 0) && seen.contains(pair);
            if !stacks(&steps).iter().all(is_known) {
                groups.add(Kind::ByPlace, steps);
            }
        }
        for step in held_while_waiting(order, &groups.list) {
            groups.add(Kind::HeldWhileWaiting, vec![step]);
        }
        for finding in groups.list {
            match options.suppressions.covering(&finding, order, names) {
                Some(name) => *found.suppressed.entry(name).or_default() += 1 + finding.alike,
                None => found.findings.push(finding),
            }
        }
        let rank = |finding: &Finding| (!finding.counts, finding.kind, finding.steps.len());
        found.findings.sort_by_key(rank);
        found
    }

    /// Whether something could deadlock.
    pub fn any_counts(&self) -> bool {
        self.findings.iter().any(|finding| finding.counts)
    }
}

/// Findings by their kind and stacks.
struct Groups<'o> {
    options: &'o Options,
    list: Vec<Finding>,
    by_stacks: HashMap<(Kind, Vec<(u32, u32)>), usize>,
}

impl Groups<'_> {
    fn add(&mut self, kind: Kind, steps: Vec<Edge>) {
        let mut key = stacks(&steps);
        let are_known = key.iter().all(|&(held, taken)| held != 0 || taken != 0);
        key.sort_unstable();
        if are_known && let Some(&at) = self.by_stacks.get(&(kind, key.clone())) {
            self.list[at].alike += 1;
            return;
        }
        self.by_stacks.insert((kind, key), self.list.len());
        let counts = kind.counts(self.options);
        self.list.push(Finding { kind, steps, alike: 0, counts });
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

/// Waits with a lock held that are in no circle: those that wake needn't take it.
fn held_while_waiting(order: &Order, findings: &[Finding]) -> Vec<Edge> {
    let reported: BTreeSet<(Node, Node)> = findings
        .iter()
        .flat_map(|finding| finding.steps.iter().map(|step| (step.held, step.taken)))
        .collect();
    let waits = order.edges.iter().filter(|edge| edge.is(WAITED));
    waits.filter(|edge| !reported.contains(&(edge.held, edge.taken))).cloned().collect()
}
