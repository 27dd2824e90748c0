//! Every wait has a bound: a lost wakeup is a failure in seconds, not a hang. The watchdog extends
//! it where the machine gives threads no processor.

#![allow(dead_code, reason = "not every test file uses everything")]

#[path = "../../../conformance/src/watchdog/mod.rs"]
pub mod watchdog;

pub mod rwlocks;

use furwock::{Clock, Deadline};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};
use watchdog::{Patience, Whom};

/// Runs `test` in a thread of its own; fails if it panics, or hasn't ended after 30 s.
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let mut patience = Patience::new(Duration::from_secs(30));
    while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        if let Some(report) = patience.judge(&Whom::Own) {
            assert!(thread.is_finished(), "no end: a lost wakeup or a deadlock\n{report}");
        }
    }
    thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
}

/// Calls `condition` until it is true, for at most 10 s.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let mut patience = Patience::new(Duration::from_secs(10));
    while !condition() {
        if let Some(report) = patience.judge(&Whom::Own) {
            assert!(condition(), "not within 10 s: {what}\n{report}");
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What `work` returns in another thread, which has ended by then.
pub fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap()
}

/// What `work` returns in `count` threads at once, each of which is told its number.
pub fn together<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A deadline on each clock, `timeout` ahead.
pub fn deadlines(timeout: Duration) -> [Deadline; 2] {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + timeout;
    let (seconds, nanoseconds) = (time.as_secs() as i64, i64::from(time.subsec_nanos()));
    [
        Deadline::after(timeout),
        Deadline::at(Clock::Realtime, seconds, nanoseconds).expect("a time of day"),
    ]
}

/// What the kernel says of one of this process's threads; `None` once it has ended.
pub fn task_status(tid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()
}

/// Whether one of this process's threads sleeps, and not only for a moment: on its way to a wait a
/// thread may sleep at a lock of libc's (malloc, pthread_atfork).
pub fn is_asleep(tid: u32) -> bool {
    let sleeps = || task_status(tid).is_some_and(|status| status.contains("\nState:\tS"));
    (0..5).all(|_| {
        thread::sleep(Duration::from_micros(500));
        sleeps()
    })
}

/// xorshift: good enough to choose.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
