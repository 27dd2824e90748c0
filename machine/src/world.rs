//! The state of the simulation that runs on this host thread, and the two steps of which everything
//! that a simulated thread does is made: to spend time, and to touch a cache line.
//!
//! Simulated code gets at its world through a raw pointer, and makes a reference of it only for as
//! long as it doesn't switch to another thread.

use crate::description::{Costs, Interruption, Machine, PS, Time};
use crate::disturbance::Disturbance;
use crate::events::{Steps, Timer, Timers};
use crate::ids::FIRST_ID;
use crate::lines::{Access, Found, Lines};
use crate::load::Load;
use crate::locals::Locals;
use crate::memory::ThreadStack;
use crate::random::Random;
use crate::skips::Skips;
use crate::statistics::Statistics;
use crate::topology::{ProcessorSet, Topology};
use crate::trace::{Trace, What};
use crate::words::Words;
use corosensei::{Coroutine, Yielder};
use std::cell::Cell;

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(std::ptr::null_mut()) };
}

const ID_MASK: u32 = 0x3f_ffff;
const MOST_THREADS: u32 = 1 << 16;

/// What becomes of a step that a preemption cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// What is left of it follows later.
    Resumable,
    /// It has to be done again.
    Repeated,
    /// There is nothing left of it: the thread slept, or has not begun.
    None,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running(usize),
    Queued(usize),
    Asleep,
    /// It will be runnable at some time.
    Away,
    Ended,
}

/// What a sleeping thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    Word { address: usize, expected: u32 },
    End { thread: usize },
}

pub(crate) struct ThreadState {
    pub(crate) name: String,
    /// The machine's own, for load: the simulation doesn't wait for it.
    pub(crate) is_load: bool,
    pub(crate) coroutine: Option<Coroutine<(), (), (), ThreadStack>>,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) state: State,
    pub(crate) op: Op,
    /// What is left of a resumable step that was cut.
    pub(crate) left: Time,
    pub(crate) was_cut: bool,
    pub(crate) allowed: ProcessorSet,
    pub(crate) last_processor: usize,
    pub(crate) last_ran: Time,
    pub(crate) queued_at: Time,
    /// Its share of its processor so far, against those of others in the queue.
    pub(crate) share: i64,
    /// Counts its sleeps and their ends, so that a deadline knows whether it is still meant.
    pub(crate) sleep: u64,
    pub(crate) waits: Waits,
    pub(crate) deadline: Option<Time>,
    pub(crate) timed_out: bool,
    /// How many times over it is not to be preempted.
    pub(crate) kept_on: u32,
    /// Threads that wait for its end.
    pub(crate) joiners: Vec<usize>,
    pub(crate) locals: Locals,
    pub(crate) statistics: Statistics,
    pub(crate) ran: Time,
    pub(crate) worked: Time,
    pub(crate) queued: Time,
    /// What is left of the time for which a store kept it, though it needn't have waited.
    pub(crate) credit: Time,
    /// The number of the access at which something happens to it.
    pub(crate) trigger: u64,
    /// The last word in which it saw another thread's id, and that thread.
    pub(crate) saw: Option<(usize, usize)>,
    pub(crate) panicked: Option<String>,
}

pub(crate) struct Processor {
    pub(crate) current: Option<usize>,
    pub(crate) queue: Vec<usize>,
    /// When its thread was put on it, and when that begins to run.
    pub(crate) started: Time,
    pub(crate) begins: Time,
    pub(crate) slice_ends: Time,
    /// Counts its threads, so that a slice's timer knows whether it is still meant.
    pub(crate) slice: u64,
    pub(crate) slice_is_timed: bool,
    pub(crate) idle_since: Time,
    /// The share of the time for which it was busy, until it last began or ended to be.
    pub(crate) load: Load,
    pub(crate) stopped_until: Time,
    /// The least share of its threads so far: what a new one begins with.
    pub(crate) least_share: i64,
    pub(crate) accesses: u64,
    pub(crate) trigger: u64,
}

