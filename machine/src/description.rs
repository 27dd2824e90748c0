//! A machine's description: a TOML file with its processors and what things cost on it.
//!
//! Each value is checked as it is read, so that an error names its line.

use crate::topology::{Distance, Level, MOST_PROCESSORS, Topology};
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::path::Path;

/// Picoseconds: the unit of the simulation's clock.
pub(crate) type Time = u64;

pub(crate) const PS: u64 = 1000;

/// A machine that can't be simulated: where in the description, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMachine {
    /// The file's name, or the machine's.
    pub name: String,
    /// The line, from 1; 0 if the file as a whole is meant.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for BadMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.name, self.why),
            line => write!(f, "{}:{line}: {}", self.name, self.why),
        }
    }
}

impl std::error::Error for BadMachine {}

/// A time in a file: nanoseconds, not negative, at most a thousand seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost(pub(crate) Time);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const MOST: f64 = 1e12;
        let nanoseconds = f64::deserialize(deserializer)?;
        if nanoseconds < 0.0 {
            return Err(de::Error::custom(format!("a cost can't be negative: {nanoseconds}")));
        }
        if !(0.0..=MOST).contains(&nanoseconds) {
            return Err(de::Error::custom(format!("no number of nanoseconds: {nanoseconds}")));
        }
        Ok(Self((nanoseconds * PS as f64).round() as Time))
    }
}

/// A part of a whole: from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part(pub(crate) f64);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = f64::deserialize(deserializer)?;
        if !(0.0..=1.0).contains(&part) {
            return Err(de::Error::custom(format!("a part is between 0 and 1: {part}")));
        }
        Ok(Self(part))
    }
}

/// How many of something that a machine has at least one of.
#[derive(Clone, Copy, Debug)]
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match i64::deserialize(deserializer)? {
            count @ 1..=256 => Ok(Self(count as usize)),
            ..1 => Err(de::Error::custom("a machine has at least one processor")),
            count => Err(de::Error::custom(format!(
                "{count} is more than {MOST_PROCESSORS} processors, the most of a simulation"
            ))),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Processors {
    sockets: Count,
    clusters: Count,
    cores: Count,
    threads: Count,
    nodes: Level,
    /// The caches within which the scheduler looks for an idle processor.
    wakes_within: Level,
}

/// A cost by how far two cores are apart. A distance that the machine doesn't have may be left out.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByDistance {
    cluster: Option<Cost>,
    socket: Option<Cost>,
    remote: Option<Cost>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    hit: Cost,
    store: Cost,
    rmw: Cost,
    memory: Cost,
    serve: Cost,
    leave: Part,
    hold: Option<Cost>,
    read: ByDistance,
    write: ByDistance,
    upgrade: ByDistance,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instruction {
    pause: Cost,
    fence: Cost,
    clock: Cost,
    processor: Cost,
    /// How much slower work is while the core's other thread works, too: 0.5 is half as fast.
    sibling: Part,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    call: Cost,
    /// A yield while no other thread waits for the processor: an empty call if it is left out.
    yields: Option<Cost>,
    wait: Cost,
    wake: Cost,
    bucket: Cost,
    #[serde(default)]
    ticket_locks: bool,
    spawn: Cost,
    switch: Cost,
    migration: Cost,
    hot: Cost,
    slice: Cost,
    granularity: Cost,
    balance: Cost,
    slack: Cost,
    /// Up to which load of the processors a wake looks for an idle one beside the thread's last.
    #[serde(default = "whole")]
    searches_below: Part,
}

fn whole() -> Part {
    Part(1.0)
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wake {
    /// What a wake costs the waker, by the distance of the processor that the thread goes to.
    same: Cost,
    waker: ByDistance,
    /// The same in addition for a processor that has to be interrupted, since it has halted.
    interrupt: Cost,
    /// From the wake to the thread's first instruction, on a processor that polls, has halted, or
    /// is deeply asleep.
    poll: Cost,
    halt: Cost,
    deep: Cost,
    /// After how long an idle processor halts, and sleeps deeply.
    halts_after: Cost,
    deep_after: Cost,
    /// How much these three vary; as everything else if it is left out.
    jitter: Option<Part>,
}

/// Other programs' threads.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    pub(crate) threads: u16,
    pub(crate) runs: Cost,
    pub(crate) sleeps: Cost,
}

/// What takes a processor away from its thread again and again: a timer's tick, or the host of a
/// virtual machine. An idle processor has none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interruption {
    pub(crate) every: Cost,
    pub(crate) takes: Cost,
    #[serde(default)]
    pub(crate) jitter: Part,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    about: String,
    #[serde(default)]
    jitter: Part,
    processors: Processors,
    line: Line,
    instruction: Instruction,
    kernel: Kernel,
    wake: Wake,
    #[serde(default)]
    load: Load,
    #[serde(default, rename = "interruption")]
    interruptions: Vec<Interruption>,
}

