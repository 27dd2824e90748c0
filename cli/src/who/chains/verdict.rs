//! Which threads will never go on. Nothing is called a deadlock that a thread, a timeout, a signal
//! handler or another process could still resolve.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Holder, ThreadId, World};
use crate::who::locks::EndsBy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlock {
    /// Each waits for the next, the last for the first.
    Cycle(Vec<ThreadId>),
    /// It waits for what a thread held that has ended.
    HolderEnded(ThreadId),
    /// All threads of these processes wait, and none is left that could wake one.
    NoneLeft(BTreeSet<i32>),
}

#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub deadlocks: Vec<Deadlock>,
    /// Threads that wait for each other, unless others unlock what they have locked.
    pub perhaps: Vec<Vec<ThreadId>>,
    /// Processes whose threads all wait, and that only a signal's handler could wake.
    pub only_by_signal: Vec<i32>,
}

/// What a verdict needs to know of a thread.
struct Node {
    /// It waits for all of these.
    holders: Vec<ThreadId>,
    ends_by_any: bool,
}

impl Verdict {
    pub fn of(world: &World) -> Self {
        Self::among(world, |id| world.is_closed(id) && world.threads[&id].is_still)
    }

    /// What it would be if all threads that were seen waiting had waited at the same time.
    pub fn suspected(world: &World) -> Self {
        Self::among(world, |id| world.is_closed(id))
    }

    fn among(world: &World, is_closed: impl Fn(ThreadId) -> bool) -> Self {
        let closed: BTreeSet<ThreadId> =
            world.threads.keys().filter(|id| is_closed(**id)).copied().collect();
        let graph = |trusts_holders: bool| -> BTreeMap<ThreadId, Node> {
            let node = |id: &ThreadId| {
                let waiting = &world.threads[id];
                let any = waiting.wait.any_may_unlock && !trusts_holders;
                let holders = waiting.holders.iter().filter_map(|holder| match holder {
                    Holder::Thread(id) if !any => Some(*id),
                    _ => None,
                });
                let ends_by_any = any || waiting.wait.ends_by == EndsBy::AnyThread;
                (*id, Node { holders: holders.collect(), ends_by_any })
            };
            closed.iter().map(node).collect()
        };
        let mut perhaps = cycles(&graph(true));
        let closed = graph(false);
        let sure = cycles(&closed);
        perhaps.retain(|cycle| !sure.contains(cycle));
        let mut deadlocks: Vec<Deadlock> = sure.into_iter().map(Deadlock::Cycle).collect();
        let ended = closed.keys().filter(|id| !world.threads[*id].wait.any_may_unlock);
        let ended = ended.filter(|id| {
            let holders = &world.threads[*id].holders;
            holders.iter().any(|holder| matches!(holder, Holder::Ended(_)))
        });
        deadlocks.extend(ended.map(|id| Deadlock::HolderEnded(*id)));
        let alive = |id: &ThreadId| !closed.contains_key(id);
        let open: BTreeSet<ThreadId> =
            world.threads.keys().filter(|id| alive(id)).copied().collect();
        let stuck = stuck(&closed, open);
        let mut by_signal = Vec::new();
        let mut left = BTreeSet::new();
        for (pid, process) in &world.processes {
            let mut threads = stuck.iter().filter(|id| id.pid == *pid);
            let count = threads.clone().count();
            let by_any = threads.any(|id| closed[id].ends_by_any);
            if count == process.tasks.len() && by_any && !world.changed.contains(pid) {
                if process.catches_signals { by_signal.push(*pid) } else { _ = left.insert(*pid) }
            }
        }
        // A process with a cycle, too, is told by its cycle.
        let in_cycle = |pid: &i32| deadlocks.iter().any(|deadlock| deadlock.has_process(*pid));
        left.retain(|pid| !in_cycle(pid));
        by_signal.retain(|pid| !in_cycle(pid));
        deadlocks.extend(left.into_iter().map(|pid| Deadlock::NoneLeft([pid].into())));
        Self { deadlocks, perhaps, only_by_signal: by_signal }
    }

    pub fn is_deadlock(&self) -> bool {
        !self.deadlocks.is_empty()
    }
}

impl Deadlock {
    fn has_process(&self, pid: i32) -> bool {
        match self {
            Self::Cycle(threads) => threads.iter().any(|id| id.pid == pid),
            Self::HolderEnded(id) => id.pid == pid,
            Self::NoneLeft(processes) => processes.contains(&pid),
        }
    }

    pub fn threads(&self, world: &World) -> Vec<ThreadId> {
        match self {
            Self::Cycle(threads) => threads.clone(),
            Self::HolderEnded(id) => vec![*id],
            Self::NoneLeft(processes) => {
                let all = world.threads.keys();
                all.filter(|id| processes.contains(&id.pid)).copied().collect()
            }
        }
    }
}

