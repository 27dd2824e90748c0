//! Processes whose threads wait for each other, and what each of their threads does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::verdict::Verdict;
use crate::failure::Failure;
use crate::symbols::Stack;
use crate::who::locks::{EndsBy, Engine, Wait, has_go, is_in_futex};
use crate::who::process::clocks::Clocks;
use crate::who::process::peers::Peers;
use crate::who::process::task::{Call, Task};
use crate::who::process::{self, Process};
use crate::who::stacks::Symbols;

/// Processes that one look follows shared locks into.
const MOST_PROCESSES: usize = 32;
/// Between the two looks at threads that seem to wait for ever.
const BETWEEN: Duration = Duration::from_millis(10);
/// Some threads look again by themselves now and then, just when they are looked at.
const TRIES: usize = 5;

type Looks = BTreeMap<i32, Vec<Task>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId {
    pub pid: i32,
    pub tid: i32,
}

/// A thread in the picture.
#[derive(Debug)]
pub struct Waiting {
    pub wait: Wait,
    pub stack: Stack,
    pub holders: Vec<Holder>,
    /// How long it has slept, at least.
    pub asleep: Asleep,
    /// Two looks, some milliseconds apart, found it asleep in the same wait.
    pub is_still: bool,
}

pub type Asleep = Option<Duration>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Thread(ThreadId),
    /// Its thread has ended.
    Ended(u32),
    /// An id that says nothing here.
    Unknown(u32),
}

pub struct World {
    pub processes: BTreeMap<i32, Process>,
    pub threads: BTreeMap<ThreadId, Waiting>,
    /// What couldn't be known.
    pub unknown: Vec<String>,
    /// Processes whose threads came or went during the look.
    pub changed: BTreeSet<i32>,
    pub engines: BTreeMap<i32, Vec<Engine>>,
    peers: Peers,
}

impl World {
    /// Looks at a process, and at those that hold what its threads wait for.
    pub fn look(pid: i32, symbols: &mut Symbols) -> Result<Self, Failure> {
        let mut world = Self {
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            unknown: Vec::new(),
            changed: BTreeSet::new(),
            engines: BTreeMap::new(),
            peers: Peers::default(),
        };
        let mut next = vec![Process::find(pid)?];
        while let Some(process) = next.pop() {
            world.add(process, symbols);
            if world.processes.len() < MOST_PROCESSES {
                let others = world.others().into_iter().filter_map(|pid| Process::find(pid).ok());
                next.extend(others);
                next.dedup_by_key(|process| process.pid);
            }
        }
        world.resolve();
        world.look_again();
        Ok(world)
    }

    fn add(&mut self, mut process: Process, symbols: &mut Symbols) {
        let pid = process.pid;
        if self.processes.contains_key(&pid) {
            return;
        }
        self.unknown.extend(process.denied.clone());
        let waits = process.tasks.iter().any(|task| is_in_futex(&task.call));
        let readable = process.denied.is_none();
        let (engines, unknown) =
            if readable && waits { Engine::find(&process, symbols) } else { Default::default() };
        self.unknown.extend(unknown);
        process.has_go = readable && waits && has_go(&process, symbols);
        // Before any thread is stopped, and so runs.
        let mut clocks = Clocks::new();
        let asleep: Vec<Asleep> = process
            .tasks
            .iter()
            .map(|task| (task.state == 'S').then(|| clocks.asleep_for(pid, task.tid)).flatten())
            .collect();
        drop(clocks);
        for (task, asleep) in process.tasks.iter().zip(asleep) {
            let stack = if readable { symbols.stack(&process, task) } else { Stack::default() };
            let wait = Wait::of(&process, &engines, task, &stack, &self.peers);
            let waiting = Waiting { wait, stack, holders: Vec::new(), asleep, is_still: false };
            self.threads.insert(ThreadId { pid, tid: task.tid }, waiting);
        }
        self.engines.insert(pid, engines);
        self.processes.insert(pid, process);
    }