/// What things cost on a machine, in picoseconds. Arrays are indexed by [`Distance`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Costs {
    pub hit: Time,
    pub store: Time,
    pub rmw: Time,
    pub memory: Time,
    pub serve: Time,
    pub leave: f64,
    pub hold: Time,
    pub read: [Time; 4],
    pub write: [Time; 4],
    pub upgrade: [Time; 4],
    pub pause: Time,
    pub fence: Time,
    pub clock: Time,
    pub processor: Time,
    pub sibling: f64,
    pub call: Time,
    pub yields: Time,
    pub wait: Time,
    pub wake: Time,
    pub bucket: Time,
    pub has_ticket_locks: bool,
    pub spawn: Time,
    pub switch: Time,
    pub migration: Time,
    pub hot: Time,
    pub slice: Time,
    pub granularity: Time,
    pub balance: Time,
    pub slack: Time,
    pub searches_below: f64,
    pub waker: [Time; 4],
    pub interrupt: Time,
    pub starts_from_poll: Time,
    pub starts_from_halt: Time,
    pub starts_from_deep: Time,
    pub halts_after: Time,
    pub deep_after: Time,
    pub wake_jitter: f64,
    pub jitter: f64,
}

/// A machine to simulate.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// One sentence on it.
    pub about: String,
    /// Its processors.
    pub topology: Topology,
    /// What things cost on it.
    pub costs: Costs,
    pub(crate) load: Load,
    pub(crate) interruptions: Vec<Interruption>,
}

/// The machines that come with the crate.
const FILES: [(&str, &str); 8] = [
    ("xeon-kvm-2", include_str!("../machines/xeon-kvm-2.toml")),
    ("epyc-kvm-2", include_str!("../machines/epyc-kvm-2.toml")),
    ("molnar-4", include_str!("../machines/molnar-4.toml")),
    ("sixteen", include_str!("../machines/sixteen.toml")),
    ("bueso-8x10", include_str!("../machines/bueso-8x10.toml")),
    ("opteron-8x8", include_str!("../machines/opteron-8x8.toml")),
    ("epyc-2x64", include_str!("../machines/epyc-2x64.toml")),
    ("nodes-8x16", include_str!("../machines/nodes-8x16.toml")),
];

/// The names of the machines that come with the crate.
pub const NAMES: [&str; FILES.len()] = {
    let mut names = [""; FILES.len()];
    let mut at = 0;
    while at < FILES.len() {
        names[at] = FILES[at].0;
        at += 1;
    }
    names
};

impl Machine {
    /// One of the machines that come with the crate ([`NAMES`]).
    pub fn named(name: &str) -> Result<Self, BadMachine> {
        let file = FILES.iter().find(|file| file.0 == name);
        let why = || format!("no such machine; there are {}", NAMES.join(", "));
        let (_, text) =
            file.ok_or_else(|| BadMachine { name: name.to_owned(), line: 0, why: why() })?;
        Self::parse(name, text)
    }

    /// The machine that the file at `path` describes.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, BadMachine> {
        let name = path.as_ref().display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| BadMachine {
            name: name.clone(),
            line: 0,
            why: format!("can't be read: {error}"),
        })?;
        Self::parse(&name, &text)
    }

    /// The machine that `text` describes. `name` stands in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadMachine> {
        let bad = |line, why| BadMachine { name: name.to_owned(), line, why };
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| line_of_byte(text, span.start));
            bad(line, error.message().trim().replace('\n', " "))
        })?;
        let Processors { sockets, clusters, cores, threads, nodes, wakes_within } = file.processors;
        let total = sockets.0 * clusters.0 * cores.0 * threads.0;
        if total > MOST_PROCESSORS {
            let line = line_of_key(text, "processors", "sockets");
            let why = format!("{total} processors; a simulation has at most {MOST_PROCESSORS}");
            return Err(bad(line, why));
        }
        let topology =
            Topology::new(sockets.0, clusters.0, cores.0, threads.0, nodes, wakes_within);
        let costs = costs(&file, &topology)
            .map_err(|(table, key, why)| bad(line_of_key(text, table, key), why))?;
        if file.load.threads > 0 && file.load.runs.0 == 0 {
            let why = "threads that run for no time".to_owned();
            return Err(bad(line_of_key(text, "load", "runs"), why));
        }
        if file.interruptions.iter().any(|each| each.every.0 <= each.takes.0.saturating_mul(2)) {
            let why = "an interruption that leaves its processor less than half of the time";
            return Err(bad(line_of_key(text, "[interruption", "every"), why.to_owned()));
        }
        let File { name, about, load, interruptions, .. } = file;
        Ok(Self { name, about, topology, costs, load, interruptions })
    }

    /// How many processors it has.
    pub fn processors(&self) -> usize {
        self.topology.processors()
    }
}

