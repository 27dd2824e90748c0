//! The PI mutex and condvar: what other locks do too, and what only the kernel can.
//! `pi_inversion` shows that priorities are inherited.

mod common;

use common::{bounded, eventually};
use furwock::lock::Outcome;
use furwock::lock::pi::{self, Acquired, PiError, RawPiCondvar, RawPiMutex, Scope};
use furwock::{Clock, Deadline, PiCondvar, PiMutex, PiMutexGuard};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, SystemTime};

/// A deadline on each clock, `timeout` ahead.
fn deadlines(timeout: Duration) -> [Deadline; 2] {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + timeout;
    let (seconds, nanoseconds) = (time.as_secs() as i64, i64::from(time.subsec_nanos()));
    [
        Deadline::after(timeout),
        Deadline::at(Clock::Realtime, seconds, nanoseconds).expect("a time of day"),
    ]
}

fn shared_in(scope: Scope) {
    bounded(move || {
        let count = Arc::new(PiMutex::with_scope(scope, 0u64));
        let workers: Vec<_> = (0..8)
            .map(|number: usize| {
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    for round in 0..5_000 {
                        let short = Duration::from_micros(50);
                        let guard = match (round + number) % 3 {
                            0 => count.lock().ok(),
                            1 => count.try_lock(),
                            _ => count.lock_for(short).ok(),
                        };
                        *guard.unwrap_or_else(|| count.lock().unwrap()) += 1;
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(*count.lock().unwrap(), 8 * 5_000);
    });
}

#[test]
fn eight_threads_count_together() {
    shared_in(Scope::Private);
    shared_in(Scope::Shared);
}

#[test]
fn a_held_mutex_is_not_to_be_had_on_either_clock() {
    bounded(|| {
        let mutex = Arc::new(PiMutex::new(()));
        let guard = mutex.lock().unwrap();
        assert!(mutex.is_locked());
        let other = Arc::clone(&mutex);
        thread::spawn(move || {
            assert!(other.try_lock().is_none());
            for deadline in deadlines(Duration::from_millis(30)) {
                assert_eq!(other.lock_until(&deadline).err(), Some(PiError::TimedOut));
                assert!(deadline.has_passed());
            }
            let passed = Deadline::at(Clock::Realtime, 0, 0).unwrap();
            assert_eq!(other.lock_until(&passed).err(), Some(PiError::TimedOut));
        })
        .join()
        .unwrap();
        drop(guard);
        assert!(mutex.lock_for(Duration::ZERO).is_ok());
        assert!(!mutex.is_locked());
    });
}

#[test]
fn only_the_owner_releases() {
    bounded(|| {
        let mutex = Arc::new(RawPiMutex::new(Scope::Private));
        assert_eq!(mutex.unlock(), Err(PiError::NotOwner));
        assert_eq!(mutex.lock(), Ok(Acquired::Properly));
        assert_eq!(mutex.owner(), furwock::lock::thread_id());
        let other = Arc::clone(&mutex);
        thread::spawn(move || assert_eq!(other.unlock(), Err(PiError::NotOwner))).join().unwrap();
        assert_eq!(mutex.unlock(), Ok(()));
        assert_eq!(mutex.owner(), 0);
    });
}

#[test]
fn a_panic_releases_without_poison() {
    let mutex = Arc::new(PiMutex::new(1));
    let other = Arc::clone(&mutex);
    let result = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        panic!("on purpose, with the lock held");
    })
    .join();
    assert!(result.is_err());
    assert_eq!(*mutex.lock().unwrap(), 1);
}

/// Locks and unlocks where every system call but `_exit` kills.
#[test]
fn uncontended_means_no_system_call() {
    let (mutex, condvar) = (PiMutex::new(0), PiCondvar::new());
    drop(mutex.lock().unwrap());
    let status = in_child(|| {
        // SAFETY: the child does no more than what follows.
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
        for _ in 0..1000 {
            let mut guard = mutex.lock().unwrap();
            *guard += 1;
            assert!(mutex.try_lock().is_none());
            assert!(!condvar.notify_one().unwrap() && condvar.notify_all().unwrap() == 0);
            drop(guard);
        }
    });
    assert_eq!(status, 0);
}

#[test]
fn relocking_is_a_deadlock_that_is_told() {
    bounded(|| {
        let mutex = PiMutex::new(());
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock().err(), Some(PiError::Deadlock));
        for deadline in deadlines(Duration::from_secs(60)) {
            assert_eq!(mutex.lock_until(&deadline).err(), Some(PiError::Deadlock));
        }
        assert!(mutex.try_lock().is_none());
        drop(guard);
        assert!(mutex.try_lock().is_some());
    });
}