    /// Processes that hold a shared lock, and haven't been looked at.
    fn others(&self) -> BTreeSet<i32> {
        let shared = self.threads.iter().filter(|(_, waiting)| waiting.wait.is_shared);
        let held = shared.flat_map(|(id, waiting)| {
            waiting.wait.holders().iter().map(|holder| self.elsewhere(*id, waiting, *holder))
        });
        let held = held.flatten().map(|holder| holder.pid);
        held.filter(|pid| !self.processes.contains_key(pid)).collect()
    }

    /// A holder in another process that maps the lock's page, too.
    fn elsewhere(&self, waiter: ThreadId, waiting: &Waiting, holder: u32) -> Option<ThreadId> {
        let process = &self.processes[&waiter.pid];
        if process.is_contained() {
            return None;
        }
        let tid = i32::try_from(holder).ok()?;
        let pid = process::process_of(tid)?;
        let lock = process.map_of(waiting.wait.object?)?;
        let maps = match self.processes.get(&pid) {
            Some(process) => process.maps.clone(),
            None => process::maps::read(pid).ok()?,
        };
        let maps_it = maps.iter().any(|map| map.is_shared && map.file == lock.file);
        maps_it.then_some(ThreadId { pid, tid })
    }

    fn resolve(&mut self) {
        let holders: Vec<(ThreadId, Vec<Holder>)> = self
            .threads
            .iter()
            .filter(|(_, waiting)| !waiting.wait.holders().is_empty())
            .map(|(id, waiting)| {
                let ids = waiting.wait.holders().iter();
                (*id, ids.map(|holder| self.holder(*id, waiting, *holder)).collect())
            })
            .collect();
        for (id, holders) in holders {
            if let Some(waiting) = self.threads.get_mut(&id) {
                waiting.holders = holders;
            }
        }
    }

    fn holder(&self, waiter: ThreadId, waiting: &Waiting, holder: u32) -> Holder {
        let process = &self.processes[&waiter.pid];
        let own = process.outer(holder).map(|tid| ThreadId { pid: waiter.pid, tid });
        if let Some(own) = own.filter(|own| self.threads.contains_key(own)) {
            return Holder::Thread(own);
        }
        if waiting.wait.is_shared {
            if let Some(other) = self.elsewhere(waiter, waiting, holder) {
                return Holder::Thread(other);
            }
            let exists = i32::try_from(holder).ok().and_then(process::process_of).is_some();
            if exists || process.is_contained() {
                return Holder::Unknown(holder);
            }
        }
        Holder::Ended(holder)
    }

    /// Looks again until it is clear whether threads that seem to wait for ever do.
    fn look_again(&mut self) {
        for _ in 0..TRIES {
            self.look_twice();
            let (surely, perhaps) = (Verdict::of(self), Verdict::suspected(self));
            if surely.deadlocks.len() >= perhaps.deadlocks.len() {
                break;
            }
        }
    }

    /// Looks at all waiting threads twice more, and at their locks after the one and before the
    /// other: those that slept from the one to the other slept all at the same time.
    fn look_twice(&mut self) {
        let waits = self.threads.values().any(|waiting| waiting.wait.kind.is_lock());
        if !waits {
            return;
        }
        self.changed.clear();
        let first = self.looks();
        let before = self.unchanged(&first);
        std::thread::sleep(BETWEEN);
        let after = self.unchanged(&first);
        let second = self.looks();
        let slept = |id: &ThreadId| {
            let look = |looks: &Looks| find(looks.get(&id.pid)?, id.tid).cloned();
            look(&first).zip(look(&second)).is_some_and(|(one, two)| two.has_slept_since(&one))
        };
        let held = self.held_as_before();
        let same = |id: &ThreadId| before.contains(id) && after.contains(id);
        let still: BTreeSet<ThreadId> =
            self.threads.keys().filter(|id| same(id) && slept(id)).copied().collect();
        for (id, waiting) in &mut self.threads {
            // One that looks again by itself can't have gone on if what it waits for slept.
            let holds = |holder: &Holder| match holder {
                Holder::Thread(id) => still.contains(id),
                _ => true,
            };
            let is_held = !waiting.holders.is_empty() && waiting.holders.iter().all(holds);
            let polls = waiting.wait.is_polled && before.contains(id) && held.contains(id);
            waiting.is_still = still.contains(id) || (polls && is_held);
        }
        let ids = |tasks: &[Task]| tasks.iter().map(|task| task.tid).collect::<Vec<_>>();
        for (pid, process) in &self.processes {
            let now = second.get(pid).map_or(Vec::new(), |tasks| ids(tasks));
            if now != ids(&process.tasks) {
                self.changed.insert(*pid);
            }
        }
    }