pub(crate) struct World {
    pub(crate) machine: String,
    pub(crate) seed: u64,
    pub(crate) costs: Costs,
    pub(crate) topology: Topology,
    pub(crate) now: Time,
    /// The next thing that isn't the running thread's.
    pub(crate) horizon: Time,
    pub(crate) running: usize,
    pub(crate) processor: usize,
    /// Time that the running thread has still to spend for what it has done: steps that nothing can
    /// come between are spent together, with the next.
    pub(crate) debt: Time,
    pub(crate) steps: Steps,
    pub(crate) timers: Timers,
    pub(crate) processors: Vec<Processor>,
    // Boxed so that they stay where they are while their coroutines spawn others.
    #[allow(clippy::vec_box)]
    pub(crate) threads: Vec<Box<ThreadState>>,
    pub(crate) lines: Lines,
    pub(crate) words: Words,
    pub(crate) skips: Skips,
    /// Accesses but those that were skipped.
    pub(crate) accesses_made: u64,
    pub(crate) random: Random,
    /// Processors that the program may use.
    pub(crate) allowed: ProcessorSet,
    pub(crate) idle: ProcessorSet,
    /// Processors with threads in their queues, and how many threads that are.
    pub(crate) loaded: ProcessorSet,
    pub(crate) queued: usize,
    pub(crate) balance_is_timed: bool,
    /// Threads that have not ended, and of these, those that sleep without a deadline.
    pub(crate) alive: usize,
    pub(crate) stuck: usize,
    /// A thread has ended the simulation.
    pub(crate) is_stopped: bool,
    /// The limit of time is a deadline, and no sign of a livelock.
    pub(crate) ends_well: bool,
    pub(crate) wakes: u64,
    pub(crate) interruptions: Vec<Interruption>,
    pub(crate) disturbances: Vec<Disturbance>,
    pub(crate) trace: Trace,
    pub(crate) stack_bytes: usize,
}

impl World {
    pub(crate) fn new(machine: &Machine, seed: u64, allowed: ProcessorSet) -> Self {
        let mut random = Random::new(seed);
        let count = machine.processors();
        let processor = || Processor {
            current: None,
            queue: Vec::new(),
            started: 0,
            begins: 0,
            slice_ends: 0,
            slice: 0,
            slice_is_timed: false,
            idle_since: 0,
            load: Load::default(),
            stopped_until: 0,
            least_share: 0,
            accesses: 0,
            trigger: u64::MAX,
        };
        Self {
            machine: machine.name.clone(),
            seed,
            costs: machine.costs,
            topology: machine.topology.clone(),
            now: 0,
            horizon: 0,
            running: 0,
            processor: 0,
            debt: 0,
            steps: Steps::new(count, &mut random),
            timers: Timers::default(),
            processors: (0..count).map(|_| processor()).collect(),
            threads: Vec::new(),
            lines: Lines::new(),
            words: Words::default(),
            skips: Skips::default(),
            accesses_made: 0,
            random,
            allowed,
            idle: (0..count).collect(),
            loaded: ProcessorSet::EMPTY,
            queued: 0,
            balance_is_timed: false,
            alive: 0,
            stuck: 0,
            is_stopped: false,
            ends_well: false,
            wakes: 0,
            interruptions: machine.interruptions.clone(),
            disturbances: Vec::new(),
            trace: Trace::default(),
            stack_bytes: 0,
        }
    }

    /// The world whose code is running on this host thread.
    #[inline]
    pub(crate) fn current() -> Option<*mut Self> {
        let world = WORLD.get();
        (!world.is_null()).then_some(world)
    }

    /// From here on, `world` is the current one, or none if null.
    pub(crate) fn enter(world: *mut Self) {
        WORLD.set(world);
    }

    #[inline]
    pub(crate) fn count(&mut self) -> &mut Statistics {
        &mut self.threads[self.running].statistics
    }

    /// Something happens at `time` that isn't the running thread's.
    pub(crate) fn set_timer(&mut self, time: Time, timer: Timer) {
        self.timers.set(time, timer);
        self.horizon = self.horizon.min(time);
    }

    /// Accounts for an access of the running thread. Returns how long it takes, and whether the
    /// line is here, so that nothing comes between its request and its effect.
    #[inline]
    fn access(&mut self, address: usize, access: Access) -> (Time, bool) {
        let number = self.lines.number(address);
        self.wrote_to(number, access);
        let processor = &mut self.processors[self.processor];
        let thread = &mut self.threads[self.running];
        processor.accesses += 1;
        self.accesses_made += 1;
        thread.statistics.accesses += 1;
        let is_disturbed =
            processor.accesses == processor.trigger || thread.statistics.accesses == thread.trigger;
        let core = self.topology.core_of(self.processor);
        let machine = (&self.costs, &self.topology, &mut self.random);
        let (end, found) = self.lines.access(number, core, access, self.now, machine);
        let statistics = &mut thread.statistics;
        match found {
            Found::Here => {}
            Found::In(distance) => statistics.transfers_from[distance as usize] += 1,
            Found::Shared(_) => statistics.upgrades += 1,
            Found::Memory => statistics.from_memory += 1,
        }
        let took = end - self.now;
        let waited = match (access, found) {
            // A store waits in the store buffer, not its thread: what comes next began earlier.
            (Access::Store, _) => {
                thread.credit = (end - self.now).saturating_sub(self.costs.store);
                took
            }
            (Access::Read, Found::Here) => take_credit(&mut thread.credit, took),
            _ => {
                thread.credit = 0;
                took
            }
        };
        let offset = address as u8 & 63;
        self.record(What::Access { access, line: number, offset, found, took });
        if is_disturbed {
            self.disturb();
        }
        (waited, found == Found::Here && !is_disturbed)
    }

