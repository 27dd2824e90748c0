//! furwock's own waits: its threads sleep on words of their own, and its records say which lock
//! they wait for. Their layout is described in `furwock/src/inspect/layout.rs`.

use furwock::lock::TASK;
use furwock::unstable::inspect::{Inspect, MAGIC, VERSION};
use furwock::unstable::rwlock::bits::{
    BIASED, ONE_READER, OWNER, READERS, REVOKED, UPGRADING, WRITER,
};
use memchr::memmem;

use super::{EndsBy, Kind, Wait};
use crate::record::entries as record;
use crate::who::process::Process;
use crate::who::process::memory::Memory;
use crate::who::process::task::Task;
use crate::who::stacks::Symbols;

/// More chunks than any process has.
const MOST_CHUNKS: usize = 1 << 14;

const ADDRESS: u64 = (1 << 60) - 1;
const NOWHERE: u64 = u64::MAX;
const MANY: u64 = u64::MAX - 1;

/// One engine in a process: the preload's, or one that a program or library was built with.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    layout: Inspect,
}

impl Engine {
    /// All that the process has. The first error is an engine of another version.
    pub fn find(process: &Process, symbols: &mut Symbols) -> (Vec<Self>, Option<String>) {
        let (mut engines, mut unknown): (Vec<Self>, _) = (Vec::new(), None);
        let files = process.maps.iter().filter(|map| map.is_executable);
        for map in files.filter(|map| !is_systems(&map.path)) {
            let Some(image) = symbols.image(process, map) else { continue };
            let Some(first) = image.address_of(map.offset, true) else { continue };
            let by_magic = || {
                let found = |(address, data): (u64, &[u8])| {
                    memmem::find(data, &MAGIC).map(|at| address + at as u64)
                };
                image.data().find_map(found)
            };
            let Some(address) = image.symbol("furwock_inspect").or_else(by_magic) else { continue };
            let at = address.wrapping_add(map.start.wrapping_sub(first));
            if engines.iter().any(|engine| engine.layout.this.addr() as u64 == at) {
                continue;
            }
            match Self::read(process, at) {
                Ok(Some(engine)) => engines.push(engine),
                Ok(None) => {}
                Err(version) => {
                    unknown = Some(format!(
                        "{} has furwock's engine in a layout of version {version}, which this \
                         furwock doesn't know",
                        image.origin.name
                    ));
                }
            }
        }
        (engines, unknown)
    }

    fn read(process: &Process, at: u64) -> Result<Option<Self>, u32> {
        let Some(bytes) = process.memory.bytes::<{ size_of::<Inspect>() }>(at) else {
            return Ok(None);
        };
        // SAFETY: there are as many bytes, and any bytes are one.
        let mut layout = unsafe { bytes.as_ptr().cast::<Inspect>().read_unaligned() };
        if layout.magic != MAGIC || layout.this.addr() as u64 != at {
            return Ok(None);
        }
        if layout.version != VERSION {
            return Err(layout.version);
        }
        // An engine from before names.
        if (layout.size as usize) < size_of::<Inspect>() {
            layout.names = std::ptr::null();
        }
        // So that nonsense does no harm.
        layout.thread_size = layout.thread_size.max(1);
        layout.row_size = layout.row_size.max(1);
        layout.row_slots = layout.row_slots.min(64);
        Ok(Some(Self { layout }))
    }

    /// The wait of a thread that sleeps on `word`; none if that isn't one of this engine's.
    pub fn wait(&self, process: &Process, task: &Task, word: u64) -> Option<Wait> {
        let (memory, layout) = (process.memory, &self.layout);
        let record = word.wrapping_sub(layout.parker);
        if !self.is_record(process, record) {
            return None;
        }
        let tid = memory.u32(record + layout.tid)?;
        let key = memory.u64(record + layout.key)?;
        let waits = process.outer(tid) == Some(task.tid);
        if key == NOWHERE || !waits {
            let wait = Wait::new(Kind::Word, EndsBy::Outside).at(word);
            return Some(wait.noting("woken, and about to run"));
        }
        if key == MANY {
            return Some(Wait::new(Kind::Word, EndsBy::AnyThread).noting("several words"));
        }
        let object = key & ADDRESS;
        Some(match key >> 60 {
            1 => mutex(process, object),
            2 => self.rwlock(process, object),
            3 => {
                let mutex = memory.u64(record + layout.token).filter(|mutex| *mutex != 0);
                Wait { mutex, ..Wait::new(Kind::Condvar, EndsBy::AnyThread).at(object) }
            }
            4 => Wait::new(Kind::Semaphore, EndsBy::AnyThread).at(object),
            5 => Wait::new(Kind::Barrier, EndsBy::AnyThread).at(object),
            6 => self.slot(process, object)?,
            _ => Wait::new(Kind::Word, EndsBy::AnyThread).at(object),
        })
    }

