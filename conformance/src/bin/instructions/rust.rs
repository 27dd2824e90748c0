//! The crate's operations, inlined as in any program that uses it.

use crate::operation::{Operation, kept};
use furwock::{
    Barrier, Condvar, Mutex, PiMutex, RobustMutex, RobustRwLock, RwLock, Semaphore, futex,
    std_compat,
};
use std::ffi::c_int;
use std::pin::Pin;
use std::sync::atomic::AtomicU32;

fn failed(failed: bool) -> c_int {
    failed.into()
}

pub fn operations() -> Vec<Operation> {
    let all = [mutex(), rwlock(), others(), words(), pi_and_robust(), as_std()];
    all.into_iter().flatten().collect()
}

fn mutex() -> Vec<Operation> {
    let mutex = kept(Mutex::new(0_u64));
    vec![
        Operation::new("mutex", || {
            *mutex.lock() += 1;
            0
        }),
        Operation::new("mutex try_lock", || {
            mutex.try_lock().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
    ]
}

fn rwlock() -> Vec<Operation> {
    // Only read, so readers publish themselves in slots. None stays inside: whether two locks meet
    // in a slot depends on their addresses.
    let biased = kept(RwLock::new(0_u64));
    let lock = kept(RwLock::new(0_u64));
    let upgradable = kept(RwLock::new(0_u64));
    vec![
        Operation::new("rwlock read", || failed(*biased.read() != 0)),
        Operation::new("rwlock read twice", || {
            let outer = biased.read();
            failed(*outer != *biased.read())
        }),
        Operation::new("rwlock write", || {
            *lock.write() += 1;
            0
        }),
        Operation::new("rwlock write and read", || {
            *lock.write() += 1;
            failed(*lock.read() == 0)
        }),
        Operation::new("rwlock upgradable read", || failed(*upgradable.upgradable_read() != 0)),
    ]
}

fn others() -> Vec<Operation> {
    let condvar = kept(Condvar::new());
    let semaphore = kept(Semaphore::new(1));
    let barrier = kept(Barrier::new(1));
    vec![
        Operation::new("condvar notify_one", || failed(condvar.notify_one())),
        Operation::new("condvar notify_all", || failed(condvar.notify_all() != 0)),
        Operation::new("semaphore", || {
            semaphore.acquire();
            failed(semaphore.release().is_err())
        }),
        Operation::new("barrier of one", || failed(!barrier.wait().is_leader())),
    ]
}

/// With poison, as std's have it: two looks at the number of panics, one at the lock's flag.
fn as_std() -> Vec<Operation> {
    let mutex = kept(std_compat::Mutex::new(0_u64));
    let rwlock = kept(std_compat::RwLock::new(0_u64));
    vec![
        Operation::new("std_compat mutex", || {
            mutex.lock().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
        Operation::new("std_compat rwlock write", || {
            rwlock.write().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
    ]
}

fn words() -> Vec<Operation> {
    let word = kept(AtomicU32::new(1));
    vec![
        Operation::new("futex wake", || failed(futex::wake(word, 1) != 0)),
        Operation::new("futex wait mismatch", || {
            failed(futex::wait(word, 0, None) != futex::Waited::Mismatch)
        }),
    ]
}

fn pi_and_robust() -> Vec<Operation> {
    let pi = kept(PiMutex::new(0_u64));
    let mutex = Pin::static_ref(kept(RobustMutex::new(0_u64)));
    let rwlock = Pin::static_ref(kept(RobustRwLock::<u64>::new(0)));
    vec![
        Operation::new("PI mutex", || {
            pi.lock().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
        Operation::new("robust mutex", move || {
            mutex.lock().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
        Operation::new("robust rwlock read", move || failed(rwlock.read().is_err())),
        Operation::new("robust rwlock write", move || {
            rwlock.write().map_or(1, |mut guard| {
                *guard += 1;
                0
            })
        }),
    ]
}