/// Two threads that take two mutexes in opposite orders: one of them is told, and gives way.
#[test]
fn a_circle_of_two_is_a_deadlock_that_is_told() {
    bounded(|| {
        let mutexes = Arc::new([PiMutex::new(()), PiMutex::new(())]);
        let told = Arc::new(AtomicUsize::new(0));
        let both = Arc::new(Barrier::new(2));
        let threads = [0, 1].map(|first| {
            let (mutexes, told, both) =
                (Arc::clone(&mutexes), Arc::clone(&told), Arc::clone(&both));
            thread::spawn(move || {
                let own = mutexes[first].lock().unwrap();
                both.wait();
                match mutexes[1 - first].lock() {
                    Ok(_) => {}
                    Err(error) => {
                        assert_eq!(error, PiError::Deadlock);
                        told.fetch_add(1, Ordering::SeqCst);
                    }
                }
                drop(own);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(told.load(Ordering::SeqCst), 1);
        assert!(mutexes.iter().all(|mutex| !mutex.is_locked()));
    });
}

#[test]
fn an_owner_that_ended_is_told() {
    bounded(|| {
        let mutex = Arc::new(PiMutex::new(()));
        let waits = Arc::new(AtomicU32::new(0));
        // With a waiter in the kernel the lock passes to it.
        let (owner, word) = (Arc::clone(&mutex), Arc::clone(&waits));
        let dies = thread::spawn(move || {
            std::mem::forget(owner.lock().unwrap());
            word.store(1, Ordering::SeqCst);
            eventually("the other waits", || is_asleep(word.load(Ordering::SeqCst)));
        });
        eventually("it is locked", || waits.load(Ordering::SeqCst) == 1);
        waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
        let guard = mutex.lock().unwrap();
        assert!(PiMutexGuard::owner_died(&guard));
        dies.join().unwrap();
        drop(guard);
        assert!(!PiMutexGuard::owner_died(&mutex.lock().unwrap()));
        // Without one it stays where it is.
        let owner = Arc::clone(&mutex);
        let tid = thread::spawn(move || {
            std::mem::forget(owner.lock().unwrap());
            furwock::lock::thread_id()
        });
        let tid = tid.join().unwrap();
        eventually("the kernel has forgotten the thread", || task_status(tid).is_none());
        assert_eq!(mutex.lock().err(), Some(PiError::OwnerGone));
        assert!(mutex.try_lock().is_none());
    });
}

#[test]
fn a_word_of_the_robust_list_is_taken_over() {
    // What the kernel leaves in a word that it found on a dead owner's robust list. Zeroed memory
    // is a mutex, so that one with such a word can be made up.
    let words = [AtomicU32::new(libc::FUTEX_OWNER_DIED), AtomicU32::new(0)];
    // SAFETY: repr(C) with two 32-bit words, of which the second is 0: shared.
    let mutex = unsafe { &*words.as_ptr().cast::<RawPiMutex>() };
    assert_eq!(mutex.scope(), Scope::Shared);
    assert_eq!(mutex.try_lock(), Some(Acquired::OwnerDied));
    assert_eq!(words[0].load(Ordering::SeqCst), furwock::lock::thread_id());
    assert_eq!(mutex.unlock(), Ok(()));
    words[0].store(libc::FUTEX_OWNER_DIED, Ordering::SeqCst);
    assert_eq!(mutex.lock(), Ok(Acquired::OwnerDied));
    assert_eq!(mutex.unlock(), Ok(()));
    assert_eq!(words[0].load(Ordering::SeqCst), 0);
}

#[test]
fn raw_requeueing_moves_to_the_mutex_named() {
    bounded(|| {
        let word = AtomicU32::new(7);
        let mutexes = [0, 1].map(|_| RawPiMutex::new(Scope::Private));
        assert_eq!(pi::wait_requeue(&word, 8, &mutexes[0], None), Err(PiError::Mismatch));
        assert_eq!(pi::compare_requeue(&word, 8, 0, &mutexes[0]), Err(PiError::Mismatch));
        assert_eq!(pi::compare_requeue(&word, 7, 0, &mutexes[0]), Ok(0));
        for deadline in deadlines(Duration::from_millis(10)) {
            let waited = pi::wait_requeue(&word, 7, &mutexes[0], Some(&deadline));
            assert_eq!(waited, Err(PiError::TimedOut));
        }
        let waits = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
                assert_eq!(pi::wait_requeue(&word, 7, &mutexes[0], None), Ok(Acquired::Properly));
                assert_eq!(mutexes[0].owner(), furwock::lock::thread_id());
                mutexes[0].unlock().unwrap();
            });
            eventually("it waits", || is_asleep(waits.load(Ordering::SeqCst)));
            let elsewhere = pi::compare_requeue(&word, 7, 0, &mutexes[1]);
            assert_eq!(elsewhere, Err(PiError::Corrupt));
            assert_eq!(pi::compare_requeue(&word, 7, 0, &mutexes[0]), Ok(1));
        });
        assert!(!mutexes[0].is_locked());
    });
}

