//! What the tests share. Every wait has a bound: a lost wakeup is a failure within seconds, not a
//! hang. The watchdog extends the bound while the machine gives threads no processor.

#![allow(dead_code, reason = "not every test file uses everything")]

#[path = "../../../conformance/src/seccomp.rs"]
pub mod seccomp;
#[path = "../../../conformance/src/watchdog/mod.rs"]
pub mod watchdog;

pub mod rwlocks;

use furwock::futex::{self, Waited, Word};
use furwock::lock::thread_id;
use furwock::{Clock, Deadline};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use watchdog::{Patience, Subject};

/// Runs `test` in a thread of its own; fails if it panics, or hasn't ended after 30 s.
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let mut patience = Patience::new(Duration::from_secs(30));
    while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
        if let Some(report) = patience.judge(&Subject::Own) {
            assert!(thread.is_finished(), "no end: a lost wakeup or a deadlock\n{report}");
        }
    }
    thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
}

/// Calls `condition` until it is true, for at most 10 s.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let mut patience = Patience::new(Duration::from_secs(10));
    while !condition() {
        if let Some(report) = patience.judge(&Subject::Own) {
            assert!(condition(), "not within 10 s: {what}\n{report}");
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Makes `value` last as long as the process, so that any thread may use it.
pub fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Joins all, and returns what they return.
pub fn join_all<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// What `work` returns in another thread, which has ended by then.
pub fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap()
}

/// What `work` returns in `count` threads at once. It gets the thread's number.
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

/// A deadline that passes soon.
pub fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(20))
}

/// A deadline that has passed long ago.
pub fn past() -> Deadline {
    Deadline::at(Clock::Realtime, 0, 0).expect("a time of day")
}

/// Keeps the processor busy.
pub fn burn(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// How many waiters are queued at `word`: a requeue to where they are counts them.
pub fn waiting_at<W: Word>(word: &W) -> usize {
    futex::requeue(word, word, 0, usize::MAX).moved
}

/// A thread that waits on `word` while it is 0, queued behind those that wait there already.
pub fn queued<W>(word: &'static W) -> JoinHandle<Waited>
where
    W: Word + Sync,
    W::Value: Default,
{
    let before = waiting_at(word);
    let waiter = thread::spawn(move || futex::wait(word, W::Value::default(), None));
    eventually("the waiter is queued", || waiting_at(word) == before + 1);
    waiter
}

/// Whether a descriptor becomes readable within `patience_ms`; -1 is for ever.
pub fn becomes_readable(fd: i32, patience_ms: i32) -> bool {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    unsafe { libc::poll(&mut entry, 1, patience_ms) == 1 }
}

/// From now on `signal` interrupts a call and does nothing else.
pub fn let_interrupt(signal: i32) {
    extern "C" fn handler(_: i32) {}
    // SAFETY: all zeroes are an action without flags; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// What the kernel says of one of this process's threads; `None` once it has ended.
pub fn task_status(tid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()
}

/// A thread that runs `work`, and is asleep in it.
pub fn asleep<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        tell.send(thread_id()).unwrap();
        work()
    });
    let tid = told.recv().unwrap();
    eventually("the thread sleeps", || is_asleep(tid));
    thread
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
    /// For small seeds, but 0, whose numbers would begin alike.
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

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