    fn looks(&self) -> Looks {
        let looks = self.processes.iter();
        looks.filter_map(|(pid, process)| Some((*pid, process.look().ok()?))).collect()
    }

    /// Threads that wait as they did, by a newer look and by what their locks' words say now.
    fn unchanged(&self, looks: &Looks) -> BTreeSet<ThreadId> {
        let locks = self.threads.iter().filter(|(_, waiting)| waiting.wait.kind.is_lock());
        let is_same = |(id, waiting): &(&ThreadId, &Waiting)| {
            let process = &self.processes[&id.pid];
            let now = looks.get(&id.pid).and_then(|tasks| find(tasks, id.tid));
            let (Some(now), Some(before)) = (now, process.task(id.tid)) else { return false };
            let engines = &self.engines[&id.pid];
            is_same_call(&now.call, &before.call)
                && Wait::of(process, engines, now, &waiting.stack, &self.peers) == waiting.wait
        };
        locks.filter(is_same).map(|(id, _)| *id).collect()
    }

    /// Threads that look again by themselves, and whose locks' words say the same.
    fn held_as_before(&self) -> BTreeSet<ThreadId> {
        let polls = self.threads.iter().filter(|(_, waiting)| waiting.wait.is_polled);
        let is_same = |(id, waiting): &(&ThreadId, &Waiting)| {
            let (process, engines) = (&self.processes[&id.pid], &self.engines[&id.pid]);
            process.task(id.tid).is_some_and(|task| {
                Wait::of(process, engines, task, &waiting.stack, &self.peers) == waiting.wait
            })
        };
        polls.filter(is_same).map(|(id, _)| *id).collect()
    }

    pub fn name(&self, id: ThreadId) -> &str {
        let process = self.processes.get(&id.pid);
        process.and_then(|process| process.task(id.tid)).map_or("?", |task| &task.name)
    }

    /// Threads that wait for this one.
    pub fn waiters_of(&self, holder: ThreadId) -> Vec<ThreadId> {
        let waits = self.threads.iter();
        let waits = waits.filter(|(_, waiting)| waiting.holders.contains(&Holder::Thread(holder)));
        waits.map(|(id, _)| *id).collect()
    }

    /// Whether a thread's wait can be ended by threads that are known, and by nothing else.
    pub fn is_closed(&self, id: ThreadId) -> bool {
        let Some(waiting) = self.threads.get(&id) else { return false };
        let by_threads = match &waiting.wait.ends_by {
            EndsBy::Holders(_) => {
                !waiting.holders.iter().any(|holder| matches!(holder, Holder::Unknown(_)))
            }
            EndsBy::AnyThread => true,
            EndsBy::Outside => false,
        };
        by_threads && !waiting.wait.is_timed && waiting.wait.kind.is_lock()
    }
}

fn find(tasks: &[Task], tid: i32) -> Option<&Task> {
    let at = tasks.binary_search_by_key(&tid, |task| task.tid).ok()?;
    Some(&tasks[at])
}

/// The same call with the same arguments, from the same place.
fn is_same_call(one: &Call, other: &Call) -> bool {
    one == other && matches!(one, Call::In { .. })
}
