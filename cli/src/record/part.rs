//! One process of a record.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::time::{SystemTime, UNIX_EPOCH};

use furwock_record as layout;

use super::bytes::Bytes;
use super::entries::{
    Edge, Entry, Event, Lock, Module, Pending, Site, Spell, Stack, Thread, add, printable,
};
use super::file::File;
use super::live;
use super::section::{self, Extent};

/// What a process did, or what it did before it became another by exec. Entries refer to each other
/// by keys, which may lead nowhere.
#[derive(Debug)]
pub struct Part {
    pub pid: u32,
    pub parent: u32,
    pub began: u64,
    /// CLOCK_REALTIME in nanoseconds.
    pub began_at: u64,
    pub state: State,
    /// How long it has run, in ticks, as far as is known.
    pub length: u64,
    pub command: Vec<String>,
    /// Whether the order of locks was recorded.
    #[allow(dead_code, reason = "the order of locks isn't shown yet")]
    pub has_order: bool,
    pub locks: BTreeMap<u32, Lock>,
    pub threads: Vec<Thread>,
    /// By their indices, as entries name them.
    pub stacks: BTreeMap<u32, Stack>,
    pub sites: Vec<Site>,
    /// In the order of their ends.
    pub events: Vec<Event>,
    pub modules: Vec<Module>,
    #[allow(dead_code, reason = "the order of locks isn't shown yet")]
    pub edges: Vec<Edge>,
    /// Entries for which there was no room, by section.
    pub lost: [u64; 7],
    pub left_to_glibc: u64,
    /// Operations on objects without an entry of their own.
    pub other_operations: u64,
    pub ticks_per_second: u64,
    ended: u64,
    /// Where the first thread's entry ends, from the part's beginning.
    first_thread_ends: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Ended,
    /// It became another program by exec.
    Replaced,
    /// It was killed. (Or it left by an instruction of its own.)
    Killed,
}

impl Part {
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second as f64
    }

    /// The program's name without its folders.
    pub fn name(&self) -> &str {
        let path = self.command.first().map_or("?", String::as_str);
        path.rsplit('/').find(|name| !name.is_empty()).unwrap_or("?")
    }

    pub fn thread_name(&self, tid: u32) -> String {
        let known = self.threads.iter().find(|thread| thread.tid == tid);
        match known {
            Some(thread) if !thread.name.is_empty() => format!("{} ({tid})", thread.name),
            _ => format!("thread {tid}"),
        }
    }

    /// Whether the file may end so many bytes behind the part's beginning. A process that has only
    /// one thread and no contention has memory for that thread only.
    pub(super) fn may_end_at(&self, there: u64, size: u64) -> bool {
        there >= size || there == self.first_thread_ends.next_multiple_of(layout::PAGE as u64)
    }

    /// The last moment of which it is known that the process ran.
    fn last_seen(&self) -> u64 {
        let events = self.events.iter().map(|event| event.began.saturating_add(event.took));
        let waits = self.threads.iter().map(|thread| thread.waits_since);
        let spells = self.locks.values().flat_map(|lock| [lock.figures.wait, lock.figures.hold]);
        let spells = spells.map(|spell| spell.longest_began.saturating_add(spell.longest));
        events.chain(waits).chain(spells).max().unwrap_or(0)
    }
}

