//! Tasks at locks, beside threads: under tokio, under an executor of a few lines, and polled by
//! hand.

mod common;
mod process;

use common::{Random, asleep, bounded, burn, eventually, join_all, kept};
use furwock::future::{AsyncMutex, LockFuture, MutexGuardAsync, Notified};
use furwock::lock::{Options, RawMutex, TASK, thread_id};
use furwock::{Condvar, Deadline, Mutex, Notify, Semaphore};
use process::holds_in_a_child;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// An executor for one future, on the calling thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Counts how often it was called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll_by<F: Future + Unpin>(future: &mut F, calls: &Arc<Calls>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(calls))))
}

/// Whether no waiter is left: the next release finds none.
fn is_at_rest<T>(mutex: &Mutex<T>) -> bool {
    // SAFETY: locked and released here.
    let raw: &RawMutex = unsafe { mutex.raw() };
    let locked = raw.try_lock();
    locked && raw.unlock() == 0 && raw.owner() == 0
}

#[test]
fn a_task_holds_what_threads_wait_for() {
    bounded(|| {
        let mutex = kept(Mutex::new(0));
        let guard = block_on(mutex.lock_async());
        assert!(mutex.try_lock().is_none() && mutex.try_lock_async().is_none());
        // SAFETY: looked at.
        assert_eq!(unsafe { mutex.raw() }.owner(), TASK);
        let waiter = asleep(|| *mutex.lock() += 1);
        // The guard goes to another thread, and is dropped there.
        thread::spawn(move || drop(guard)).join().unwrap();
        waiter.join().unwrap();
        assert_eq!(*mutex.lock(), 1);
        assert!(is_at_rest(mutex));
    });
}

#[test]
fn a_task_waits_for_what_a_thread_holds() {
    let mutex = Mutex::new(0);
    let calls = Arc::new(Calls::default());
    let guard = mutex.lock();
    let mut future = mutex.lock_async();
    assert!(poll_by(&mut future, &calls).is_pending());
    assert_eq!(calls.0.load(Ordering::Relaxed), 0);
    drop(guard);
    assert_eq!(calls.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(guard) = poll_by(&mut future, &calls) else { panic!("it was woken") };
    assert_eq!(MutexGuardAsync::mutex(&guard).data_ptr(), mutex.data_ptr());
    drop((future, guard));
    assert!(is_at_rest(&mutex));
}

/// No thread has the id that the word of such a mutex names. That isn't the end of its owner.
#[test]
fn no_waiter_takes_a_task_for_a_thread_that_has_ended() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock_async().unwrap();
    // SAFETY: what it locks it releases.
    let raw = unsafe { mutex.raw() };
    let deadline = Deadline::after(Duration::from_millis(60));
    let taken = raw.lock_with(&Options::new().owner_death(true).until(deadline));
    assert_eq!(taken, None);
    drop(guard);
    assert_ne!(thread_id(), TASK);
    assert!(is_at_rest(&mutex));
}

#[test]
fn a_fair_release_hands_the_lock_to_a_task_which_may_be_dropped() {
    let mutex = Mutex::new(());
    for polled in [true, false] {
        let guard = mutex.try_lock_async().unwrap();
        let [mut first, mut second] = [(); 2].map(|()| mutex.lock_async());
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        MutexGuardAsync::unlock_fair(guard);
        assert!(mutex.try_lock().is_none(), "it is the first one's");
        if polled {
            drop(match poll(&mut first) {
                Poll::Ready(guard) => guard,
                Poll::Pending => panic!("it was handed the lock"),
            });
        } else {
            drop(first);
        }
        let Poll::Ready(guard) = poll(&mut second) else { panic!("it was woken") };
        drop((second, guard));
        assert!(is_at_rest(&mutex));
    }
}

#[test]
fn a_dropped_lock_future_wakes_the_next() {
    bounded(|| {
        let mutex = kept(Mutex::new(()));
        let calls = Arc::new(Calls::default());
        let guard = mutex.lock();
        let [mut first, mut second, mut third] = [(); 3].map(|()| mutex.lock_async());
        for future in [&mut first, &mut second] {
            assert!(poll(future).is_pending());
        }
        assert!(poll_by(&mut third, &calls).is_pending());
        drop(second);
        drop(guard);
        assert_eq!(calls.0.load(Ordering::Relaxed), 0);
        drop(first);
        assert_eq!(calls.0.load(Ordering::Relaxed), 1);
        let guard = match poll(&mut third) {
            Poll::Ready(guard) => guard,
            Poll::Pending => panic!("it was woken"),
        };
        drop((third, guard));
        assert!(is_at_rest(mutex));
    });
}

