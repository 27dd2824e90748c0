//! The semaphore: permits are neither lost nor made, however threads come and go.

use furwock::lock::RawSemaphore;
use furwock::unstable::semaphore::{PermitWaited, acquire_interruptible, release_quietly};
use furwock::{Clock, Deadline, Semaphore, TooManyPermits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

#[test]
fn permits_are_counted() {
    let semaphore = Semaphore::new(2);
    assert!(semaphore.try_acquire());
    semaphore.acquire();
    assert!(!semaphore.try_acquire());
    assert_eq!(semaphore.available(), 0);
    semaphore.release_many(3).unwrap();
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn too_many_permits_are_refused_and_change_nothing() {
    assert_eq!(Semaphore::try_new(RawSemaphore::MOST + 1).unwrap_err(), TooManyPermits);
    let full = Semaphore::new(RawSemaphore::MOST);
    assert_eq!(full.release(), Err(TooManyPermits));
    assert_eq!(full.release_many(u32::MAX), Err(TooManyPermits));
    assert_eq!(full.available(), RawSemaphore::MOST);
    assert!(full.try_acquire());
    assert_eq!(full.release(), Ok(()));
}

#[test]
fn a_deadline_counts_only_where_no_permit_is() {
    let semaphore = Semaphore::new(1);
    let past = Deadline::at(Clock::Monotonic, 0, 0).unwrap();
    assert!(semaphore.try_acquire_until(past));
    assert!(!semaphore.try_acquire_until(past));
    let began = Instant::now();
    assert!(!semaphore.try_acquire_for(Duration::from_millis(20)));
    assert!(began.elapsed() >= Duration::from_millis(20));
    semaphore.release().unwrap();
    assert_eq!(semaphore.available(), 1, "no waiter is left");
}

#[test]
fn one_permit_excludes() {
    const THREADS: u64 = 8;
    const EACH: u64 = 20_000;
    let (lock, inside, sum) = (Semaphore::new(1), AtomicU32::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    assert!(lock.try_acquire_for(LONG), "a permit was lost");
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                    sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    lock.release().unwrap();
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), THREADS * EACH);
}

/// Givers and takers, some of which give up: in the end as many permits are left as were given and
/// not taken.
#[test]
fn nothing_is_lost_as_takers_give_up() {
    const EACH: u32 = 20_000;
    let (permits, taken) = (Semaphore::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for turn in 0..EACH {
                    permits.release().unwrap();
                    if turn % 64 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    assert!(permits.try_acquire_for(LONG), "a permit was lost");
                }
                taken.fetch_add(EACH, Ordering::Relaxed);
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                let mut mine = 0;
                for turn in 0..EACH / 3 {
                    let patience = Duration::from_nanos(u64::from(turn % 7) * 500);
                    mine += u32::from(permits.try_acquire_for(patience));
                }
                taken.fetch_add(mine, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(permits.available() + taken.into_inner(), 3 * EACH);
}

/// The taker frees the semaphore while givers haven't returned yet, which stand back when they met
/// one another.
#[test]
fn the_taker_may_free_it_at_once() {
    for givers in [1, 4] {
        for _ in 0..3_000 / givers {
            let semaphore = Box::leak(Box::new(Semaphore::new(0)));
            let address = &raw mut *semaphore as usize;
            thread::scope(|scope| {
                for _ in 0..givers {
                    scope.spawn(move || {
                        // SAFETY: leaked above; freed by the other thread, once it has all permits.
                        let semaphore = unsafe { &*(address as *const Semaphore) };
                        semaphore.release().unwrap();
                    });
                }
                for _ in 0..givers {
                    assert!(semaphore.try_acquire_for(LONG), "a permit was lost");
                }
                // SAFETY: leaked above, and no thread looks at it any more.
                drop(unsafe { Box::from_raw(address as *mut Semaphore) });
            });
        }
    }
}

/// Threads that take permits and give them back in a row meet at the word all the time.
#[test]
fn permits_taken_and_given_back_in_a_row_are_all_there_in_the_end() {
    let semaphore = Semaphore::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50_000 {
                    assert!(semaphore.try_acquire_for(LONG), "a permit was lost");
                    semaphore.release().unwrap();
                }
            });
        }
    });
    assert_eq!(semaphore.available(), 4);
}