/// The part at `start`; none if its process hasn't completed it yet, or isn't wanted.
pub(super) fn read(
    file: &File,
    start: u64,
    size: u64,
    wanted: impl Fn(u32) -> bool,
) -> Result<Option<Part>, String> {
    let bytes = header(file, start)?;
    let header = Bytes(&bytes);
    let magic = header.u64(offset_of!(layout::Part, magic));
    let pid = header.u32(offset_of!(layout::Part, pid));
    if magic == 0 || (magic == layout::PART_MAGIC && !wanted(pid)) {
        return Ok(None);
    }
    if magic != layout::PART_MAGIC {
        return Err("the beginning of a process's part makes no sense".to_owned());
    }
    let sections = Sections { file, header, start, size, pid };
    let lost = offset_of!(layout::Part, lost);
    let length = header.u32(offset_of!(layout::Part, command_len));
    let command = header.text(offset_of!(layout::Part, command), length, 1024);
    let command = command.strip_suffix(&[0]).unwrap_or(command);
    let mut part = Part {
        pid,
        parent: header.u32(offset_of!(layout::Part, parent)),
        began: header.u64(offset_of!(layout::Part, began)),
        began_at: header.u64(offset_of!(layout::Part, began_at)),
        state: State::Killed,
        length: 0,
        command: command.split(|byte| *byte == 0).map(printable).collect(),
        has_order: header.u32(offset_of!(layout::Part, records)) & layout::ORDER != 0,
        locks: sections
            .read::<Lock>(offset_of!(layout::Sections, locks), "locks")?
            .into_iter()
            .collect(),
        threads: only(sections.read(offset_of!(layout::Sections, threads), "threads")?),
        stacks: sections
            .read::<Stack>(offset_of!(layout::Sections, stacks), "stacks")?
            .into_iter()
            .map(|(key, stack)| (key - 1, stack))
            .collect(),
        sites: only(sections.read(offset_of!(layout::Sections, sites), "sites")?),
        events: only(sections.read(offset_of!(layout::Sections, events), "events")?),
        modules: only(sections.read(offset_of!(layout::Sections, modules), "modules")?),
        edges: only(sections.read(offset_of!(layout::Sections, edges), "edges")?),
        lost: [0, 1, 2, 3, 4, 5, 6].map(|at| header.u64(lost + 8 * at)),
        left_to_glibc: header.u64(offset_of!(layout::Part, left_to_glibc)),
        other_operations: header.u64(offset_of!(layout::Part, other_operations)),
        ticks_per_second: file.ticks_per_second,
        ended: header.u64(offset_of!(layout::Part, ended)),
        first_thread_ends: u64::from(header.u32(offset_of!(layout::Part, sections.threads.offset)))
            + size_of::<layout::Thread>() as u64,
    };
    part.events.sort_by_key(|event| event.number);
    hand_in(&mut part);
    Ok(Some(part))
}

fn header(file: &File, start: u64) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size_of::<layout::Part>()];
    file.file.read_exact_at(&mut bytes, start).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// A process's id, and where its locks and threads are, of the part at `start`; none if its process
/// hasn't completed it yet, or it makes no sense.
pub(super) fn outline(file: &File, start: u64, size: u64) -> Option<(u32, Extent, Extent)> {
    let bytes = header(file, start).ok()?;
    let header = Bytes(&bytes);
    if header.u64(offset_of!(layout::Part, magic)) != layout::PART_MAGIC {
        return None;
    }
    let pid = header.u32(offset_of!(layout::Part, pid));
    let sections = Sections { file, header, start, size, pid };
    let locks = sections.extent::<Lock>(offset_of!(layout::Sections, locks), "locks").ok()?;
    let threads = sections.extent::<Thread>(offset_of!(layout::Sections, threads), "threads");
    Some((pid, locks, threads.ok()?))
}

struct Sections<'a> {
    file: &'a File,
    header: Bytes<'a>,
    start: u64,
    size: u64,
    pid: u32,
}

impl Sections<'_> {
    fn read<E: Entry>(&self, section: usize, name: &str) -> Result<Vec<(u32, E)>, String> {
        let extent = self.extent::<E>(section, name)?;
        Ok(section::entries(&self.file.file, extent))
    }

    fn extent<E: Entry>(&self, section: usize, name: &str) -> Result<Extent, String> {
        let section = self.header.from(offset_of!(layout::Part, sections) + section);
        let offset = u64::from(section.u32(offset_of!(layout::Section, offset)));
        let size = section.u32(offset_of!(layout::Section, size));
        let count = section.u32(offset_of!(layout::Section, count));
        let extent = Extent { start: self.start + offset, count };
        if count == 0 {
            return Ok(extent);
        }
        let end = offset.checked_add(u64::from(size) * u64::from(count));
        let is_inside =
            end.is_some_and(|end| end <= self.size) && offset >= size_of::<layout::Part>() as u64;
        if size as usize != E::SIZE || !is_inside {
            return Err(format!("the {name} of process {} aren't where it says", self.pid));
        }
        Ok(extent)
    }
}

