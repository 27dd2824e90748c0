//! The picture in a terminal: what can't go on first, then chains of waits, then the rest in
//! groups.

use std::collections::{BTreeMap, BTreeSet};

use super::thread;
use crate::lines::Lines;
use crate::symbols::words;
use crate::who::chains::{Deadlock, Holder, ThreadId, Verdict, Waiting, World};
use crate::who::locks::Kind;
use crate::who::stacks::Symbols;

/// Threads that wait for the same one, of which each has its own line.
const SHOWN: usize = 8;

/// In lines of `width` letters.
pub fn text(
    world: &World,
    verdict: &Verdict,
    of: i32,
    symbols: &mut Symbols,
    width: usize,
) -> String {
    let names = names(world, symbols);
    let lines = Lines::within(width);
    let mut picture = Picture { world, of, names, lines, shown: BTreeSet::new() };
    picture.head();
    for deadlock in &verdict.deadlocks {
        picture.deadlock(deadlock);
    }
    for cycle in &verdict.perhaps {
        picture.perhaps(cycle);
    }
    for pid in &verdict.only_by_signal {
        picture.lines.empty();
        let process = &world.processes[pid];
        let waits = match process.tasks.len() {
            1 => format!("The only thread of {} ({pid}) waits", process.name),
            _ => format!("All threads of {} ({pid}) wait for each other", process.name),
        };
        picture.lines.plain(&format!("{waits}; only a signal's handler could wake one."));
    }
    picture.chains();
    picture.rest();
    for unknown in &world.unknown {
        picture.lines.empty();
        picture.lines.plain(&format!("Not known: {unknown}"));
    }
    picture.lines.into_text()
}

/// Names of the objects that threads wait for: those that the program gave, otherwise symbols.
pub fn names(world: &World, symbols: &mut Symbols) -> BTreeMap<(i32, u64), String> {
    let mut names = BTreeMap::new();
    for (id, waiting) in &world.threads {
        for object in [waiting.wait.object, waiting.wait.mutex].into_iter().flatten() {
            let process = &world.processes[&id.pid];
            let given =
                world.engines[&id.pid].iter().find_map(|engine| engine.name(process, object));
            if let Some(name) = given.or_else(|| symbols.object(process, object)) {
                names.insert((id.pid, object), name);
            }
        }
    }
    names
}

struct Picture<'w> {
    world: &'w World,
    of: i32,
    names: BTreeMap<(i32, u64), String>,
    lines: Lines,
    shown: BTreeSet<ThreadId>,
}

