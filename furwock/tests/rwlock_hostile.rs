//! The rwlock among callers that mean it no good: what once broke it, or would.

mod common;

use common::rwlocks::{POLICIES, READS_THAT_BIAS, bias, in_ms, nap, pass};
use common::{Random, bounded, eventually, is_asleep};
use furwock::lock::{How, Options, Policy, RawMutex, RawRwLock, thread_id};
use furwock::unstable::rwlock::{is_full, write_fast_as};
use furwock::{Deadline, RwLock};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Those under which no reader may be made to wait for ever for a writer that only waits.
const POLICIES_FOR_RECURSION: [Policy; 3] =
    [Policy::Recursive, Policy::PreferReaders, Policy::PreferWritersRecursive];

/// Nobody is inside or waits, and the word says so, down to its last bit.
fn assert_free(lock: &RawRwLock, when: &str) {
    assert!(!lock.is_locked(), "{when}: {lock:?}");
    // So that slots are out of the question.
    assert!(lock.lock_exclusive_with(&in_ms(2000)).is_some(), "{when}: {lock:?}");
    lock.unlock_exclusive();
    // It may fail once for no reason, but takes only a lock whose word says nothing.
    let taken = (0..100).any(|_| write_fast_as(lock, thread_id()));
    assert!(taken, "{when}: {lock:?}");
    lock.unlock_exclusive();
}

/// A thread that is asleep in `waits`.
fn asleep(waits: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        tell.send(thread_id()).unwrap();
        waits();
    });
    let tid = told.recv().unwrap();
    eventually("the thread sleeps", || is_asleep(tid));
    thread
}

fn sleeping_writer(lock: &Arc<RawRwLock>, options: Options) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    asleep(move || {
        lock.lock_exclusive_with(&options);
        lock.unlock_exclusive();
    })
}

fn sleeping_reader(lock: &Arc<RawRwLock>) -> JoinHandle<()> {
    let lock = Arc::clone(lock);
    asleep(move || pass(&lock, false))
}

/// A writer leaves to an upgradable reader, which then waits for a reader that waits behind a
/// writer.
#[test]
fn a_reader_behind_a_writer_gets_in_beside_an_upgradable_reader() {
    bounded(|| {
        for policy in POLICIES_FOR_RECURSION {
            let lock = Arc::new(RawRwLock::with_policy(policy));
            let reader_was_in = Arc::new(AtomicBool::new(false));
            lock.lock_exclusive();
            let upgradable = {
                let (lock, reader_was_in) = (Arc::clone(&lock), Arc::clone(&reader_was_in));
                asleep(move || {
                    lock.lock_upgradable();
                    eventually("the reader is in", || reader_was_in.load(Ordering::SeqCst));
                    lock.unlock_upgradable();
                })
            };
            let writer = sleeping_writer(&lock, Options::new());
            let reader = sleeping_reader(&lock);
            lock.ask_for_hand_off();
            lock.unlock_exclusive();
            eventually("the reader gets in", || reader.is_finished());
            reader_was_in.store(true, Ordering::SeqCst);
            [upgradable, writer, reader].into_iter().for_each(|thread| thread.join().unwrap());
            assert_free(&lock, "after all");
        }
    });
}

/// The writer that waits has even been promised the lock.
#[test]
fn a_reader_behind_a_writer_gets_in_beside_a_downgraded_writer() {
    bounded(|| {
        for policy in POLICIES_FOR_RECURSION {
            for to_upgradable in [false, true] {
                let lock = Arc::new(RawRwLock::with_policy(policy));
                lock.lock_exclusive();
                let writer = sleeping_writer(&lock, Options::new().hand_off_after(Duration::ZERO));
                // It asks for the lock meanwhile.
                nap(20);
                let reader = sleeping_reader(&lock);
                if to_upgradable {
                    lock.downgrade_to_upgradable();
                } else {
                    lock.downgrade();
                }
                eventually("the reader gets in", || reader.is_finished());
                assert!(!writer.is_finished());
                if to_upgradable {
                    lock.unlock_upgradable();
                } else {
                    lock.unlock_shared();
                }
                writer.join().unwrap();
                reader.join().unwrap();
                assert_free(&lock, "after all");
            }
        }
    });
}