fn only<E>(entries: Vec<(u32, E)>) -> Vec<E> {
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Adds what threads have counted and summed up since they handed in the last.
fn hand_in(part: &mut Part) {
    let mut counted: BTreeMap<(u64, u32), u64> = BTreeMap::new();
    for thread in &part.threads {
        for count in &thread.counts {
            let sum = counted.entry((count.address, count.kind as u32)).or_default();
            *sum = sum.saturating_add(count.operations);
        }
        add(&mut part.other_operations, thread.other_operations);
        add(&mut part.left_to_glibc, thread.left_to_glibc);
        for pending in &thread.pending {
            let site = pending.site;
            if let Some(lock) = part.locks.get_mut(&site.lock) {
                hand_in_to(lock, pending, thread.tid);
            }
            let same = |other: &&mut Site| {
                (other.lock, other.stack, other.holds) == (site.lock, site.stack, site.holds)
            };
            match part.sites.iter_mut().find(same) {
                Some(known) => known.add(&site),
                None => part.sites.push(site),
            }
        }
    }
    // The newest of several objects at an address: the one that is there, or else the last one.
    let newest_first = part.locks.values_mut().rev();
    let (there, gone): (Vec<_>, Vec<_>) = newest_first.partition(|lock| !lock.is_destroyed);
    for lock in there.into_iter().chain(gone) {
        let more = counted.remove(&(lock.address & layout::ADDRESS, lock.kind as u32));
        add(&mut lock.figures.operations, more.unwrap_or(0));
    }
    counted.values().for_each(|more| add(&mut part.other_operations, *more));
}

fn hand_in_to(lock: &mut Lock, pending: &Pending, tid: u32) {
    let site = pending.site;
    let more = Spell {
        count: site.count,
        total: site.total,
        longest: site.longest,
        longest_began: pending.longest_began,
        longest_stack: site.stack,
        longest_thread: tid,
    };
    if site.holds {
        lock.figures.hold.add(&more);
        return;
    }
    lock.figures.wait.add(&more);
    add(&mut lock.figures.contended, site.count);
    add(&mut lock.figures.sleeps, pending.sleeps);
    for (sum, more) in lock.figures.got.iter_mut().zip(pending.got) {
        add(sum, more.into());
    }
    add(&mut lock.figures.timeouts, pending.got[4].into());
}

/// Finds out what has become of the processes, and how long they ran.
pub(super) fn settle(file: &File, parts: &mut [Part]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let successor: Vec<Option<u64>> = (0..parts.len())
        .map(|at| {
            let own = &parts[at];
            let later = parts.iter().filter(|part| part.pid == own.pid && part.began > own.began);
            later.map(|part| part.began).min()
        })
        .collect();
    for (part, successor) in parts.iter_mut().zip(successor) {
        let (state, end) = match (part.ended, successor) {
            (0, Some(began)) => (State::Replaced, began),
            (0, None) if live::is_running(file, part.pid) => {
                let nanoseconds = now.saturating_sub(u128::from(part.began_at));
                let ticks = nanoseconds * u128::from(part.ticks_per_second) / 1_000_000_000;
                let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
                (State::Running, part.began.saturating_add(ticks))
            }
            (0, None) => (State::Killed, part.last_seen()),
            (ended, _) => (State::Ended, ended),
        };
        part.state = state;
        part.length = end.saturating_sub(part.began);
    }
}
