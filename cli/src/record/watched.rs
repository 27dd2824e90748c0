//! A record that the command watches while the program writes to it: which locks threads wait for
//! now. It notes there what their holders do.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

use furwock_record as layout;
use furwock_record::{DID, Did, PAGE};

use super::bytes::Bytes;
use super::entries::{self, Entry, Kind};
use super::file::File;
use super::part;
use super::section::{self, Extent};

/// Threads of a process and processes that are looked at.
const MOST_THREADS: u32 = 4096;
const MOST_PROCESSES: usize = 64;
/// The fields of a thread that say what it waits for.
const HEAD: usize = offset_of!(layout::Thread, other_operations);

pub struct Watched {
    record: File,
    /// The same file, to write to.
    notes: fs::File,
    parts_seen: u32,
    processes: Vec<Process>,
}

/// A process that is in the record.
struct Process {
    pid: u32,
    locks: Extent,
    threads: Extent,
    /// Where the entries of locks are, and what has been noted of their holders.
    known: HashMap<(u64, u32), Noted>,
}

struct Noted {
    entry: u64,
    did: [u32; DID],
}

/// A lock for which at least one thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub address: u64,
    pub kind: Kind,
}

impl Watched {
    /// None if the record can't be read or written to.
    pub fn open(path: &Path) -> Option<Self> {
        let record = File::open(path).ok()?;
        let notes = OpenOptions::new().read(true).write(true).open(path).ok()?;
        Some(Self { record, notes, parts_seen: 0, processes: Vec::new() })
    }

    /// Finds processes that have come since the last call. One that has become another by exec is
    /// the other.
    pub fn find(&mut self) {
        let claimed = self.number(offset_of!(layout::File, parts) as u64);
        while self.parts_seen < claimed.min(self.record.parts_at_most)
            && self.processes.len() < MOST_PROCESSES
        {
            let start = PAGE as u64 + u64::from(self.parts_seen) * self.record.part_size;
            let outline = part::outline(&self.record, start, self.record.part_size);
            let Some((pid, locks, threads)) = outline else { return };
            self.parts_seen += 1;
            self.forget(pid);
            self.processes.push(Process { pid, locks, threads, known: HashMap::new() });
        }
    }

    pub fn processes(&self) -> impl Iterator<Item = (usize, u32)> {
        self.processes.iter().enumerate().map(|(at, process)| (at, process.pid))
    }

    pub fn forget(&mut self, pid: u32) {
        self.processes.retain(|process| process.pid != pid);
    }

    /// The locks that threads of a process wait for now, each once.
    pub fn wanted(&self, at: usize) -> Vec<Wanted> {
        let process = &self.processes[at];
        let mut wanted = Vec::new();
        let mut head = [0; HEAD];
        for thread in 0..process.threads.count.min(MOST_THREADS) {
            let entry =
                process.threads.start + u64::from(thread) * <entries::Thread as Entry>::SIZE as u64;
            if self.notes.read_exact_at(&mut head, entry).is_err() {
                break;
            }
            let head = Bytes(&head);
            // They are used in their order.
            if head.u32(offset_of!(layout::Thread, tid)) == 0 {
                break;
            }
            let address = head.u64(offset_of!(layout::Thread, waits_for));
            let kind = entries::kind(head.u32(offset_of!(layout::Thread, waits_kind)));
            let Some(kind) = kind.filter(|_| address != 0) else { continue };
            let lock = Wanted { address, kind };
            if !wanted.contains(&lock) {
                wanted.push(lock);
            }
        }
        wanted
    }

    /// Notes what a lock's holder does.
    pub fn note(&mut self, at: usize, lock: Wanted, does: Did) {
        let key = (lock.address, lock.kind as u32);
        let known = self.processes[at].known.get(&key);
        if known.is_none_or(|noted| !self.is_of(noted.entry, lock)) {
            let Some(entry) = self.entry(&self.processes[at], lock) else { return };
            let did = std::array::from_fn(|at| self.number(noted_at(entry, at)));
            self.processes[at].known.insert(key, Noted { entry, did });
        }
        let Some(noted) = self.processes[at].known.get_mut(&key) else { return };
        let count = &mut noted.did[does as usize];
        *count = count.saturating_add(1);
        let _ = self.notes.write_at(&count.to_ne_bytes(), noted_at(noted.entry, does as usize));
    }

    fn entry(&self, process: &Process, lock: Wanted) -> Option<u64> {
        let is_it = |(_, entry): &(u32, entries::Lock)| {
            entry.address == lock.address && entry.kind == lock.kind && !entry.is_destroyed
        };
        let locks = section::entries::<entries::Lock>(&self.notes, process.locks);
        let (number, _) = locks.into_iter().find(is_it)?;
        Some(process.locks.start + u64::from(number - 1) * <entries::Lock as Entry>::SIZE as u64)
    }

    fn is_of(&self, entry: u64, lock: Wanted) -> bool {
        let mut head = [0; offset_of!(layout::Lock, made_by)];
        self.notes.read_exact_at(&mut head, entry).is_ok_and(|()| {
            let head = Bytes(&head);
            entries::object(head.u64(offset_of!(layout::Lock, object)))
                == Some((lock.address, lock.kind))
                && head.u32(offset_of!(layout::Lock, is_destroyed)) == 0
        })
    }

    fn number(&self, at: u64) -> u32 {
        let mut bytes = [0; 4];
        self.notes.read_exact_at(&mut bytes, at).map_or(0, |()| u32::from_ne_bytes(bytes))
    }
}

fn noted_at(entry: u64, did: usize) -> u64 {
    entry + (offset_of!(layout::Lock, holder_did) + 4 * did) as u64
}