/// The writer that waits has been woken, and the lock was taken from under its nose.
#[test]
fn a_reader_behind_a_woken_writer_gets_in_beside_a_downgraded_writer() {
    bounded(|| {
        for round in 0..30 {
            let lock = Arc::new(RawRwLock::with_policy(POLICIES_FOR_RECURSION[round % 3]));
            lock.lock_exclusive();
            // It never asks for the lock.
            let options = Options::new().hand_off_after(Duration::from_secs(3600));
            let writer = sleeping_writer(&lock, options);
            lock.unlock_exclusive();
            let stolen = lock.try_lock_exclusive();
            if stolen {
                let reader = sleeping_reader(&lock);
                lock.downgrade_to_upgradable();
                eventually("the reader gets in", || reader.is_finished());
                reader.join().unwrap();
                lock.unlock_upgradable();
            }
            writer.join().unwrap();
            assert_free(&lock, "after all");
        }
    });
}

/// Whether a writer gets a lock that `others` read in turns, without ever leaving it empty.
fn writer_gets_in(
    lock: &Arc<RawRwLock>,
    threads: u64,
    others: impl Fn(u64) + Send + Sync + 'static,
) -> bool {
    let others = Arc::new(others);
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            let (stop, others) = (Arc::clone(&stop), Arc::clone(&others));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    others(number);
                }
            })
        })
        .collect();
    nap(60);
    let writer = Arc::clone(lock);
    let gets_in = thread::spawn(move || {
        let gets_in = (0..3).all(|_| {
            let wrote = writer.lock_exclusive_with(&in_ms(5000)).is_some();
            if wrote {
                writer.unlock_exclusive();
            }
            wrote
        });
        stop.store(true, Ordering::Relaxed);
        gets_in
    });
    let gets_in = gets_in.join().unwrap();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    gets_in
}

#[test]
fn a_writer_gets_in_though_upgradable_readers_keep_stepping_down() {
    bounded(|| {
        for policy in [Policy::PhaseFair, Policy::PreferWriters] {
            let lock = Arc::new(RawRwLock::with_policy(policy));
            let read = Arc::clone(&lock);
            let others = move |_| {
                read.lock_upgradable();
                read.downgrade_upgradable();
                nap(5);
                read.unlock_shared();
            };
            assert!(writer_gets_in(&lock, 3, others), "{policy:?}: a writer starves");
            assert_free(&lock, "after all");
        }
    });
}

/// A thread that has just slept has a turn before it. Readers that come from another lock's queue
/// each time have one each time.
#[test]
fn a_writer_gets_in_though_every_reader_has_just_slept() {
    bounded(|| {
        for policy in [Policy::PhaseFair, Policy::PreferWriters] {
            let lock = Arc::new(RawRwLock::with_policy(policy));
            let stop = Arc::new(AtomicBool::new(false));
            let gates: Arc<Vec<_>> = Arc::new((0..10).map(|_| RawMutex::new()).collect());
            let keepers: Vec<_> = (0..10)
                .map(|number| {
                    let (gates, stop) = (Arc::clone(&gates), Arc::clone(&stop));
                    thread::spawn(move || {
                        while !stop.load(Ordering::Relaxed) {
                            gates[number].lock();
                            nap(2);
                            gates[number].unlock_fair();
                        }
                    })
                })
                .collect();
            let read = Arc::clone(&lock);
            let others = move |number: u64| {
                gates[number as usize].lock();
                gates[number as usize].unlock_fair();
                read.lock_shared();
                nap(7 + number);
                read.unlock_shared();
            };
            let gets_in = writer_gets_in(&lock, 10, others);
            stop.store(true, Ordering::Relaxed);
            keepers.into_iter().for_each(|keeper| keeper.join().unwrap());
            assert!(gets_in, "{policy:?}: a writer starves");
            assert_free(&lock, "after all");
        }
    });
}

static LEFT_LATE: RawRwLock = RawRwLock::new();
static LATE_KEY: AtomicU32 = AtomicU32::new(0);

/// Unlocks in the third round of a thread's destructors: by then all others have run.
unsafe extern "C" fn leave_late(round: *mut libc::c_void) {
    if round.addr() == 3 {
        LEFT_LATE.unlock_shared();
        return;
    }
    let next = std::ptr::without_provenance::<libc::c_void>(round.addr() + 1);
    // SAFETY: the key is the one that this destructor was made with; nobody follows the pointer.
    unsafe { libc::pthread_setspecific(LATE_KEY.load(Ordering::Relaxed), next) };
}

