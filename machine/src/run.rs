//! Running a simulation: its threads, its end, and what disturbs it.

use crate::description::{Load, Machine};
use crate::disturbance::Disturbance;
use crate::events::Timer;
use crate::failure::Failure;
use crate::ids::FIRST_ID;
use crate::memory::ThreadStack;
use crate::scheduler;
use crate::statistics::{Statistics, ThreadStatistics};
use crate::topology::ProcessorSet;
use crate::world::{Op, State, ThreadState, Waits, World, from_ns, spend, switch, to_ns};
use crate::{local, nap_ns, work_ns};
use corosensei::Coroutine;
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Simulation {
    machine: Machine,
    seed: u64,
    limit_ns: u64,
    ends_at_ns: u64,
    allowed: ProcessorSet,
    disturbances: Vec<Disturbance>,
    trace: usize,
    stack_bytes: usize,
    ends_with_main: bool,
}

/// A simulation whose threads have all ended, or that was ended.
#[derive(Clone, Debug)]
pub struct Finished<R> {
    /// What the main thread returned.
    pub value: R,
    /// The virtual time.
    pub now_ns: u64,
    /// Counts of all threads, without the machine's own load.
    pub total: Statistics,
    /// Counts of each, in the order in which they were spawned.
    pub threads: Vec<ThreadStatistics>,
    /// A hash of everything that happened.
    pub trace_hash: u64,
    /// The last lines of the trace, if it was asked for.
    pub trace: Vec<String>,
}

impl Simulation {
    /// A simulation on `machine`. The seed decides everything that isn't decided by costs.
    pub fn new(machine: &Machine, seed: u64) -> Self {
        Self {
            machine: machine.clone(),
            seed,
            limit_ns: 100_000_000_000,
            ends_at_ns: u64::MAX,
            allowed: (0..machine.processors()).collect(),
            disturbances: Vec::new(),
            trace: 0,
            stack_bytes: 256 << 10,
            ends_with_main: false,
        }
    }

    /// The virtual time after which threads that still run count as a livelock; 100 s by default.
    #[must_use]
    pub fn limit_ns(mut self, limit_ns: u64) -> Self {
        self.limit_ns = limit_ns;
        self
    }

    /// The simulation ends at that virtual time, if it hasn't before: its threads stop where they
    /// are, and nothing of theirs is dropped. That is no failure.
    #[must_use]
    pub fn ends_at_ns(mut self, ends_at_ns: u64) -> Self {
        self.ends_at_ns = ends_at_ns;
        self
    }

    /// The program may use only these processors.
    ///
    /// # Panics
    /// If the machine has none of them.
    #[must_use]
    pub fn on(mut self, processors: ProcessorSet) -> Self {
        self.allowed = processors.and(&(0..self.machine.processors()).collect());
        assert!(!self.allowed.is_empty(), "a program needs a processor of its machine");
        self
    }

    /// Adds a disturbance.
    #[must_use]
    pub fn disturb(mut self, disturbance: Disturbance) -> Self {
        self.disturbances.push(disturbance);
        self
    }

    /// Keeps the last `lines` of the trace.
    #[must_use]
    pub fn trace(mut self, lines: usize) -> Self {
        self.trace = lines;
        self
    }

    /// The size of each thread's stack; 256 KiB by default.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// The simulation ends when the main thread does: the others stop where they are, and nothing
    /// of theirs is dropped.
    #[must_use]
    pub fn ends_with_main(mut self) -> Self {
        self.ends_with_main = true;
        self
    }

