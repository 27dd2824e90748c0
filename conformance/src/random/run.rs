//! Runs a program: gives each step to its thread, waits until all threads have returned or sleep,
//! and holds what it sees against the specification.

use super::fork;
use super::generate::Random;
use super::kind::{CondClock, Kind};
use super::legal::{is_legal, numbers};
use super::make::SIZE;
use super::perform::Job;
use super::state::{Answer, Cancel, Doing, Pending, Phase, State, advance, settled};
use super::step::{Call, Clock, OBJECTS, Step, THREADS, Time};
use super::trace::{Event, Failure};
use super::worker::{Worker, install_handlers};
use libc::timespec;
use std::alloc::{Layout, alloc_zeroed};
use std::thread;
use std::time::{Duration, Instant};

/// Calls that begin together.
const MOST_TOGETHER: usize = 4;
/// Objects lie in these, so that each is soon where another was.
const CELLS: usize = 8;
const CELL: usize = SIZE + 64;
/// From the call, a deadline of `Time::Soon`.
const SOON: Duration = Duration::from_micros(600);
const PAUSE: Duration = Duration::from_millis(6);
/// Looks at threads that sleep before the master sleeps between looks.
const EAGER_LOOKS: u32 = 200;
/// A thread may run for so many times the bound.
const RUNS_LONGER: u32 = 10;

/// Threads and memory, for one program after another.
pub(super) struct Stage {
    workers: Vec<Worker>,
    memory: *mut u8,
    /// How long all threads may sleep though one should go on.
    bound: Duration,
    processors: libc::cpu_set_t,
}

impl Stage {
    pub(super) fn new(bound: Duration) -> Self {
        install_handlers();
        let layout = Layout::from_size_align(CELL * CELLS, 4096).expect("a small layout");
        // SAFETY: of a size. Never freed.
        let memory = unsafe { alloc_zeroed(layout) };
        assert!(!memory.is_null(), "there is memory");
        let workers = (0..THREADS).map(|_| Worker::start()).collect();
        Self { workers, memory, bound, processors: processors() }
    }

    /// Where the objects of the program with this seed lie.
    fn places(&self, seed: u64) -> [*mut u8; OBJECTS] {
        let mut random = Random::new(seed ^ 0x706c_6163_6573);
        let mut cells: Vec<_> = (0..CELLS).collect();
        std::array::from_fn(|_| {
            let cell = cells.swap_remove(random.below(cells.len()));
            let offset = [0, 8, 64][random.below(3)];
            // SAFETY: within the memory.
            unsafe { self.memory.add(cell * CELL + offset) }
        })
    }
}

/// Where steps come from: the next one by what may be the case, and by whether it is alone.
pub(super) type Source<'s> = dyn FnMut(&[State], bool) -> Option<Step> + 's;

/// A program that runs.
pub(super) struct Run<'s> {
    stage: &'s mut Stage,
    states: Vec<State>,
    places: [*mut u8; OBJECTS],
    /// Threads in calls, and when those return that wait until soon.
    calls: [bool; THREADS],
    soon: [Option<Instant>; THREADS],
    pub(super) steps: Vec<Step>,
    events: Vec<Event>,
}

/// Runs a program to its end. Afterwards the stage is as before, unless it failed.
pub(super) fn run(
    stage: &mut Stage,
    seed: u64,
    source: &mut Source<'_>,
) -> Result<Vec<Step>, Failure> {
    let places = stage.places(seed);
    let mut run = Run {
        stage,
        states: vec![State::new()],
        places,
        calls: [false; THREADS],
        soon: [None; THREADS],
        steps: Vec::new(),
        events: Vec::new(),
    };
    match run.all(source) {
        Ok(()) => Ok(run.steps),
        Err(why) => {
            Err(Failure { seed, why, steps: run.steps, events: run.events, states: run.states })
        }
    }
}

