//! The kernel's scheduler: which thread runs on which processor.
//!
//! Each processor has a queue. The thread with the least share of the processor goes first, and has
//! it for a slice if others wait. A woken thread goes to its previous processor if that is idle,
//! otherwise to an idle one near it, otherwise into the previous one's queue. A processor that has
//! nothing to do takes a thread from another's queue, the nearest first; from time to time queues
//! are evened out.

use crate::description::Time;
use crate::disturbance::{At, Disturbance};
use crate::events::Timer;
use crate::topology::{Distance, ProcessorSet};
use crate::trace::What;
use crate::world::{Op, State, Waits, World, from_ns, switch};

/// When a thread that is not to be preempted is looked at again.
const KEPT_ON: Time = 1_000_000;

impl World {
    /// Puts `thread` on a free processor, where it begins after `delay`.
    fn start(&mut self, processor: usize, thread: usize, delay: Time) {
        let mut begins = self.now + delay;
        let state = &mut self.threads[thread];
        if state.last_processor != processor {
            state.statistics.migrations += 1;
            state.last_processor = processor;
            begins += self.costs.migration;
        }
        state.state = State::Running(processor);
        let left = std::mem::take(&mut state.left);
        let share = state.share;
        let place = &mut self.processors[processor];
        begins = begins.max(place.stopped_until);
        place.current = Some(thread);
        place.started = self.now;
        place.begins = begins;
        place.slice_ends = begins + self.costs.slice;
        place.slice += 1;
        place.slice_is_timed = false;
        place.least_share = place.least_share.max(share);
        let has_queue = !place.queue.is_empty();
        place.load.changes(self.now, true);
        self.idle.remove(processor);
        self.steps.set(processor, begins + left);
        self.horizon = self.horizon.min(begins + left);
        if has_queue {
            self.time_slice(processor);
        }
        self.trace.record(self.now, processor, thread, What::Starts);
    }

    fn time_slice(&mut self, processor: usize) {
        let place = &mut self.processors[processor];
        if !place.slice_is_timed {
            place.slice_is_timed = true;
            let (time, number) = (place.slice_ends.max(self.now), place.slice);
            self.set_timer(time, Timer::Slice { processor, number });
        }
    }

    /// Takes its thread off a processor, which gets another by `go_on`.
    fn take_off(&mut self, processor: usize) -> usize {
        let place = &mut self.processors[processor];
        let thread = place.current.take().expect("a processor that runs a thread");
        let ran = self.now - place.started;
        let state = &mut self.threads[thread];
        state.ran += ran;
        state.share += ran as i64;
        state.last_ran = self.now;
        self.steps.clear(processor);
        thread
    }

    /// Gives a processor without a thread the next one, or lets it idle.
    fn go_on(&mut self, processor: usize) {
        if let Some(thread) = self.pick(processor) {
            self.start(processor, thread, self.costs.switch);
        } else {
            self.processors[processor].idle_since = self.now;
            self.processors[processor].load.changes(self.now, false);
            self.idle.insert(processor);
        }
    }

    fn pick(&mut self, processor: usize) -> Option<usize> {
        if self.queued == 0 {
            return None;
        }
        let queue = &self.processors[processor].queue;
        let first = (0..queue.len()).min_by_key(|&at| self.threads[queue[at]].share);
        match first {
            Some(at) => Some(self.dequeue(processor, at)),
            None => self.steal(processor, self.costs.hot),
        }
    }

    fn dequeue(&mut self, processor: usize, at: usize) -> usize {
        let queue = &mut self.processors[processor].queue;
        let thread = queue.remove(at);
        if queue.is_empty() {
            self.loaded.remove(processor);
        }
        self.queued -= 1;
        let state = &mut self.threads[thread];
        state.queued += self.now - state.queued_at;
        thread
    }

    fn enqueue(&mut self, processor: usize, thread: usize) {
        let state = &mut self.threads[thread];
        state.state = State::Queued(processor);
        state.queued_at = self.now;
        self.processors[processor].queue.push(thread);
        self.loaded.insert(processor);
        self.queued += 1;
        if self.processors[processor].current.is_some() {
            self.time_slice(processor);
        }
        self.time_balance();
    }

    fn time_balance(&mut self) {
        if !self.balance_is_timed {
            self.balance_is_timed = true;
            self.set_timer(self.now + self.costs.balance, Timer::Balance);
        }
    }

