//! What a blocked thread waits for, and which threads can end the wait.

mod calls;
mod furwock;
mod glibc;
mod ownerless;
mod python;
mod runtimes;

use crate::symbols::Stack;
use crate::symbols::functions::{self, Function, Lock};
use crate::who::process::Process;
use crate::who::process::peers::Peers;
use crate::who::process::task::{Call, Task};
pub use furwock::Engine;
pub use furwock::holder_of;
pub use runtimes::has_go;

/// One thread's wait, or what it does instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub kind: Kind,
    /// Where the object lies.
    pub object: Option<u64>,
    /// The mutex that a condvar's waiter will lock.
    pub mutex: Option<u64>,
    pub ends_by: EndsBy,
    /// What has to be known besides, or can't be.
    pub note: Option<String>,
    /// It ends by itself at its timeout.
    pub is_timed: bool,
    /// It wakes up by itself now and then to look again.
    pub is_polled: bool,
    /// Other processes may use the object.
    pub is_shared: bool,
    /// Threads other than the holder may unlock it, and the program's language does so.
    pub any_may_unlock: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Mutex,
    RwLockRead,
    RwLockWrite,
    Condvar,
    Semaphore,
    Barrier,
    Join,
    Once,
    /// Python's global interpreter lock.
    Gil,
    Word,
    /// A call that isn't a lock's, as the kernel names it: "read from pipe 7".
    Call(String),
    Running,
    Unknown,
}

/// Which threads can end a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndsBy {
    /// All of these, by the ids that the process knows them by.
    Holders(Vec<u32>),
    /// Any other thread of the process.
    AnyThread,
    /// Something else too: another process, a device, time.
    Outside,
}

impl Kind {
    pub fn name(&self) -> &str {
        match self {
            Self::Mutex => "mutex",
            Self::RwLockRead => "rwlock (to read)",
            Self::RwLockWrite => "rwlock (to write)",
            Self::Condvar => "condvar",
            Self::Semaphore => "semaphore",
            Self::Barrier => "barrier",
            Self::Join => "thread to end",
            Self::Once => "initialisation",
            Self::Gil => "Python's GIL",
            Self::Word => "futex word",
            Self::Call(name) => name,
            Self::Running => "running",
            Self::Unknown => "unknown",
        }
    }

    /// A lock that the thread which locked it unlocks.
    fn is_locked(&self) -> bool {
        matches!(self, Self::Mutex | Self::RwLockRead | Self::RwLockWrite)
    }

    pub fn is_lock(&self) -> bool {
        !matches!(self, Self::Call(_) | Self::Running | Self::Unknown)
    }
}

impl Wait {
    fn new(kind: Kind, ends_by: EndsBy) -> Self {
        Self {
            kind,
            object: None,
            mutex: None,
            ends_by,
            note: None,
            is_timed: false,
            is_polled: false,
            is_shared: false,
            any_may_unlock: false,
        }
    }

    fn at(self, object: u64) -> Self {
        Self { object: Some(object), ..self }
    }

    fn noting(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    pub fn holders(&self) -> &[u32] {
        if let EndsBy::Holders(holders) = &self.ends_by { holders } else { &[] }
    }

    /// What `task` does, whose stack is `stack`.
    pub fn of(
        process: &Process,
        engines: &[Engine],
        task: &Task,
        stack: &Stack,
        peers: &Peers,
    ) -> Self {
        match &task.call {
            _ if task.state == 'Z' => Self::new(Kind::Call("ended".into()), EndsBy::Outside),
            _ if matches!(task.state, 'T' | 't') => {
                Self::new(Kind::Call("stopped (a signal or a debugger)".into()), EndsBy::Outside)
            }
            Call::Running => Self::new(Kind::Running, EndsBy::Outside),
            Call::Unknown => Self::new(Kind::Unknown, EndsBy::Outside),
            Call::Elsewhere => {
                Self::new(Kind::Call("in the kernel (no call)".into()), EndsBy::Outside)
            }
            Call::In { number, arguments, .. } => match Futex::of(*number, arguments) {
                Some(futex) => {
                    let wait = futex.wait(process, engines, task, stack);
                    let note = wait.note.clone();
                    let note = note.or_else(|| runtimes::says(stack).map(str::to_owned));
                    Self { note, ..wait }
                }
                None => {
                    let name = calls::describe(process.pid, *number, arguments, peers);
                    let note = runtimes::says(stack).map(str::to_owned);
                    Self { note, ..Self::new(Kind::Call(name), EndsBy::Outside) }
                }
            },
        }
    }
}

/// Whether a thread waits in futex(2) or one of its kin.
pub fn is_in_futex(call: &Call) -> bool {
    matches!(call, Call::In { number, arguments, .. } if Futex::of(*number, arguments).is_some())
}

/// A wait by futex(2).
struct Futex {
    word: u64,
    operation: u64,
    value: u32,
    is_private: bool,
    has_timeout: bool,
    /// On many words.
    is_many: bool,
}

impl Futex {
    const PRIVATE: u64 = 128;
    const REALTIME: u64 = 256;
    const WAIT: u64 = 0;
    const LOCK_PI: u64 = 6;
    const WAIT_BITSET: u64 = 9;
    const WAIT_REQUEUE_PI: u64 = 11;
    const LOCK_PI2: u64 = 13;