/// A destructor of the thread's own may unlock what it read, after furwock has seen the thread end.
#[test]
fn a_thread_may_unlock_while_it_ends() {
    bounded(|| {
        let mut key = 0;
        // SAFETY: writes one key; the destructor may run in any thread.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(leave_late)) }, 0);
        LATE_KEY.store(key, Ordering::Relaxed);
        for biased in [false, true] {
            if biased {
                bias(&LEFT_LATE);
            }
            thread::spawn(move || {
                let first = std::ptr::without_provenance::<libc::c_void>(1);
                // SAFETY: the key was made above; nobody follows the pointer.
                assert_eq!(unsafe { libc::pthread_setspecific(key, first) }, 0);
                if biased {
                    // The first read of a thread's life goes by the word, so that this one doesn't.
                    bias(&LEFT_LATE);
                }
                LEFT_LATE.lock_shared();
            })
            .join()
            .unwrap();
            assert_free(&LEFT_LATE, "after the thread");
        }
    });
}

#[cfg(target_arch = "x86_64")]
mod between_instructions {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Every instruction; without optimization there are too many.
    const STRIDE: u64 = if cfg!(debug_assertions) { 9 } else { 1 };

    static LOCK: RawRwLock = RawRwLock::new();
    /// Instructions that the thread has been stopped before.
    static STEPS: AtomicU64 = AtomicU64::new(0);
    /// The one at which the handler uses the lock.
    static AT: AtomicU64 = AtomicU64::new(0);
    static ENTERED: AtomicU64 = AtomicU64::new(0);

    extern "C" fn trapped(_: libc::c_int) {
        if STEPS.fetch_add(1, Ordering::Relaxed) == AT.load(Ordering::Relaxed)
            && LOCK.try_lock_shared()
        {
            ENTERED.fetch_add(1, Ordering::Relaxed);
            LOCK.unlock_shared();
        }
    }

    /// A thread that reads is interrupted at one instruction after the other by a handler that
    /// reads and leaves what it found.
    #[test]
    fn a_signal_handler_may_read_between_any_two_instructions_of_a_reader() {
        bounded(|| {
            // SAFETY: all zeroes is an action; the handler calls nothing but the lock, which allows
            // it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = trapped as extern "C" fn(libc::c_int) as usize;
                assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
            }
            for biased in [true, false] {
                ENTERED.store(0, Ordering::Relaxed);
                let (mut at, mut rounds) = (0, 0);
                loop {
                    if biased {
                        bias(&LOCK);
                    } else {
                        assert_free(&LOCK, "before");
                    }
                    AT.store(at, Ordering::Relaxed);
                    STEPS.store(0, Ordering::Relaxed);
                    // SAFETY: sets the trap flag: a signal after each instruction, handled above.
                    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
                    LOCK.lock_shared();
                    LOCK.unlock_shared();
                    // SAFETY: clears it.
                    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
                    assert!(!LOCK.is_locked(), "biased {biased}, instruction {at}: {LOCK:?}");
                    let steps = STEPS.load(Ordering::Relaxed);
                    assert!(steps > 5, "single-stepping is forbidden here");
                    rounds += 1;
                    at += STRIDE;
                    if at >= steps {
                        break;
                    }
                }
                println!("biased {biased}: {rounds} of {at} instructions");
                assert_eq!(ENTERED.load(Ordering::Relaxed), rounds, "the handler was kept out");
                assert_free(&LOCK, "after all");
            }
        });
    }
}

/// A writer that sleeps for a reader in a slot, and so not in the lock's own queue, has slept too.
#[test]
fn a_writer_that_waited_for_a_reader_in_a_slot_says_that_it_slept() {
    bounded(|| {
        let lock = Arc::new(RawRwLock::new());
        bias(&lock);
        let inside = Arc::new(Barrier::new(2));
        let reader = {
            let (lock, inside) = (Arc::clone(&lock), Arc::clone(&inside));
            thread::spawn(move || {
                // So that the thread has its slots.
                bias(&lock);
                lock.lock_shared();
                inside.wait();
                nap(100);
                lock.unlock_shared();
            })
        };
        inside.wait();
        let status = lock.lock_exclusive_with(&Options::new()).unwrap();
        lock.unlock_exclusive();
        assert!(matches!(status.how, How::Slept | How::HandedOver), "{status:?}");
        assert!(status.sleeps >= 1, "{status:?}");
        reader.join().unwrap();
    });
}

