//! Runs a program and records what can be observed.

use super::Futex;
use super::places::{At, Places, WORDS};
use super::raw::Raw;
use super::step::{Program, SOON, Step, Time};
use super::worker::{Seen, Worker};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const WORKERS: usize = 6;

/// How long to wait for something that should happen at once: at least this time, and this many
/// turns on the processor that all threads share, which take longer on a busy machine.
struct Patience {
    start: Instant,
    turns: u32,
}

impl Patience {
    const TIME: Duration = Duration::from_millis(100);
    const TURNS: u32 = 200;

    fn new() -> Self {
        Self { start: Instant::now(), turns: 0 }
    }

    /// Gives the others a turn.
    fn wait(&mut self) {
        thread::yield_now();
        self.turns += 1;
    }

    fn is_over(&self) -> bool {
        self.turns > Self::TURNS && self.start.elapsed() > Self::TIME
    }
}

/// What can be observed of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub(super) lines: Vec<Line>,
    /// Workers that slept on after all words had been woken.
    pub(super) forgotten: Vec<usize>,
}

/// What can be observed after one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) did: Did,
    /// The workers whose calls returned, with their results.
    pub(super) ended: Vec<(usize, Result<i64, i32>)>,
    pub(super) words: [u32; WORDS],
}

/// The outcome of the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// It isn't a call, or no worker was idle to make it.
    Nothing,
    /// The call returned.
    Returned(Result<i64, i32>),
    /// This worker waits.
    Waits(usize),
    /// This worker neither returns nor sleeps.
    Spins(usize),
    /// At the end, a wake of one waiter here returned this.
    Drained(At, Result<i64, i32>),
}

/// Workers and words. A process has one at a time: programs queue waiters at null, too, and there
/// is only one null.
pub struct Stage {
    places: Places,
    workers: Vec<Worker>,
    /// When waits until `Time::Soon` return by themselves.
    soon: [Option<Instant>; WORKERS],
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

/// A deadline passed before the steps that had to come first.
struct TooLate;

impl Stage {
    /// Sets it up, on one processor: a worker runs there when its master yields, and a woken worker
    /// is runnable when the wake returns.
    pub fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        stay_here();
        let mut workers: Vec<_> = (0..WORKERS).map(|_| Worker::start()).collect();
        let places = Places::choose(&mut workers);
        Self { places, workers, soon: [None; WORKERS], _alone: alone }
    }

    /// Runs `program` from the start, until all have returned.
    pub fn run(&mut self, implementation: &'static dyn Futex, program: &Program) -> Outcome {
        loop {
            if let Ok(outcome) = self.attempt(implementation, program) {
                return outcome;
            }
        }
    }

    fn attempt(
        &mut self,
        implementation: &'static dyn Futex,
        program: &Program,
    ) -> Result<Outcome, TooLate> {
        for word in 0..WORDS {
            self.places.store(word, 0);
        }
        let mut lines = Vec::with_capacity(program.len() + 4);
        let mut in_time = true;
        for step in program {
            let (did, mut ended) = self.step(implementation, step);
            ended.sort_unstable();
            in_time &= self.is_in_time();
            lines.push(Line { did, ended, words: self.places.contents() });
        }
        self.drain(implementation, &mut lines);
        in_time &= self.is_in_time();
        self.soon = [None; WORKERS];
        let forgotten = self.replace_forgotten();
        if in_time { Ok(Outcome { lines, forgotten }) } else { Err(TooLate) }
    }

    fn step(&mut self, implementation: &'static dyn Futex, step: &Step) -> (Did, Ended) {
        match step {
            Step::Store { word, value } => {
                self.places.store(*word, *value);
                (Did::Nothing, Vec::new())
            }
            Step::Expire => (Did::Nothing, self.expire()),
            Step::Futex(call) if call.waits() => {
                self.wait(implementation, |places| call.raw(places), call.timeout)
            }
            Step::Waitv(vector) => {
                self.wait(implementation, |places| vector.raw(places), vector.timeout)
            }
            Step::Futex(call) => self.call(implementation, &call.raw(&self.places)),
        }
    }

    /// Makes a call that doesn't block.
    fn call(&mut self, implementation: &'static dyn Futex, call: &Raw) -> (Did, Ended) {
        // SAFETY: the operations that write do so to words of the stage.
        let result = unsafe { call.perform(implementation) };
        let ended = match result {
            Ok(1..) => self.settle(),
            _ => self.collect(),
        };
        (Did::Returned(result), ended)
    }

    /// Lets the first idle worker make a call that may block.
    fn wait(
        &mut self,
        implementation: &'static dyn Futex,
        call: impl FnOnce(&Places) -> Raw,
        time: Time,
    ) -> (Did, Ended) {
        let Some(index) = self.workers.iter().position(Worker::is_idle) else {
            return (Did::Nothing, Vec::new());
        };
        if time == Time::Soon {
            self.soon[index] = Some(Instant::now() + SOON);
        }
        let call = call(&self.places);
        let worker = &mut self.workers[index];
        worker.give(implementation, call);
        let mut patience = Patience::new();
        patience.wait();
        let did = loop {
            match worker.look() {
                Seen::Returned(result) => break Did::Returned(result),
                Seen::Blocked if !time.ends_at_once() => break Did::Waits(index),
                Seen::Blocked if patience.is_over() => break Did::Waits(index),
                Seen::Running if patience.is_over() => break Did::Spins(index),
                _ => patience.wait(),
            }
        };
        (did, self.collect())
    }

