//! Robust locks whose holder is killed at every instruction: a victim is single-stepped through a
//! lock function and killed after 0, 1, 2, ... instructions. Each waiter must go on, and the locks
//! must be available.
//!
//! Only every fourth instruction is tried, with a random start, unless `FURWOCK_ALL` is set: that
//! takes a minute.

mod common;
mod process;
mod processes;

use common::Random;
use furwock::{RobustError, RobustMutexGuard, RobustRwLockWriteGuard};
use process::{BOUND, fork, reap};
use processes::victim::{Victim, is_asleep};
use processes::{Shared, reading, with_mutex, writing};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whether the victim of a scenario was killed, after so many instructions. Otherwise it had ended
/// by itself.
type Scenario = fn(&'static Shared, usize) -> bool;

fn main() {
    if !cfg!(target_env = "gnu") {
        println!("skipped: only glibc registers a list of the layout that robust locks use");
        return;
    }
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let tests: [(&str, Scenario); 10] = [
        ("mutex_alone", mutex_alone),
        ("repair_alone", repair_alone),
        ("read_alone", read_alone),
        ("write_alone", write_alone),
        ("mutex_unlock_before_waiters", mutex_unlock_before_waiters),
        ("mutex_unlock_before_a_thief", mutex_unlock_before_a_thief),
        ("top_waiter", top_waiter),
        ("second_waiter", second_waiter),
        ("read_unlock_before_writer", read_unlock_before_writer),
        ("write_unlock_before_both", write_unlock_before_both),
    ];
    for (name, test) in tests {
        if filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())) {
            print!("test killed_at_every_instruction::{name} ... ");
            println!("ok ({} instructions)", sweep(test));
        }
    }
}

/// Kills the victim after `count` steps, and waits until `waiters` have ended well. `false` if it
/// had ended by itself before.
fn killed_after(
    mut victim: Victim,
    count: usize,
    waiters: impl IntoIterator<Item = libc::pid_t>,
) -> bool {
    let lives = victim.goes(count);
    if lives {
        victim.dies();
    }
    finish(waiters);
    lives
}

/// A process that sleeps until the caller releases what it holds.
fn waiter(work: impl FnOnce()) -> libc::pid_t {
    let id = fork(work);
    let started = Instant::now();
    while !is_asleep(id) && started.elapsed() < BOUND {
        std::thread::sleep(Duration::from_micros(50));
    }
    id
}

/// Plays `scenario` with growing numbers of instructions until the victim lives to its end. After
/// each kill the locks must be available at once, and the data in order. Returns the number at the
/// end.
fn sweep(scenario: Scenario) -> usize {
    let shared = Shared::new();
    let mut random = Random(1);
    let (first, apart) = match std::env::var_os("FURWOCK_ALL") {
        Some(_) => (0, 1),
        None => (std::process::id() as usize % 4, 4),
    };
    for count in (first..).step_by(apart) {
        let killed = scenario(shared, count);
        if !killed {
            return count;
        }
        with_mutex(shared, &mut random, shared.mutex().try_lock());
        writing(shared, &mut random, shared.lock().try_write());
        assert!(shared.mutex().try_lock().is_ok(), "after {count} instructions");
        assert!(shared.lock().try_read().is_ok(), "after {count} instructions");
        assert!(shared.lock().try_write().is_ok(), "after {count} instructions");
        assert_eq!(shared.violations.load(Ordering::SeqCst), 0, "{count}");
    }
    unreachable!()
}

fn finish(waiters: impl IntoIterator<Item = libc::pid_t>) {
    waiters.into_iter().for_each(|waiter| assert_eq!(reap(waiter), 0));
}

fn use_mutex(shared: &Shared) {
    with_mutex(shared, &mut Random(1), shared.mutex().lock());
}

fn use_write(shared: &Shared) {
    writing(shared, &mut Random(1), shared.lock().write());
}

fn use_read(shared: &Shared) {
    reading(shared, &mut Random(1), shared.lock().read());
}