impl Picture<'_> {
    fn head(&mut self) {
        let process = &self.world.processes[&self.of];
        let count = process.tasks.len();
        let plural = if count == 1 { "thread" } else { "threads" };
        self.lines.plain(&format!("{} ({}): {count} {plural}", process.name, process.pid));
    }

    fn deadlock(&mut self, deadlock: &Deadlock) {
        self.lines.empty();
        let threads = deadlock.threads(self.world);
        match deadlock {
            Deadlock::Cycle(cycle) if cycle.len() == 1 => {
                self.lines.plain("DEADLOCK: a thread waits for itself");
            }
            Deadlock::Cycle(cycle) => {
                let count = cycle.len();
                self.lines.plain(&format!("DEADLOCK: {count} threads wait for each other"));
            }
            Deadlock::HolderEnded(_) => {
                self.lines.plain("DEADLOCK: the thread that held the lock has ended");
            }
            Deadlock::NoneLeft(_) => {
                let says = if threads.len() == 1 {
                    "DEADLOCK: the only thread waits, and none is left that could wake it"
                } else {
                    "DEADLOCK: all threads wait, and none is left that could wake one"
                };
                self.lines.plain(says);
            }
        }
        self.lines.empty();
        match deadlock {
            Deadlock::Cycle(cycle) => self.cycle(cycle),
            _ => {
                let unshown: Vec<ThreadId> =
                    threads.iter().filter(|id| !self.shown.contains(id)).copied().collect();
                for group in self.groups(&unshown) {
                    self.group(&group, true);
                }
            }
        }
    }

    /// A cycle that another thread may open.
    fn perhaps(&mut self, cycle: &[ThreadId]) {
        self.lines.empty();
        let seem = match cycle.len() {
            1 => "A thread seems to wait for itself".to_owned(),
            count => format!("{count} threads seem to wait for each other"),
        };
        self.lines.plain(&format!(
            "{seem}. That isn't certain: Go moves goroutines between threads, so that another \
             thread may unlock what one of these locked."
        ));
        self.lines.empty();
        self.cycle(cycle);
    }

    /// Each thread below the one that waits for it, and beside it the threads behind.
    fn cycle(&mut self, cycle: &[ThreadId]) {
        let mut indent = String::new();
        self.shown.extend(cycle);
        for (at, id) in cycle.iter().enumerate() {
            let waiting = &self.world.threads[id];
            let (first, rest) = match at {
                0 => (String::new(), String::new()),
                _ => (format!("{indent}└─ "), format!("{indent}   ")),
            };
            let joins = at > 0 && self.world.threads[&cycle[at - 1]].wait.kind == Kind::Join;
            let holds = match at {
                0 => "",
                _ if joins => "is that thread, and ",
                _ => "holds it, and ",
            };
            let says = self.says(*id, waiting, holds);
            self.lines.add(&first, &format!("{rest}│  "), &says);
            self.stack(&format!("{rest}│     "), waiting);
            self.behind(&rest, *id, cycle);
            indent = rest;
        }
        let first = thread::name(self.world, cycle[0], self.of);
        let holds =
            if cycle.len() == 1 { "holds it itself" } else { "holds it: the circle closes" };
        let verb = self.world.threads[&cycle[cycle.len() - 1]].wait.kind == Kind::Join;
        let holds = if verb { "is that thread: the circle closes" } else { holds };
        self.lines.add(
            &format!("{indent}└─ "),
            &format!("{indent}   "),
            &format!("{first} {holds}"),
        );
    }

    /// Threads that wait for one in a cycle, and aren't in it.
    fn behind(&mut self, rest: &str, id: ThreadId, cycle: &[ThreadId]) {
        let waiters = self.world.waiters_of(id);
        let others = waiters.iter().filter(|waiter| !cycle.contains(waiter)).copied();
        let others: Vec<ThreadId> = others.collect();
        for group in self.groups(&others) {
            self.shown.extend(&group);
            let names = self.listed(&group);
            let waiting = &self.world.threads[&group[0]];
            let says = self.says_as(&names, group[0], waiting, "", group.len());
            let place = words::place(&waiting.stack);
            let place = place.map_or(String::new(), |place| format!(", in {place}"));
            let text = format!("behind it: {says}{place}");
            self.lines.add(&format!("{rest}│  "), &format!("{rest}│    "), &text);
        }
    }

    /// Threads that hold what others wait for, and don't wait for a known thread themselves.
    fn chains(&mut self) {
        let world = self.world;
        let mut roots: Vec<(usize, ThreadId)> = Vec::new();
        for id in world.threads.keys() {
            let waiting = &world.threads[id];
            let waits = waiting.holders.iter().any(|holder| matches!(holder, Holder::Thread(_)));
            let waiters = self.below(*id);
            if !waits && waiters > 0 && !self.shown.contains(id) {
                roots.push((waiters, *id));
            }
        }
        roots.sort_by_key(|(waiters, id)| (std::cmp::Reverse(*waiters), *id));
        for (_, root) in roots {
            self.lines.empty();
            let waiting = &world.threads[&root];
            let says = self.says(root, waiting, "");
            self.lines.add("", "│  ", &says);
            self.stack("│     ", waiting);
            self.shown.insert(root);
            self.waiters(root, "");
        }
    }

    /// How many threads wait for one, by way of others too.
    fn below(&self, id: ThreadId) -> usize {
        let mut seen = BTreeSet::from([id]);
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let waiters = self.world.waiters_of(id);
            next.extend(waiters.into_iter().filter(|waiter| seen.insert(*waiter)));
        }
        seen.len() - 1
    }

    fn waiters(&mut self, holder: ThreadId, indent: &str) {
        let world = self.world;
        let waiters = world.waiters_of(holder);
        let waiters: Vec<ThreadId> =
            waiters.into_iter().filter(|waiter| !self.shown.contains(waiter)).collect();
        let groups = self.groups(&waiters);
        let last = groups.len().saturating_sub(1);
        for (at, group) in groups.iter().enumerate() {
            let (branch, stem) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.shown.extend(group);
            let waiting = &world.threads[&group[0]];
            let has_more = group.iter().any(|id| !world.waiters_of(*id).is_empty());
            let under = if has_more { "│  " } else { "   " };
            let names = self.listed(group);
            let says = self.says_as(&names, group[0], waiting, "", group.len());
            let (first, rest) = (format!("{indent}{branch}"), format!("{indent}{stem}"));
            self.lines.add(&first, &format!("{rest}{under}"), &says);
            self.stack(&format!("{rest}{under}   "), waiting);
            for id in group {
                self.waiters(*id, &rest);
            }
        }
    }

    /// Threads that are in no chain, by the place they wait in.
    fn rest(&mut self) {
        let rest: Vec<ThreadId> = {
            let all = self.world.threads.keys();
            all.filter(|id| !self.shown.contains(id) && id.pid == self.of).copied().collect()
        };
        if rest.is_empty() {
            return;
        }
        self.lines.empty();
        for group in self.groups(&rest) {
            let wait = &self.world.threads[&group[0]].wait;
            // Of a process with one thread, a reader wants to know all.
            let is_alone = self.world.processes[&self.of].tasks.len() == 1;
            self.group(&group, wait.kind.is_lock() || is_alone);
        }
    }

    fn group(&mut self, group: &[ThreadId], with_stack: bool) {
        self.shown.extend(group);
        let waiting = &self.world.threads[&group[0]];
        let names = self.listed(group);
        let says = self.says_as(&names, group[0], waiting, "", group.len());
        let place = words::place(&waiting.stack).filter(|_| !with_stack);
        let place = place.map_or(String::new(), |place| format!(", in {place}"));
        self.lines.add("", "  ", &format!("{says}{place}"));
        if with_stack {
            self.stack("    ", waiting);
        }
    }

    /// Threads that do the same in the same place, the largest group first.
    fn groups(&self, threads: &[ThreadId]) -> Vec<Vec<ThreadId>> {
        let mut groups: BTreeMap<(String, Vec<u64>, bool), Vec<ThreadId>> = BTreeMap::new();
        for id in threads {
            let waiting = &self.world.threads[id];
            let wait = &waiting.wait;
            let object = format!("{:?} {:?} {:?}", wait.kind, wait.object, waiting.holders);
            let code = waiting.stack.frames.iter().map(|frame| frame.code).collect();
            let has_waiters = !self.world.waiters_of(*id).is_empty();
            let own = if has_waiters { format!("{object} {}", id.tid) } else { object };
            groups.entry((own, code, has_waiters)).or_default().push(*id);
        }
        let mut groups: Vec<Vec<ThreadId>> = groups.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
        groups
    }

    /// "a (1), b (2)", or "12 threads, a (1) to b (2)".
    fn listed(&self, group: &[ThreadId]) -> String {
        let name = |id: &ThreadId| thread::name(self.world, *id, self.of);
        if group.len() <= SHOWN / 4 {
            return group.iter().map(name).collect::<Vec<_>>().join(", ");
        }
        let names: BTreeSet<&str> = group.iter().map(|id| self.world.name(*id)).collect();
        let names = if names.len() == 1 {
            format!(" {}", names.first().unwrap_or(&""))
        } else {
            String::new()
        };
        let (first, last) = (group[0].tid, group[group.len() - 1].tid);
        format!("{} threads{names} ({first} to {last})", group.len())
    }

    fn says(&self, id: ThreadId, waiting: &Waiting, holds: &str) -> String {
        self.says_as(&thread::name(self.world, id, self.of), id, waiting, holds, 1)
    }

    fn says_as(
        &self,
        names: &str,
        id: ThreadId,
        waiting: &Waiting,
        holds: &str,
        count: usize,
    ) -> String {
        let mut waits = thread::waits(&waiting.wait, &|at| self.name(id.pid, at));
        if count > 1 {
            waits = waits.replacen("waits", "wait", 1).replacen("runs", "run", 1);
            waits = waits.replacen("does", "do", usize::from(waits.starts_with("does")));
            waits = waits.replacen("is ", "are ", usize::from(waits.starts_with("is ")));
        }
        if waiting.wait.kind == Kind::Join
            && let Some(Holder::Thread(joined)) = waiting.holders.first()
        {
            let joined = thread::name(self.world, *joined, self.of);
            waits = waits.replacen("a thread", &joined, 1);
        }
        let since = thread::time(waiting.asleep).filter(|_| thread::is_long(waiting.asleep));
        let since = since.map_or(String::new(), |time| format!(", for {time}"));
        let ended = waiting.holders.iter().find_map(|holder| match holder {
            Holder::Ended(id) => Some(format!("; its holder {id} has ended")),
            Holder::Unknown(id) => Some(format!("; its holder {id} isn't known here")),
            Holder::Thread(_) => None,
        });
        format!("{names} {holds}{waits}{}{since}", ended.unwrap_or_default())
    }

    fn name(&self, pid: i32, at: u64) -> Option<String> {
        self.names.get(&(pid, at)).cloned()
    }

    fn stack(&mut self, indent: &str, waiting: &Waiting) {
        for line in words::stack(&waiting.stack) {
            self.lines.add(indent, &format!("{indent}  "), &line);
        }
    }
}