    /// The running thread waits for its stores.
    pub(crate) fn end_stores(&mut self) {
        self.threads[self.running].credit = 0;
    }

    /// How long the running thread's own work of `time` takes.
    pub(crate) fn own_work(&mut self, time: Time) -> Time {
        take_credit(&mut self.threads[self.running].credit, time)
    }

    /// Notes what happens to the running thread.
    #[inline]
    pub(crate) fn record(&mut self, what: What) {
        self.trace.record(self.now, self.processor, self.running, what);
    }

    /// The running thread saw `word` at `address`, which may name another thread.
    #[inline]
    pub(crate) fn saw(address: usize, word: u32) {
        let thread = (word & ID_MASK).wrapping_sub(FIRST_ID);
        if thread < MOST_THREADS
            && let Some(world) = Self::current()
        {
            // SAFETY: the world of the running simulation.
            let world = unsafe { &mut *world };
            if (thread as usize) < world.threads.len() && thread as usize != world.running {
                world.threads[world.running].saw = Some((address, thread as usize));
            }
        }
    }

    /// The thread that `word` names.
    pub(crate) fn named_by(&self, word: u32) -> Option<usize> {
        let thread = (word & ID_MASK).wrapping_sub(FIRST_ID) as usize;
        (thread < self.threads.len()).then_some(thread)
    }
}

#[inline]
fn take_credit(credit: &mut Time, time: Time) -> Time {
    let taken = time.min(*credit);
    *credit -= taken;
    time - taken
}

/// The running thread spends `cost`. Returns whether that was cut, and has to be repeated.
#[inline]
pub(crate) fn spend(world: *mut World, cost: Time, op: Op) -> bool {
    // SAFETY: the world of the running simulation, and no other reference to it.
    let until = unsafe {
        let world = &mut *world;
        let until = world.now + cost + std::mem::take(&mut world.debt);
        if until < world.horizon {
            world.now = until;
            return false;
        }
        until
    };
    // SAFETY: as above.
    unsafe { go_on_at(world, until, op) }
}

/// The running thread goes on at `until`, others before it. Returns whether that was cut.
///
/// # Safety
/// `world` is the current one, the caller a simulated thread, and holds no reference to it.
unsafe fn go_on_at(world: *mut World, until: Time, op: Op) -> bool {
    // SAFETY: by this function's contract; the reference ends before the switch.
    unsafe {
        let here = &mut *world;
        if std::thread::panicking() {
            // A thread that unwinds can't be switched from: its panic is the host thread's, too.
            here.now = until;
            return false;
        }
        here.steps.set(here.processor, until);
        let thread = &mut here.threads[here.running];
        thread.op = op;
        thread.was_cut = false;
        let yielder = thread.yielder;
        (*yielder).suspend(());
        let here = &*world;
        here.threads[here.running].was_cut
    }
}

/// Switches from the running thread, which the caller has taken off its processor.
///
/// # Safety
/// As for `go_on_at`.
pub(crate) unsafe fn switch(world: *mut World) {
    // SAFETY: by this function's contract.
    unsafe {
        let here = &mut *world;
        assert!(!std::thread::panicking(), "a thread that unwinds can't sleep");
        here.debt = 0;
        let thread = &mut here.threads[here.running];
        thread.op = Op::None;
        let yielder = thread.yielder;
        (*yielder).suspend(());
    }
}

/// The running thread accesses the word at `address`: on return, the access takes place.
#[inline]
pub(crate) fn touch(address: usize, access: Access) {
    if let Some(world) = World::current() {
        touch_in(world, address, access);
    }
}

pub(crate) fn touch_in(world: *mut World, address: usize, access: Access) {
    loop {
        spend(world, 0, Op::Resumable);
        // SAFETY: the world of the running simulation, and no other reference to it.
        unsafe {
            let here = &mut *world;
            let (took, is_here) = here.access(address, access);
            if is_here {
                here.debt = took;
                return;
            }
            if !spend(world, took, Op::Repeated) {
                // Threads may have come to spin on the line since it was asked for.
                let here = &mut *world;
                if access != Access::Read && !here.skips.is_empty() {
                    let number = here.lines.number(address);
                    here.wrote_to(number, access);
                }
                return;
            }
        }
    }
}

pub(crate) fn to_ns(time: Time) -> u64 {
    time / PS
}

pub(crate) fn from_ns(ns: u64) -> Time {
    ns.saturating_mul(PS).min(1 << 54)
}