    /// Runs `main` as the first thread, until it and all threads that it spawned have ended, or one
    /// of them calls [`stop`](crate::stop).
    ///
    /// If the simulation fails, its threads stop where they are: nothing of theirs is dropped.
    ///
    /// # Panics
    /// In a simulation: they don't nest. If the run is ended before `main` has returned: see
    /// [`run_until_ended`](Self::run_until_ended).
    pub fn run<'env, R: 'env>(
        self,
        main: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> Result<Finished<R>, Failure> {
        let finished = self.run_until_ended(main)?;
        let Finished { value, now_ns, total, threads, trace_hash, trace } = finished;
        let value = value.expect("the main thread has returned before the end");
        Ok(Finished { value, now_ns, total, threads, trace_hash, trace })
    }

    /// The same for runs that may be ended while `main` runs: then it has no value.
    ///
    /// # Panics
    /// In a simulation.
    pub fn run_until_ended<'env, R: 'env>(
        self,
        main: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> Result<Finished<Option<R>>, Failure> {
        assert!(World::current().is_none(), "a simulation within a simulation");
        let mut world = World::new(&self.machine, self.seed, self.allowed);
        world.disturbances = self.disturbances;
        world.trace.keep_last(self.trace);
        world.stack_bytes = self.stack_bytes;
        world.set_triggers();
        world.ends_well = self.ends_at_ns <= self.limit_ns;
        world.timers.set(from_ns(self.limit_ns.min(self.ends_at_ns)), Timer::End);
        let world: *mut World = &mut world;
        let entered = Entered::new(world);
        let scope = Scope { world, threads: PhantomData, borrows: PhantomData };
        let value = Rc::new(RefCell::new(None));
        let to = Rc::clone(&value);
        // SAFETY: the world lives until this function's end, and the closure, the scope and all
        // that threads borrow longer than the threads, which end before, or never run again.
        let result = unsafe {
            let here = &mut *world;
            spawn_load(here, self.machine.load);
            here.begin_interruptions();
            let scope = &*std::ptr::from_ref(&scope);
            let body = || *to.borrow_mut() = Some(main(scope));
            let first = here.least_loaded(&self.allowed);
            let main = spawn(here, "main".to_owned(), self.allowed, false, Box::new(body));
            here.run_on(first, main);
            run_to_the_end(world, self.ends_with_main.then_some(main))
        };
        drop(entered);
        result?;
        // SAFETY: no thread runs any more.
        let here = unsafe { &*world };
        let threads = (0..here.threads.len()).filter(|&at| !here.threads[at].is_load);
        let threads = threads.map(|at| ThreadStatistics {
            thread: at as u32 + FIRST_ID,
            name: here.threads[at].name.clone(),
            statistics: here.statistics_of(at),
        });
        Ok(Finished {
            value: value.take(),
            now_ns: to_ns(here.now),
            total: here.total(),
            threads: threads.collect(),
            trace_hash: here.trace.hash,
            trace: here.trace.lines(),
        })
    }
}

/// The current world, until this is dropped. Then its threads' stacks are free for others.
struct Entered(*mut World);

impl Entered {
    fn new(world: *mut World) -> Self {
        World::enter(world);
        Self(world)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        World::enter(std::ptr::null_mut());
        // SAFETY: the world outlives this, and no thread of it runs any more.
        unsafe {
            for thread in &mut (*self.0).threads {
                std::mem::forget(std::mem::take(&mut thread.locals));
                if let Some(mut coroutine) = thread.coroutine.take() {
                    coroutine.force_reset();
                    keep_stack(coroutine.into_stack());
                }
            }
        }
    }
}

std::thread_local! {
    /// Stacks for other threads, and their size.
    static STACKS: RefCell<(usize, Vec<ThreadStack>)> = RefCell::default();
}

fn stack(bytes: usize) -> ThreadStack {
    let kept = STACKS.with_borrow_mut(|(size, stacks)| {
        if *size != bytes {
            *size = bytes;
            stacks.clear();
        }
        stacks.pop()
    });
    kept.unwrap_or_else(|| ThreadStack::new(bytes).expect("memory for a stack"))
}

fn keep_stack(stack: ThreadStack) {
    STACKS.with_borrow_mut(|(_, stacks)| stacks.push(stack));
}

/// Adds a thread, which doesn't run yet.
///
/// # Safety
/// What `body` borrows outlives the simulation.
unsafe fn spawn<'b>(
    world: &mut World,
    name: String,
    allowed: ProcessorSet,
    is_load: bool,
    body: Box<dyn FnOnce() + 'b>,
) -> usize {
    // SAFETY: by this function's contract: the box is consumed while the simulation runs, or
    // never.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'b>, Box<dyn FnOnce()>>(body) };
    let thread = world.threads.len();
    let place: *mut World = world;
    let coroutine = Coroutine::with_stack(stack(world.stack_bytes), move |yielder, ()| {
        // SAFETY: the world that runs this; the reference ends with the statement.
        unsafe { (&mut (*place).threads)[thread].yielder = yielder };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            body();
            local::drop_own();
            spend(place, 0, Op::Resumable);
        }));
        if let Err(payload) = ended {
            // SAFETY: as above.
            let state = unsafe { &mut (&mut (*place).threads)[thread] };
            state.panicked = Some(message(&*payload));
        }
    });
    world.threads.push(Box::new(ThreadState {
        name,
        is_load,
        coroutine: Some(coroutine),
        yielder: std::ptr::null(),
        state: State::Away,
        op: Op::None,
        left: 0,
        was_cut: false,
        allowed,
        last_processor: 0,
        last_ran: 0,
        queued_at: 0,
        share: 0,
        sleep: 0,
        waits: Waits::Nothing,
        deadline: None,
        timed_out: false,
        kept_on: 0,
        joiners: Vec::new(),
        locals: crate::locals::Locals::default(),
        statistics: Statistics::default(),
        ran: 0,
        worked: 0,
        queued: 0,
        credit: 0,
        trigger: u64::MAX,
        saw: None,
        panicked: None,
    }));
    world.alive += usize::from(!is_load);
    world.set_trigger(thread);
    thread
}

