//! What changed between two looks at a record.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::contention::code::{Code, Images};
use crate::contention::{Contention, words};
use crate::failure::Failure;
use crate::measuring::number::{self, Unit};
use crate::record::entries::{Kind, Site, Thread};
use crate::record::{File, Part, State};
use crate::stats;
use crate::symbols;

/// Stacks of a lock that are shown.
const STACKS: usize = 4;

/// Looks at one process again and again.
pub struct Meter {
    file: File,
    pid: i32,
    images: Images,
    before: BTreeMap<u32, Sums>,
    last: Option<(Instant, u64)>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    operations: u64,
    contended: u64,
    sleeps: u64,
    waited: u64,
}

/// One look: figures since the last one.
#[derive(Clone, Debug)]
pub struct Look {
    pub head: String,
    pub is_running: bool,
    pub rows: Vec<Row>,
}

/// One lock, or a group of them.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    /// The same with its kind.
    pub called: String,
    pub kind: Kind,
    /// In a second.
    pub operations: f64,
    pub waits: f64,
    pub sleeps: f64,
    /// The part of the operations that had to wait.
    pub share: f64,
    /// Threads that waited, on average.
    pub waiting: f64,
    /// Since the program's start, in seconds.
    pub longest: f64,
    /// Threads that wait now, in words.
    pub waiters: Vec<String>,
    /// Lines on where it was made, waited for and held since the start.
    pub details: Vec<String>,
}

impl Row {
    pub fn is_busy(&self) -> bool {
        self.waits > 0.0 || !self.waiters.is_empty()
    }
}

impl Meter {
    pub fn new(file: File, pid: i32) -> Self {
        Self { file, pid, images: Images::default(), before: BTreeMap::new(), last: None }
    }

    pub fn look(&mut self) -> Result<Look, Failure> {
        let record = stats::of_process(&self.file, self.pid)?;
        let now = Instant::now();
        let mut of = Contention::of(&record.parts[0], &mut self.images);
        let began = of.part.began;
        let same = self.last.filter(|(_, part)| *part == began);
        // The first look shows averages since the start, as does the first one after an exec.
        let seconds = match same {
            Some((before, _)) => (now - before).as_secs_f64(),
            None => of.part.seconds(of.part.length),
        };
        if same.is_none() {
            self.before.clear();
        }
        self.last = Some((now, began));
        let is_running = of.part.state == State::Running;
        let head = head(&of, is_running);
        let rows = self.rows(&mut of, seconds.max(1e-6));
        Ok(Look { head, is_running, rows })
    }

    fn rows(&mut self, of: &mut Contention<'_>, seconds: f64) -> Vec<Row> {
        let mut rows = Vec::new();
        for is_lock in [true, false] {
            let count = if is_lock { of.locks.len() } else { of.events.len() };
            for at in 0..count {
                rows.push(self.row(of, is_lock, at, seconds));
            }
        }
        rows
    }

    fn row(&mut self, of: &mut Contention<'_>, is_lock: bool, at: usize, seconds: f64) -> Row {
        let group = if is_lock { &of.locks[at] } else { &of.events[at] };
        let sums = Sums {
            operations: group.figures.operations,
            contended: group.figures.contended,
            sleeps: group.figures.sleeps,
            waited: group.figures.wait.total,
        };
        let (name, kind, longest) = (group.name.clone(), group.kind, group.figures.wait.longest);
        let called = group.called();
        // A group's name changes with its size.
        let key = group.locks.first().map_or(0, |key| *key);
        let waiting: Vec<&Thread> = of.waiters(group).collect();
        let before = self.before.insert(key, sums).unwrap_or_default();
        let operations = sums.operations.saturating_sub(before.operations);
        let contended = sums.contended.saturating_sub(before.contended);
        let sleeps = sums.sleeps.saturating_sub(before.sleeps);
        let waited = of.part.seconds(sums.waited.saturating_sub(before.waited));
        Row {
            name,
            called,
            kind,
            operations: operations as f64 / seconds,
            waits: contended as f64 / seconds,
            sleeps: sleeps as f64 / seconds,
            share: words::ratio(contended, operations.max(contended)),
            waiting: waited / seconds,
            longest: of.part.seconds(longest),
            waiters: waiters(of.part, &mut of.code, &waiting),
            details: details(of, is_lock, at),
        }
    }
}

fn head(of: &Contention<'_>, is_running: bool) -> String {
    let part = of.part;
    let threads = words::plural(part.threads.len() as u64, "thread", "threads");
    let length = words::time(part, part.length);
    let ended = if is_running { "" } else { ", ended" };
    format!("{} ({}): {threads}, {length}{ended}", part.name(), part.pid)
}

/// "worker (4712) for 12.0 ms".
fn waiters(part: &Part, code: &mut Code<'_>, waiters: &[&Thread]) -> Vec<String> {
    let now = part.began.saturating_add(part.length);
    let say = |thread: &&Thread| {
        let time = words::time(part, now.saturating_sub(thread.waits_since));
        let holder = match thread.waits_holder {
            0 => String::new(),
            holder => format!(", held by {}", part.thread_name(holder)),
        };
        let place = symbols::words::place(&code.stack(thread.waits_stack));
        let place = place.map_or(String::new(), |place| format!(" in {place}"));
        format!("{} for {time}{place}{holder}", part.thread_name(thread.tid))
    };
    waiters.iter().map(say).collect()
}

fn details(of: &mut Contention<'_>, is_lock: bool, at: usize) -> Vec<String> {
    let group = if is_lock { &of.locks[at] } else { &of.events[at] };
    let mut lines = Vec::new();
    let (waits, holds, made_by) = (group.waits.clone(), group.holds.clone(), group.made_by);
    let made = symbols::words::stack(&of.code.stack(made_by));
    if !made.is_empty() {
        lines.push("Made in".to_owned());
        lines.extend(made.into_iter().map(|line| format!("    {line}")));
    }
    for (what, sites) in [("waits", waits), ("holds", holds)] {
        for site in sites.iter().take(STACKS) {
            lines.extend(stack(of, what, site));
        }
    }
    lines
}

fn stack(of: &mut Contention<'_>, what: &str, site: &Site) -> Vec<String> {
    let time = |ticks| words::time(of.part, ticks);
    let count = words::count(site.count);
    let (total, longest) = (time(site.total), time(site.longest));
    let mut lines = vec![format!("{count} {what}, {total} in all, longest {longest}")];
    let stack = symbols::words::stack(&of.code.stack(site.stack));
    lines.extend(stack.into_iter().map(|line| format!("    {line}")));
    lines
}

/// "41.2 k/s"; nothing for 0.
pub fn rate(rate: f64) -> String {
    if rate == 0.0 { "-".to_owned() } else { number::with_unit(rate, Unit::PerSecond) }
}
