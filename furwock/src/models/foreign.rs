//! Waiters of a word that has gone stand at the address of a lock: its releases reach its own
//! waiters (K-1).

use super::{Apart, Gap, explore, rejects};
use crate::lock::{RawBarrier, RawCondvar, RawMutex, RawNotify, RawRwLock, RawSemaphore};
use crate::lot::{Group, Key, Sink, Stands, TaskNode, TaskWait, announce};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::thread;
use std::mem::forget;
use std::sync::Arc;
use std::task::Waker;

/// What safe code can leave behind at an address.
#[derive(Clone, Copy)]
enum Left {
    /// A future that was polled and forgotten.
    Task,
    /// A registration that was forgotten, and in which no thread waits.
    Registration,
}

const ALL: [Left; 2] = [Left::Task, Left::Registration];

fn leave_at<T>(object: &T, left: Left) {
    let key = Key::word(std::ptr::from_ref(object).addr());
    match left {
        Left::Task => {
            let node = TaskNode::new().unwrap();
            let sink = Sink::Waker(Waker::noop().clone());
            forget(TaskWait::enqueue(&mut announce(key), node, key, Stands::LAST, sink));
        }
        Left::Registration => forget(Group::register([key].into_iter())),
    }
}

/// An object at whose address something was left, in the first bucket.
#[repr(C, align(128))]
struct Found<T> {
    object: T,
    _gap: Gap,
    count: CheckedCell<u32>,
}

/// Two threads work with it: `first` in this one.
fn found<T: Send + Sync + 'static>(
    object: T,
    left: Left,
    first: fn(&Found<T>),
    second: fn(&Found<T>),
) -> impl Sync {
    let found = Arc::new(Found { object, _gap: Gap, count: CheckedCell::new(0) });
    leave_at(&found.object, left);
    let other = {
        let found = Arc::clone(&found);
        thread::spawn(move || second(&found))
    };
    first(&found);
    other.join().unwrap();
    found
}

impl<T> Found<T> {
    fn add(&self) {
        // SAFETY: with the object's lock; loom checks it.
        unsafe { self.count.set(self.count.get() + 1) };
    }
}

fn mutex(left: Left) {
    let add = |found: &Found<RawMutex>| {
        found.object.lock();
        found.add();
        found.object.unlock();
    };
    found(RawMutex::new(), left, add, add);
}

fn rwlock(left: Left) {
    let write = |found: &Found<RawRwLock>| {
        found.object.lock_exclusive();
        found.add();
        found.object.unlock_exclusive();
    };
    let read = |found: &Found<RawRwLock>| {
        found.object.lock_shared();
        // SAFETY: inside as a reader; loom checks it.
        unsafe { found.count.get() };
        found.object.unlock_shared();
    };
    found(RawRwLock::new(), left, write, read);
    found(RawRwLock::new(), left, write, write);
}

fn semaphore(left: Left) {
    found(
        RawSemaphore::new(0).unwrap(),
        left,
        |found| found.object.release().unwrap(),
        |found| found.object.acquire(),
    );
}

fn notify(left: Left) {
    found(
        RawNotify::new(),
        left,
        |found| found.object.notify_one(),
        |found| assert!(found.object.wait(None)),
    );
}

/// Two threads meet while a future that was left at the barrier's address is dropped.
fn barrier_whose_guest_leaves() {
    let barrier =
        Arc::new(Found { object: RawBarrier::new(), _gap: Gap, count: CheckedCell::new(0) });
    let key = Key::word(std::ptr::from_ref(&barrier.object).addr());
    let sink = Sink::Waker(Waker::noop().clone());
    let guest =
        TaskWait::enqueue(&mut announce(key), TaskNode::new().unwrap(), key, Stands::LAST, sink);
    let other = {
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || _ = barrier.object.wait(2))
    };
    let leaving = thread::spawn(move || drop(guest));
    barrier.object.wait(2);
    other.join().unwrap();
    leaving.join().unwrap();
}

/// The mutex in the other bucket.
fn condvar(left: Left) {
    type Both = Apart<RawCondvar, RawMutex>;
    let notify = |found: &Found<Both>| {
        let (condvar, mutex) = (&found.object.a, &found.object.b);
        mutex.lock();
        found.add();
        mutex.unlock();
        condvar.notify_one();
    };
    let wait = |found: &Found<Both>| {
        let (condvar, mutex) = (&found.object.a, &found.object.b);
        mutex.lock();
        // SAFETY: under the mutex; loom checks it.
        while unsafe { found.count.get() } == 0 {
            condvar.wait(mutex, None);
        }
        mutex.unlock();
    };
    found(Both::default(), left, notify, wait);
}

/// The mutex lies where something was left; waiters of the condvar are moved there.
fn condvars_mutex(left: Left) {
    type Both = Apart<RawMutex, RawCondvar>;
    let notify = |found: &Found<Both>| {
        let (mutex, condvar) = (&found.object.a, &found.object.b);
        mutex.lock();
        found.add();
        condvar.notify_all();
        mutex.unlock();
    };
    let wait = |found: &Found<Both>| {
        let (mutex, condvar) = (&found.object.a, &found.object.b);
        mutex.lock();
        // SAFETY: under the mutex; loom checks it.
        while unsafe { found.count.get() } == 0 {
            condvar.wait(mutex, None);
        }
        mutex.unlock();
    };
    found(Both::default(), left, notify, wait);
}

/// A lock finds its own waiters whatever was left; the mutant shows what happens where it asks for
/// the first waiter. (One that asks for as many as a number steps over registrations anyway.)
#[track_caller]
fn passes_over(all: &'static [Left], scenario: fn(Left)) {
    for left in ALL {
        explore(2, move || scenario(left));
    }
    for &left in all {
        rejects(Mutant::ForeignWaiterChosen, 2, move || scenario(left));
    }
}

#[test]
fn a_mutex_reaches_its_own_waiters() {
    passes_over(&ALL, mutex);
}

#[test]
fn a_rwlock_reaches_its_own_waiters() {
    passes_over(&ALL, rwlock);
}

#[test]
fn a_condvars_mutex_reaches_its_own_waiters() {
    passes_over(&ALL, condvars_mutex);
}

#[test]
fn a_semaphore_reaches_its_own_waiters() {
    passes_over(&[Left::Task], semaphore);
}

#[test]
fn a_notification_reaches_its_own_waiters() {
    passes_over(&ALL, notify);
}

#[test]
fn a_condvar_reaches_its_own_waiters() {
    passes_over(&[Left::Task], condvar);
}

#[test]
fn a_barrier_reaches_its_own_waiters() {
    explore(2, barrier_whose_guest_leaves);
    rejects(Mutant::ForeignWaiterChosen, 2, barrier_whose_guest_leaves);
}