#[test]
fn waits_end_by_notification_or_time_on_either_clock() {
    bounded(|| {
        let (mutex, condvar) = (PiMutex::new(()), PiCondvar::new());
        assert_eq!(condvar.notify_one(), Ok(false));
        assert_eq!(condvar.notify_all(), Ok(0));
        let mut guard = mutex.lock().unwrap();
        for deadline in deadlines(Duration::from_millis(20)) {
            let result;
            (guard, result) = condvar.wait_until(guard, &deadline).unwrap();
            assert!(result.timed_out() && deadline.has_passed());
        }
        let short = Duration::from_millis(20);
        let (guard, result) = condvar.wait_while_for(guard, |()| true, short).unwrap();
        assert!(result.timed_out());
        let (guard, result) = condvar.wait_while_for(guard, |()| false, short).unwrap();
        assert!(!result.timed_out() && mutex.is_locked());
        drop(guard);
    });
}

#[test]
fn a_wait_without_the_mutex_is_refused() {
    let (mutex, condvar) = (RawPiMutex::new(Scope::Private), RawPiCondvar::new());
    assert_eq!(condvar.wait(&mutex, None), Err(PiError::NotOwner));
    assert_eq!(condvar.notify_all(), Ok(0));
}

/// `count` threads wait; `notify` lets them go, called with the mutex held or not.
fn let_go(count: usize, held: bool, scope: Scope, notify: fn(&PiCondvar, usize)) {
    bounded(move || {
        let shared = Arc::new((PiMutex::with_scope(scope, (0, false)), PiCondvar::new()));
        let waiters: Vec<_> = (0..count)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut state = shared.0.lock().unwrap();
                    state.0 += 1;
                    drop(shared.1.wait_while(state, |state| !state.1).unwrap());
                })
            })
            .collect();
        eventually("all wait", || shared.0.lock().unwrap().0 == count);
        let mut state = shared.0.lock().unwrap();
        state.1 = true;
        if held {
            notify(&shared.1, count);
            drop(state);
        } else {
            drop(state);
            notify(&shared.1, count);
        }
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert!(!shared.0.is_locked());
        assert_eq!(shared.1.notify_all(), Ok(0));
    });
}

#[test]
fn a_broadcast_lets_all_go() {
    for count in [1, 2, 40] {
        for scope in [Scope::Private, Scope::Shared] {
            for held in [false, true] {
                let_go(count, held, scope, |condvar, count| {
                    assert!(condvar.notify_all().unwrap() <= count);
                });
            }
        }
    }
}

#[test]
fn as_many_signals_as_waiters_let_all_go() {
    for held in [false, true] {
        let_go(20, held, Scope::Private, |condvar, count| {
            (0..count).for_each(|_| _ = condvar.notify_one().unwrap());
        });
    }
}