/// A lock that was moved while a forgotten guard speaks of where it was is nothing to the lock that
/// comes there.
#[test]
fn a_forgotten_guard_of_a_moved_lock_holds_no_other_lock() {
    bounded(|| {
        let mut place = Box::new(Some(RwLock::new(0)));
        for round in 1..50 {
            let lock = place.as_ref().as_ref().unwrap();
            (0..READS_THAT_BIAS).for_each(|_| drop(lock.read()));
            std::mem::forget(lock.read());
            let value = place.take().unwrap().into_inner();
            *place = Some(RwLock::new(value));
            let lock = place.as_ref().as_ref().unwrap();
            drop(lock.read());
            *lock.try_write().expect("nobody reads it") += 1;
            // Once it is biased, too.
            (0..READS_THAT_BIAS).for_each(|_| drop(lock.read()));
            assert_eq!(*lock.try_write().expect("nobody reads it"), round);
        }
    });
}

/// Readers that are counted at once.
const MOST_READERS: u32 = 1 << 18;

/// A reader that comes when no more can be counted waits. A thread that is inside already may still
/// become a reader.
#[test]
fn more_readers_than_can_be_counted_wait() {
    bounded(|| {
        for policy in POLICIES {
            let lock = Arc::new(RawRwLock::with_policy(policy));
            lock.lock_upgradable();
            let mut entered = 0;
            while !is_full(&lock) {
                lock.lock_shared();
                entered += 1;
            }
            // A few may be in slots besides.
            assert!((MOST_READERS..MOST_READERS + 100).contains(&entered), "{entered}");
            // Closes the slots.
            assert!(!lock.try_upgrade());
            let newcomer = Arc::clone(&lock);
            let nobody_gets_in = move || {
                for _ in 0..10 {
                    assert!(!newcomer.try_lock_shared() && !newcomer.try_lock_shared_recursive());
                    assert!(!newcomer.try_lock_exclusive() && !newcomer.try_lock_upgradable());
                    assert!(newcomer.lock_shared_with(&in_ms(2)).is_none());
                    assert!(newcomer.lock_shared_with(&in_ms(2).recursive(true)).is_none());
                    assert!(newcomer.lock_exclusive_with(&in_ms(2)).is_none());
                    assert!(newcomer.lock_upgradable_with(&in_ms(2)).is_none());
                    assert!(is_full(&newcomer) && newcomer.policy() == policy);
                }
            };
            thread::spawn(nobody_gets_in.clone()).join().unwrap();
            lock.downgrade_upgradable();
            entered += 1;
            thread::spawn(nobody_gets_in).join().unwrap();
            assert_eq!(lock.owner(), 0);
            // One that waits gets in as soon as there is room.
            let waiting = Arc::clone(&lock);
            let reader = thread::spawn(move || waiting.lock_shared());
            nap(5);
            assert!(!reader.is_finished());
            while !reader.is_finished() && entered != 0 {
                lock.unlock_shared();
                entered -= 1;
                if !is_full(&lock) {
                    reader.join().unwrap();
                    entered += 1;
                    break;
                }
            }
            (0..entered).for_each(|_| _ = lock.unlock_shared());
            assert!(!is_full(&lock) && lock.policy() == policy);
            assert_free(&lock, "after all");
        }
    });
}

/// What a lock in a storm protects; every access checks that it may be.
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

/// What the threads of a storm do.
#[derive(Clone, Copy, Debug)]
enum Mix {
    /// Mostly upgrades, downgrades and writes.
    Upgrades,
    /// Mostly waits that end within microseconds.
    Timeouts,
    /// Nothing but fair releases, and waits with all sorts of options.
    HandOffs,
    /// Each sort of access as often as the others.
    Everything,
    /// Reads, and now and then what takes the bias away.
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
            Mix::Bias if random.is_multiple_of(40) => {
                one_of([3, 6, 4, 15, 16, 7, 8, 9], random / 40)
            }
            Mix::Bias if random.is_multiple_of(3) => 2,
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

