//! Tasks at locks: they exclude threads and each other, and one that is dropped leaves nothing
//! behind that holds up others (M-12, SE-2, NT-1, NT-2).
//!
//! A future's moments are: queued, chosen, notified, gone. In each scenario it is polled or dropped
//! at any of them, while other threads release and wait.

use super::{explore, rejects};
use crate::lock::{
    RawAcquireFuture, RawCondvar, RawLockFuture, RawMutex, RawNotified, RawNotify, RawSemaphore,
};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::future::block_on;
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

#[derive(Default)]
struct Counter {
    mutex: RawMutex,
    count: CheckedCell<usize>,
}

impl Counter {
    fn add_locked(&self) {
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.count.set(self.count.get() + 1) };
    }

    fn add_by_thread(&self) {
        self.mutex.lock();
        self.add_locked();
        self.mutex.unlock();
    }

    async fn add_by_task(&self) {
        self.mutex.lock_task().await;
        self.add_locked();
        self.mutex.unlock_task();
    }

    /// No thread or task is left, and the word says so.
    fn ends_with(&self, count: usize) {
        assert!(self.mutex.is_quiet());
        self.mutex.lock();
        // SAFETY: under the mutex.
        assert_eq!(unsafe { self.count.get() }, count);
        self.mutex.unlock();
    }
}

/// Makes a borrow for a future that is gone before the scenario's `Arc`.
fn lasting<T>(object: &Arc<T>) -> &'static T {
    // SAFETY: as said.
    unsafe { &*Arc::as_ptr(object) }
}

fn is_ready(future: &mut (impl Future + Unpin)) -> bool {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

fn spawn<T: Send + Sync + 'static>(
    object: &Arc<T>,
    work: impl FnOnce(&T) + Send + 'static,
) -> thread::JoinHandle<()> {
    let object = Arc::clone(object);
    thread::spawn(move || work(&object))
}

/// A task and threads that add `times` each.
fn task_and_threads(threads: usize, times: usize) {
    let counter = Arc::new(Counter::default());
    let others: Vec<_> = (0..threads)
        .map(|_| spawn(&counter, move |counter| (0..times).for_each(|_| counter.add_by_thread())))
        .collect();
    block_on(async {
        for _ in 0..times {
            counter.add_by_task().await;
        }
    });
    others.into_iter().for_each(|other| other.join().unwrap());
    counter.ends_with((threads + 1) * times);
}

fn two_tasks() {
    let counter = Arc::new(Counter::default());
    let other = spawn(&counter, |counter| block_on(counter.add_by_task()));
    block_on(counter.add_by_task());
    other.join().unwrap();
    counter.ends_with(2);
}

/// A mutex that a task holds, and a future that is queued for it.
fn held() -> (Arc<Counter>, RawLockFuture<'static>) {
    let counter = Arc::new(Counter::default());
    assert!(counter.mutex.try_lock_task());
    let mut future = lasting(&counter).mutex.lock_task();
    assert!(!is_ready(&mut future));
    (counter, future)
}

/// The same with a future that was woken in vain: it has asked for the hand-off.
fn asked() -> (Arc<Counter>, RawLockFuture<'static>) {
    let (counter, mut future) = held();
    counter.mutex.unlock_task();
    assert!(counter.mutex.try_lock_task(), "the lock can be stolen");
    assert!(!is_ready(&mut future));
    (counter, future)
}