/// A broadcast under the mutex wakes nobody; the mutex then goes from one to the next.
#[test]
fn a_broadcast_wakes_no_swarm() {
    const WAITERS: usize = 8;
    bounded(|| {
        let shared = Arc::new((PiMutex::new(Vec::new()), PiCondvar::new()));
        let waiters: Vec<_> = (0..WAITERS)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut tids = shared.0.lock().unwrap();
                    tids.push(furwock::lock::thread_id());
                    drop(shared.1.wait(tids).unwrap());
                })
            })
            .collect();
        eventually("all wait", || shared.0.lock().unwrap().len() == WAITERS);
        let tids = shared.0.lock().unwrap().clone();
        let switches = || -> Vec<_> { tids.iter().map(|tid| voluntary_switches(*tid)).collect() };
        eventually("all sleep", || {
            let before = switches();
            thread::sleep(Duration::from_millis(5));
            tids.iter().all(|tid| is_asleep(*tid)) && switches() == before
        });
        let guard = shared.0.lock().unwrap();
        let before = switches();
        assert_eq!(shared.1.notify_all(), Ok(WAITERS));
        thread::sleep(Duration::from_millis(30));
        assert!(tids.iter().all(|tid| is_asleep(*tid)));
        assert_eq!(switches(), before);
        drop(guard);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

/// One condvar, two mutexes: who comes second is told. When nobody waits any more it is free for the
/// other, and may have been moved.
#[test]
fn a_second_mutex_is_refused_while_somebody_waits() {
    bounded(|| {
        let (mutexes, condvar) = ([0, 1].map(PiMutex::new), PiCondvar::new());
        let waits = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let guard = mutexes[0].lock().unwrap();
                waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
                drop(condvar.wait_while(guard, |value| *value == 0).unwrap());
            });
            eventually("it waits", || is_asleep(waits.load(Ordering::SeqCst)));
            let refused = condvar.wait(mutexes[1].lock().unwrap()).err();
            assert_eq!(refused, Some(PiError::OtherMutex));
            assert!(!mutexes[1].is_locked());
            *mutexes[0].lock().unwrap() = 1;
            condvar.notify_one().unwrap();
        });
        let moved = Box::new(condvar);
        let short = Duration::from_millis(1);
        assert!(moved.wait_for(mutexes[1].lock().unwrap(), short).unwrap().1.timed_out());
    });
}

/// Producers and consumers, some of whose waits are too short: every item arrives once. Notified
/// outside the mutex, so that notifications meet one another and waiters on their way to sleep.
#[test]
fn a_bounded_queue_loses_nothing() {
    const ITEMS: u64 = 8_000;
    struct Queue {
        items: PiMutex<Vec<u64>>,
        not_empty: PiCondvar,
        not_full: PiCondvar,
    }
    bounded(|| {
        let queue = Arc::new(Queue {
            items: PiMutex::new(Vec::new()),
            not_empty: PiCondvar::new(),
            not_full: PiCondvar::new(),
        });
        let producers = (0..4).map(|part| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                for item in (part..ITEMS).step_by(4) {
                    let items = queue.items.lock().unwrap();
                    let full = |items: &mut Vec<_>| items.len() == 8;
                    queue.not_full.wait_while(items, full).unwrap().push(item);
                    queue.not_empty.notify_one().unwrap();
                }
                0
            })
        });
        let consumers = (0..4).map(|part| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut sum = 0;
                for _ in (part..ITEMS).step_by(4) {
                    let mut items = queue.items.lock().unwrap();
                    while items.is_empty() {
                        // Two of them wait without a deadline: a signal that a timed-out waiter
                        // swallowed would leave one asleep.
                        items = if part < 2 {
                            queue.not_empty.wait(items).unwrap()
                        } else {
                            let short = Duration::from_micros(30);
                            queue.not_empty.wait_for(items, short).unwrap().0
                        };
                    }
                    sum += items.pop().unwrap();
                    drop(items);
                    queue.not_full.notify_one().unwrap();
                }
                sum
            })
        });
        let threads: Vec<_> = producers.chain(consumers).collect();
        let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
    });
}