    /// Lets every worker that can do something do it.
    fn settle(&mut self) -> Ended {
        let mut ended = Vec::new();
        let mut patience = Patience::new();
        loop {
            let before = ended.len();
            let mut running = false;
            for (index, worker) in self.workers.iter_mut().enumerate() {
                if worker.is_idle() {
                    continue;
                }
                match worker.look() {
                    Seen::Returned(result) => ended.push((index, result)),
                    Seen::Running => running = true,
                    Seen::Blocked => {}
                }
            }
            // A worker that returned may have woken others on its way.
            let calm = !running && ended.len() == before;
            if calm || patience.is_over() {
                break;
            }
            patience.wait();
        }
        ended
    }

    /// The workers that have returned already.
    fn collect(&mut self) -> Ended {
        let workers = self.workers.iter_mut().enumerate();
        workers.filter_map(|(index, worker)| Some((index, worker.returned()?))).collect()
    }

    /// Whether no deadline has passed yet that `Expire` is to wait for. Forgets those of waits that
    /// have ended.
    fn is_in_time(&mut self) -> bool {
        let first = self.soon.iter().flatten().min();
        let in_time = first.is_none_or(|first| Instant::now() < *first);
        for (soon, worker) in self.soon.iter_mut().zip(&self.workers) {
            soon.take_if(|_| worker.is_idle());
        }
        in_time
    }

    /// Waits until all workers have returned that can by themselves.
    fn expire(&mut self) -> Ended {
        let Some(last) = self.soon.iter().flatten().max().copied() else { return Vec::new() };
        thread::sleep(last.saturating_duration_since(Instant::now()));
        let mut ended = Vec::new();
        let mut patience = Patience::new();
        let waits = |stage: &Self| {
            let mut pairs = stage.soon.iter().zip(&stage.workers);
            pairs.any(|(soon, worker)| soon.is_some() && !worker.is_idle())
        };
        while waits(self) && !patience.is_over() {
            patience.wait();
            ended.extend(self.collect());
        }
        self.soon = [None; WORKERS];
        ended
    }

    /// Wakes all waiters, one by one.
    fn drain(&mut self, implementation: &'static dyn Futex, lines: &mut Vec<Line>) {
        for at in Places::all() {
            while self.workers.iter().any(|worker| !worker.is_idle()) {
                let wake = Raw::Futex {
                    uaddr: self.places.address(at),
                    op: libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    val: 1,
                    timeout: None,
                    val2: 0,
                    uaddr2: std::ptr::null_mut(),
                    val3: 0,
                };
                let (did, mut ended) = self.call(implementation, &wake);
                ended.sort_unstable();
                let Did::Returned(result) = did else { unreachable!("calls return") };
                if result == Ok(0) && ended.is_empty() {
                    break;
                }
                let words = self.places.contents();
                lines.push(Line { did: Did::Drained(at, result), ended, words });
                if !matches!(result, Ok(1..)) || lines.len() > 1000 {
                    break;
                }
            }
        }
    }

    /// Gives up the workers that didn't return, and starts others in their places.
    fn replace_forgotten(&mut self) -> Vec<usize> {
        let mut forgotten = Vec::new();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            if !worker.is_idle() && worker.returned().is_none() {
                forgotten.push(index);
                *worker = Worker::start();
            }
        }
        forgotten
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

type Ended = Vec<(usize, Result<i64, i32>)>;

/// Keeps this thread, and those that it will start, on the processor that it runs on.
fn stay_here() {
    // SAFETY: an all-zero set is empty; the calls only read and write it.
    let pinned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    assert_eq!(pinned, 0, "a thread can stay where it is");
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.did {
            Did::Nothing => f.write_str("-"),
            Did::Returned(result) => write!(f, "{}", Shown(result)),
            Did::Waits(worker) => write!(f, "thread {worker} waits"),
            Did::Spins(worker) => write!(f, "thread {worker} neither returns nor sleeps"),
            Did::Drained(at, result) => write!(f, "wake 1 at {at:?}: {}", Shown(result)),
        }?;
        for (worker, result) in &self.ended {
            write!(f, "; thread {worker} returned {}", Shown(*result))?;
        }
        let [one, two, three, four, five] = self.words;
        write!(f, "; words {one:x} {two:x} {three:x} {four:x} {five:x}")
    }
}

struct Shown(Result<i64, i32>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(value) => write!(f, "{value}"),
            Err(libc::EAGAIN) => f.write_str("EAGAIN"),
            Err(libc::ETIMEDOUT) => f.write_str("ETIMEDOUT"),
            Err(libc::EINVAL) => f.write_str("EINVAL"),
            Err(libc::EFAULT) => f.write_str("EFAULT"),
            Err(libc::ENOSYS) => f.write_str("ENOSYS"),
            Err(errno) => write!(f, "{}", std::io::Error::from_raw_os_error(errno)),
        }
    }
}