/// The cycles among waits for holders, each once, from its lowest thread.
fn cycles(closed: &BTreeMap<ThreadId, Node>) -> Vec<Vec<ThreadId>> {
    let mut found: Vec<Vec<ThreadId>> = Vec::new();
    let mut done = BTreeSet::new();
    for start in closed.keys() {
        let mut path: Vec<ThreadId> = Vec::new();
        let mut next = vec![(0, *start)];
        while let Some((depth, id)) = next.pop() {
            path.truncate(depth);
            if let Some(at) = path.iter().position(|before| *before == id) {
                let mut cycle = path[at..].to_vec();
                let lowest = (0..cycle.len()).min_by_key(|at| cycle[*at]).unwrap_or(0);
                cycle.rotate_left(lowest);
                if !found.contains(&cycle) {
                    found.push(cycle);
                }
                continue;
            }
            if !done.insert(id) {
                continue;
            }
            let Some(node) = closed.get(&id) else { continue };
            path.push(id);
            next.extend(node.holders.iter().map(|holder| (depth + 1, *holder)));
        }
    }
    found
}

/// Those of `closed` that no thread can wake: not `open` ones, nor those that these wake.
fn stuck(closed: &BTreeMap<ThreadId, Node>, open: BTreeSet<ThreadId>) -> BTreeSet<ThreadId> {
    let mut stuck: BTreeSet<ThreadId> = closed.keys().copied().collect();
    let mut live = open;
    loop {
        let may_go_on = |id: &&ThreadId| {
            let node = &closed[*id];
            if node.ends_by_any {
                live.iter().any(|other| other.pid == id.pid)
            } else {
                // Its holder may have ended: then none lets it go on.
                !node.holders.is_empty() && node.holders.iter().all(|holder| live.contains(holder))
            }
        };
        let freed: Vec<ThreadId> = stuck.iter().filter(may_go_on).copied().collect();
        if freed.is_empty() {
            return stuck;
        }
        for id in freed {
            stuck.remove(&id);
            live.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(tid: i32) -> ThreadId {
        ThreadId { pid: 1, tid }
    }

    fn graph(edges: &[(i32, &[i32])]) -> BTreeMap<ThreadId, Node> {
        let node = |holders: &[i32]| Node {
            holders: holders.iter().map(|tid| id(*tid)).collect(),
            ends_by_any: holders.is_empty(),
        };
        edges.iter().map(|(tid, holders)| (id(*tid), node(holders))).collect()
    }

    fn tids(threads: &[ThreadId]) -> Vec<i32> {
        threads.iter().map(|id| id.tid).collect()
    }

    #[test]
    fn a_cycle_is_found_once_and_what_waits_behind_it_isnt_part_of_it() {
        let graph = graph(&[(1, &[2]), (2, &[3]), (3, &[4]), (4, &[2]), (5, &[1]), (6, &[7])]);
        let cycles = cycles(&graph);
        assert_eq!(cycles.iter().map(|cycle| tids(cycle)).collect::<Vec<_>>(), [[2, 3, 4]]);
    }

    #[test]
    fn a_thread_can_wait_for_itself() {
        assert_eq!(cycles(&graph(&[(1, &[1])])), [[id(1)]]);
    }

    #[test]
    fn two_cycles_are_two() {
        assert_eq!(cycles(&graph(&[(1, &[2]), (2, &[1]), (3, &[4]), (4, &[3])])).len(), 2);
    }

    #[test]
    fn a_writer_waits_for_all_readers() {
        let found = cycles(&graph(&[(1, &[2, 3]), (3, &[1])]));
        assert_eq!(found, [[id(1), id(3)]]);
    }

    #[test]
    fn one_live_thread_may_wake_all_that_any_may() {
        let graph = graph(&[(1, &[2]), (2, &[]), (3, &[])]);
        assert_eq!(stuck(&graph, [id(9)].into()), BTreeSet::new());
        assert_eq!(stuck(&graph, BTreeSet::new()).len(), 3);
        let elsewhere = ThreadId { pid: 2, tid: 9 };
        assert_eq!(stuck(&graph, [elsewhere].into()).len(), 3);
    }

    #[test]
    fn threads_behind_a_cycle_stay_stuck_beside_live_ones() {
        let graph = graph(&[(1, &[2]), (2, &[1]), (3, &[1]), (4, &[9])]);
        let stuck = stuck(&graph, [id(9)].into());
        assert_eq!(stuck, [id(1), id(2), id(3)].into());
    }
}