/// A handler that interrupts waiters, before and after they have been moved.
#[test]
fn signal_handlers_lose_no_notification() {
    extern "C" fn handler(_: libc::c_int) {}
    // SAFETY: a handler that does nothing, for a signal that nothing else here uses.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut());
    }
    bounded(|| {
        const ROUNDS: u32 = 800;
        let shared = Arc::new((PiMutex::new(0u32), PiCondvar::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let waiter = thread::spawn(move || {
            // SAFETY: always succeeds.
            other.2.store(unsafe { libc::pthread_self() } as usize, Ordering::SeqCst);
            for round in 1..=ROUNDS {
                let turn = other.0.lock().unwrap();
                let mut turn = other.1.wait_while(turn, |turn| *turn != 2 * round - 1).unwrap();
                *turn += 1;
                drop(turn);
                other.1.notify_all().unwrap();
            }
        });
        eventually("it has started", || shared.2.load(Ordering::SeqCst) != 0);
        let pthread = shared.2.load(Ordering::SeqCst) as libc::pthread_t;
        for round in 1..=ROUNDS {
            let mut turn = shared.0.lock().unwrap();
            *turn += 1;
            shared.1.notify_one().unwrap();
            // SAFETY: the thread can't end before this turn is over.
            unsafe { libc::pthread_kill(pthread, libc::SIGUSR2) };
            drop(shared.1.wait_while(turn, |turn| *turn != 2 * round).unwrap());
        }
        waiter.join().unwrap();
    });
}

/// Parent and children count together, and hand a turn around, in memory that they share.
#[test]
fn processes_share() {
    const CHILDREN: u32 = 3;
    const ROUNDS: u32 = 200;
    struct Shared {
        mutex: PiMutex<(u32, u32)>,
        condvar: PiCondvar,
    }
    let pages = map_shared(size_of::<Shared>()).cast::<Shared>();
    // SAFETY: new pages, large and aligned enough.
    unsafe {
        let mutex = PiMutex::with_scope(Scope::Shared, (0, 0));
        pages.write(Shared { mutex, condvar: PiCondvar::new() });
    }
    // SAFETY: just written; never unmapped.
    let shared: &'static Shared = unsafe { &*pages };
    furwock::lock::thread_id();
    let children: Vec<_> = (0..CHILDREN)
        .map(|number| {
            fork(move || {
                for _ in 0..ROUNDS {
                    let guard = shared.mutex.lock().unwrap();
                    let not_mine = |state: &mut (u32, u32)| state.0 % CHILDREN != number;
                    let mut guard = shared.condvar.wait_while(guard, not_mine).unwrap();
                    guard.0 += 1;
                    drop(guard);
                    shared.condvar.notify_all().unwrap();
                    shared.mutex.lock().unwrap().1 += 1;
                }
            })
        })
        .collect();
    children.into_iter().for_each(|child| assert_eq!(ended(child), 0));
    assert_eq!(*shared.mutex.lock().unwrap(), (CHILDREN * ROUNDS, CHILDREN * ROUNDS));
}

/// A waiting process inherits from one that is killed with the lock held.
#[test]
fn a_killed_process_passes_the_lock_on() {
    let pages = map_shared(size_of::<RawPiMutex>()).cast::<RawPiMutex>();
    // SAFETY: zeroed pages, never unmapped; zeroes are a mutex.
    let mutex: &'static RawPiMutex = unsafe { &*pages };
    furwock::lock::thread_id();
    let child = fork(move || {
        mutex.lock().unwrap();
        loop {
            // SAFETY: waits for the signal that kills.
            unsafe { libc::pause() };
        }
    });
    eventually("the child has it", || mutex.owner() == child as u32);
    let own = AtomicU32::new(0);
    thread::scope(|scope| {
        let heir = scope.spawn(|| {
            own.store(furwock::lock::thread_id(), Ordering::SeqCst);
            let acquired = mutex.lock();
            mutex.unlock().unwrap();
            acquired
        });
        eventually("the heir waits", || is_asleep(own.load(Ordering::SeqCst)));
        // SAFETY: kills the child just made.
        unsafe { libc::kill(child, libc::SIGKILL) };
        assert_ne!(ended(child), 0);
        assert_eq!(heir.join().unwrap(), Ok(Acquired::OwnerDied));
    });
    assert_eq!(mutex.lock(), Ok(Acquired::Properly));
}

#[test]
fn a_timed_wait_tells_of_a_notification() {
    bounded(|| {
        // The waiter is moved to a mutex that stays held beyond its deadline.
        let (mutex, condvar) = (RawPiMutex::new(Scope::Private), RawPiCondvar::new());
        let waits = AtomicU32::new(0);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                mutex.lock().unwrap();
                waits.store(furwock::lock::thread_id(), Ordering::SeqCst);
                let deadline = Deadline::after(Duration::from_millis(200));
                let waited = condvar.wait(&mutex, Some(&deadline)).unwrap();
                mutex.unlock().unwrap();
                waited.outcome
            });
            eventually("it waits", || is_asleep(waits.load(Ordering::SeqCst)));
            mutex.lock().unwrap();
            let moved = condvar.notify_one().unwrap();
            thread::sleep(Duration::from_millis(250));
            mutex.unlock().unwrap();
            let outcome = waiter.join().unwrap();
            assert!(!moved || outcome == Outcome::Signalled);
        });
    });
}

