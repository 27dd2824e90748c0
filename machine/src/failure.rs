//! How a simulation fails, and what its threads were doing then.

use crate::ids::FIRST_ID;
use crate::world::{State, Waits, World, to_ns};
use std::fmt;

/// Why a simulation ended before its threads did.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Every thread sleeps, and none has a deadline.
    Deadlock(Box<Report>),
    /// The virtual-time limit has passed: threads run, or wake up again and again, and don't end.
    Livelock(Box<Report>),
    /// A thread panicked.
    Panicked {
        /// Its id.
        thread: u32,
        /// What it said.
        message: String,
        /// What the others were doing.
        report: Box<Report>,
    },
}

/// What the threads of a simulation that failed were doing.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine's name.
    pub machine: String,
    /// The seed, which repeats it.
    pub seed: u64,
    /// The virtual time.
    pub now_ns: u64,
    /// The threads that had not ended.
    pub threads: Vec<ThreadReport>,
    /// Threads that wait for each other in a circle, the first repeated at the end.
    pub circle: Vec<u32>,
    /// The last lines of the trace, if it was asked for.
    pub trace: Vec<String>,
}

/// What one thread was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// Its id.
    pub thread: u32,
    /// Its name, if it has one.
    pub name: String,
    /// What it was doing.
    pub doing: Doing,
    /// A word in which it saw another thread's id, and the thread that the word names now: the
    /// lock that it waits for, and the lock's owner.
    pub waits_for: Option<(usize, u32)>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs on a processor.
    Runs {
        /// Which.
        processor: usize,
    },
    /// It waits in a processor's queue.
    Queued {
        /// Whose.
        processor: usize,
    },
    /// It sleeps on a word.
    Sleeps {
        /// The word's address.
        word: usize,
        /// What it held when the thread fell asleep.
        expected: u32,
        /// What it holds now, if it is still there.
        holds: Option<u32>,
        /// Until when it sleeps at most.
        deadline_ns: Option<u64>,
    },
    /// It waits for a thread's end.
    Joins {
        /// Which.
        thread: u32,
    },
    /// It sleeps for a while.
    Naps,
    /// It is kept from running by a disturbance.
    Away,
}

impl World {
    pub(crate) fn report(&self) -> Box<Report> {
        let lives = |&at: &usize| {
            let state = &self.threads[at];
            !state.is_load && state.state != State::Ended
        };
        let threads: Vec<_> =
            (0..self.threads.len()).filter(lives).map(|at| self.report_of(at)).collect();
        Box::new(Report {
            machine: self.machine.clone(),
            seed: self.seed,
            now_ns: to_ns(self.now),
            circle: circle(&threads),
            threads,
            trace: self.trace.lines(),
        })
    }

    fn report_of(&self, thread: usize) -> ThreadReport {
        let state = &self.threads[thread];
        let doing = match (state.state, state.waits) {
            (State::Running(processor), _) => Doing::Runs { processor },
            (State::Queued(processor), _) => Doing::Queued { processor },
            (State::Away | State::Ended, _) => Doing::Away,
            (State::Asleep, Waits::Nothing) => Doing::Naps,
            (State::Asleep, Waits::End { thread }) => Doing::Joins { thread: id(thread) },
            (State::Asleep, Waits::Word { address, expected }) => Doing::Sleeps {
                word: address,
                expected,
                holds: peek(address),
                deadline_ns: state.deadline.map(to_ns),
            },
        };
        // What it saw may be long over: only what the word still says counts.
        let waits_for = state.saw.and_then(|(address, _)| {
            let named = self.named_by(peek(address)?)?;
            (named != thread).then(|| (address, id(named)))
        });
        ThreadReport { thread: id(thread), name: state.name.clone(), doing, waits_for }
    }
}

fn id(thread: usize) -> u32 {
    thread as u32 + FIRST_ID
}

/// The word at `address`, which may be there no more.
fn peek(address: usize) -> Option<u32> {
    let mut word = 0u32;
    let to = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: size_of::<u32>() };
    let from = libc::iovec {
        iov_base: core::ptr::without_provenance_mut(address),
        iov_len: size_of::<u32>(),
    };
    // SAFETY: the kernel writes four bytes to `word`, or none if it can't read them.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    (read == size_of::<u32>() as isize).then_some(word)
}

/// Sleeping threads that wait for each other in a circle.
fn circle(threads: &[ThreadReport]) -> Vec<u32> {
    let next = |thread: u32| {
        let report = threads.iter().find(|report| report.thread == thread)?;
        match report.doing {
            Doing::Joins { thread } => Some(thread),
            Doing::Sleeps { .. } => report.waits_for.map(|(_, owner)| owner),
            _ => None,
        }
    };
    for report in threads {
        let mut path = vec![report.thread];
        while let Some(following) = next(*path.last().expect("it begins with one")) {
            if let Some(at) = path.iter().position(|&seen| seen == following) {
                path.push(following);
                return path.split_off(at);
            }
            path.push(following);
        }
    }
    Vec::new()
}

impl Failure {
    /// What the threads were doing.
    pub fn report(&self) -> &Report {
        match self {
            Self::Deadlock(report) | Self::Livelock(report) | Self::Panicked { report, .. } => {
                report
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock(_) => write!(f, "deadlock: every thread sleeps")?,
            Self::Livelock(_) => write!(f, "livelock: the time limit has passed")?,
            Self::Panicked { thread, message, .. } => {
                write!(f, "thread {thread} panicked: {message}")?;
            }
        }
        write!(f, "{}", self.report())
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, seed, now_ns, .. } = self;
        writeln!(f, " ({machine}, seed {seed:#x}, after {now_ns} ns)")?;
        for thread in &self.threads {
            writeln!(f, "  {thread}")?;
        }
        if !self.circle.is_empty() {
            let ids: Vec<_> = self.circle.iter().map(u32::to_string).collect();
            writeln!(f, "  a circle: {}", ids.join(" waits for "))?;
        }
        self.trace.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for ThreadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.thread)?;
        if !self.name.is_empty() {
            write!(f, " ({})", self.name)?;
        }
        match self.doing {
            Doing::Runs { processor } => write!(f, " runs on processor {processor}")?,
            Doing::Queued { processor } => write!(f, " is queued at processor {processor}")?,
            Doing::Joins { thread } => write!(f, " waits for the end of thread {thread}")?,
            Doing::Naps => write!(f, " sleeps for a while")?,
            Doing::Away => write!(f, " is kept from running")?,
            Doing::Sleeps { word, expected, holds, deadline_ns } => {
                write!(f, " sleeps on word {word:#x}, expected {expected:#x}")?;
                match holds {
                    Some(holds) => write!(f, ", which holds {holds:#x}")?,
                    None => write!(f, ", which is gone")?,
                }
                if let Some(deadline) = deadline_ns {
                    write!(f, ", until {deadline} ns")?;
                }
            }
        }
        if let Some((word, owner)) = self.waits_for {
            write!(f, "; word {word:#x} names thread {owner}")?;
        }
        Ok(())
    }
}
