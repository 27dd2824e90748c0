//! Storms on a rwlock: threads that make random accesses of all sorts, each of which checks that it
//! excludes what it should.

mod common;

use common::rwlocks::{POLICIES, assert_free, bias};
use common::{Random, bounded, eventually, join_all, kept};
use furwock::Deadline;
use furwock::lock::{Options, Policy, RawRwLock};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A lock with what it protects; every access checks that it may be there.
#[derive(Default)]
struct Guarded {
    lock: RawRwLock,
    inside: AtomicU32,
    upgradable: AtomicU32,
    writers: AtomicU32,
    /// Two counts that only writers change, together.
    pair: UnsafeCell<(u64, u64)>,
}

// SAFETY: the pair is reached under the lock.
unsafe impl Sync for Guarded {}

/// Which accesses the threads of a storm make.
#[derive(Clone, Copy, Debug)]
enum Mix {
    /// Mostly upgrades, downgrades and writes.
    Upgrades,
    /// Mostly waits that end within microseconds.
    Timeouts,
    /// Only fair releases, and waits with all sorts of options.
    HandOffs,
    /// All sorts of access, equally often.
    Everything,
    /// Reads, and now and then an access that takes the bias away.
    Bias,
    /// Mostly attempts that don't wait.
    Attempts,
}

const MIXES: [Mix; 6] =
    [Mix::Upgrades, Mix::Timeouts, Mix::HandOffs, Mix::Everything, Mix::Bias, Mix::Attempts];

/// How many sorts of access there are.
const SORTS: u32 = 18;

impl Mix {
    /// The sort of the next access.
    fn sort(self, random: u32) -> u32 {
        let one_of = |sorts: [u32; 8], random: u32| sorts[random as usize % 8];
        match self {
            Mix::Upgrades => one_of([3, 4, 5, 5, 6, 6, 7, 8], random),
            Mix::Timeouts => one_of([1, 1, 4, 9, 10, 6, 11, 0], random),
            Mix::HandOffs => one_of([12, 13, 14, 12, 13, 14, 8, 7], random),
            Mix::Everything => random % SORTS,
            Mix::Bias if random % 40 == 0 => one_of([3, 6, 4, 15, 16, 7, 8, 9], random / 40),
            Mix::Bias if random % 3 == 0 => 2,
            Mix::Bias => 0,
            Mix::Attempts => one_of([15, 16, 17, 2, 9, 10, 0, 3], random),
        }
    }
}

fn options(random: u32) -> Options {
    let time = u64::from(random >> 8);
    let mut options =
        Options::new().steal(random & 1 == 0).spin(random & 2 == 0).owner_death(random & 24 == 0);
    if random & 4 == 0 {
        options = options.hand_off_after(Duration::from_micros(time % 200));
    }
    if random & 96 == 0 {
        options = options.until(Deadline::after(Duration::from_micros(time % 300)));
    }
    options
}

impl Guarded {
    fn read(&self) {
        self.inside.fetch_add(1, Ordering::Relaxed);
        assert_eq!(self.writers.load(Ordering::Relaxed), 0, "a reader beside a writer");
        // SAFETY: inside as a reader.
        let (one, other) = unsafe { *self.pair.get() };
        assert_eq!(one, other, "a reader saw half a write");
        self.inside.fetch_sub(1, Ordering::Relaxed);
    }

    fn read_upgradable(&self) {
        assert_eq!(self.upgradable.fetch_add(1, Ordering::Relaxed), 0, "two upgradable");
        self.read();
        self.upgradable.fetch_sub(1, Ordering::Relaxed);
    }

    fn write(&self) {
        assert_eq!(self.writers.fetch_add(1, Ordering::Relaxed), 0, "two writers");
        assert_eq!(self.inside.load(Ordering::Relaxed), 0, "a writer beside readers");
        // SAFETY: inside as the writer.
        let pair = unsafe { &mut *self.pair.get() };
        pair.0 += 1;
        std::hint::black_box(&mut *pair);
        pair.1 += 1;
        self.writers.fetch_sub(1, Ordering::Relaxed);
    }

    // Each of these returns how many writes it made.

    fn read_and_unlock(&self) -> u64 {
        self.read();
        self.lock.unlock_shared();
        0
    }

    fn read_and_unlock_upgradable(&self) -> u64 {
        self.read_upgradable();
        self.lock.unlock_upgradable();
        0
    }

    fn write_and_unlock(&self) -> u64 {
        self.write();
        self.lock.unlock_exclusive();
        1
    }