impl Run<'_> {
    fn all(&mut self, source: &mut Source<'_>) -> Result<(), String> {
        let mut together = 0;
        while let Some(step) = source(&self.states, together == 0) {
            if !is_legal(&self.states, &step, together == 0) {
                continue;
            }
            self.steps.push(step);
            self.begin(step);
            together += 1;
            if !step.together || step.call.is_alone() || together == MOST_TOGETHER {
                self.settle()?;
                together = 0;
            }
        }
        self.settle()?;
        self.end()
    }

    fn begin(&mut self, step: Step) {
        self.events.push(Event::Begins(step));
        if step.call == Call::Pause {
            thread::sleep(PAUSE);
            return;
        }
        let target = usize::from(step.target);
        match step.call {
            Call::Kill | Call::KillRestart => {
                self.stage.workers[target].expect_signal(std::ptr::null_mut());
            }
            Call::KillPost => {
                let semaphore = self.places[usize::from(step.with)];
                self.stage.workers[target].expect_signal(semaphore);
            }
            _ => {}
        }
        let state = &self.states[0];
        let kind = state.object(step.at).kind.unwrap_or(step.kind);
        let child = if step.call == Call::Fork {
            fork::plan(state, step.thread, |at| self.places[usize::from(at)])
        } else {
            [None; OBJECTS]
        };
        let job = Job {
            step,
            kind,
            at: self.places[usize::from(step.at)],
            with: self.places[usize::from(step.with)],
            deadline: deadline(&step, kind),
            target: self.stage.workers[target].thread,
            owns: state.object(step.at).owner == Some(step.thread),
            child,
        };
        self.states.iter_mut().for_each(|state| state.begin(step));
        let thread = usize::from(step.thread);
        self.calls[thread] = true;
        if step.call.has_deadline() && step.time == Time::Soon {
            self.soon[thread] = Some(Instant::now() + SOON);
        }
        self.stage.workers[thread].give(job);
    }

    /// Waits until nothing more has to happen.
    fn settle(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let mut asleep_since = None;
        let mut looks = 0u32;
        loop {
            if self.take_answers()? {
                asleep_since = None;
                looks = 0;
            }
            let handled = self.stage.workers.iter().all(Worker::has_handled);
            if handled && self.are_asleep() {
                self.note_late();
                let mut quiet = settled(&self.states);
                if !quiet.is_empty() {
                    quiet.iter_mut().for_each(State::fall_asleep);
                    self.states = quiet;
                    return Ok(());
                }
                let since = *asleep_since.get_or_insert_with(Instant::now);
                if since.elapsed() > self.stage.bound {
                    return Err(format!(
                        "threads sleep though one has to go on: {}",
                        self.callers()
                    ));
                }
            } else {
                asleep_since = None;
            }
            if began.elapsed() > self.stage.bound * RUNS_LONGER {
                let why = if handled { "neither return nor sleep" } else { "run no handler" };
                return Err(format!("threads {why}: {}", self.callers()));
            }
            looks += 1;
            if looks < EAGER_LOOKS {
                thread::yield_now();
            } else {
                thread::sleep(Duration::from_micros(200));
            }
        }
    }

    fn callers(&self) -> String {
        let calling = (0..THREADS).filter(|thread| self.calls[*thread]);
        calling.map(|thread| thread.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Takes what calls have returned. Returns whether any has.
    fn take_answers(&mut self) -> Result<bool, String> {
        let mut returned: Vec<(u8, Answer)> = Vec::new();
        for (number, worker) in (0..).zip(&self.stage.workers) {
            let calls = &mut self.calls[usize::from(number)];
            if let Some(answer) = worker.returned().filter(|_| *calls) {
                *calls = false;
                self.soon[usize::from(number)] = None;
                returned.push((number, answer));
            }
        }
        if returned.is_empty() {
            return Ok(false);
        }
        let events = returned.iter().map(|(thread, answer)| Event::Returns(*thread, *answer));
        self.events.extend(events);
        let states = advance(&self.states, &returned);
        if states.is_empty() {
            return Err("a call returned what it mustn't, or when it mustn't".to_owned());
        }
        self.states = states;
        Ok(true)
    }

    /// Whether all calls that go on sleep, at one moment.
    fn are_asleep(&self) -> bool {
        let mut calling =
            self.stage.workers.iter().zip(self.calls).filter(|(_, calls)| *calls).peekable();
        if calling.peek().is_none() {
            return true;
        }
        let workers: Vec<_> = calling.map(|(worker, _)| worker).collect();
        if let [worker] = workers[..] {
            return worker.is_asleep();
        }
        let runs = || workers.iter().map(|worker| worker.runs()).collect::<Vec<_>>();
        let before = runs();
        let all_are = || workers.iter().all(|worker| worker.is_asleep());
        // Twice: one that was seen first may have been woken since by one that was seen later, and
        // not have run for want of a processor.
        all_are() && all_are() && runs() == before
    }

    fn note_late(&mut self) {
        let now = Instant::now();
        for (number, soon) in (0..).zip(self.soon) {
            if soon.is_some_and(|soon| soon < now) {
                self.states.iter_mut().for_each(|state| state.be_late(number));
            }
        }
    }

    /// Ends all calls, gives back what is held, and ends the objects and used threads.
    fn end(&mut self) -> Result<(), String> {
        self.events.push(Event::Ends);
        while let Some(step) = self.next_to_end()? {
            self.begin(step);
            self.settle()?;
        }
        for at in numbers() {
            if self.states[0].object(at).kind.is_some() {
                self.begin(Step::new(THREADS as u8 - 1, Call::Destroy, at));
                self.settle()?;
            }
        }
        for (number, thread) in self.states[0].threads.iter().enumerate() {
            if thread.cancel != Cancel::No || thread.disabled {
                let used = std::mem::replace(&mut self.stage.workers[number], Worker::start());
                used.end(thread.cancel == Cancel::Acting);
            }
        }
        Ok(())
    }

    fn next_to_end(&self) -> Result<Option<Step>, String> {
        let state = &self.states[0];
        let idle = |thread: &u8| state.is_idle(*thread);
        for thread in (0..THREADS as u8).filter(idle) {
            for at in numbers() {
                let object = state.object(at);
                let call = match object.kind {
                    Some(Kind::RwLock(..)) => Call::Leave,
                    Some(Kind::Spin) => Call::SpinUnlock,
                    _ => Call::Unlock,
                };
                if object.owner == Some(thread) || object.reads[usize::from(thread)] > 0 {
                    return Ok(Some(Step::new(thread, call, at)));
                }
            }
        }
        let Some(helper) = (0..THREADS as u8).rev().find(idle) else {
            return Err("no thread is left to end the program".to_owned());
        };
        // The fullest barriers first: there may not be threads for all at once.
        let meets = |at| state.calls().filter(move |(_, call)| is_at(call, at)).count();
        if let Some(at) = numbers().filter(|at| meets(*at) > 0).max_by_key(|at| meets(*at)) {
            return Ok(Some(Step::new(helper, Call::Meet, at)));
        }
        for (_, pending) in state.calls() {
            let step = pending.step;
            let (call, at) = match step.call {
                _ if step.call.has_deadline() && step.time == Time::Soon => continue,
                Call::SemWait | Call::SemTimed => (Call::Post, step.at),
                Call::OnceSem if pending.phase == Phase::Routine => (Call::Post, step.with),
                Call::Wait | Call::TimedWait if pending.phase == Phase::Waits => {
                    (Call::Broadcast, step.at)
                }
                _ => continue,
            };
            return Ok(Some(Step::new(helper, call, at)));
        }
        let calls: Vec<Doing> = state.calls().map(|(_, pending)| Doing::Call(*pending)).collect();
        if calls.is_empty() {
            return Ok(None);
        }
        if self.soon.iter().any(Option::is_some) {
            let mut step = Step::new(helper, Call::Pause, 0);
            step.together = true;
            return Ok(Some(step));
        }
        Err(format!("the program can't be ended: {calls:?}"))
    }
}

/// Whether a call waits at the barrier.
fn is_at(call: &Pending, barrier: u8) -> bool {
    call.step.call == Call::Meet && call.step.at == barrier
}

/// The deadline of a step.
fn deadline(step: &Step, kind: Kind) -> timespec {
    const NEVER: i64 = 10_000;
    let clock = match (step.clock, kind) {
        (Clock::Monotonic, _) => libc::CLOCK_MONOTONIC,
        (Clock::Own, Kind::Cond(CondClock::Monotonic, _)) => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    let mut at = timespec { tv_sec: 0, tv_nsec: 0 };
    if !step.call.has_deadline() {
        return at;
    }
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(clock, &mut at) };
    match step.time {
        Time::Past => at.tv_sec -= 1,
        Time::Negative => at.tv_sec = -5,
        Time::Soon => {
            at.tv_nsec += SOON.as_nanos() as i64;
            at.tv_sec += at.tv_nsec / 1_000_000_000;
            at.tv_nsec %= 1_000_000_000;
        }
        Time::Far => at.tv_sec += NEVER,
        Time::Endless => at.tv_sec = i64::MAX,
        Time::TooMany => (at.tv_sec, at.tv_nsec) = (at.tv_sec + NEVER, 1_000_000_000),
        Time::BelowZero => (at.tv_sec, at.tv_nsec) = (at.tv_sec + NEVER, -1),
    }
    at
}

impl Stage {
    /// Lets threads run on all processors that the process began with, or on one.
    pub(super) fn spread(&mut self, spread: bool) {
        let mut set = self.processors;
        if !spread {
            // SAFETY: sets of this size; an all-zero one is empty.
            unsafe {
                let one = (0..libc::CPU_SETSIZE as usize).rfind(|one| libc::CPU_ISSET(*one, &set));
                set = std::mem::zeroed();
                libc::CPU_SET(one.expect("a process has a processor"), &mut set);
            }
        }
        let others = self.workers.iter().map(Worker::tid);
        for tid in others.chain([0]) {
            // SAFETY: reads the set.
            let set = unsafe { libc::sched_setaffinity(tid, size_of_val(&set), &set) };
            assert_eq!(set, 0, "a thread can be moved");
        }
    }
}

/// The processors that this thread may run on.
fn processors() -> libc::cpu_set_t {
    // SAFETY: writes the set, which is empty if it is all zeroes.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let got = libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        assert_eq!(got, 0, "a thread knows its processors");
        set
    }
}
