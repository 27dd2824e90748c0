//! The kernel's futex: a queue of sleeping threads for each word.

use crate::atomic::{AtomicU32, Ordering};
use crate::description::Time;
use crate::lines::Access;
use crate::scheduler;
use crate::words::Word;
use crate::world::{Op, Waits, World, from_ns, spend, touch_in};

/// How often a call writes to the line of a ticket lock: it draws a ticket, counts itself in and
/// out as a waiter, changes the queue, and serves the next ticket. In Linux 3.14 to 4.1 all of
/// these lie on one line.
const WRITES: Time = 4;

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Woken, or the word no longer held the expected value.
    Ended,
    /// The deadline passed.
    TimedOut,
}

impl World {
    /// How long the running thread takes until it has the kernel's lock of a word and has looked
    /// at the queue. It keeps the lock for `under` longer.
    fn bucket(&mut self, address: usize, under: Time) -> Time {
        let core = self.topology.core_of(self.processor);
        let word = self.words.0.entry(address).or_default();
        while word.releases.front().is_some_and(|&release| release <= self.now) {
            word.releases.pop_front();
        }
        let mut takes = self.costs.bucket;
        // The lock's line comes from the last holder.
        if let Some(last) = word.last.replace(core).filter(|&last| last != core) {
            takes += self.costs.write[self.topology.core_distance(last, core) as usize];
        }
        if self.costs.has_ticket_locks {
            // All that wait look at the line again after each write to it.
            takes += WRITES * self.costs.serve * word.releases.len() as Time;
        }
        let start = word.releases.back().map_or(self.now, |&release| release);
        word.releases.push_back(start + takes + under);
        start + takes - self.now
    }

    /// The same for a thread that means to sleep: it counts as a waiter from now on, until it gives
    /// the lock back.
    fn bucket_to_wait(&mut self, address: usize) -> Time {
        let takes = self.bucket(address, 0);
        let word = self.words.0.entry(address).or_default();
        word.asked_until = self.now + takes;
        takes
    }

    /// Whether a wake has to take the word's lock.
    fn has_waiters(&self, address: usize) -> bool {
        let waited_for = |word: &Word| !word.sleepers.is_empty() || word.asked_until > self.now;
        self.words.0.get(&address).is_some_and(waited_for)
    }

    /// How long a wake of `count` threads keeps the word's lock for them. Kernels since 4.2 first
    /// take the threads off the queue and wake them without it.
    fn wakes_under_lock(&self, address: usize, count: usize) -> Time {
        if !self.costs.has_ticket_locks {
            return 0;
        }
        let sleepers = self.words.0.get(&address).map(|word| &word.sleepers);
        let chosen = sleepers.into_iter().flatten().take(count);
        chosen.map(|&thread| self.wake_cost(thread, self.processor)).sum()
    }
}

pub(crate) fn wait(
    world: *mut World,
    word: &AtomicU32,
    expected: u32,
    deadline_ns: Option<u64>,
) -> Sleep {
    let address = word.as_ptr().addr();
    // SAFETY: the world of the running simulation, no reference to it outlives its
    // expression.
    let costs = unsafe {
        (*world).end_stores();
        (*world).costs
    };
    spend(world, costs.call / 2 + costs.wait, Op::Resumable);
    // SAFETY: as above.
    let bucket = unsafe { (*world).bucket_to_wait(address) };
    spend(world, bucket, Op::Resumable);
    touch_in(world, address, Access::Read);
    // The other half of the call follows when it ends.
    if (**word).load(Ordering::Relaxed) != expected {
        spend(world, costs.call / 2, Op::Resumable);
        return Sleep::Ended;
    }
    // SAFETY: as above.
    unsafe {
        let here = &mut *world;
        here.words.0.entry(address).or_default().sleepers.push_back(here.running);
    }
    let deadline = deadline_ns.map(|deadline| from_ns(deadline) + costs.slack);
    let timed_out = scheduler::sleep(world, Waits::Word { address, expected }, deadline);
    spend(world, costs.call / 2, Op::Resumable);
    if timed_out { Sleep::TimedOut } else { Sleep::Ended }
}

pub(crate) fn wake(world: *mut World, word: *const u32, count: usize) -> usize {
    let address = word.addr();
    // SAFETY: as in `wait`.
    let costs = unsafe {
        (*world).count().wake_calls += 1;
        (*world).end_stores();
        (*world).costs
    };
    spend(world, costs.call + costs.wake, Op::Resumable);
    // SAFETY: as in `wait`.
    let bucket = unsafe {
        let here = &mut *world;
        if !here.has_waiters(address) {
            return 0;
        }
        let under = here.wakes_under_lock(address, count);
        here.bucket(address, under)
    };
    spend(world, bucket, Op::Resumable);
    // All at once: a thread that sleeps again meanwhile isn't meant.
    // SAFETY: as in `wait`.
    let woken = unsafe {
        let here = &mut *world;
        let word = here.words.0.entry(address).or_default();
        let chosen = word.sleepers.drain(..count.min(word.sleepers.len())).collect::<Vec<_>>();
        for &thread in &chosen {
            // From here on its deadline finds it awake.
            here.threads[thread].sleep += 1;
        }
        chosen
    };
    for &thread in &woken {
        // SAFETY: as in `wait`.
        let cost = unsafe { (*world).wake_cost(thread, (*world).processor) };
        spend(world, cost / 2, Op::Resumable);
        // SAFETY: as above.
        unsafe {
            let here = &mut *world;
            here.wake_up(thread, here.processor, false);
            here.count().woken += 1;
        }
        spend(world, cost - cost / 2, Op::Resumable);
    }
    woken.len()
}