struct Inside(AtomicUsize);

impl Inside {
    fn enter(&self) {
        assert_eq!(self.0.fetch_add(1, Ordering::Relaxed), 0, "two are inside");
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads and tasks on one mutex: some tasks give up at random moments, some hold the guard
/// across an await.
#[test]
fn threads_and_tasks_exclude_each_other_and_lose_no_wake() {
    bounded(|| {
        const ROUNDS: usize = 400;
        let mutex = kept(Mutex::new(0_usize));
        let inside = kept(Inside(AtomicUsize::new(0)));
        let runtime = runtime();
        let tasks: Vec<_> = (0..12)
            .map(|task: usize| {
                runtime.spawn(async move {
                    let mut taken = 0;
                    for round in 0..ROUNDS {
                        let patience = Duration::from_micros((task * 7 + round * 13) as u64 % 97);
                        let locked = if task % 2 == 0 {
                            timeout(patience, mutex.lock_async()).await.ok()
                        } else {
                            Some(mutex.lock_async().await)
                        };
                        let Some(mut count) = locked else { continue };
                        inside.enter();
                        *count += 1;
                        taken += 1;
                        if round % 8 == 0 {
                            tokio::task::yield_now().await;
                        }
                        inside.leave();
                    }
                    taken
                })
            })
            .collect();
        let threads: Vec<_> = (0..3)
            .map(|thread| {
                thread::spawn(move || {
                    let mut taken = 0;
                    for round in 0..ROUNDS {
                        let locked = if thread == 0 {
                            mutex.try_lock_for(Duration::from_micros(round as u64 % 50))
                        } else {
                            Some(mutex.lock())
                        };
                        let Some(mut count) = locked else { continue };
                        inside.enter();
                        *count += 1;
                        taken += 1;
                        inside.leave();
                    }
                    taken
                })
            })
            .collect();
        let mut taken: usize = join_all(threads).into_iter().sum();
        for task in tasks {
            taken += runtime.block_on(task).unwrap();
        }
        assert!(taken >= 8 * ROUNDS, "{taken}");
        assert_eq!(*mutex.lock(), taken);
        assert!(is_at_rest(mutex));
    });
}

/// What `work` does in three threads, each with numbers of its own, while two others do `beside`.
fn storm(
    work: impl Fn(&mut Random) + Send + Sync + Copy + 'static,
    beside: impl Fn() + Send + Sync + Copy + 'static,
) {
    let stop = kept(AtomicBool::new(false));
    let others: Vec<_> = (0..2)
        .map(|_| {
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    beside();
                }
            })
        })
        .collect();
    let workers: Vec<_> = (1..=3)
        .map(|seed| {
            thread::spawn(move || {
                let mut random = Random::seeded(seed);
                (0..3_000).for_each(|_| work(&mut random));
            })
        })
        .collect();
    join_all(workers);
    stop.store(true, Ordering::Relaxed);
    join_all(others);
}

/// Polls the future up to four times, with pauses, and drops it at a random moment, woken or not.
fn poll_or_drop<F: Future + Unpin>(mut future: F, random: &mut Random) -> Option<F::Output> {
    for _ in 0..random.below(5) {
        if let Poll::Ready(output) = poll(&mut future) {
            return Some(output);
        }
        for _ in 0..random.below(200) {
            std::hint::spin_loop();
        }
    }
    None
}

#[test]
fn lock_futures_that_are_dropped_at_any_moment_hold_up_no_thread() {
    bounded(|| {
        let mutex = kept(Mutex::new(0_u64));
        let added = kept(AtomicUsize::new(0));
        let add = |count: &mut u64| {
            *count += 1;
            added.fetch_add(1, Ordering::Relaxed);
        };
        storm(
            move |random| {
                if let Some(mut count) = poll_or_drop(mutex.lock_async(), random) {
                    add(&mut count);
                }
            },
            move || add(&mut mutex.lock()),
        );
        assert_eq!(*mutex.lock(), added.load(Ordering::Relaxed) as u64);
        assert!(is_at_rest(mutex));
    });
}

