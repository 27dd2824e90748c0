//! A process as /proc shows it: its threads, its memory, its files.

pub mod access;
pub mod clocks;
pub mod descriptors;
pub mod maps;
pub mod memory;
pub mod peers;
pub mod stop;
pub mod task;
mod unix_sockets;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::failure::{Failure, STATUS_FAILED};
use maps::Map;
use memory::Memory;
use task::{Call, Task};

/// One process that is looked at.
pub struct Process {
    pub pid: i32,
    pub name: String,
    pub memory: Memory,
    pub maps: Vec<Map>,
    /// The newest look at its threads, by thread id.
    pub tasks: Vec<Task>,
    /// Why memory and system calls can't be read, if so.
    pub denied: Option<String>,
    /// Thread ids in the process's own PID namespace, where it has another than this one.
    inner: HashMap<u32, i32>,
    /// Whether threads may be stopped for their registers.
    pub may_stop: bool,
    /// A signal handler of the program's own may wake its threads.
    pub catches_signals: bool,
    /// Its system calls aren't this machine's own.
    is_foreign: bool,
    /// Go's runtime is in it.
    pub has_go: bool,
}

impl Process {
    /// Looks for the first time.
    pub fn find(pid: i32) -> Result<Self, Failure> {
        let status = access::status(pid)?;
        let leader = access::number(&status, "Tgid").unwrap_or(pid);
        if leader != pid {
            return Err(Failure::new(
                STATUS_FAILED,
                format!("{pid} is a thread of process {leader}: ask for `furwock who {leader}`"),
            ));
        }
        let name = access::text(&status, "Name").unwrap_or("?").to_owned();
        if access::text(&status, "State").is_some_and(|state| state.starts_with('Z')) {
            return Err(Failure::new(
                STATUS_FAILED,
                format!("process {pid} ({name}) has ended; its parent hasn't collected it"),
            ));
        }
        let (maps, denied) = match maps::read(pid) {
            Ok(maps) => (maps, None),
            Err(_) => (Vec::new(), Some(access::why_denied(pid, &status))),
        };
        if denied.is_none() && maps.is_empty() {
            let says = format!("{pid} ({name}) is a thread of the kernel: it has no locks here");
            return Err(Failure::new(STATUS_FAILED, says));
        }
        // Its calls have other numbers, and its words another width.
        let denied = denied.or_else(|| {
            access::is_of_32_bits(pid).then(|| {
                format!("process {pid} ({name}) is a 32-bit program, which furwock who can't read")
            })
        });
        let tracer = access::number(&status, "TracerPid").unwrap_or(0);
        let mut process = Self {
            pid,
            name,
            memory: Memory::new(pid),
            maps,
            tasks: Vec::new(),
            denied,
            inner: HashMap::new(),
            may_stop: tracer == 0 && pid != std::process::id() as i32,
            catches_signals: access::catches_signals(&status),
            is_foreign: false,
            has_go: false,
        };
        process.is_foreign = process.denied.is_some() && access::is_of_32_bits(pid);
        process.tasks = process.look()?;
        if process.denied.is_none() && process.memory.probe(&process.maps).is_err() {
            process.denied = Some(access::why_denied(pid, &status));
        }
        if access::ids(&status).count() > 1 {
            process.inner = process.tasks.iter().filter_map(|task| inner(pid, task.tid)).collect();
        }
        Ok(process)
    }

    /// A look at all threads.
    pub fn look(&self) -> Result<Vec<Task>, Failure> {
        let gone = || {
            let says = format!("process {} ({}) ended meanwhile", self.pid, self.name);
            Failure::new(STATUS_FAILED, says)
        };
        let folder = fs::read_dir(format!("/proc/{}/task", self.pid)).map_err(|_| gone())?;
        let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut tasks: Vec<Task> = ids.filter_map(|tid| Task::look(self.pid, tid)).collect();
        tasks.sort_by_key(|task| task.tid);
        if self.is_foreign {
            tasks.iter_mut().for_each(|task| task.call = Call::Unknown);
        }
        if tasks.is_empty() { Err(gone()) } else { Ok(tasks) }
    }

    /// The thread that the process itself calls `id`; as this side of the namespace calls it.
    pub fn outer(&self, id: u32) -> Option<i32> {
        if self.inner.is_empty() { i32::try_from(id).ok() } else { self.inner.get(&id).copied() }
    }

    /// Whether it has a PID namespace of its own.
    pub fn is_contained(&self) -> bool {
        !self.inner.is_empty()
    }

    pub fn task(&self, tid: i32) -> Option<&Task> {
        let at = self.tasks.binary_search_by_key(&tid, |task| task.tid).ok()?;
        Some(&self.tasks[at])
    }

    pub fn map_of(&self, address: u64) -> Option<&Map> {
        maps::find(&self.maps, address)
    }

    /// A path of the process's own, as this process can open it.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.pid))
    }

    /// What the process itself takes for a thread's id.
    pub fn inner_of(&self, tid: i32) -> u32 {
        let own = self.inner.iter().find(|(_, outer)| **outer == tid);
        own.map_or(tid as u32, |(inner, _)| *inner)
    }
}

fn inner(pid: i32, tid: i32) -> Option<(u32, i32)> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let id = access::ids(&status).next_back()?;
    Some((id as u32, tid))
}

/// The process that a thread belongs to.
pub fn process_of(tid: i32) -> Option<i32> {
    access::number(&fs::read_to_string(format!("/proc/{tid}/status")).ok()?, "Tgid")
}

/// The user's processes, but this one.
pub fn of_the_user() -> Vec<i32> {
    let user = rustix::process::getuid().as_raw();
    let own = std::process::id() as i32;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut ids: Vec<i32> = ids
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let has_memory = access::text(&status, "VmSize").is_some();
            access::number(&status, "Uid") == Some(user as i32) && has_memory
        })
        .collect();
    ids.sort_unstable();
    ids
}