impl World {
    /// A thread that was just spawned becomes runnable.
    fn begin(&mut self, thread: usize) {
        let processor = self.least_loaded(&self.threads[thread].allowed);
        let state = &mut self.threads[thread];
        state.last_processor = processor;
        state.share = self.processors[processor].least_share;
        self.run_on(processor, thread);
    }
}

fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// The threads of other programs, on all processors of the machine.
fn spawn_load(world: &mut World, load: Load) {
    let everywhere: ProcessorSet = (0..world.processors.len()).collect();
    for _ in 0..load.threads {
        // Not all in step.
        let offset = to_ns(world.random.next() % (load.runs.0 + load.sleeps.0));
        let body = move || {
            nap_ns(offset);
            loop {
                work_ns(to_ns(load.runs.0));
                nap_ns(to_ns(load.sleeps.0));
            }
        };
        // SAFETY: it borrows nothing.
        let thread = unsafe { spawn(world, "load".to_owned(), everywhere, true, Box::new(body)) };
        world.begin(thread);
    }
}

/// # Safety
/// `world` is the current one, and what its threads borrow is alive.
unsafe fn run_to_the_end(world: *mut World, last: Option<usize>) -> Result<(), Failure> {
    loop {
        // SAFETY: by this function's contract. The reference isn't used again after the switch.
        let here = unsafe { &mut *world };
        if here.alive == 0 {
            return Ok(());
        }
        if here.stuck == here.alive {
            return Err(Failure::Deadlock(here.report()));
        }
        if here.timers.next_time() <= here.steps.next_time() {
            let Some((time, timer)) = here.timers.take() else { continue };
            here.now = here.now.max(time);
            if timer == Timer::End && here.ends_well {
                return Ok(());
            }
            if timer == Timer::End {
                return Err(Failure::Livelock(here.report()));
            }
            here.fire(timer);
            continue;
        }
        let Some((time, processor)) = here.steps.next() else {
            return Err(Failure::Deadlock(here.report()));
        };
        here.now = here.now.max(time);
        here.processor = processor;
        let thread = here.processors[processor].current.expect("a step is a thread's");
        here.running = thread;
        // Its own step stays in the tree until it sets the next, or leaves the processor.
        here.horizon = here.steps.next_time_but(processor).min(here.timers.next_time());
        let state: *mut ThreadState = &mut *here.threads[thread];
        // SAFETY: the state is boxed and stays where it is; its coroutine is there until it has
        // returned, and used here only.
        let ended = unsafe {
            let coroutine = (*state).coroutine.as_mut().expect("a thread that has not ended");
            coroutine.resume(()).as_return().is_some()
        };
        // SAFETY: by this function's contract.
        if unsafe { (*world).is_stopped } {
            return Ok(());
        }
        if ended {
            // SAFETY: as above.
            unsafe { ended_thread(&mut *world, thread) }?;
            if last == Some(thread) {
                return Ok(());
            }
        }
    }
}