/// The table and the key that don't go together with the rest, and why.
type Mismatch = (&'static str, &'static str, String);

fn by_distance(
    table: &'static str,
    key: &'static str,
    own: Time,
    costs: ByDistance,
    topology: &Topology,
) -> Result<[Time; 4], Mismatch> {
    let mut all = [own, 0, 0, 0];
    let others = [
        (Distance::Cluster, "cluster", costs.cluster),
        (Distance::Socket, "socket", costs.socket),
        (Distance::Remote, "remote", costs.remote),
    ];
    for (distance, name, cost) in others {
        match cost {
            Some(cost) => all[distance as usize] = cost.0,
            None if !topology.has(distance) => {}
            None => {
                return Err((table, key, format!("no cost `{name}`, a distance of this machine")));
            }
        }
    }
    Ok(all)
}

fn costs(file: &File, topology: &Topology) -> Result<Costs, Mismatch> {
    let File { line, instruction, kernel, wake, .. } = file;
    let least = |table, key, cost: Cost| match cost.0 {
        0 => Err((table, key, "time would stand still: it must cost something".to_owned())),
        cost => Ok(cost),
    };
    if wake.deep_after.0 < wake.halts_after.0 {
        let why = "a processor sleeps deeply only after it has halted".to_owned();
        return Err(("wake", "deep_after", why));
    }
    Ok(Costs {
        hit: least("line", "hit", line.hit)?,
        store: least("line", "store", line.store)?,
        rmw: least("line", "rmw", line.rmw)?,
        memory: line.memory.0,
        serve: line.serve.0,
        leave: line.leave.0,
        hold: line.hold.map_or(Time::MAX, |hold| hold.0),
        read: by_distance("line", "read", line.hit.0, line.read, topology)?,
        write: by_distance("line", "write", line.rmw.0, line.write, topology)?,
        upgrade: by_distance("line", "upgrade", line.rmw.0, line.upgrade, topology)?,
        pause: least("instruction", "pause", instruction.pause)?,
        fence: instruction.fence.0,
        clock: least("instruction", "clock", instruction.clock)?,
        processor: instruction.processor.0,
        sibling: instruction.sibling.0,
        call: least("kernel", "call", kernel.call)?,
        yields: kernel.yields.unwrap_or(kernel.call).0,
        wait: kernel.wait.0,
        wake: kernel.wake.0,
        bucket: kernel.bucket.0,
        has_ticket_locks: kernel.ticket_locks,
        spawn: kernel.spawn.0,
        switch: least("kernel", "switch", kernel.switch)?,
        migration: kernel.migration.0,
        hot: kernel.hot.0,
        slice: least("kernel", "slice", kernel.slice)?,
        granularity: kernel.granularity.0,
        balance: least("kernel", "balance", kernel.balance)?,
        slack: kernel.slack.0,
        searches_below: kernel.searches_below.0,
        waker: by_distance("wake", "waker", wake.same.0, wake.waker, topology)?,
        interrupt: wake.interrupt.0,
        starts_from_poll: wake.poll.0,
        starts_from_halt: wake.halt.0,
        starts_from_deep: wake.deep.0,
        halts_after: wake.halts_after.0,
        deep_after: wake.deep_after.0,
        wake_jitter: wake.jitter.unwrap_or(file.jitter).0,
        jitter: file.jitter.0,
    })
}

fn line_of_byte(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// The line of `key` in `[table]`; the table's if it isn't there.
fn line_of_key(text: &str, table: &str, key: &str) -> usize {
    let (mut within, mut found) = (false, 0);
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if let Some(header) = line.strip_prefix('[') {
            within = header.split(']').next().is_some_and(|name| name.trim() == table);
            if within {
                found = index + 1;
            }
        } else if within && line.split('=').next().is_some_and(|name| name.trim() == key) {
            return index + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests;