/// It is dropped while another thread releases the lock, and a thread waits behind it.
fn dropped((counter, future): (Arc<Counter>, RawLockFuture<'static>)) {
    let waiter = spawn(&counter, Counter::add_by_thread);
    let holder = spawn(&counter, |counter| _ = counter.mutex.unlock_task());
    drop(future);
    holder.join().unwrap();
    waiter.join().unwrap();
    counter.ends_with(1);
}

/// It is polled with another waker while another thread releases the lock: it takes the lock, or
/// that waker is called. A thread competes.
fn polled_anew((counter, future): (Arc<Counter>, RawLockFuture<'static>), threads: usize) {
    let others: Vec<_> = (0..threads).map(|_| spawn(&counter, Counter::add_by_thread)).collect();
    let holder = spawn(&counter, |counter| _ = counter.mutex.unlock_task());
    block_on(future);
    counter.add_locked();
    counter.mutex.unlock_task();
    holder.join().unwrap();
    others.into_iter().for_each(|other| other.join().unwrap());
    counter.ends_with(1 + threads);
}

/// It is polled once more, and then dropped.
fn polled_and_dropped((counter, mut future): (Arc<Counter>, RawLockFuture<'static>)) {
    let waiter = spawn(&counter, Counter::add_by_thread);
    let holder = spawn(&counter, |counter| _ = counter.mutex.unlock_task());
    if is_ready(&mut future) {
        counter.mutex.unlock_task();
    }
    drop(future);
    holder.join().unwrap();
    waiter.join().unwrap();
    counter.ends_with(1);
}

#[test]
fn a_task_and_a_thread_exclude_each_other() {
    explore(3, || task_and_threads(1, 2));
}

#[test]
fn a_task_and_two_threads_exclude_each_other() {
    explore(2, || task_and_threads(2, 1));
}

#[test]
fn two_tasks_exclude_each_other() {
    explore(3, two_tasks);
}

#[test]
fn a_dropped_lock_future_lets_others_go_on() {
    explore(3, || dropped(held()));
}

#[test]
fn a_lock_future_that_is_dropped_as_it_is_handed_the_lock_releases_it() {
    explore(3, || dropped(asked()));
}

#[test]
fn a_lock_future_may_change_its_waker_at_any_moment() {
    explore(3, || polled_anew(held(), 0));
    explore(2, || polled_anew(held(), 1));
    explore(2, || polled_anew(asked(), 1));
}

#[test]
fn a_lock_future_may_be_polled_and_dropped_at_any_moment() {
    explore(3, || polled_and_dropped(held()));
    explore(2, || polled_and_dropped(asked()));
}

#[test]
fn rejects_a_dropped_lock_future_that_keeps_its_promise() {
    rejects(Mutant::DroppedTaskKeepsPromise, 3, || dropped(held()));
}

#[test]
fn rejects_a_dropped_lock_future_that_keeps_the_lock() {
    rejects(Mutant::DroppedTaskKeepsPromise, 3, || dropped(asked()));
}

fn no_permits() -> Arc<RawSemaphore> {
    Arc::new(RawSemaphore::new(0).unwrap())
}

/// A future that is queued for so many permits.
fn wants(semaphore: &Arc<RawSemaphore>, count: u32) -> RawAcquireFuture<'static> {
    let mut future = lasting(semaphore).acquire_task(count);
    assert!(!is_ready(&mut future));
    future
}

/// A future for one permit is dropped while a permit is made, and a thread waits behind it.
fn dropped_before_a_thread() {
    let semaphore = no_permits();
    let future = wants(&semaphore, 1);
    let waiter = spawn(&semaphore, RawSemaphore::acquire);
    let giver = spawn(&semaphore, |semaphore| semaphore.release().unwrap());
    drop(future);
    giver.join().unwrap();
    waiter.join().unwrap();
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// A task that wants two permits stands before a thread that wants one, and one is made.
fn one_of_two() {
    let semaphore = no_permits();
    let mut future = wants(&semaphore, 2);
    let waiter = spawn(&semaphore, RawSemaphore::acquire);
    semaphore.release().unwrap();
    assert!(!is_ready(&mut future), "there was one at most");
    waiter.join().unwrap();
    drop(future);
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

/// A task that wants two, a thread that wants one, and three by two calls.
fn three_for_two() {
    let semaphore = no_permits();
    let waiter = spawn(&semaphore, RawSemaphore::acquire);
    let giver = spawn(&semaphore, |semaphore| {
        semaphore.release().unwrap();
        semaphore.release_many(2).unwrap();
    });
    block_on(semaphore.acquire_task(2));
    giver.join().unwrap();
    waiter.join().unwrap();
    assert_eq!((semaphore.available(), semaphore.waiters()), (0, 0));
}

#[test]
fn a_dropped_acquire_passes_its_wake_on() {
    explore(3, dropped_before_a_thread);
}

#[test]
fn a_task_that_wants_more_leaves_permits_to_others() {
    explore(4, one_of_two);
}

#[test]
fn permits_reach_a_task_that_wants_several() {
    explore(2, three_for_two);
}

#[test]
fn rejects_permits_that_are_left_to_none() {
    rejects(Mutant::LeftPermitsKept, 4, one_of_two);
}

struct Told {
    notify: RawNotify,
    value: CheckedCell<u32>,
}

fn told() -> Arc<Told> {
    Arc::new(Told { notify: RawNotify::new(), value: CheckedCell::new(0) })
}

impl Told {
    fn tell(&self) {
        // SAFETY: before the one notification; loom checks it.
        unsafe { self.value.set(1) };
        self.notify.notify_one();
    }

    fn hear(&self) {
        // SAFETY: after the notification; loom checks it.
        assert_eq!(unsafe { self.value.get() }, 1);
    }
}

fn task_is_told() {
    let told = told();
    let teller = spawn(&told, Told::tell);
    block_on(told.notify.notified());
    told.hear();
    teller.join().unwrap();
}

fn thread_is_told() {
    let told = told();
    let teller = spawn(&told, Told::tell);
    assert!(told.notify.wait(None));
    told.hear();
    teller.join().unwrap();
}

/// Two tasks that were queued before a notification reached either, and two notifications.
fn two_for_two() {
    let notify = Arc::new(RawNotify::new());
    let mut futures: [RawNotified<'static>; 2] = [(); 2].map(|()| lasting(&notify).notified());
    let tellers = [(); 2].map(|()| spawn(&notify, RawNotify::notify_one));
    let at_once = [futures[0].enable(), futures[1].enable()];
    tellers.map(|teller| teller.join().unwrap());
    if at_once == [false; 2] {
        assert!(futures.iter_mut().all(is_ready), "a notification is missing");
    }
    drop(futures);
}

/// A future that is queued is dropped while it may be notified; a thread waits behind it.
fn notified_and_dropped() {
    let notify = Arc::new(RawNotify::new());
    let mut future = lasting(&notify).notified();
    assert!(!future.enable());
    let waiter = spawn(&notify, |notify| assert!(notify.wait(None)));
    let teller = spawn(&notify, RawNotify::notify_one);
    drop(future);
    teller.join().unwrap();
    waiter.join().unwrap();
}

/// All are notified: a thread that may have begun to wait, and a future that was made before.
fn all_are_told() {
    let notify = Arc::new(RawNotify::new());
    let future = lasting(&notify).notified();
    let mut queued = lasting(&notify).notified();
    assert!(!queued.enable());
    let teller = spawn(&notify, RawNotify::notify_waiters);
    block_on(future);
    block_on(queued);
    teller.join().unwrap();
    let mut later = lasting(&notify).notified();
    assert!(!later.enable(), "nothing is stored");
    drop(later);
}

#[test]
fn a_notification_reaches_a_task() {
    explore(4, task_is_told);
}

#[test]
fn a_notification_reaches_a_thread() {
    explore(4, thread_is_told);
}

#[test]
fn two_notifications_reach_two_waiters() {
    explore(3, two_for_two);
}

#[test]
fn a_dropped_future_passes_its_notification_on() {
    explore(3, notified_and_dropped);
}

#[test]
fn a_notification_of_all_reaches_all() {
    explore(4, all_are_told);
}

#[test]
fn rejects_a_notification_that_is_stored_only() {
    rejects(Mutant::NotificationStoredOnly, 4, task_is_told);
}

#[test]
fn rejects_a_notification_that_is_left_to_another() {
    rejects(Mutant::NotificationsMerged, 3, two_for_two);
}

#[test]
fn rejects_a_notification_that_publishes_nothing() {
    rejects(Mutant::NotificationRelaxed, 3, task_is_told);
}

#[test]
fn rejects_a_dropped_future_that_keeps_its_notification() {
    rejects(Mutant::DroppedTaskKeepsNotification, 3, notified_and_dropped);
}

/// A flag under a mutex, and the condvar that tells of it.
#[derive(Default)]
struct Flag {
    is_set: Counter,
    changed: RawCondvar,
}

impl Flag {
    fn set(&self) {
        self.is_set.add_by_thread();
        self.changed.notify_one();
    }

    /// The caller holds the mutex.
    fn get(&self) -> bool {
        // SAFETY: under the mutex; loom checks it.
        unsafe { self.is_set.count.get() != 0 }
    }
}

fn condvars_task() {
    let flag = Arc::new(Flag::default());
    let setter = spawn(&flag, Flag::set);
    block_on(async {
        flag.is_set.mutex.lock_task().await;
        while !flag.get() {
            flag.changed.wait_task(&flag.is_set.mutex).await;
        }
        flag.is_set.mutex.unlock_task();
    });
    setter.join().unwrap();
    flag.is_set.ends_with(1);
}

/// A task that waits is dropped while it may be notified; a thread waits behind it.
fn condvars_task_dropped() {
    let flag = Arc::new(Flag::default());
    assert!(flag.is_set.mutex.try_lock_task());
    let mut future = lasting(&flag).changed.wait_task(&lasting(&flag).is_set.mutex);
    assert!(!is_ready(&mut future));
    let waiter = spawn(&flag, |flag| {
        flag.is_set.mutex.lock();
        while !flag.get() {
            flag.changed.wait(&flag.is_set.mutex, None);
        }
        flag.is_set.mutex.unlock();
    });
    let setter = spawn(&flag, Flag::set);
    drop(future);
    setter.join().unwrap();
    waiter.join().unwrap();
    flag.is_set.ends_with(1);
}

#[test]
fn a_signal_reaches_a_task() {
    explore(3, condvars_task);
}

#[test]
fn a_dropped_future_passes_its_signal_on() {
    explore(2, condvars_task_dropped);
}

#[test]
fn rejects_a_dropped_future_that_keeps_its_signal() {
    rejects(Mutant::DroppedTaskKeepsNotification, 2, condvars_task_dropped);
}