#[test]
fn acquires_that_are_dropped_at_any_moment_lose_no_permit() {
    bounded(|| {
        let permits = kept(Semaphore::new(4));
        storm(
            move |random| {
                let count = 1 + random.below(4) as u32;
                if poll_or_drop(permits.acquire_many_async(count), random).is_some() {
                    permits.release_many(count).unwrap();
                }
            },
            move || {
                permits.acquire();
                permits.release().unwrap();
            },
        );
        assert_eq!(permits.available(), 4);
    });
}

/// Each notification reaches a waiter or is stored: a thread that answers each is answered.
#[test]
fn notifications_to_dropped_futures_reach_a_thread() {
    bounded(|| {
        let [notify, answered] = [(); 2].map(|()| kept(Notify::new()));
        let stop = kept(AtomicBool::new(false));
        let last = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                notify.wait();
                answered.notify_one();
            }
        });
        let pollers: Vec<_> = (1..=2)
            .map(|seed| {
                thread::spawn(move || {
                    let mut random = Random::seeded(seed);
                    while !stop.load(Ordering::Relaxed) {
                        // What it reports it gives on.
                        if poll_or_drop(notify.notified(), &mut random).is_some() {
                            notify.notify_one();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..5_000 {
            notify.notify_one();
            answered.wait();
        }
        stop.store(true, Ordering::Relaxed);
        join_all(pollers);
        notify.notify_one();
        last.join().unwrap();
    });
}

/// Threads take the lock again and again; a task that waits has it handed over before long.
#[test]
fn threads_do_not_starve_a_task() {
    bounded(|| {
        let mutex = kept(Mutex::new(()));
        let stop = kept(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                thread::spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let _guard = mutex.lock();
                        burn(Duration::from_micros(50));
                    }
                })
            })
            .collect();
        let runtime = runtime();
        runtime.block_on(async {
            for _ in 0..20 {
                drop(mutex.lock_async().await);
            }
        });
        stop.store(true, Ordering::Relaxed);
        join_all(threads);
    });
}

#[test]
fn tasks_do_not_starve_a_thread() {
    bounded(|| {
        let mutex = kept(Mutex::new(()));
        let stop = kept(AtomicBool::new(false));
        let runtime = runtime();
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                runtime.spawn(async {
                    while !stop.load(Ordering::Relaxed) {
                        let _guard = mutex.lock_async().await;
                        burn(Duration::from_micros(50));
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            drop(mutex.lock());
        }
        stop.store(true, Ordering::Relaxed);
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
    });
}

#[test]
fn many_permits_are_taken_at_once_or_none() {
    let permits = Semaphore::new(3);
    let mut four = permits.acquire_many_async(4);
    assert!(poll(&mut four).is_pending());
    assert_eq!(permits.available(), 3);
    assert!(!permits.try_acquire_many(4));
    let mut two = permits.acquire_many_async(2);
    assert!(poll(&mut two).is_ready(), "it overtakes");
    permits.release().unwrap();
    assert!(poll(&mut four).is_pending());
    permits.release_many(2).unwrap();
    assert!(poll(&mut four).is_ready());
    assert_eq!(permits.available(), 0);
}

/// The permit that a task can't use goes to the thread behind it.
#[test]
fn a_task_that_wants_more_leaves_a_permit_to_a_thread() {
    bounded(|| {
        let permits = kept(Semaphore::new(0));
        let calls = Arc::new(Calls::default());
        let mut two = permits.acquire_many_async(2);
        assert!(poll_by(&mut two, &calls).is_pending());
        let waiter = asleep(|| permits.acquire());
        permits.release().unwrap();
        assert_eq!(calls.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut two).is_pending());
        waiter.join().unwrap();
        permits.release_many(2).unwrap();
        assert!(poll(&mut two).is_ready());
    });
}

#[test]
fn a_notification_is_stored_once() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    assert!(notify.wait_for(Duration::ZERO));
    assert!(!notify.wait_for(Duration::from_millis(1)));
    notify.notify_waiters();
    assert!(!notify.wait_for(Duration::from_millis(1)), "only those that waited");
}

