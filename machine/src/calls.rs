//! What simulated code asks of its machine. Outside of a simulation the kernel answers.

use crate::atomic::AtomicU32;
use crate::description::PS;
use crate::disturbance::At;
use crate::futex::{self, Sleep};
use crate::ids::FIRST_ID;
use crate::scheduler;
use crate::statistics::Statistics;
use crate::world::{Op, State, Waits, World, from_ns, spend, to_ns};
use std::time::Duration;

/// Whether the caller runs in a simulation.
pub fn is_simulated() -> bool {
    World::current().is_some()
}

/// The monotonic clock, in nanoseconds. Looking at it costs time.
pub fn now_ns() -> u64 {
    let Some(world) = World::current() else { return real::now_ns() };
    // SAFETY: the world of the running simulation, here and below; no reference to it outlives its
    // expression, and none is held while simulated code runs.
    let cost = unsafe { (*world).costs.clock };
    spend(world, cost, Op::Resumable);
    virtual_ns()
}

/// The same at no cost: for measurements.
pub fn virtual_ns() -> u64 {
    // SAFETY: as above.
    World::current()
        .map_or_else(real::now_ns, |world| unsafe { to_ns((*world).now + (*world).debt) })
}

/// Works for `ns` nanoseconds, longer if the core's other threads are busy.
pub fn work_ns(ns: u64) {
    let Some(world) = World::current() else { return real::work_ns(ns) };
    // SAFETY: as above.
    let time = unsafe {
        let here = &mut *world;
        let mut siblings = here.topology.siblings(here.processor);
        let is_slowed = siblings.any(|at| at != here.processor && !here.idle.contains(at));
        let mut time = from_ns(ns);
        if is_slowed && here.costs.sibling < 1.0 {
            time = (time as f64 / here.costs.sibling.max(0.01)) as u64;
        }
        here.threads[here.running].worked += time;
        here.own_work(time)
    };
    spend(world, time, Op::Resumable);
}

/// The calling thread's last access, as a disturbance names it; that of no thread outside of a
/// simulation. Costs nothing.
pub fn last_access() -> At {
    // SAFETY: as above.
    let of_running = |world: *mut World| unsafe {
        let thread = (*world).running;
        (thread, (&(*world).threads)[thread].statistics.accesses)
    };
    let (thread, access) = World::current().map_or((usize::MAX, 0), of_running);
    At::Thread { thread, access }
}

/// The calling thread's id.
pub fn thread_id() -> u32 {
    // SAFETY: as above.
    World::current()
        .map_or_else(real::thread_id, |world| unsafe { (*world).running as u32 + FIRST_ID })
}

/// Whether there is a thread with that id, which has not ended.
pub fn thread_exists(id: u32) -> bool {
    let Some(world) = World::current() else { return real::thread_exists(id) };
    spend(world, 0, Op::Resumable);
    // SAFETY: as above.
    let here = unsafe { &*world };
    let thread = here.threads.get(id.wrapping_sub(FIRST_ID) as usize);
    thread.is_some_and(|thread| thread.state != State::Ended)
}

/// The processor that the caller runs on.
pub fn current_cpu() -> u32 {
    let Some(world) = World::current() else { return real::current_cpu() };
    // SAFETY: as above.
    unsafe {
        let cost = (*world).costs.processor;
        spend(world, cost, Op::Resumable);
        (*world).processor as u32
    }
}

/// The memory node of that processor.
pub fn current_node() -> u32 {
    let processor = current_cpu() as usize;
    // SAFETY: as above.
    World::current().map_or(0, |world| unsafe { (*world).topology.node_of(processor) as u32 })
}

/// How many memory nodes the machine has.
pub fn nodes() -> usize {
    // SAFETY: as above.
    World::current().map_or(1, |world| unsafe { (*world).topology.nodes() })
}

/// How many processors the program may use.
pub fn processors() -> usize {
    let Some(world) = World::current() else {
        return std::thread::available_parallelism().map_or(1, usize::from);
    };
    // SAFETY: as above.
    unsafe { (*world).allowed.len() }
}

/// Lets the other threads in the processor's queue go first.
pub fn yield_now() {
    let Some(world) = World::current() else { return std::thread::yield_now() };
    // SAFETY: as above.
    let cost = unsafe { (*world).costs.yields };
    spend(world, cost, Op::Resumable);
    scheduler::yield_to_others(world);
}