/// Locks and unlocks in few instructions.
fn pass(shared: &Shared) {
    if let Err(RobustError::OwnerDied(mut guard)) = shared.mutex().lock() {
        RobustMutexGuard::make_consistent(&mut guard);
    }
}

/// Finds what is found once in a thread's life: its id and its list.
fn warm_up(shared: &Shared) {
    drop(shared.lock().try_read());
}

fn mutex_alone(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::new(|stop| {
        warm_up(shared);
        stop();
        drop(shared.mutex().lock().unwrap());
    });
    killed_after(victim, count, [])
}

fn repair_alone(shared: &'static Shared, count: usize) -> bool {
    finish([fork(|| {
        std::mem::forget(shared.mutex().lock().unwrap());
        std::mem::forget(shared.lock().write().unwrap());
    })]);
    let victim = Victim::new(|stop| {
        stop();
        pass(shared);
        if let Err(RobustError::OwnerDied(mut guard)) = shared.lock().read() {
            RobustRwLockWriteGuard::make_consistent(&mut guard);
        }
    });
    killed_after(victim, count, [])
}

fn read_alone(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::new(|stop| {
        warm_up(shared);
        stop();
        drop((shared.lock().read().unwrap(), shared.lock().read().unwrap()));
    });
    let killed = killed_after(victim, count, []);
    // A reader's death isn't reported.
    drop(shared.lock().try_read().unwrap());
    drop(shared.lock().try_write().unwrap());
    assert_eq!(shared.told[1].load(Ordering::Relaxed), 0);
    killed
}

fn write_alone(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::new(|stop| {
        warm_up(shared);
        stop();
        drop(shared.lock().write().unwrap());
    });
    let killed = killed_after(victim, count, []);
    reading(shared, &mut Random(1), shared.lock().try_read());
    drop(shared.lock().try_read().unwrap());
    killed
}

fn mutex_unlock_before_waiters(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.mutex().lock().unwrap());
    let waiters = [waiter(|| use_mutex(shared)), waiter(|| use_mutex(shared))];
    killed_after(victim, count, waiters)
}

/// The parent takes the mutex past the waiter between the victim's last step and its death.
fn mutex_unlock_before_a_thief(shared: &'static Shared, count: usize) -> bool {
    let mut victim = Victim::releasing(|| shared.mutex().lock().unwrap());
    let waiter = waiter(|| use_mutex(shared));
    let lives = victim.goes(count);
    let stolen = shared.mutex().try_lock();
    if lives {
        victim.dies();
    }
    drop(stolen);
    finish([waiter]);
    lives
}

/// A victim that waits for the mutex, which its parent holds, asleep.
fn waiting_victim(shared: &'static Shared) -> Victim {
    let mut victim = Victim::new(|stop| {
        warm_up(shared);
        stop();
        pass(shared);
    });
    victim.until_asleep();
    victim
}

/// The victim sleeps on the mutex's word, the other waiters in the turnstile.
fn top_waiter(shared: &'static Shared, count: usize) -> bool {
    let held = shared.mutex().lock().unwrap();
    let victim = waiting_victim(shared);
    let waiters = [waiter(|| use_mutex(shared)), waiter(|| use_mutex(shared))];
    drop(held);
    killed_after(victim, count, waiters)
}

/// The victim sleeps in the turnstile, with another waiter behind it.
fn second_waiter(shared: &'static Shared, count: usize) -> bool {
    let held = shared.mutex().lock().unwrap();
    let first = waiter(|| use_mutex(shared));
    let victim = waiting_victim(shared);
    let last = waiter(|| use_mutex(shared));
    drop(held);
    killed_after(victim, count, [first, last])
}

fn read_unlock_before_writer(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.lock().read().unwrap());
    let waiters = [waiter(|| use_write(shared)), waiter(|| use_read(shared))];
    killed_after(victim, count, waiters)
}

fn write_unlock_before_both(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.lock().write().unwrap());
    let waiters = [waiter(|| use_read(shared)), waiter(|| use_write(shared))];
    killed_after(victim, count, waiters)
}