    /// The name that the program gave the object at `address`.
    pub fn name(&self, process: &Process, address: u64) -> Option<String> {
        const MOST_PLACES: u64 = 1 << 20;
        const MOST_BYTES: u64 = 1 << 10;
        let (memory, layout) = (process.memory, &self.layout);
        let table = memory.u64(layout.names.addr() as u64).filter(|table| *table != 0)?;
        let places = layout.names_places.min(MOST_PLACES) as usize;
        let objects = memory.range(table + layout.names_objects, places * 8)?;
        let mut objects = objects.chunks_exact(8);
        let is_it = |object: &[u8]| object == address.to_ne_bytes();
        let place = objects.position(is_it)? as u64;
        let entry = table + layout.names_entries + place * layout.name_size;
        let size = layout.name_text_size.min(MOST_BYTES) as usize;
        let text = memory.range(entry + layout.name_text, size)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned()).filter(|name| !name.is_empty())
    }

    fn is_record(&self, process: &Process, record: u64) -> bool {
        let (memory, layout) = (process.memory, &self.layout);
        let mut chunk = memory.u64(layout.newest_chunk.addr() as u64).unwrap_or(0);
        for _ in 0..MOST_CHUNKS {
            if chunk == 0 {
                return false;
            }
            let first = chunk.wrapping_add(layout.chunk_threads);
            let offset = record.wrapping_sub(first);
            let used = memory.u64(chunk + layout.chunk_used).unwrap_or(0);
            if record >= first && offset / layout.thread_size < used {
                return offset.is_multiple_of(layout.thread_size);
            }
            chunk = memory.u64(chunk + layout.chunk_older).unwrap_or(0);
        }
        false
    }

    fn rwlock(&self, process: &Process, object: u64) -> Wait {
        let Some(word) = process.memory.u64(object) else {
            return Wait::new(Kind::RwLockWrite, EndsBy::AnyThread).at(object);
        };
        let owner = (word & OWNER) as u32;
        let counted = (word & READERS) / ONE_READER;
        let mut readers = Vec::new();
        if word & (BIASED | REVOKED) != 0 {
            readers = self.published(process, object);
        }
        // The kind of the waiter isn't in the record: its function has the name.
        let wait = if word & WRITER != 0 && word & UPGRADING == 0 {
            Wait::new(Kind::RwLockWrite, EndsBy::Holders(vec![owner]))
        } else if !readers.is_empty() {
            Wait::new(Kind::RwLockWrite, EndsBy::Holders(readers))
        } else if owner != 0 && counted == 0 {
            Wait::new(Kind::RwLockWrite, EndsBy::Holders(vec![owner]))
        } else if counted != 0 {
            let plural = if counted == 1 { "reader" } else { "readers" };
            let note = format!("{counted} {plural}, counted and not named");
            Wait::new(Kind::RwLockWrite, EndsBy::AnyThread).noting(note)
        } else {
            Wait::new(Kind::RwLockWrite, EndsBy::Outside).noting("it is free: about to be taken")
        };
        wait.at(object)
    }

    /// Threads that have put a rwlock into their slots.
    fn published(&self, process: &Process, object: u64) -> Vec<u32> {
        let (memory, layout) = (process.memory, &self.layout);
        let used = memory.u64(layout.rows_used.addr() as u64).unwrap_or(0).min(1 << 16);
        let rows = (0..used).map(|row| layout.rows.addr() as u64 + row * layout.row_size);
        let has = |row: &u64| {
            let slots = memory.range(*row, layout.row_slots as usize * 8).unwrap_or_default();
            let mut slots = slots.chunks_exact(8);
            slots.any(|slot| u64::from_ne_bytes(slot.try_into().unwrap_or_default()) & !7 == object)
        };
        let owner = |row: u64| memory.u32(row + layout.row_owner);
        rows.filter(has).filter_map(owner).filter(|owner| *owner != 0).collect()
    }

    /// A writer's wait for one reader to leave its slot.
    fn slot(&self, process: &Process, slot: u64) -> Option<Wait> {
        let (memory, layout) = (process.memory, &self.layout);
        let rows = layout.rows.addr() as u64;
        let row = slot.checked_sub(rows)? / layout.row_size;
        let owner = memory.u32(rows + row * layout.row_size + layout.row_owner)?;
        let object = memory.u64(slot)? & !7;
        let by = if object == 0 { EndsBy::Outside } else { EndsBy::Holders(vec![owner]) };
        Some(Wait::new(Kind::RwLockWrite, by).at(object))
    }
}

/// The thread that holds a mutex, or a rwlock for writing, by the id that its process knows it by;
/// none if it is free, or held by readers.
pub fn holder_of(memory: Memory, kind: record::Kind, object: u64) -> Option<u32> {
    let owner = match kind {
        record::Kind::Mutex => memory.u32(object)? & OWNER as u32,
        record::Kind::RwLock => {
            let word = memory.u64(object)?;
            if word & READERS == 0 { (word & OWNER) as u32 } else { 0 }
        }
        _ => 0,
    };
    (owner != 0 && owner != TASK).then_some(owner)
}

fn mutex(process: &Process, object: u64) -> Wait {
    owned_by(process.memory.u32(object).map(|word| word & OWNER as u32)).at(object)
}

/// A wait for a mutex whose word names this owner.
fn owned_by(owner: Option<u32>) -> Wait {
    match owner {
        None => Wait::new(Kind::Mutex, EndsBy::AnyThread),
        Some(0) => Wait::new(Kind::Mutex, EndsBy::Outside).noting("it is free: about to be taken"),
        // Any thread may run the task.
        Some(TASK) => Wait::new(Kind::Mutex, EndsBy::AnyThread).noting("a task holds it"),
        Some(owner) => Wait::new(Kind::Mutex, EndsBy::Holders(vec![owner])),
    }
}

/// Files that don't have furwock in them.
fn is_systems(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["libc.so", "libm.so", "ld-linux", "libgcc_s", "libpthread", "libdl", "librt", "[vdso]"]
        .iter()
        .any(|system| name.starts_with(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_no_thread_that_has_ended() {
        assert_eq!(owned_by(Some(7)).holders(), [7]);
        let tasks = owned_by(Some(TASK));
        assert!(tasks.holders().is_empty());
        assert_eq!(tasks.ends_by, EndsBy::AnyThread);
    }
}