    /// Takes a thread that hasn't run for the time `hot` from the queue of another processor.
    fn steal(&mut self, processor: usize, hot: Time) -> Option<usize> {
        let mut tried = ProcessorSet::EMPTY;
        for distance in [Distance::Core, Distance::Cluster, Distance::Socket, Distance::Remote] {
            let near = self.topology.within(processor, distance);
            for from in self.loaded.and(near).without(&tried).iter() {
                let queue = &self.processors[from].queue;
                let fits = |&at: &usize| {
                    let state = &self.threads[queue[at]];
                    let is_cold = state.last_ran == 0 || self.now - state.last_ran >= hot;
                    is_cold && state.allowed.contains(processor)
                };
                if let Some(at) = (0..queue.len()).find(fits)
                    && self.processors[from].stopped_until <= self.now
                {
                    let thread = self.dequeue(from, at);
                    self.move_share(thread, from, processor);
                    return Some(thread);
                }
            }
            tried = *near;
        }
        None
    }

    /// What a thread has had in one queue counts in another as much as it did there.
    fn move_share(&mut self, thread: usize, from: usize, to: usize) {
        let change = self.processors[to].least_share - self.processors[from].least_share;
        self.threads[thread].share += change;
    }

    /// Evens the queues out.
    fn balance(&mut self) {
        self.balance_is_timed = false;
        for processor in self.idle.iter() {
            if self.queued == 0 {
                return;
            }
            if let Some(thread) = self.steal(processor, 0) {
                self.start(processor, thread, self.costs.switch);
            }
        }
        let load = |place: &crate::world::Processor| {
            place.queue.len() + usize::from(place.current.is_some())
        };
        for _ in 0..self.processors.len() {
            let loads = || self.processors.iter().map(load).enumerate();
            let Some((from, most)) = loads().max_by_key(|&(at, load)| (load, usize::MAX - at))
            else {
                return;
            };
            let queue = &self.processors[from].queue;
            let moved = queue.iter().enumerate().find_map(|(at, &thread)| {
                let allowed = self.threads[thread].allowed;
                let fits = |&(to, load): &(usize, usize)| load + 2 <= most && allowed.contains(to);
                let to = loads().filter(fits).min_by_key(|&(_, load)| load)?;
                Some((at, to.0))
            });
            let Some((at, to)) = moved else { break };
            let thread = self.dequeue(from, at);
            self.move_share(thread, from, to);
            self.enqueue(to, thread);
        }
        if self.queued != 0 {
            self.time_balance();
        }
    }

    /// Where a woken thread goes.
    pub(crate) fn place(&self, thread: usize, waker: usize) -> usize {
        let state = &self.threads[thread];
        let previous = state.last_processor;
        let idle = self.idle.and(&state.allowed);
        if idle.contains(previous) {
            return previous;
        }
        let near = if self.is_too_busy_to_search() { &[][..] } else { &[previous, waker] };
        for &near in near {
            let candidates = idle.and(self.topology.wake_domain(near));
            let is_whole = |&at: &usize| self.topology.siblings(at).all(|at| idle.contains(at));
            let first = candidates.first_from(near);
            if let Some(found) = candidates.iter().find(is_whole).or(first) {
                let nearest = candidates.and(self.topology.within(near, Distance::Cluster));
                let nearest_whole = nearest.iter().find(is_whole);
                return nearest_whole.unwrap_or(found);
            }
        }
        if state.allowed.contains(previous) { previous } else { self.least_loaded(&state.allowed) }
    }

    /// Where a new thread goes: to the emptiest processor, core and node.
    pub(crate) fn least_loaded(&self, allowed: &ProcessorSet) -> usize {
        let load = |at: usize| {
            let place = &self.processors[at];
            place.queue.len() + usize::from(place.current.is_some())
        };
        let mut nodes = vec![0; self.topology.nodes()];
        for at in 0..self.processors.len() {
            nodes[self.topology.node_of(at)] += load(at);
        }
        let candidates = allowed.iter().take_while(|&at| at < self.processors.len());
        let rank = |&at: &usize| {
            let core = self.topology.siblings(at).map(load).sum::<usize>();
            (load(at), core, nodes[self.topology.node_of(at)])
        };
        candidates.min_by_key(rank).expect("a thread that may run on some processor")
    }

    /// Whether `processor` has to be interrupted to run something, and how long it takes to begin.
    fn wakes_up(&self, processor: usize) -> (bool, Time) {
        let idle = self.now - self.processors[processor].idle_since;
        if idle < self.costs.halts_after {
            (false, self.costs.starts_from_poll)
        } else if idle < self.costs.deep_after {
            (true, self.costs.starts_from_halt)
        } else {
            (true, self.costs.starts_from_deep)
        }
    }

    /// What it costs `waker` to make `thread` runnable.
    pub(crate) fn wake_cost(&self, thread: usize, waker: usize) -> Time {
        let target = self.place(thread, waker);
        let cost = self.costs.waker[self.topology.distance(waker, target) as usize];
        let interrupts = self.idle.contains(target) && self.wakes_up(target).0;
        cost + if interrupts { self.costs.interrupt } else { 0 }
    }

