//! Every wait has a bound: a lost wakeup is a failure in seconds, not a hang.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `test` in a thread of its own; fails if it panics, or hasn't ended after 30 s.
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