    /// One access. Returns how many writes it made.
    fn access(&self, sort: u32, random: u32) -> u64 {
        let lock = &self.lock;
        let soon = Duration::from_micros(1 + u64::from(random >> 8) % 50);
        let soon = Options::new().until(Deadline::after(soon));
        match sort {
            0 => {
                lock.lock_shared();
                self.read();
                lock.unlock_shared();
            }
            1 if lock.lock_shared_with(&soon).is_some() => {
                self.read();
                lock.unlock_shared();
            }
            2 => {
                lock.lock_shared();
                lock.lock_shared_with(&Options::new().recursive(true));
                self.read();
                lock.unlock_shared();
                self.read();
                lock.unlock_shared();
            }
            3 => {
                lock.lock_exclusive();
                self.write();
                lock.unlock_exclusive();
                return 1;
            }
            4 if lock.lock_exclusive_with(&soon).is_some() => {
                self.write();
                lock.unlock_exclusive();
                return 1;
            }
            5 => {
                lock.lock_upgradable();
                self.read_upgradable();
                lock.unlock_upgradable();
            }
            6 => {
                lock.lock_upgradable();
                self.read_upgradable();
                lock.upgrade();
                self.write();
                lock.unlock_exclusive();
                return 1;
            }
            7 => {
                lock.lock_exclusive();
                self.write();
                lock.downgrade_to_upgradable();
                self.read_upgradable();
                if random & 1024 == 0 {
                    lock.downgrade_upgradable();
                    self.read();
                    lock.unlock_shared();
                    return 1;
                }
                lock.upgrade();
                self.write();
                lock.ask_for_hand_off();
                lock.unlock_exclusive();
                return 2;
            }
            8 => {
                lock.lock_exclusive();
                self.write();
                lock.downgrade();
                self.read();
                lock.ask_for_hand_off();
                lock.unlock_shared();
                return 1;
            }
            9 => {
                lock.lock_upgradable();
                self.read_upgradable();
                if lock.upgrade_with(&soon).is_some() {
                    self.write();
                    lock.unlock_exclusive();
                    return 1;
                }
                self.read_upgradable();
                lock.unlock_upgradable();
            }
            10 if lock.lock_upgradable_with(&soon).is_some() => {
                self.read_upgradable();
                if lock.try_upgrade() {
                    self.write();
                    lock.ask_for_hand_off();
                    lock.unlock_exclusive();
                    return 1;
                }
                lock.ask_for_hand_off();
                lock.unlock_upgradable();
            }
            11 if lock.lock_shared_with(&soon.recursive(true)).is_some() => {
                self.read();
                lock.ask_for_hand_off();
                lock.unlock_shared();
            }
            12 if lock.lock_exclusive_with(&options(random)).is_some() => {
                self.write();
                lock.ask_for_hand_off();
                lock.unlock_exclusive();
                return 1;
            }
            13 if lock.lock_shared_with(&options(random)).is_some() => {
                self.read();
                lock.ask_for_hand_off();
                lock.unlock_shared();
            }
            14 => {
                lock.lock_upgradable();
                self.read_upgradable();
                lock.ask_for_hand_off();
                lock.unlock_upgradable();
            }
            15 if lock.try_lock_exclusive() => {
                self.write();
                lock.unlock_exclusive();
                return 1;
            }
            16 if lock.try_lock_upgradable() => {
                self.read_upgradable();
                if lock.try_upgrade() {
                    self.write();
                    lock.unlock_exclusive();
                    return 1;
                }
                lock.downgrade_upgradable();
                self.read();
                lock.unlock_shared();
            }
            17 if lock.try_lock_shared() => {
                self.read();
                lock.unlock_shared();
            }
            _ => {}
        }
        0
    }
}

/// One mix on one lock: `FURWOCK_STORM_SECONDS` lengthens it.
fn storm(policy: Policy, mix: Mix, threads: u64) {
    let seconds = std::env::var("FURWOCK_STORM_SECONDS").ok().and_then(|text| text.parse().ok());
    let length = Duration::from_secs_f64(seconds.unwrap_or(0.1));
    let guarded = Arc::new(Guarded { lock: RawRwLock::with_policy(policy), ..Guarded::default() });
    let started = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|number| {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || {
                let seed = 0x9e37_79b9_7f4a_7c15 ^ (number + 1) << 32;
                let mut random = Random(seed ^ started.elapsed().as_nanos() as u64);
                let mut draw = || (random.next() >> 16) as u32;
                let mut writes = 0;
                while started.elapsed() < length {
                    // Mostly readers for a while, so that the lock becomes biased.
                    if draw().is_multiple_of(64) {
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
    let writes: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
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