    /// A thread that slept, or was away, gets a processor or a place in a queue.
    pub(crate) fn make_runnable(&mut self, thread: usize, waker: usize) {
        let processor = self.place(thread, waker);
        let previous = self.threads[thread].last_processor;
        self.move_share(thread, previous, processor);
        let least = self.processors[processor].least_share - self.costs.slice as i64;
        let state = &mut self.threads[thread];
        state.share = state.share.max(least);
        self.run_on(processor, thread);
    }

    /// A thread becomes runnable on `processor`.
    pub(crate) fn run_on(&mut self, processor: usize, thread: usize) {
        if self.idle.contains(processor) {
            let (_, latency) = self.wakes_up(processor);
            let latency = self.random.about(latency, self.costs.wake_jitter);
            return self.start(processor, thread, latency);
        }
        let share = self.threads[thread].share;
        self.enqueue(processor, thread);
        let place = &self.processors[processor];
        let Some(current) = place.current else { return };
        let ran = self.now.saturating_sub(place.begins);
        let lead = self.threads[current].share + ran as i64 - share;
        if ran >= self.costs.granularity && lead > self.costs.granularity as i64 {
            let number = place.slice;
            self.set_timer(self.now, Timer::Slice { processor, number });
        }
    }

    /// Takes the thread off `processor` in the middle of what it does.
    fn cut(&mut self, processor: usize) -> usize {
        self.resume_on(processor);
        let begins = self.processors[processor].begins;
        let ends = self.steps.of(processor).unwrap_or(self.now);
        let thread = self.take_off(processor);
        let left = ends.saturating_sub(begins.max(self.now));
        let state = &mut self.threads[thread];
        match state.op {
            Op::Resumable => state.left = left,
            Op::Repeated => state.was_cut = true,
            Op::None => {}
        }
        state.statistics.preemptions += 1;
        self.trace.record(self.now, processor, thread, What::Preempted);
        thread
    }