#[test]
fn a_quiet_release_wakes_nobody_and_says_so() {
    let semaphore = Arc::new(RawSemaphore::new(0).unwrap());
    assert_eq!(release_quietly(&semaphore), Ok(true));
    assert_eq!(semaphore.available(), 1);
    semaphore.acquire();
    let is_refused = |_| {
        let waiter = {
            let semaphore = Arc::clone(&semaphore);
            thread::spawn(move || semaphore.acquire())
        };
        thread::sleep(Duration::from_millis(10));
        let is_refused = release_quietly(&semaphore) == Ok(false);
        if is_refused {
            assert_eq!(semaphore.available(), 0, "nothing was done");
            semaphore.release().unwrap();
        }
        waiter.join().unwrap();
        is_refused
    };
    // (The waiter may not have come so far.)
    assert!((0..200).any(is_refused), "no thread waited");

    let full = RawSemaphore::new(RawSemaphore::MOST).unwrap();
    assert_eq!(release_quietly(&full), Err(TooManyPermits));
    assert_eq!(full.available(), RawSemaphore::MOST);
}

#[test]
fn an_interrupt_ends_the_wait_and_a_permit_comes_before_it() {
    let semaphore = RawSemaphore::new(1).unwrap();
    furwock::unstable::forget_interrupt();
    // SAFETY: the calling thread's own name.
    let own = unsafe { libc::pthread_self() } as usize;
    furwock::unstable::interrupt(own);
    assert_eq!(acquire_interruptible(&semaphore, None), PermitWaited::Permit);
    assert_eq!(acquire_interruptible(&semaphore, None), PermitWaited::Interrupted);
    let past = Deadline::at(Clock::Monotonic, 0, 0);
    assert_eq!(acquire_interruptible(&semaphore, past.as_ref()), PermitWaited::TimedOut);
}

#[test]
fn permits_are_given_back_as_they_are_dropped() {
    static SLOTS: Semaphore = Semaphore::new(3);
    let mut first = SLOTS.acquire_permit();
    let second = SLOTS.try_acquire_permit().unwrap();
    let third = SLOTS.try_acquire_permit_for(LONG).unwrap();
    assert!(SLOTS.try_acquire_permit_until(Instant::now()).is_none());
    assert!(SLOTS.try_acquire_permit_for(Duration::from_millis(1)).is_none());
    assert_eq!(
        format!("{SLOTS:?} {first:?}"),
        "Semaphore { available: 0 } SemaphorePermit { count: 1, .. }"
    );
    first.merge(second);
    assert_eq!((first.count(), SLOTS.available()), (2, 0));
    thread::scope(|scope| {
        scope.spawn(|| drop(SLOTS.acquire_permit()));
        scope.spawn(|| drop(first));
    });
    assert_eq!(SLOTS.available(), 2);
    third.forget();
    assert_eq!(SLOTS.available(), 2);

    let shared = Arc::new(Semaphore::new(1));
    let owned = Arc::clone(&shared).acquire_owned();
    assert!(Arc::clone(&shared).try_acquire_owned().is_none());
    assert!(Arc::ptr_eq(owned.semaphore(), &shared));
    thread::spawn(move || drop(owned)).join().unwrap();
    assert_eq!((shared.available(), Arc::strong_count(&shared)), (1, 1));
}

#[test]
#[should_panic(expected = "permits of two semaphores")]
fn permits_of_two_semaphores_stay_apart() {
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    one.acquire_permit().merge(other.acquire_permit());
}
