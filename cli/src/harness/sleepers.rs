//! Threads that sleep in one queue, round after round, to be woken.

use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::parameters::{Failed, Parameters};
use super::report::figures;
use super::threads::{Thread, join_all, spawn_all};
use super::watchdog;
use crate::contestants::words::kernel;
use crate::contestants::{Contestant, wait_queues::WaitQueue};

/// The parameters of all workloads with sleepers.
pub struct Plan {
    pub contestant: Contestant,
    /// Process-shared words?
    pub shared: bool,
    pub threads: usize,
    pub seconds: f64,
}

impl Plan {
    pub fn take(given: &mut Parameters, threads: usize) -> Result<Self, Failed> {
        Ok(Plan {
            contestant: given.contestant()?,
            shared: given.flag("shared")?,
            threads: given.count("threads", threads)?,
            seconds: given.amount("seconds", 0.5)?,
        })
    }
}

pub struct Sleepers<Q> {
    shared: Arc<Shared<Q>>,
    threads: Vec<Thread<()>>,
}

struct Shared<Q> {
    queue: Q,
    size: usize,
    /// Raised to make the threads sleep. Here threads wait for each other on kernel futexes.
    round: AtomicU32,
    /// Threads that are asleep or about to sleep.
    arrived: AtomicUsize,
    awake: AtomicU32,
    finished: AtomicBool,
}

impl<Q: WaitQueue> Sleepers<Q> {
    pub fn start(size: usize) -> Self {
        let shared = Arc::new(Shared {
            queue: Q::new(),
            size,
            round: AtomicU32::new(0),
            arrived: AtomicUsize::new(0),
            awake: AtomicU32::new(0),
            finished: AtomicBool::new(false),
        });
        let watched = Arc::clone(&shared);
        watchdog::report(move || {
            figures([("threads_awake", f64::from(watched.awake.load(SeqCst)))])
        });
        let threads = spawn_all(size, &shared, |shared, _| sleep_and_wake(shared));
        Sleepers { shared, threads }
    }

    pub fn queue(&self) -> &Q {
        &self.shared.queue
    }

    /// Begins a round; returns once all threads sleep.
    pub fn put_to_sleep(&self) {
        let Shared { round, arrived, awake, size, .. } = &*self.shared;
        arrived.store(0, SeqCst);
        awake.store(0, SeqCst);
        round.fetch_add(1, SeqCst);
        kernel::wake(round, usize::MAX);
        // Checked twice: a thread that waits for something else sleeps too, but not for long.
        let mut seen_asleep = 0;
        while seen_asleep < 2 {
            std::thread::sleep(Duration::from_micros(200));
            let asleep = arrived.load(SeqCst) == *size && others_sleep();
            seen_asleep = if asleep { seen_asleep + 1 } else { 0 };
        }
    }

    /// Wakes `all` sleepers, `at_a_time` with one call; returns the sum of what the calls return.
    /// A wake that finds no sleeper while there are some is tried again a few times.
    pub fn wake(&self, all: usize, at_a_time: usize) -> usize {
        const FOUND_NONE_MAX: usize = 3;
        let (mut woken, mut found_none) = (0, 0);
        while woken < all && !self.are_all_awake() && found_none < FOUND_NONE_MAX {
            let now = self.shared.queue.wake(at_a_time.min(all - woken));
            found_none += usize::from(now == 0);
            woken += now;
        }
        woken
    }

    /// Wakes the threads that still sleep because the wakes counted wrongly.
    pub fn wake_stragglers(&self) {
        while !self.are_all_awake() {
            self.shared.queue.wake(1);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Returns once all threads are awake.
    pub fn wait_until_awake(&self) {
        let Shared { awake, size, .. } = &*self.shared;
        loop {
            match awake.load(SeqCst) {
                count if count as usize == *size => return,
                count => kernel::wait(awake, count),
            }
        }
    }

    pub fn are_all_awake(&self) -> bool {
        self.shared.awake.load(SeqCst) as usize == self.shared.size
    }

    pub fn finish(self) {
        self.shared.finished.store(true, SeqCst);
        self.shared.round.fetch_add(1, SeqCst);
        kernel::wake(&self.shared.round, usize::MAX);
        join_all(self.threads);
    }
}

fn sleep_and_wake<Q: WaitQueue>(shared: &Shared<Q>) {
    let mut rounds = 0;
    loop {
        while shared.round.load(SeqCst) == rounds {
            kernel::wait(&shared.round, rounds);
        }
        rounds += 1;
        if shared.finished.load(SeqCst) {
            return;
        }
        shared.arrived.fetch_add(1, SeqCst);
        shared.queue.sleep();
        if shared.awake.fetch_add(1, SeqCst) as usize + 1 == shared.size {
            kernel::wake(&shared.awake, 1);
        }
    }
}

/// Do all threads of this process but the caller sleep?
fn others_sleep() -> bool {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return true };
    let own = rustix::thread::gettid().as_raw_nonzero().to_string();
    let others = threads.flatten().filter(|thread| thread.file_name() != *own);
    let mut stat = String::new();
    for thread in others {
        stat.clear();
        let file = fs::File::open(thread.path().join("stat"));
        if file.and_then(|mut file| file.read_to_string(&mut stat)).is_err() {
            continue;
        }
        // The name, in brackets, may contain anything; the state follows it.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        if state == Some('R') {
            return false;
        }
    }
    true
}

/// How long the calling thread has run.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Repeats something until the time is awake, but three times at least.
pub fn repeat(seconds: f64, mut once: impl FnMut()) {
    const TIMES_MIN: usize = 3;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut times = 0;
    while times < TIMES_MIN || Instant::now() < end {
        once();
        times += 1;
    }
}
