//! Robust locks among threads: deaths, recovery, and glibc's robust mutexes in the same list.
//!
//! musl registers no list of that layout: there the locks refuse (`musl.rs`).

#![cfg(target_env = "gnu")]

mod common;

use common::{Random, bounded, burn, elsewhere, eventually, is_asleep, join_all, together};
use furwock::lock::robust::{Held, RawRobustMutex, Refused};
use furwock::lock::thread_id;
use furwock::{Clock, Deadline, RobustError, RobustMutex, RobustMutexGuard};
use furwock::{RobustRwLock, RobustRwLockWriteGuard};
use std::mem::{forget, size_of};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn die_holding(mutex: &Pin<Arc<RobustMutex<u32>>>, value: u32) {
    elsewhere(|| {
        let mut guard = mutex.as_ref().lock().unwrap();
        *guard = value;
        forget(guard);
    });
}

#[test]
fn a_mutex_excludes() {
    bounded(|| {
        let count = Arc::pin(RobustMutex::new(0u32));
        together(8, |number| {
            let count = count.as_ref();
            for round in 0..20_000 {
                let guard = match (round + number) % 3 {
                    0 => count.lock(),
                    1 => count.try_lock(),
                    _ => count.try_lock_for(Duration::from_micros(50)),
                };
                match guard {
                    Ok(mut guard) => *guard += 1,
                    Err(RobustError::WouldBlock | RobustError::TimedOut) => {
                        *count.lock().unwrap() += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        });
        assert_eq!(*count.as_ref().lock().unwrap(), 8 * 20_000);
        assert!(!count.is_locked());
    });
}

#[test]
fn a_held_mutex_is_not_to_be_had() {
    bounded(|| {
        let mutex = Arc::pin(RobustMutex::new(0u32));
        let guard = mutex.as_ref().lock().unwrap();
        elsewhere(|| {
            let other = mutex.as_ref();
            assert!(matches!(other.try_lock(), Err(RobustError::WouldBlock)));
            let started = Instant::now();
            let timeout = Duration::from_millis(20);
            assert!(matches!(other.try_lock_for(timeout), Err(RobustError::TimedOut)));
            assert!(started.elapsed() >= timeout);
            for clock in [Clock::Monotonic, Clock::Realtime] {
                let passed = Deadline::at(clock, 1, 0).unwrap();
                assert!(matches!(other.try_lock_until(passed), Err(RobustError::TimedOut)));
            }
        });
        drop(guard);
        let passed = Deadline::at(Clock::Realtime, 1, 0).unwrap();
        assert!(mutex.as_ref().try_lock_until(passed).is_ok());
    });
}

#[test]
fn a_death_is_told_until_it_is_repaired() {
    bounded(|| {
        let mutex = Arc::pin(RobustMutex::new(0u32));
        die_holding(&mutex, 5);
        // The thread that repairs dies as well.
        elsewhere(|| {
            let mut guard = mutex.as_ref().lock().unwrap_err().into_guard().unwrap();
            assert_eq!(*guard, 5);
            *guard = 6;
            forget(guard);
        });
        let mut guard = mutex.as_ref().try_lock().unwrap_err().into_guard().unwrap();
        assert_eq!(*guard, 6);
        assert!(RobustMutexGuard::make_consistent(&mut guard));
        assert!(!RobustMutexGuard::make_consistent(&mut guard));
        drop(guard);
        assert_eq!(*mutex.as_ref().lock().unwrap(), 6);
    });
}

#[test]
fn a_waiter_hears_of_the_death() {
    bounded(|| {
        for sleepers in [1, 5] {
            let mutex = Arc::pin(RobustMutex::new(0u32));
            let started = Arc::new(AtomicUsize::new(0));
            let deaths = Arc::new(AtomicUsize::new(0));
            let holder = {
                let (mutex, started) = (mutex.clone(), Arc::clone(&started));
                thread::spawn(move || {
                    forget(mutex.as_ref().lock().unwrap());
                    started.fetch_add(1, Ordering::SeqCst);
                    eventually("all wait", || started.load(Ordering::SeqCst) == sleepers + 1);
                    thread::sleep(Duration::from_millis(30));
                })
            };
            eventually("it is held", || mutex.is_locked());
            let waiters: Vec<_> = (0..sleepers)
                .map(|_| {
                    let (mutex, started) = (mutex.clone(), Arc::clone(&started));
                    let deaths = Arc::clone(&deaths);
                    thread::spawn(move || {
                        started.fetch_add(1, Ordering::SeqCst);
                        if let Err(RobustError::OwnerDied(mut guard)) = mutex.as_ref().lock() {
                            RobustMutexGuard::make_consistent(&mut guard);
                            deaths.fetch_add(1, Ordering::SeqCst);
                        }
                    })
                })
                .collect();
            holder.join().unwrap();
            join_all(waiters);
            assert_eq!(deaths.load(Ordering::SeqCst), 1);
        }
    });
}

#[test]
fn a_lock_that_is_given_up_is_lost_for_all() {
    bounded(|| {
        let mutex = Arc::pin(RobustMutex::new(0u32));
        die_holding(&mutex, 1);
        let guard = mutex.as_ref().lock().unwrap_err().into_guard().unwrap();
        let waiters = [(); 4].map(|()| {
            let mutex = mutex.clone();
            thread::spawn(move || matches!(mutex.as_ref().lock(), Err(RobustError::NotRecoverable)))
        });
        thread::sleep(Duration::from_millis(20));
        drop(guard);
        assert_eq!(join_all(waiters), [true; 4]);
        assert!(mutex.is_not_recoverable());
        assert!(matches!(mutex.as_ref().try_lock(), Err(RobustError::NotRecoverable)));
        let short = Duration::from_millis(1);
        assert!(matches!(mutex.as_ref().try_lock_for(short), Err(RobustError::NotRecoverable)));
    });
}

#[test]
fn a_raw_mutex_names_its_holder() {
    let mutex = Arc::new(RawRobustMutex::new());
    // SAFETY: the mutex outlives the holding.
    assert_eq!(unsafe { mutex.lock() }, Ok(Held::Acquired));
    elsewhere(|| {
        assert!(!mutex.make_consistent());
        // SAFETY: as above.
        assert_eq!(unsafe { mutex.try_lock() }, Err(Refused::WouldBlock));
    });
    assert_eq!(mutex.owner(), furwock::lock::thread_id());
    // SAFETY: held.
    unsafe { mutex.unlock() };
    assert!(!mutex.is_locked());
}

/// The kernel gave up before it came to this lock, and the caller has the late holder's id.
#[test]
fn an_earlier_thread_with_the_same_id_is_another() {
    let me = furwock::lock::thread_id();
    let mutex = Box::pin(RobustMutex::new(0u32));
    let lock = Box::pin(RobustRwLock::<u32, 3>::new(0));
    let around = Box::pin(RobustMutex::new(0u32));
    let outer = around.as_ref().lock().unwrap();
    for place in [(&raw const *mutex).cast::<u32>(), (&raw const *lock).cast()] {
        // SAFETY: the locks begin with their word, and no thread uses them meanwhile.
        unsafe { place.cast_mut().write(me) };
    }
    drop(mutex);
    drop(lock);
    drop(outer);
}

/// A guard forgotten, the memory reused: the list must not lead there any more.
#[test]
fn a_dropped_lock_leaves_the_list() {
    bounded(|| {
        let around = Box::pin(RobustMutex::new(0u32));
        let outer = around.as_ref().lock().unwrap();
        for _ in 0..100 {
            let mutex = Box::pin(RobustMutex::new([7u64; 4]));
            forget(mutex.as_ref().lock().unwrap());
            let lock = Box::pin(RobustRwLock::<u64, 3>::new(0));
            forget(lock.as_ref().read().unwrap());
            forget(lock.as_ref().read().unwrap());
            drop(mutex);
            drop(lock);
            let noise = vec![u64::MAX; 32];
            assert_eq!(noise.iter().filter(|&&word| word == u64::MAX).count(), 32);
            let next = pin!(RobustMutex::new(0u8));
            *next.as_ref().lock().unwrap() = 1;
        }
        drop(outer);
        assert!(around.as_ref().try_lock().is_ok());
    });
}

/// glibc's own robust mutex.
struct Pthread(std::cell::UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a pthread mutex is made for several threads.
unsafe impl Sync for Pthread {}
// SAFETY: it is moved before its first use only.
unsafe impl Send for Pthread {}

impl Pthread {
    fn new() -> Arc<Self> {
        let mutex = Arc::new(Self(libc::PTHREAD_MUTEX_INITIALIZER.into()));
        // SAFETY: attribute and mutex are live; the mutex stays where the Arc has put it.
        unsafe {
            let mut attributes = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            assert_eq!(libc::pthread_mutex_init(mutex.0.get(), &attributes), 0);
        }
        mutex
    }

    fn lock(&self) -> i32 {
        // SAFETY: initialised, and outlives its holding.
        unsafe { libc::pthread_mutex_lock(self.0.get()) }
    }

    fn unlock(&self) {
        // SAFETY: the caller holds it.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }

    fn make_consistent(&self) {
        // SAFETY: the caller holds it.
        assert_eq!(unsafe { libc::pthread_mutex_consistent(self.0.get()) }, 0);
    }
}

/// A thread makes random steps on glibc's and furwock's mutexes, and dies with some of them held:
/// those are reported, and no others.
#[test]
fn glibcs_and_furwocks_locks_share_a_list() {
    bounded(|| {
        const EACH: usize = 6;
        let seed = seed();
        println!("seed {seed}");
        let mut random = Random(seed);
        let pthreads: Arc<Vec<_>> = Arc::new((0..EACH).map(|_| Pthread::new()).collect());
        let ours: Arc<Vec<_>> = Arc::new((0..EACH).map(|_| RawRobustMutex::new()).collect());
        for _ in 0..200 {
            let seed = random.next();
            let held: [bool; 2 * EACH] = elsewhere(|| {
                let mut random = Random(seed);
                let mut held = [false; 2 * EACH];
                for _ in 0..random.next() % 60 {
                    let which = random.next() as usize % (2 * EACH);
                    match (which < EACH, held[which]) {
                        (true, false) => assert_eq!(pthreads[which].lock(), 0),
                        (true, true) => pthreads[which].unlock(),
                        (false, false) => {
                            // SAFETY: the mutexes outlive this thread.
                            let result = unsafe { ours[which - EACH].lock() };
                            assert_eq!(result, Ok(Held::Acquired));
                        }
                        // SAFETY: held.
                        (false, true) => unsafe { ours[which - EACH].unlock() },
                    }
                    held[which] ^= true;
                }
                held
            });
            for which in 0..EACH {
                let expected = if held[which] { libc::EOWNERDEAD } else { 0 };
                assert_eq!(pthreads[which].lock(), expected, "glibc's {which}, seed {seed}");
                if held[which] {
                    pthreads[which].make_consistent();
                }
                let expected = if held[EACH + which] { Held::OwnerDied } else { Held::Acquired };
                // SAFETY: as above.
                let result = unsafe { ours[which].lock() };
                assert_eq!(result, Ok(expected), "furwock's {which}, seed {seed}");
                ours[which].make_consistent();
            }
            pthreads.iter().for_each(|mutex| mutex.unlock());
            // SAFETY: all are held.
            ours.iter().for_each(|mutex| unsafe { mutex.unlock() });
        }
    });
}

#[test]
fn readers_share_and_writers_exclude() {
    bounded(|| {
        let lock = Arc::pin(RobustRwLock::<[u64; 2], 4>::new([0; 2]));
        let written = together(8, |number| {
            let lock = lock.as_ref();
            let mut written = 0;
            let mut write = |mut data: RobustRwLockWriteGuard<'_, [u64; 2], 4>| {
                data[0] += 1;
                data[1] += 1;
                written += 1;
            };
            for round in 0..4000 {
                let short = Duration::from_micros(100);
                match (round * 7 + number) % 8 {
                    0 => *lock.write().unwrap() = [1; 2],
                    1 => drop(lock.try_write().map(&mut write)),
                    2 => drop(lock.try_write_for(short).map(&mut write)),
                    3 => drop(lock.try_read().map(|data| assert_eq!(data[0], data[1]))),
                    4 => drop(lock.try_read_for(short).map(|data| assert_eq!(data[0], data[1]))),
                    _ => {
                        let data = lock.read().unwrap();
                        assert_eq!(data[0], data[1]);
                    }
                }
            }
            written
        });
        let written: u64 = written.into_iter().sum();
        assert!(written > 0);
        assert!(lock.as_ref().try_write().is_ok());
    });
}

#[test]
fn a_dead_reader_is_forgotten() {
    bounded(|| {
        let lock = Arc::pin(RobustRwLock::<u32, 2>::new(3));
        for _ in 0..6 {
            elsewhere(|| {
                forget(lock.as_ref().read().unwrap());
                forget(lock.as_ref().read().unwrap());
            });
            assert_eq!(*lock.as_ref().read().unwrap(), 3);
        }
        assert_eq!(*lock.as_ref().try_write().unwrap(), 3);

        // A writer, or a reader without a slot, sleeps meanwhile.
        for writes in [true, false] {
            let dying = lock.clone();
            let (tell, told) = mpsc::channel();
            let dying = thread::spawn(move || {
                forget(dying.as_ref().read().unwrap());
                forget(dying.as_ref().read().unwrap());
                let other = told.recv().unwrap();
                eventually("the other sleeps", || is_asleep(other));
            });
            eventually("two read", || format!("{lock:?}").contains("readers: 2"));
            elsewhere(|| {
                let lock = lock.as_ref();
                let short = Duration::from_millis(5);
                assert!(matches!(lock.try_write(), Err(RobustError::WouldBlock)));
                assert!(matches!(lock.try_read(), Err(RobustError::WouldBlock)));
                assert!(matches!(lock.try_write_for(short), Err(RobustError::TimedOut)));
                assert!(matches!(lock.try_read_for(short), Err(RobustError::TimedOut)));
                tell.send(thread_id()).unwrap();
                if writes {
                    drop(lock.write().unwrap());
                } else {
                    drop(lock.read().unwrap());
                }
            });
            dying.join().unwrap();
        }
    });
}

#[test]
fn a_dead_writer_is_reported_to_reader_and_writer() {
    bounded(|| {
        let lock = Arc::pin(RobustRwLock::<u32>::new(0));
        for round in 0..4 {
            elsewhere(|| {
                let mut guard = lock.as_ref().write().unwrap();
                *guard = 1;
                forget(guard);
            });
            let locked = lock.as_ref();
            let short = Duration::from_millis(50);
            let error = match round {
                0 => locked.read().unwrap_err(),
                1 => locked.try_read().unwrap_err(),
                2 => locked.write().unwrap_err(),
                _ => locked.try_read_for(short).unwrap_err(),
            };
            let mut guard = error.into_guard().unwrap();
            elsewhere(|| {
                assert!(matches!(locked.try_read(), Err(RobustError::WouldBlock)));
            });
            *guard = 0;
            assert!(RobustRwLockWriteGuard::make_consistent(&mut guard));
            drop(guard);
            assert_eq!(*locked.read().unwrap(), 0);
        }
    });
}

#[test]
fn an_rwlock_that_is_given_up_is_lost_for_all() {
    bounded(|| {
        let lock = Arc::pin(RobustRwLock::<u32>::new(0));
        elsewhere(|| forget(lock.as_ref().write().unwrap()));
        let guard = lock.as_ref().read().unwrap_err().into_guard().unwrap();
        let waiters = [true, false, true, false].map(|reads| {
            let lock = lock.clone();
            thread::spawn(move || {
                let lost = |error| matches!(error, RobustError::NotRecoverable);
                if reads {
                    lost(lock.as_ref().read().unwrap_err())
                } else {
                    lost(lock.as_ref().write().unwrap_err())
                }
            })
        });
        thread::sleep(Duration::from_millis(20));
        drop(guard);
        assert_eq!(join_all(waiters), [true; 4]);
        assert!(matches!(lock.as_ref().try_read(), Err(RobustError::NotRecoverable)));
        assert!(lock.is_not_recoverable());
    });
}

/// A writer gets in beside readers that never all leave at once, and a reader beside writers.
#[test]
fn neither_side_starves() {
    bounded(|| {
        for greedy_write in [false, true] {
            let lock = Arc::pin(RobustRwLock::<bool>::new(false));
            let greedy: Vec<_> = (0..6)
                .map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || {
                        let use_it = |stop: &bool| {
                            burn(Duration::from_micros(200));
                            *stop
                        };
                        let stops = || {
                            if greedy_write {
                                use_it(&lock.as_ref().write().unwrap())
                            } else {
                                use_it(&lock.as_ref().read().unwrap())
                            }
                        };
                        while !stops() {}
                    })
                })
                .collect();
            for _ in 0..10 {
                thread::sleep(Duration::from_millis(3));
                if greedy_write {
                    drop(lock.as_ref().read().unwrap());
                } else {
                    drop(lock.as_ref().write().unwrap());
                }
            }
            *lock.as_ref().write().unwrap() = true;
            join_all(greedy);
        }
    });
}

#[test]
fn the_raw_types_have_no_hidden_state() {
    assert_eq!(size_of::<RawRobustMutex>(), 80);
    // SAFETY: all zero is a free mutex, as promised.
    let mutex: RawRobustMutex = unsafe { std::mem::zeroed() };
    // SAFETY: it doesn't move until it is unlocked.
    assert_eq!(unsafe { mutex.lock() }, Ok(Held::Acquired));
    // SAFETY: held.
    unsafe { mutex.unlock() };
}

/// Whichever reader leaves, the reader that found no slot gets in, and those behind it.
#[test]
fn a_reader_without_a_slot_takes_any_that_becomes_free() {
    bounded(|| {
        for stays in 0..2 {
            let lock = Arc::pin(RobustRwLock::<u32, 2>::new(0));
            let readers = [0, 1].map(|_| Reader::enter(&lock));
            assert!(matches!(lock.as_ref().try_read(), Err(RobustError::WouldBlock)));
            let start = Instant::now();
            let short = Duration::from_millis(7);
            assert!(matches!(lock.as_ref().try_read_for(short), Err(RobustError::TimedOut)));
            assert!(start.elapsed() >= short);
            let waiters = [0, 1, 2].map(|_| {
                let lock = lock.clone();
                thread::spawn(move || drop(lock.as_ref().read().unwrap()))
            });
            thread::sleep(Duration::from_millis(20));
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            let [first, second] = readers;
            let (stays, leaves) = if stays == 0 { (first, second) } else { (second, first) };
            leaves.leave();
            join_all(waiters);
            drop(lock.as_ref().try_read().unwrap());
            stays.leave();
            drop(lock.as_ref().try_write().unwrap());
        }
    });
}

/// A thread that reads until `leave`.
struct Reader {
    leave: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Reader {
    fn enter(lock: &Pin<Arc<RobustRwLock<u32, 2>>>) -> Self {
        let lock = lock.clone();
        let ((leave, told), (entered, is_in)) = (mpsc::channel(), mpsc::channel());
        let thread = thread::spawn(move || {
            let guard = lock.as_ref().read().unwrap();
            entered.send(()).unwrap();
            told.recv().unwrap();
            drop(guard);
        });
        is_in.recv().unwrap();
        Self { leave, thread }
    }

    fn leave(self) {
        self.leave.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

fn seed() -> u64 {
    std::env::var("FURWOCK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        Instant::now().elapsed().subsec_nanos() as u64 ^ u64::from(std::process::id()) << 20 | 1
    })
}