fn ended_thread(world: &mut World, thread: usize) -> Result<(), Failure> {
    if let Some(coroutine) = world.threads[thread].coroutine.take() {
        keep_stack(coroutine.into_stack());
    }
    if let Some(message) = world.threads[thread].panicked.take() {
        let report = world.report();
        return Err(Failure::Panicked { thread: thread as u32 + FIRST_ID, message, report });
    }
    world.end_thread(thread);
    Ok(())
}

/// Ends the simulation: its threads stop where they are, and nothing of theirs is dropped. The run
/// returns what it has counted so far.
///
/// # Panics
/// Outside of a simulation.
pub fn stop() -> ! {
    let world = World::current().expect("a simulation to stop");
    loop {
        // SAFETY: the world of the running simulation; the reference ends before the switch, from
        // which no thread comes back.
        unsafe {
            let here = &mut *world;
            here.now += std::mem::take(&mut here.debt);
            here.is_stopped = true;
            switch(world);
        }
    }
}

/// Where simulated threads are spawned, which may borrow what outlives the simulation.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    world: *mut World,
    threads: PhantomData<&'scope mut &'scope ()>,
    borrows: PhantomData<&'env mut &'env ()>,
}

/// How to spawn a thread.
#[derive(Clone, Debug)]
pub struct Thread<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    name: String,
    allowed: Option<ProcessorSet>,
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a thread, which begins on the emptiest processor that the program may use.
    pub fn spawn<T: 'scope>(&'scope self, f: impl FnOnce() -> T + 'scope) -> JoinHandle<'scope, T> {
        self.thread().spawn(f)
    }

    /// A thread with a name or processors of its own.
    pub fn thread(&'scope self) -> Thread<'scope, 'env> {
        Thread { scope: self, name: String::new(), allowed: None }
    }
}

impl<'scope, 'env> Thread<'scope, 'env> {
    /// Gives it a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// It runs on these processors only, of those that the program may use.
    #[must_use]
    pub fn on(mut self, processors: ProcessorSet) -> Self {
        self.allowed = Some(processors);
        self
    }

    /// Spawns it.
    ///
    /// # Panics
    /// If it may run on no processor.
    pub fn spawn<T: 'scope>(self, f: impl FnOnce() -> T + 'scope) -> JoinHandle<'scope, T> {
        let world = self.scope.world;
        let value = Rc::new(RefCell::new(None));
        let to = Rc::clone(&value);
        let body = move || {
            let value = f();
            *to.borrow_mut() = Some(value);
        };
        // SAFETY: a scope is used by its simulation's threads only, while that runs; the references
        // end with their statements. What the thread borrows outlives the simulation (`'scope`).
        unsafe {
            let cost = (*world).costs.spawn;
            spend(world, cost, Op::Resumable);
            let here = &mut *world;
            let allowed = self.allowed.unwrap_or(ProcessorSet::ALL).and(&here.allowed);
            assert!(!allowed.is_empty(), "a thread needs a processor");
            let thread = spawn(here, self.name, allowed, false, Box::new(body));
            here.begin(thread);
            JoinHandle { world, thread, value, scope: PhantomData }
        }
    }
}

/// A spawned thread.
#[derive(Debug)]
pub struct JoinHandle<'scope, T> {
    world: *mut World,
    thread: usize,
    value: Rc<RefCell<Option<T>>>,
    scope: PhantomData<&'scope ()>,
}

impl<T> JoinHandle<'_, T> {
    /// The thread's id.
    pub fn thread_id(&self) -> u32 {
        self.thread as u32 + FIRST_ID
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        if World::current() == Some(self.world) {
            spend(self.world, 0, Op::Resumable);
        }
        // SAFETY: a handle is used by its simulation's threads only.
        unsafe { (&(*self.world).threads)[self.thread].state == State::Ended }
    }

    /// Waits for its end, and returns what it returned.
    pub fn join(self) -> T {
        let (world, thread) = (self.world, self.thread);
        if !self.is_finished() {
            // SAFETY: as above.
            unsafe {
                let here = &mut *world;
                let caller = here.running;
                here.threads[thread].joiners.push(caller);
            }
            scheduler::sleep(world, Waits::End { thread }, None);
        }
        self.value.take().expect("a thread that ended has returned")
    }
}
