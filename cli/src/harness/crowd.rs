//! Threads that fall asleep together, again and again, to be woken.

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
use crate::contestants::{Contestant, beds::Bed};

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

pub struct Crowd<B> {
    shared: Arc<Shared<B>>,
    threads: Vec<Thread<()>>,
}

struct Shared<B> {
    bed: B,
    size: usize,
    /// Raised to make the threads sleep. All gates here are the kernel's own futexes.
    night: AtomicU32,
    lying: AtomicUsize,
    /// Threads that are up; the main thread waits until it is all of them.
    up: AtomicU32,
    dismissed: AtomicBool,
}

impl<B: Bed> Crowd<B> {
    pub fn gather(size: usize) -> Self {
        let shared = Arc::new(Shared {
            bed: B::new(),
            size,
            night: AtomicU32::new(0),
            lying: AtomicUsize::new(0),
            up: AtomicU32::new(0),
            dismissed: AtomicBool::new(false),
        });
        let watched = Arc::clone(&shared);
        watchdog::report(move || figures([("threads_awake", f64::from(watched.up.load(SeqCst)))]));
        let threads = spawn_all(size, &shared, |shared, _| live(shared));
        Crowd { shared, threads }
    }

    pub fn bed(&self) -> &B {
        &self.shared.bed
    }

    /// Returns once all of them sleep.
    pub fn put_to_sleep(&self) {
        let Shared { night, lying, up, size, .. } = &*self.shared;
        lying.store(0, SeqCst);
        up.store(0, SeqCst);
        night.fetch_add(1, SeqCst);
        kernel::wake(night, usize::MAX);
        // Twice, since a thread that waits for something else sleeps too, but not for long.
        let mut seen_asleep = 0;
        while seen_asleep < 2 {
            std::thread::sleep(Duration::from_micros(200));
            let asleep = lying.load(SeqCst) == *size && others_sleep();
            seen_asleep = if asleep { seen_asleep + 1 } else { 0 };
        }
    }

    /// Wakes `all` sleepers, `at_a_time` with one call; returns how many were woken as the wakes
    /// count them. A wake that finds no sleeper while there are some is tried again a few times.
    pub fn wake(&self, all: usize, at_a_time: usize) -> usize {
        const FOUND_NONE_MAX: usize = 3;
        let (mut woken, mut found_none) = (0, 0);
        while woken < all && !self.are_all_up() && found_none < FOUND_NONE_MAX {
            let now = self.shared.bed.wake(at_a_time.min(all - woken));
            found_none += usize::from(now == 0);
            woken += now;
        }
        woken
    }

    /// Wakes the threads that still sleep because the wakes counted wrongly: the round is over.
    pub fn wake_stragglers(&self) {
        while !self.are_all_up() {
            self.shared.bed.wake(1);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Returns once all of them are awake.
    pub fn wait_until_up(&self) {
        let Shared { up, size, .. } = &*self.shared;
        loop {
            match up.load(SeqCst) {
                count if count as usize == *size => return,
                count => {
                    kernel::wait(up, count);
                }
            }
        }
    }

    /// Are all of them awake?
    pub fn are_all_up(&self) -> bool {
        self.shared.up.load(SeqCst) as usize == self.shared.size
    }

    pub fn dismiss(self) {
        self.shared.dismissed.store(true, SeqCst);
        self.shared.night.fetch_add(1, SeqCst);
        kernel::wake(&self.shared.night, usize::MAX);
        join_all(self.threads);
    }
}

fn live<B: Bed>(shared: &Shared<B>) {
    let mut nights = 0;
    loop {
        while shared.night.load(SeqCst) == nights {
            kernel::wait(&shared.night, nights);
        }
        nights += 1;
        if shared.dismissed.load(SeqCst) {
            return;
        }
        shared.lying.fetch_add(1, SeqCst);
        shared.bed.sleep();
        if shared.up.fetch_add(1, SeqCst) as usize + 1 == shared.size {
            kernel::wake(&shared.up, 1);
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

/// Repeats something until the time is up, but three times at least.
pub fn repeat(seconds: f64, mut once: impl FnMut()) {
    const TIMES_MIN: usize = 3;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut times = 0;
    while times < TIMES_MIN || Instant::now() < end {
        once();
        times += 1;
    }
}