    /// One access. Returns how many writes it made.
    fn access(&self, sort: u32, random: u32) -> u64 {
        let lock = &self.lock;
        let soon = Duration::from_micros(1 + u64::from(random >> 8) % 50);
        let soon = Options::new().until(Deadline::after(soon));
        match sort {
            0 => {
                lock.lock_shared();
                self.read_and_unlock()
            }
            1 if lock.lock_shared_with(&soon).is_some() => self.read_and_unlock(),
            2 => {
                lock.lock_shared();
                lock.lock_shared_with(&Options::new().recursive(true));
                self.read_and_unlock() + self.read_and_unlock()
            }
            3 => {
                lock.lock_exclusive();
                self.write_and_unlock()
            }
            4 if lock.lock_exclusive_with(&soon).is_some() => self.write_and_unlock(),
            5 => {
                lock.lock_upgradable();
                self.read_and_unlock_upgradable()
            }
            6 => {
                lock.lock_upgradable();
                self.read_upgradable();
                lock.upgrade();
                self.write_and_unlock()
            }
            7 => {
                lock.lock_exclusive();
                self.write();
                lock.downgrade_to_upgradable();
                self.read_upgradable();
                if random & 1024 == 0 {
                    lock.downgrade_upgradable();
                    return self.read_and_unlock() + 1;
                }
                lock.upgrade();
                lock.ask_for_hand_off();
                self.write_and_unlock() + 1
            }
            8 => {
                lock.lock_exclusive();
                self.write();
                lock.downgrade();
                lock.ask_for_hand_off();
                self.read_and_unlock() + 1
            }
            9 => {
                lock.lock_upgradable();
                self.read_upgradable();
                if lock.upgrade_with(&soon).is_some() {
                    return self.write_and_unlock();
                }
                self.read_and_unlock_upgradable()
            }
            10 if lock.lock_upgradable_with(&soon).is_some() => {
                self.read_upgradable();
                lock.ask_for_hand_off();
                if lock.try_upgrade() {
                    return self.write_and_unlock();
                }
                self.read_and_unlock_upgradable()
            }
            11 if lock.lock_shared_with(&soon.recursive(true)).is_some() => {
                lock.ask_for_hand_off();
                self.read_and_unlock()
            }
            12 if lock.lock_exclusive_with(&options(random)).is_some() => {
                lock.ask_for_hand_off();
                self.write_and_unlock()
            }
            13 if lock.lock_shared_with(&options(random)).is_some() => {
                lock.ask_for_hand_off();
                self.read_and_unlock()
            }
            14 => {
                lock.lock_upgradable();
                lock.ask_for_hand_off();
                self.read_and_unlock_upgradable()
            }
            15 if lock.try_lock_exclusive() => self.write_and_unlock(),
            16 if lock.try_lock_upgradable() => {
                self.read_upgradable();
                if lock.try_upgrade() {
                    return self.write_and_unlock();
                }
                lock.downgrade_upgradable();
                self.read_and_unlock()
            }
            17 if lock.try_lock_shared() => self.read_and_unlock(),
            _ => 0,
        }
    }
}

/// One mix on one lock, for as long as `FURWOCK_STORM_SECONDS` says.
fn storm(policy: Policy, mix: Mix, threads: u64) {
    let seconds = std::env::var("FURWOCK_STORM_SECONDS").ok().and_then(|text| text.parse().ok());
    let length = Duration::from_secs_f64(seconds.unwrap_or(0.1));
    let guarded = kept(Guarded { lock: RawRwLock::with_policy(policy), ..Guarded::default() });
    let started = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            thread::spawn(move || {
                let seed = 0x9e37_79b9_7f4a_7c15 ^ (number + 1) << 32;
                let mut random = Random(seed ^ started.elapsed().as_nanos() as u64);
                let mut draw = || (random.next() >> 16) as u32;
                let mut writes = 0;
                while started.elapsed() < length {
                    // Mostly readers for a while, so that the lock becomes biased.
                    if draw() % 64 == 0 {
                        bias(&guarded.lock);
                    }
                    let sort = mix.sort(draw());
                    writes += guarded.access(sort, draw());
                }
                writes
            })
        })
        .collect();
    thread::sleep(length);
    eventually(&format!("{policy:?}, {mix:?}, {threads}: the storm ends"), || {
        workers.iter().all(|worker| worker.is_finished())
    });
    let writes: u64 = join_all(workers).into_iter().sum();
    assert_free(&guarded.lock, &format!("{policy:?}, {mix:?}, {threads}"));
    guarded.lock.lock_exclusive();
    // SAFETY: inside as the writer.
    assert_eq!(unsafe { *guarded.pair.get() }, (writes, writes), "{policy:?}, {mix:?}, {threads}");
    guarded.lock.unlock_exclusive();
}

#[test]
fn storms_of_every_mix_are_weathered_under_every_policy() {
    let storms = || {
        for policy in POLICIES {
            for mix in MIXES {
                [2, 12].into_iter().for_each(|threads| storm(policy, mix, threads));
            }
        }
    };
    if std::env::var("FURWOCK_STORM_SECONDS").is_ok() { storms() } else { bounded(storms) }
}