#[test]
fn threads_and_tasks_are_notified_in_order() {
    bounded(|| {
        let notify = kept(Notify::new());
        let mut first = notify.notified();
        assert!(poll(&mut first).is_pending());
        let second = asleep(|| notify.wait());
        let mut third = notify.notified();
        assert!(poll(&mut third).is_pending());
        notify.notify_one();
        assert!(poll(&mut first).is_ready() && poll(&mut third).is_pending());
        notify.notify_one();
        second.join().unwrap();
        assert!(poll(&mut third).is_pending());
        let fourth = asleep(|| notify.wait());
        notify.notify_waiters();
        fourth.join().unwrap();
        assert!(poll(&mut third).is_ready());
    });
}

#[test]
fn a_thread_and_a_task_answer_each_other() {
    bounded(|| {
        const ROUNDS: usize = 20_000;
        let [there, back] = [(); 2].map(|()| kept(Notify::new()));
        let runtime = runtime();
        let task = runtime.spawn(async {
            for _ in 0..ROUNDS {
                there.notified().await;
                back.notify_one();
            }
        });
        for _ in 0..ROUNDS {
            there.notify_one();
            back.wait();
        }
        runtime.block_on(task).unwrap();
    });
}

/// Random sequences of calls on one thread: the same futures are ready as with tokio's.
#[test]
fn notifications_are_those_of_tokio() {
    type Theirs = Pin<Box<tokio::sync::futures::Notified<'static>>>;
    for seed in 1..=5_000_u64 {
        let mut random = Random::seeded(seed);
        let (ours, theirs) = (kept(Notify::new()), kept(tokio::sync::Notify::new()));
        let mut waits: Vec<(Notified<'static>, Theirs)> = Vec::new();
        let mut steps = Vec::new();
        for _ in 0..60 {
            let step = random.below(10);
            let at = random.below(waits.len().max(1) as u64) as usize;
            steps.push((step, at));
            match step {
                0..3 => waits.push((ours.notified(), Box::pin(theirs.notified()))),
                3 | 4 => {
                    ours.notify_one();
                    theirs.notify_one();
                }
                5 => {
                    ours.notify_waiters();
                    theirs.notify_waiters();
                }
                6 if !waits.is_empty() => drop(waits.remove(at)),
                _ if !waits.is_empty() => {
                    let (our, their) = &mut waits[at];
                    let ready = (poll(our).is_ready(), poll(their).is_ready());
                    assert_eq!(ready.0, ready.1, "seed {seed}: {steps:?}");
                    if ready.0 {
                        drop(waits.remove(at));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Drops the future that it wakes, as an executor does that has shut down.
struct Drops<F>(std::sync::Mutex<Option<F>>);

impl<F: Send> Wake for Drops<F> {
    fn wake(self: Arc<Self>) {
        let future = self.0.lock().unwrap().take();
        drop(future);
    }
}

/// Futures that `make` makes are queued; each drops itself as it is woken. What `wake` does goes on
/// from each to the next, on one small stack, to the last.
fn goes_on_to_the_last<F>(make: impl Fn() -> F, wake: impl FnOnce())
where
    F: Future + Unpin + Send + 'static,
{
    let wakers: Vec<_> =
        (0..20_000).map(|_| Arc::new(Drops(std::sync::Mutex::new(None)))).collect();
    for waker in &wakers {
        let mut future = make();
        let by = Waker::from(Arc::clone(waker));
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&by)).is_pending());
        *waker.0.lock().unwrap() = Some(future);
    }
    let mut last = make();
    assert!(poll(&mut last).is_pending());
    wake();
    assert!(poll(&mut last).is_ready());
}

#[test]
fn wakers_that_drop_their_futures_pass_on_without_end() {
    bounded(|| {
        let mutex = kept(Mutex::new(()));
        let guard = mutex.lock();
        goes_on_to_the_last(|| -> LockFuture<'static, ()> { mutex.lock_async() }, || drop(guard));
        let notify = kept(Notify::new());
        goes_on_to_the_last(|| notify.notified(), || notify.notify_one());
        let permits = kept(Semaphore::new(0));
        goes_on_to_the_last(|| permits.acquire_async(), || permits.release().unwrap());
    });
}

#[test]
fn tasks_and_threads_wait_at_one_condvar() {
    bounded(|| {
        let (turn, changed) = (kept(Mutex::new(0_usize)), kept(Condvar::new()));
        const ROUNDS: usize = 2_000;
        let runtime = runtime();
        let task = runtime.spawn(async {
            for round in 0..ROUNDS {
                let mut guard = turn.lock_async().await;
                while *guard != 2 * round {
                    guard = changed.wait_async(guard).await;
                }
                *guard += 1;
                drop(guard);
                changed.notify_all();
            }
        });
        for round in 0..ROUNDS {
            let mut guard = turn.lock();
            changed.wait_while(&mut guard, |turn| *turn != 2 * round + 1);
            *guard += 1;
            drop(guard);
            changed.notify_all();
        }
        runtime.block_on(task).unwrap();
        assert_eq!(*turn.lock(), 2 * ROUNDS);
    });
}

#[test]
fn a_condvars_future_may_be_dropped_at_any_moment() {
    bounded(|| {
        let (mutex, changed) = (kept(Mutex::new(())), kept(Condvar::new()));
        let wait = || changed.wait_async(mutex.try_lock_async().unwrap());
        drop(wait());
        assert!(mutex.try_lock().is_some(), "it had the lock, and released it");
        let mut first = wait();
        assert!(poll(&mut first).is_pending());
        let mut second = wait();
        assert!(poll(&mut second).is_pending());
        assert!(changed.notify_one());
        drop(first);
        let guard = match poll(&mut second) {
            Poll::Ready(guard) => guard,
            Poll::Pending => panic!("the notification went on"),
        };
        drop((second, guard));
        let mut third = wait();
        assert!(poll(&mut third).is_pending());
        drop(third);
        assert!(!changed.notify_one());
        let mut fourth = wait();
        assert!(poll(&mut fourth).is_pending());
        let guard = mutex.lock();
        assert!(changed.notify_one());
        assert!(poll(&mut fourth).is_pending(), "the mutex is held");
        drop(guard);
        drop(fourth);
        assert!(is_at_rest(mutex));
    });
}

#[test]
fn a_child_drops_its_parents_futures_and_locks_anew() {
    bounded(|| {
        let (mutex, permits, notify) = (Mutex::new(()), Semaphore::new(0), Notify::new());
        let mut guard = Some(mutex.lock());
        let mut waits = (mutex.lock_async(), permits.acquire_async(), notify.notified());
        assert!(poll(&mut waits.0).is_pending());
        assert!(poll(&mut waits.1).is_pending() && poll(&mut waits.2).is_pending());
        let mut waits = Some(waits);
        holds_in_a_child(|| {
            drop(waits.take());
            let mut own = mutex.lock_async();
            let queued = poll(&mut own).is_pending();
            drop(guard.take());
            let locks = poll(&mut own).is_ready();
            permits.release().unwrap();
            notify.notify_one();
            queued && locks && permits.try_acquire() && notify.wait_for(Duration::ZERO)
        });
        drop(guard);
        let (mut lock, mut permit, mut notified) = waits.unwrap();
        assert!(poll(&mut lock).is_ready(), "the parent's still waits");
        permits.release().unwrap();
        notify.notify_one();
        assert!(poll(&mut permit).is_ready() && poll(&mut notified).is_ready());
    });
}

#[test]
fn a_look_names_threads_and_counts_no_task() {
    bounded(|| {
        use furwock::inspect::{Inspect, Kind, Wait, waits};
        let notify = kept(Notify::new());
        let mut task = notify.notified();
        assert!(poll(&mut task).is_pending());
        let waiter = asleep(|| notify.wait());
        // Other tests' threads wait for other ones.
        let is_its = |wait: &Wait| {
            wait.kind == Kind::Notify && wait.address == std::ptr::from_ref(notify).addr()
        };
        let found = || waits().iter().filter(|wait| is_its(wait)).count();
        eventually("the thread's wait is seen", || found() == 1);
        notify.notify_waiters();
        waiter.join().unwrap();

        let mutex = Mutex::new(());
        let _guard = mutex.try_lock_async();
        let mut waits = mutex.lock_async();
        assert!(poll(&mut waits).is_pending());
        let seen = mutex.inspect();
        assert!(seen.waiters.is_empty() && !seen.holders.is_empty());
    });
}
