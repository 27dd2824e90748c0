//! Memory that is reused after a robust lock's release, and a killed thread that still had the lock
//! as its pending entry (ORDERING.md, RB-5).
//!
//! A victim is single-stepped to the instruction that frees its lock. Its parent then writes a
//! number there that equals the victim's id, as a program's new data may, and kills the victim.
//! Kernels that release in one step leave the number alone. Others take it for a lock that the
//! victim held, and set OWNER_DIED: that this is seen here shows that the test would find the fault
//! on the newer ones, too.

mod common;
mod process;
mod processes;

use furwock::Deadline;
use furwock::lock::robust::{
    Held, RawRobustMutex, RawRobustRwLock, ReadHeld, Refused, unlock_is_one_step,
};
use process::{map, reap};
use processes::victim::{Step, Victim};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Its name, whether the new data survived, and whether they should.
type Scenario = (&'static str, fn() -> bool, bool);

fn main() {
    if !cfg!(target_env = "gnu") {
        println!("skipped: only glibc registers a list of the layout that robust locks use");
        return;
    }
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let one_step = unlock_is_one_step();
    let tests: [Scenario; 6] = [
        ("mutex", mutex, one_step),
        ("mutex_with_a_waiter", mutex_with_a_waiter, one_step),
        ("reader", reader, one_step),
        ("reader_with_a_writer", reader_with_a_writer, one_step),
        ("writer", writer, one_step),
        // The kernel's step stores 0, and this release all ones.
        ("mutex_that_is_given_up", mutex_that_is_given_up, false),
    ];
    println!("this kernel releases in one step: {one_step}");
    for (name, test, is_safe) in tests {
        if filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())) {
            print!("test memory_is_reused_after_the_release::{name} ... ");
            assert_eq!(test(), is_safe, "{name}: whether the kernel left the new data alone");
            println!("ok");
        }
    }
}

/// A lock in memory that children share, for good: all zeroes is a free one.
fn shared<T>() -> &'static T {
    // SAFETY: a new mapping, big enough, zero, and never unmapped; both locks are free when zero.
    unsafe { &*map(size_of::<T>(), -1).cast::<T>() }
}

/// The words of a lock.
fn words<T>(lock: &'static T) -> &'static [AtomicU32] {
    let (start, count) = (std::ptr::from_ref(lock).cast::<AtomicU32>(), size_of::<T>() / 4);
    // SAFETY: the lock's memory, aligned, all of it written by atomic operations only.
    unsafe { std::slice::from_raw_parts(start, count) }
}

fn owner(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst) & libc::FUTEX_TID_MASK
}

/// Whether new data in the word's place survive the death of the victim that has just released it.
/// The victim holds one word of the lock.
fn data_survive<T>(lock: &'static T, mut victim: Victim) -> bool {
    let id = victim.id as u32;
    let word = words(lock).iter().find(|word| owner(word) == id).expect("the victim holds it");
    while owner(word) == id {
        assert!(victim.step() != Step::Ended, "it ended with its lock held");
    }
    word.store(id, Ordering::SeqCst);
    victim.dies();
    match word.load(Ordering::SeqCst) {
        data if data == id => true,
        data if data == libc::FUTEX_OWNER_DIED => false,
        other => panic!("{other:#x} in the place of {id:#x}"),
    }
}

/// A waiter that has given up: its mark stays.
fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(20))
}

fn locking(lock: &'static RawRobustMutex) -> Victim {
    Victim::new(|stop| {
        // SAFETY: mapped for good; unlocked once.
        unsafe {
            assert_eq!(lock.lock(), Ok(Held::Acquired));
            stop();
            lock.unlock();
        }
    })
}

fn mutex() -> bool {
    let lock = shared();
    data_survive(lock, locking(lock))
}

fn mutex_with_a_waiter() -> bool {
    let lock: &RawRobustMutex = shared();
    let victim = locking(lock);
    // SAFETY: mapped for good.
    assert_eq!(unsafe { lock.lock_until(&soon()) }, Err(Refused::TimedOut));
    data_survive(lock, victim)
}

type RwLock = RawRobustRwLock<4>;

fn reading(lock: &'static RwLock) -> Victim {
    Victim::new(|stop| {
        // SAFETY: mapped for good; unlocked once.
        unsafe {
            let Ok(ReadHeld::Shared(slot)) = lock.read() else { panic!("no slot") };
            stop();
            lock.unlock_read(slot);
        }
    })
}

fn reader() -> bool {
    let lock = shared();
    data_survive(lock, reading(lock))
}

fn reader_with_a_writer() -> bool {
    let lock: &RwLock = shared();
    let victim = reading(lock);
    // SAFETY: mapped for good.
    assert_eq!(unsafe { lock.write_until(&soon()) }, Err(Refused::TimedOut));
    data_survive(lock, victim)
}

fn writer() -> bool {
    let lock: &RwLock = shared();
    let victim = Victim::new(|stop| {
        // SAFETY: mapped for good; unlocked once.
        unsafe {
            assert_eq!(lock.write(), Ok(Held::Acquired));
            stop();
            lock.unlock_write();
        }
    });
    data_survive(lock, victim)
}

fn mutex_that_is_given_up() -> bool {
    let lock: &RawRobustMutex = shared();
    let dead = process::fork(|| {
        // SAFETY: mapped for good; its process ends with it.
        _ = unsafe { lock.lock() }.unwrap();
    });
    assert_eq!(reap(dead), 0);
    let victim = Victim::new(|stop| {
        // SAFETY: mapped for good; unlocked once, and for ever.
        unsafe {
            assert_eq!(lock.lock(), Ok(Held::OwnerDied));
            stop();
            lock.unlock();
        }
    });
    data_survive(lock, victim)
}