/// Sleeps for `ns` nanoseconds, and as much longer as the kernel's timers are late. A sleep of 0 ns
/// ends by a timer that is due at once.
pub fn nap_ns(ns: u64) {
    let Some(world) = World::current() else {
        return std::thread::sleep(Duration::from_nanos(ns));
    };
    // SAFETY: as above.
    let (costs, now) = unsafe { ((*world).costs, (*world).now) };
    spend(world, costs.call / 2 + costs.wait, Op::Resumable);
    let slack = if ns == 0 { 0 } else { costs.slack };
    scheduler::sleep(world, Waits::Nothing, Some(now + from_ns(ns) + slack));
    spend(world, costs.call / 2, Op::Resumable);
}

/// Sleeps while `word` holds `expected`, until the clock shows `deadline_ns` at most.
pub fn kernel_wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Sleep {
    match World::current() {
        Some(world) => futex::wait(world, word, expected, deadline_ns),
        None => real::wait(word, expected, deadline_ns),
    }
}

/// Wakes at most `count` threads that sleep on `word`, the first that came first. Returns how many.
pub fn kernel_wake(word: &AtomicU32, count: usize) -> usize {
    match World::current() {
        Some(world) => futex::wake(world, word.as_ptr(), count),
        None => real::wake(word, count),
    }
}

/// Counts of all threads so far, the machine's own load aside.
pub fn statistics() -> Statistics {
    let Some(world) = World::current() else { return Statistics::default() };
    spend(world, 0, Op::Resumable);
    // SAFETY: as above.
    unsafe { (*world).total() }
}

/// How many accesses the host has simulated one by one: those of all threads but the looks that
/// were skipped.
pub fn accesses_made() -> u64 {
    // SAFETY: as above.
    World::current().map_or(0, |world| unsafe { (*world).accesses_made })
}

/// Calls `f` without letting others have the processor meanwhile, as the kernel does in its own
/// locks. `f` must not sleep.
pub fn no_preemption<R>(f: impl FnOnce() -> R) -> R {
    let keep_on = |by: i32| {
        if let Some(world) = World::current() {
            // SAFETY: as above.
            let kept_on = unsafe { &mut (&mut (*world).threads)[(*world).running].kept_on };
            *kept_on = kept_on.wrapping_add_signed(by);
        }
    };
    keep_on(1);
    let result = f();
    keep_on(-1);
    result
}

impl World {
    /// A thread's counts so far.
    pub(crate) fn statistics_of(&self, thread: usize) -> Statistics {
        let state = &self.threads[thread];
        let running = match state.state {
            State::Running(processor) => self.now - self.processors[processor].started,
            _ => 0,
        };
        let mut counted = state.statistics;
        if let State::Running(processor) = state.state {
            counted += self.skipped_on(processor);
        }
        Statistics {
            ran_ns: (state.ran + running) / PS,
            worked_ns: state.worked / PS,
            queued_ns: state.queued / PS,
            ..counted
        }
    }

    pub(crate) fn total(&self) -> Statistics {
        let mut total = Statistics::default();
        for thread in (0..self.threads.len()).filter(|&at| !self.threads[at].is_load) {
            total += self.statistics_of(thread);
        }
        total
    }
}

/// The kernel that the host has.
mod real {
    use super::*;

    pub(super) fn now_ns() -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one timespec.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    pub(super) fn work_ns(ns: u64) {
        let end = now_ns() + ns;
        while now_ns() < end {
            core::hint::spin_loop();
        }
    }

    pub(super) fn thread_id() -> u32 {
        // SAFETY: no arguments.
        unsafe { libc::gettid() as u32 }
    }

    pub(super) fn thread_exists(id: u32) -> bool {
        // SAFETY: signal 0 only asks whether the thread is there.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, 0) == 0 }
    }

    pub(super) fn current_cpu() -> u32 {
        // SAFETY: no arguments.
        unsafe { libc::sched_getcpu() as u32 }
    }

    pub(super) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Sleep {
        let deadline = deadline_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        });
        let deadline = deadline.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
        let (none, any) = (core::ptr::null::<u32>(), libc::FUTEX_BITSET_MATCH_ANY);
        let word = word.as_ptr();
        // SAFETY: the word and the deadline outlive the call, which only reads them.
        let result = unsafe {
            libc::syscall(libc::SYS_futex, word, operation, expected, deadline, none, any)
        };
        let timed_out = || std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
        if result != 0 && timed_out() { Sleep::TimedOut } else { Sleep::Ended }
    }

    pub(super) fn wake(word: &AtomicU32, count: usize) -> usize {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        // SAFETY: the kernel uses the address only to find sleepers.
        let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
        woken.max(0) as usize
    }
}