/// A kernel without the later operations, played by a filter: typed errors, and nothing is left
/// locked, waited for or lost.
#[test]
fn what_the_kernel_lacks_is_told() {
    let lacks = |call, since| Some(PiError::Unsupported(pi::Unsupported { call, since }));
    let mutex = PiMutex::new(());
    drop(mutex.lock().unwrap());
    let status = in_child(|| {
        let [monotonic, realtime] = deadlines(Duration::from_secs(60));
        refuse_futex_operations(libc::FUTEX_WAIT_REQUEUE_PI as u32);
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock_until(&monotonic).err(), lacks("FUTEX_LOCK_PI2", "5.14"));
        assert_eq!(mutex.lock_until(&realtime).err(), Some(PiError::Deadlock));
        let condvar = PiCondvar::new();
        assert_eq!(condvar.wait(guard).err(), lacks("FUTEX_WAIT_REQUEUE_PI", "2.6.31"));
        assert!(!mutex.is_locked());
        assert_eq!(condvar.notify_one(), Ok(false));
        refuse_futex_operations(0);
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock().err(), lacks("FUTEX_LOCK_PI", "2.6.18"));
        drop(guard);
    });
    assert_eq!(status, 0);
    let text = pi::Unsupported { call: "FUTEX_LOCK_PI2", since: "5.14" }.to_string();
    assert_eq!(text, "this kernel has no FUTEX_LOCK_PI2, which Linux 5.14 brought");
}

/// From here on futex(2) doesn't know operations from `first` on.
fn refuse_futex_operations(first: u32) {
    // Where seccomp's data have the call's number, and its second argument on a machine that keeps
    // a number's low half first.
    const NUMBER: u32 = 0;
    const OPERATION: u32 = 24;
    let step = |code: u32, k: u32, yes: u8, no: u8| libc::sock_filter {
        code: code as u16,
        jt: yes,
        jf: no,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let jump = libc::BPF_JMP | libc::BPF_K;
    let mut filter = [
        step(load, NUMBER, 0, 0),
        step(jump | libc::BPF_JEQ, libc::SYS_futex as u32, 0, 4),
        step(load, OPERATION, 0, 0),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0x7f, 0, 0),
        step(jump | libc::BPF_JGE, first, 0, 1),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: reads the program, which outlives the calls.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let filtered = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program);
        assert_eq!(filtered, 0);
    }
}

/// Maps `size` bytes that children will share.
fn map_shared(size: usize) -> *mut u8 {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let pages = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(pages, libc::MAP_FAILED);
    pages.cast()
}

/// Runs `child` in a process of its own, which ends with status 0 if it returns, and differently if
/// it panics or takes more than 30 s.
fn fork(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child calls nothing that another thread may have left locked: futexes only.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: as above. The exit call works under seccomp too; alarm's signal kills.
        unsafe {
            libc::alarm(30);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            libc::syscall(libc::SYS_exit, i32::from(result.is_err()));
        }
    }
    pid
}

/// The status that `child` ended with.
fn ended(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: writes one status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

fn in_child(child: impl FnOnce()) -> i32 {
    ended(fork(child))
}

/// What the kernel says of one of this process's threads; `None` once it has ended.
fn task_status(tid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()
}

fn is_asleep(tid: u32) -> bool {
    task_status(tid).is_some_and(|status| status.contains("\nState:\tS"))
}

fn voluntary_switches(tid: u32) -> u64 {
    let status = task_status(tid).expect("a live thread");
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect("a count")
}
