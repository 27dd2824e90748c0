//! Circles in the graph of locks: within its strongly connected components, the shortest first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use furwock_record::{WAKES, WAKES_WITHOUT, WRITES};

use super::rules::Rules;
use super::{Edge, Node};

/// The longest circle that is looked for.
pub const LONGEST: usize = 10;
/// How many steps a search may take; then it says that it has not seen everything.
const STEPS: usize = 4_000_000;
/// How many circles are kept.
const KEPT: usize = 10_000;

#[derive(Debug, Default)]
pub struct Cycles {
    /// The numbers of edges. A circle's locks don't contain those of a shorter one.
    pub cycles: Vec<Vec<usize>>,
    /// The search was given up.
    pub is_cut: bool,
}

pub fn cycles(edges: &[Edge]) -> Cycles {
    let usable = usable(edges);
    let rules = Rules::of(edges);
    let mut search = Search {
        edges,
        rules,
        from: HashMap::new(),
        component: components(edges, &usable),
        found: Cycles::default(),
        locks: BTreeMap::new(),
        path: Vec::new(),
        nodes: Vec::new(),
        steps: 0,
    };
    for at in usable {
        search.from.entry(edges[at].held).or_default().push(at);
    }
    search.all();
    search.found
}

/// The edges that can stand in a circle. A wake after a lock counts if each thread that wakes took
/// the lock.
fn usable(edges: &[Edge]) -> Vec<usize> {
    let without: BTreeSet<(Node, Node)> = edges
        .iter()
        .filter(|edge| edge.is(WAKES_WITHOUT))
        .map(|edge| (edge.held, edge.taken))
        .collect();
    let is_usable = |edge: &Edge| {
        let wakes_without = edge.is(WAKES) && without.contains(&(edge.held, edge.taken));
        !edge.is(WRITES | WAKES_WITHOUT) && !wakes_without
    };
    (0..edges.len()).filter(|&at| is_usable(&edges[at])).collect()
}

struct Search<'e> {
    edges: &'e [Edge],
    rules: Rules,
    /// The edges that begin at a lock.
    from: HashMap<Node, Vec<usize>>,
    component: HashMap<Node, usize>,
    found: Cycles,
    /// The locks of each circle that was found, by the least of them.
    locks: BTreeMap<Node, Vec<Vec<Node>>>,
    path: Vec<&'e Edge>,
    nodes: Vec<Node>,
    steps: usize,
}

impl<'e> Search<'e> {
    fn all(&mut self) {
        let mut starts: Vec<Node> = self.from.keys().copied().collect();
        starts.sort_unstable();
        let mut sizes: HashMap<usize, usize> = HashMap::new();
        for component in self.component.values() {
            *sizes.entry(*component).or_default() += 1;
        }
        let largest = sizes.values().copied().max().unwrap_or(0);
        for length in 1..=LONGEST.min(largest) {
            for &start in &starts {
                if sizes[&self.component[&start]] >= length {
                    self.nodes.push(start);
                    self.extend(&mut Vec::new(), start, length);
                    self.nodes.pop();
                }
            }
        }
    }

    /// Looks for circles of `length` that go on with the last of `nodes`; `start` is the least.
    fn extend(&mut self, chosen: &mut Vec<usize>, start: Node, length: usize) {
        let last = self.nodes[self.nodes.len() - 1];
        for index in 0..self.from.get(&last).map_or(0, Vec::len) {
            let at = self.from[&last][index];
            let edge = &self.edges[at];
            let closes = chosen.len() + 1 == length;
            let goes_on = if closes {
                edge.taken == start
            } else {
                edge.taken > start
                    && self.component.get(&edge.taken) == self.component.get(&start)
                    && !self.nodes.contains(&edge.taken)
            };
            if !goes_on {
                continue;
            }
            self.steps += 1;
            if self.steps > STEPS || self.found.cycles.len() >= KEPT {
                self.found.is_cut = true;
                return;
            }
            if !self.rules.may_follow(&self.path, edge) {
                continue;
            }
            self.path.push(edge);
            chosen.push(at);
            if closes {
                self.close(chosen);
            } else {
                self.nodes.push(edge.taken);
                self.extend(chosen, start, length);
                self.nodes.pop();
            }
            chosen.pop();
            self.path.pop();
        }
    }

    fn close(&mut self, chosen: &[usize]) {
        let mut locks = self.nodes.clone();
        locks.sort_unstable();
        if self.contains_found(&locks) || !self.rules.is_circle(&self.path) {
            return;
        }
        self.locks.entry(locks[0]).or_default().push(locks);
        self.found.cycles.push(chosen.to_vec());
    }

    /// Whether a circle was found whose locks are all among these.
    fn contains_found(&self, locks: &[Node]) -> bool {
        locks.iter().any(|lock| {
            let found = self.locks.get(lock).map_or(&[][..], Vec::as_slice);
            found.iter().any(|found| found.iter().all(|each| locks.binary_search(each).is_ok()))
        })
    }
}

/// Strongly connected components (Tarjan 1972), without recursion: each lock's component.
fn components(edges: &[Edge], usable: &[usize]) -> HashMap<Node, usize> {
    let mut successors: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    for edge in usable.iter().map(|&at| &edges[at]) {
        successors.entry(edge.held).or_default().push(edge.taken);
        successors.entry(edge.taken).or_default();
    }
    let mut index: HashMap<Node, usize> = HashMap::new();
    let mut low: HashMap<Node, usize> = HashMap::new();
    let mut component: HashMap<Node, usize> = HashMap::new();
    let mut open: Vec<Node> = Vec::new();
    let mut count = 0;
    for &root in successors.keys() {
        if index.contains_key(&root) {
            continue;
        }
        let mut calls: Vec<(Node, usize)> = vec![(root, 0)];
        while let Some((node, next)) = calls.pop() {
            if next == 0 {
                let number = index.len();
                index.insert(node, number);
                low.insert(node, number);
                open.push(node);
            } else {
                // Back from the successor before.
                let child = low[&successors[&node][next - 1]];
                if !component.contains_key(&successors[&node][next - 1]) {
                    low.insert(node, low[&node].min(child));
                }
            }
            match successors[&node].get(next) {
                Some(successor) => {
                    calls.push((node, next + 1));
                    if !index.contains_key(successor) {
                        calls.push((*successor, 0));
                    }
                }
                None if low[&node] == index[&node] => {
                    while let Some(member) = open.pop() {
                        component.insert(member, count);
                        if member == node {
                            break;
                        }
                    }
                    count += 1;
                }
                None => {}
            }
        }
    }
    component
}
