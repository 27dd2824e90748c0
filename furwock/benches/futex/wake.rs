//! What waking and moving waiters costs the waker.
//!
//! - *one at a time*: a call for each waiter;
//! - *all*: one call; furwock's wakes a few, which wake the others;
//! - *requeue*: one call moves all to another word.
//!
//! Microseconds of the waker's processor time, which excludes woken threads that run in its place;
//! and by the clock, until the last waiter is awake. All waiters sleep on one word.

use super::{interleaved, kernel, median};
use furwock::futex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Kernel,
    Furwock,
}

#[derive(Clone, Copy)]
enum Task {
    OneAtATime,
    All,
    Requeue,
}

const TASKS: [(Task, &str); 3] =
    [(Task::OneAtATime, "one at a time"), (Task::All, "all"), (Task::Requeue, "requeue")];

fn wake(side: Side, word: &AtomicU32, count: usize) -> usize {
    match side {
        Side::Kernel => {
            let count = u32::try_from(count).unwrap_or(u32::MAX).min(i32::MAX as u32);
            kernel::futex(word, libc::FUTEX_WAKE, count, 0, None) as usize
        }
        Side::Furwock => futex::wake(word, count),
    }
}

/// The processor time of the calling thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The waker's processor time, and the time until the last waiter is awake.
fn round(side: Side, task: Task, count: usize) -> (Duration, Duration) {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let (asleep, awake) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                asleep.fetch_add(1, Ordering::SeqCst);
                while words[0].load(Ordering::Acquire) == 0 {
                    match side {
                        Side::Kernel => {
                            _ = kernel::futex(&words[0], libc::FUTEX_WAIT, 0, 0, None);
                        }
                        Side::Furwock => _ = futex::wait(&words[0], 0, None),
                    }
                }
                awake.fetch_add(1, Ordering::SeqCst);
            });
        }
        while asleep.load(Ordering::SeqCst) != count {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(10));

        words[0].store(1, Ordering::Release);
        let (started, started_cpu) = (Instant::now(), cpu_time());
        match task {
            Task::OneAtATime => {
                (0..count).for_each(|_| _ = wake(side, &words[0], 1));
            }
            Task::All => _ = wake(side, &words[0], usize::MAX),
            Task::Requeue => match side {
                Side::Kernel => {
                    _ = kernel::futex(
                        &words[0],
                        libc::FUTEX_REQUEUE,
                        0,
                        i32::MAX as usize,
                        Some(&words[1]),
                    );
                }
                Side::Furwock => _ = futex::requeue(&words[0], &words[1], 0, usize::MAX),
            },
        }
        let paid = cpu_time() - started_cpu;
        if let Task::Requeue = task {
            wake(side, &words[1], usize::MAX);
        }
        while awake.load(Ordering::SeqCst) != count {
            thread::yield_now();
        }
        (paid, started.elapsed())
    })
}

pub fn run() {
    println!("wake: microseconds of processor time that the waker pays (and until all are awake)");
    println!("{:>8}  {:<14} {:>20} {:>20} {:>8}", "waiters", "", "kernel", "furwock", "ratio");
    for count in [1, 16, 256, 1000] {
        for (task, name) in TASKS {
            let mut last = [Vec::new(), Vec::new()];
            let paid = interleaved(15, &[Side::Kernel, Side::Furwock], |side| {
                let (paid, all_awake) = round(side, task, count);
                last[usize::from(side == Side::Furwock)].push(all_awake.as_secs_f64() * 1e6);
                paid.as_secs_f64() * 1e6
            });
            let last = last.map(|mut samples| median(&mut samples));
            let cell = |side: usize| format!("{:.1} ({:.0})", paid[side], last[side]);
            let ratio = paid[1] / paid[0];
            println!("{count:>8}  {name:<14} {:>20} {:>20} {ratio:>8.2}", cell(0), cell(1));
        }
    }
}
