//! Every wait has a bound: a lost wakeup is a failure in seconds, not a hang.

use furwock::{Clock, Deadline};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

/// Runs `test` in a thread of its own; fails if it panics, or hasn't ended after 30 s.
#[allow(dead_code, reason = "not every test file runs its tests by it")]
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match ended.recv_timeout(Duration::from_secs(30)) {
        Err(RecvTimeoutError::Timeout) => panic!("no end after 30 s: a lost wakeup or a deadlock"),
        _ => thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)),
    }
}

/// Calls `condition` until it is true, for at most 10 s.
#[allow(dead_code, reason = "not every test file waits for a condition")]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("not within 10 s: {what}");
}

/// A deadline on each clock, `timeout` ahead.
#[allow(dead_code, reason = "not every test file has deadlines")]
pub fn deadlines(timeout: Duration) -> [Deadline; 2] {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + timeout;
    let (seconds, nanoseconds) = (time.as_secs() as i64, i64::from(time.subsec_nanos()));
    [
        Deadline::after(timeout),
        Deadline::at(Clock::Realtime, seconds, nanoseconds).expect("a time of day"),
    ]
}

/// What the kernel says of one of this process's threads; `None` once it has ended.
#[allow(dead_code, reason = "not every test file looks at threads")]
pub fn task_status(tid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()
}

/// Whether one of this process's threads sleeps.
#[allow(dead_code, reason = "not every test file looks at threads")]
pub fn is_asleep(tid: u32) -> bool {
    task_status(tid).is_some_and(|status| status.contains("\nState:\tS"))
}