    fn of(number: i64, arguments: &[u64; 6]) -> Option<Self> {
        let operation = arguments[1] & !(Self::PRIVATE | Self::REALTIME);
        let waits =
            [Self::WAIT, Self::LOCK_PI, Self::WAIT_BITSET, Self::WAIT_REQUEUE_PI, Self::LOCK_PI2];
        let has_timeout = arguments[3] != 0;
        match number {
            libc::SYS_futex if waits.contains(&operation) => {}
            // A wait with a timeout that a signal or a debugger interrupted.
            libc::SYS_restart_syscall
                if [Self::WAIT, Self::WAIT_BITSET].contains(&operation)
                    && arguments[1] < 512
                    && arguments[0].is_multiple_of(4)
                    && has_timeout => {}
            libc::SYS_futex_waitv => {
                return Some(Self {
                    word: arguments[0],
                    operation: Self::WAIT,
                    value: 0,
                    is_private: false,
                    has_timeout,
                    is_many: true,
                });
            }
            _ => return None,
        }
        Some(Self {
            word: arguments[0],
            operation,
            value: arguments[2] as u32,
            is_private: arguments[1] & Self::PRIVATE != 0,
            has_timeout,
            is_many: false,
        })
    }

    fn wait(&self, process: &Process, engines: &[Engine], task: &Task, stack: &Stack) -> Wait {
        let lock = functions::find(stack);
        let record = engines.iter().find_map(|engine| engine.wait(process, task, self.word));
        if let Some(mut wait) = record {
            if wait.kind == Kind::RwLockWrite && functions::is_read(stack) {
                wait.kind = Kind::RwLockRead;
            }
            // The engine's own sleeps have timeouts too.
            let called = lock.filter(|lock| !lock.is_inside_only);
            wait.is_timed = called.map_or(self.has_timeout, |lock| lock.is_timed);
            wait.is_polled = self.has_timeout && !wait.is_timed;
            wait.any_may_unlock = process.has_go && wait.kind.is_locked();
            return wait;
        }
        let function = lock.map(|lock| lock.function);
        if let Some(Function { maker: functions::Maker::C, lock: Lock::Condvar, frame }) = function
            && self.has_timeout
            && let Some(gil) = self.gil(process, stack, frame)
        {
            return gil;
        }
        let mut wait = self.by_function(process, process.inner_of(task.tid), function, stack);
        if lock.is_some_and(|lock| lock.in_condvar) && wait.note.is_none() {
            wait.note = Some("woken from a condvar, locks its mutex again".to_owned());
        }
        wait.is_timed = self.has_timeout;
        wait.any_may_unlock &= process.has_go;
        wait
    }

    fn gil(&self, process: &Process, stack: &Stack, frame: usize) -> Option<Wait> {
        let condvar = glibc::condvar(process.memory, self.word, self.is_private, stack, frame);
        python::gil(process, stack, condvar.object?, frame)
    }

    fn by_function(
        &self,
        process: &Process,
        own: u32,
        function: Option<Function>,
        stack: &Stack,
    ) -> Wait {
        use functions::Maker;
        let memory = process.memory;
        let unknown = || {
            let shared = !self.is_private && self.is_in_shared_memory(process);
            let by = if shared { EndsBy::Outside } else { EndsBy::AnyThread };
            let what = if self.is_many { "several futex words" } else { "" };
            let mut wait = Wait { is_shared: shared, ..Wait::new(Kind::Word, by) }.at(self.word);
            if !what.is_empty() {
                wait.note = Some(what.to_owned());
            }
            wait
        };
        if self.operation == Self::LOCK_PI || self.operation == Self::LOCK_PI2 {
            return glibc::pi_mutex(memory, self.word, self.is_private).unwrap_or_else(unknown);
        }
        let Some(function) = function.filter(|_| !self.is_many) else { return unknown() };
        let wait = match (function.maker, function.lock) {
            (Maker::C, Lock::Mutex) if function.has_on_stack(stack, self.word) => {
                glibc::refused_mutex(memory, stack, function.frame, own)
            }
            (Maker::C, Lock::Mutex) => glibc::mutex(memory, self.word, self.is_private),
            // On its way back it locks the mutex: by another operation.
            (Maker::C, Lock::Condvar) if self.operation == Self::WAIT && self.value != 0 => {
                glibc::mutex(memory, self.word, self.is_private)
                    .map(|wait| wait.noting("woken from a condvar, locks its mutex again"))
            }
            (Maker::C, Lock::Condvar) => {
                Some(glibc::condvar(memory, self.word, self.is_private, stack, function.frame))
            }
            (Maker::C, Lock::Read) => glibc::rwlock(memory, self.word, Kind::RwLockRead),
            (Maker::C, Lock::Write) => glibc::rwlock(memory, self.word, Kind::RwLockWrite),
            (Maker::C, Lock::Semaphore) => Some(glibc::semaphore(memory, self.word)),
            (Maker::C, Lock::Barrier) => Some(glibc::barrier(memory, self.word)),
            (Maker::C, Lock::Join) => glibc::join(process, self.word),
            (maker, lock) => Some(ownerless::wait_without_owner(maker, lock, self.word)),
        };
        wait.unwrap_or_else(unknown)
    }

    fn is_in_shared_memory(&self, process: &Process) -> bool {
        process.map_of(self.word).is_none_or(|map| map.is_shared)
    }
}