    /// A timer is due.
    pub(crate) fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Deadline { thread, sleep } => {
                if self.threads[thread].sleep == sleep {
                    if let Waits::Word { address, .. } = self.threads[thread].waits {
                        self.words.leave(thread, address);
                    }
                    let waker = self.threads[thread].last_processor;
                    self.wake_up(thread, waker, true);
                }
            }
            Timer::Slice { processor, number } => self.slice_ended(processor, number),
            Timer::Balance => self.balance(),
            Timer::Suspend { processor, for_time } => {
                if self.processors[processor].current.is_some() {
                    let thread = self.cut(processor);
                    self.threads[thread].state = State::Away;
                    let timer = Timer::Runnable { thread, waker: processor };
                    self.set_timer(self.now + for_time, timer);
                    self.go_on(processor);
                }
            }
            Timer::Stop { processor, for_time } => {
                let until = self.now + for_time;
                self.resume_on(processor);
                self.processors[processor].stopped_until = until;
                if let Some(step) = self.steps.of(processor) {
                    self.steps.set(processor, step + for_time);
                }
            }
            Timer::Interruption { processor, which } => self.interrupt(processor, which),
            Timer::Runnable { thread, waker } => self.make_runnable(thread, waker),
            Timer::End => {}
        }
    }

    fn slice_ended(&mut self, processor: usize, number: u64) {
        let place = &mut self.processors[processor];
        if place.slice != number || place.current.is_none() {
            return;
        }
        place.slice_is_timed = false;
        let is_kept_on = place.current.is_some_and(|thread| self.threads[thread].kept_on != 0);
        if place.stopped_until > self.now || is_kept_on {
            place.slice_ends = place.stopped_until.max(self.now + KEPT_ON);
            return self.time_slice(processor);
        }
        let Some(current) = place.current.filter(|_| !place.queue.is_empty()) else { return };
        let share = self.threads[current].share + (self.now - place.started) as i64;
        if place.queue.iter().all(|&thread| self.threads[thread].share >= share) {
            place.slice_ends = self.now + self.costs.slice;
            return self.time_slice(processor);
        }
        let thread = self.cut(processor);
        self.enqueue(processor, thread);
        self.go_on(processor);
    }

    /// A sleep is over: the thread will be runnable, late if a disturbance says so.
    pub(crate) fn wake_up(&mut self, thread: usize, waker: usize, timed_out: bool) {
        let state = &mut self.threads[thread];
        state.sleep += 1;
        state.timed_out = timed_out;
        state.state = State::Away;
        if state.deadline.take().is_none() && !state.is_load {
            self.stuck -= 1;
        }
        self.trace.record(self.now, waker, thread, What::Woken { timed_out });
        self.wakes += 1;
        let is_late = |disturbance: &Disturbance| match *disturbance {
            Disturbance::WakeLate { nth, by_ns } if nth == self.wakes => Some(by_ns),
            _ => None,
        };
        if let Some(by_ns) = self.disturbances.iter().find_map(is_late) {
            let time = self.now + from_ns(by_ns);
            return self.set_timer(time, Timer::Runnable { thread, waker });
        }
        self.make_runnable(thread, waker);
    }

    /// The running thread's or processor's access is one at which something was to happen.
    #[cold]
    pub(crate) fn disturb(&mut self) {
        let processor = self.processor;
        let (by_processor, by_thread) =
            (self.processors[processor].accesses, self.threads[self.running].statistics.accesses);
        let is_now = |at: At| match at {
            At::Processor { processor: on, access } => on == processor && access == by_processor,
            At::Thread { thread, access } => thread == self.running && access == by_thread,
        };
        let due: Vec<_> = self
            .disturbances
            .iter()
            .filter_map(|disturbance| match *disturbance {
                Disturbance::Preempt { at, for_ns } if is_now(at) => {
                    Some(Timer::Suspend { processor, for_time: from_ns(for_ns) })
                }
                Disturbance::Stop { at, for_ns } if is_now(at) => {
                    Some(Timer::Stop { processor, for_time: from_ns(for_ns) })
                }
                _ => None,
            })
            .collect();
        due.into_iter().for_each(|timer| self.set_timer(self.now, timer));
        self.set_triggers();
    }

    /// Finds the accesses at which something happens next.
    pub(crate) fn set_triggers(&mut self) {
        let all: Vec<At> = self.disturbances.iter().filter_map(Disturbance::at).collect();
        for (index, place) in self.processors.iter_mut().enumerate() {
            let accesses = all.iter().filter_map(|at| match *at {
                At::Processor { processor, access } => (processor == index).then_some(access),
                At::Thread { .. } => None,
            });
            let next = accesses.filter(|&access| access > place.accesses).min();
            place.trigger = next.unwrap_or(u64::MAX);
        }
        for index in 0..self.threads.len() {
            self.set_trigger(index);
        }
    }

    /// The same for one thread.
    pub(crate) fn set_trigger(&mut self, index: usize) {
        let state = &mut self.threads[index];
        let accesses = self.disturbances.iter().filter_map(|disturbance| match disturbance.at() {
            Some(At::Thread { thread, access }) => (thread == index).then_some(access),
            _ => None,
        });
        let next = accesses.filter(|&access| access > state.statistics.accesses).min();
        state.trigger = next.unwrap_or(u64::MAX);
    }

    /// The running thread ended.
    pub(crate) fn end_thread(&mut self, thread: usize) {
        let processor = self.processor;
        self.take_off(processor);
        let state = &mut self.threads[thread];
        state.state = State::Ended;
        if !state.is_load {
            self.alive -= 1;
        }
        self.trace.record(self.now, processor, thread, What::Ended);
        for joiner in std::mem::take(&mut self.threads[thread].joiners) {
            self.wake_up(joiner, processor, false);
        }
        self.go_on(processor);
    }
}

/// The running thread sleeps until it is woken, or until `deadline`. Returns whether that passed.
pub(crate) fn sleep(world: *mut World, waits: Waits, deadline: Option<Time>) -> bool {
    // SAFETY: the world of the running simulation; the reference ends before the switch.
    unsafe {
        let here = &mut *world;
        let (thread, processor) = (here.running, here.processor);
        here.record(What::Sleeps);
        here.take_off(processor);
        let state = &mut here.threads[thread];
        state.state = State::Asleep;
        state.waits = waits;
        state.deadline = deadline;
        state.statistics.sleeps += 1;
        state.statistics.voluntary_switches += 1;
        let (sleep, is_load) = (state.sleep, state.is_load);
        match deadline {
            Some(deadline) => {
                let time = deadline.max(here.now);
                here.set_timer(time, Timer::Deadline { thread, sleep });
            }
            None if !is_load => here.stuck += 1,
            None => {}
        }
        here.go_on(processor);
        switch(world);
        (&(*world).threads)[thread].timed_out
    }
}

/// The running thread goes to the end of its processor's queue, if others are in it.
pub(crate) fn yield_to_others(world: *mut World) {
    // SAFETY: as in `sleep`.
    unsafe {
        let here = &mut *world;
        let (thread, processor) = (here.running, here.processor);
        if here.processors[processor].queue.is_empty() {
            return;
        }
        here.take_off(processor);
        let last = here.processors[processor].queue.iter();
        let last = last.map(|&other| here.threads[other].share).max();
        let state = &mut here.threads[thread];
        state.share = state.share.max(last.map_or(0, |share| share + 1));
        state.statistics.voluntary_switches += 1;
        here.enqueue(processor, thread);
        here.go_on(processor);
        switch(world);
    }
}
