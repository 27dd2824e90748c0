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
use process::{BOUND, fork, kill, reap};
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

/// A process that its parent single-steps.
struct Victim {
    id: libc::pid_t,
    /// A step has been asked for and hasn't ended.
    stepping: bool,
}

#[derive(PartialEq)]
enum Step {
    Done,
    Asleep,
    Ended,
}

impl Victim {
    /// Runs `work` up to where it calls its argument.
    fn new(work: impl FnOnce(&dyn Fn())) -> Self {
        let id = fork(|| {
            // SAFETY: no memory is involved.
            work(&|| unsafe {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::raise(libc::SIGSTOP);
            });
        });
        let mut status = 0;
        // SAFETY: writes one int. The child stops or dies, without waiting for anything.
        assert_eq!(unsafe { libc::waitpid(id, &mut status, 0) }, id);
        assert!(libc::WIFSTOPPED(status), "the victim ended early: {status}");
        Self { id, stepping: false }
    }

    /// One instruction.
    fn step(&mut self) -> Step {
        if !self.stepping {
            // SAFETY: a stopped child of ours; no memory is involved.
            let result = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.id, 0, 0) };
            assert_eq!(result, 0, "single-stepping is forbidden here");
            self.stepping = true;
        }
        let started = Instant::now();
        let mut polls = 0;
        loop {
            let mut status = 0;
            // SAFETY: writes one int.
            match unsafe { libc::waitpid(self.id, &mut status, libc::WNOHANG) } {
                0 if polls > 50 && is_asleep(self.id) => return Step::Asleep,
                0 => {
                    polls += 1;
                    assert!(started.elapsed() < BOUND, "a step without end");
                    // SAFETY: no arguments.
                    unsafe { libc::sched_yield() };
                }
                _ if libc::WIFSTOPPED(status) => {
                    self.stepping = false;
                    return Step::Done;
                }
                _ => {
                    assert_eq!(status, 0, "the victim failed");
                    return Step::Ended;
                }
            }
        }
    }

    fn until_asleep(&mut self) {
        while self.step() != Step::Asleep {}
    }

    /// A victim that holds a lock, and is about to release it.
    fn releasing<G>(lock: impl FnOnce() -> G) -> Self {
        Self::new(|stop| {
            let guard = lock();
            stop();
            drop(guard);
        })
    }

    /// Kills it after `count` steps, and waits until `waiters` have ended well. `false` if it had
    /// ended by itself before.
    fn killed_after(
        mut self,
        count: usize,
        waiters: impl IntoIterator<Item = libc::pid_t>,
    ) -> bool {
        let lives = self.goes(count);
        if lives {
            self.dies();
        }
        finish(waiters);
        lives
    }

    fn dies(self) {
        kill(self.id);
        reap(self.id);
    }

    /// Makes `count` steps. `false` if it ended before.
    fn goes(&mut self, count: usize) -> bool {
        for _ in 0..count {
            match self.step() {
                Step::Done => {}
                // It will get the lock that it waits for; the wait counts as a step.
                Step::Asleep => std::thread::sleep(Duration::from_micros(50)),
                Step::Ended => return false,
            }
        }
        true
    }
}

/// Whether a process sleeps in a system call; a process at a breakpoint does not.
fn is_asleep(id: libc::pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
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
    victim.killed_after(count, [])
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
    victim.killed_after(count, [])
}

fn read_alone(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::new(|stop| {
        warm_up(shared);
        stop();
        drop((shared.lock().read().unwrap(), shared.lock().read().unwrap()));
    });
    let killed = victim.killed_after(count, []);
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
    let killed = victim.killed_after(count, []);
    reading(shared, &mut Random(1), shared.lock().try_read());
    drop(shared.lock().try_read().unwrap());
    killed
}

fn mutex_unlock_before_waiters(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.mutex().lock().unwrap());
    let waiters = [waiter(|| use_mutex(shared)), waiter(|| use_mutex(shared))];
    victim.killed_after(count, waiters)
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
    victim.killed_after(count, waiters)
}

/// The victim sleeps in the turnstile, with another waiter behind it.
fn second_waiter(shared: &'static Shared, count: usize) -> bool {
    let held = shared.mutex().lock().unwrap();
    let first = waiter(|| use_mutex(shared));
    let victim = waiting_victim(shared);
    let last = waiter(|| use_mutex(shared));
    drop(held);
    victim.killed_after(count, [first, last])
}

fn read_unlock_before_writer(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.lock().read().unwrap());
    let waiters = [waiter(|| use_write(shared)), waiter(|| use_read(shared))];
    victim.killed_after(count, waiters)
}

fn write_unlock_before_both(shared: &'static Shared, count: usize) -> bool {
    let victim = Victim::releasing(|| shared.lock().write().unwrap());
    let waiters = [waiter(|| use_read(shared)), waiter(|| use_write(shared))];
    victim.killed_after(count, waiters)
}
