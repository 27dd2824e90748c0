//! A call for waits that take long.

use super::waits::{Chain, Wait};
use crate::lot::{self, Long, Watcher};
use core::fmt;
use core::time::Duration;
use std::sync::OnceLock;

/// A wait that has taken longer than the limit, and goes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LongWait {
    /// The wait of the calling thread.
    pub wait: Wait,
    /// How long the thread has been in the queue.
    pub waited: Duration,
}

impl LongWait {
    /// The wait, what the lock's holder waits for, and so on, as [`chain`](super::chain) does.
    pub fn chain(&self) -> Chain {
        Chain::from(self.wait)
    }

    fn of(long: Long) -> Self {
        // SAFETY: the caller waits for the object.
        Self { wait: unsafe { Wait::new(long.tid, long.key, 0) }, waited: long.waited }
    }
}

/// From now on calls `hook` for each wait that takes longer than `limit`: once, in the thread that
/// waits, which then goes on waiting. For waits that begin later, for mutexes, rwlocks, condvars,
/// semaphores and barriers; not for words, nor for the PI and robust locks, whose waiters sleep in
/// the kernel. A later call replaces the hook; the earlier one is never freed, since a thread may
/// be in it.
///
/// A wait is the time in a queue. A thread that is woken and finds the lock taken again begins
/// another, after at most 5 ms and a release. A condvar's waiter that is moved to its mutex begins
/// another, and is noticed between one limit and two after the move.
///
/// Nothing is slower on the way to a free lock, nor before a sleep; a sleep ends once, at the
/// limit. While there is a hook, waits read the clock.
///
/// The hook runs beneath the waiting call, while the caller may hold other locks: it mustn't wait
/// for any lock that is held meanwhile (that of `println!` included, if a thread that prints may be
/// what the wait is about). If it panics, the process aborts: the thread stands in a queue. That
/// is also how to end a program that hangs.
///
/// # Errors
/// [`NoLimit`] if `limit` is zero.
///
/// ```
/// use furwock::Mutex;
/// use furwock::inspect::{self, WithName};
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let (report, reported) = mpsc::channel();
/// inspect::on_long_wait(Duration::from_millis(20), move |long| {
///     for link in long.chain() {
///         let name = link.name.map(|name| name.to_string()).unwrap_or_default();
///         let holders = link.holders.threads();
///         _ = report.send(format!("{} {name} is held by {holders:?}", link.kind.as_str()));
///     }
/// })?;
///
/// let cache = Mutex::named("cache", 0);
/// let held = cache.lock();
/// std::thread::scope(|scope| {
///     scope.spawn(|| *cache.lock() += 1);
///     let line = reported.recv().unwrap();
///     assert_eq!(line, format!("mutex cache is held by [{}]", furwock::lock::thread_id()));
///     drop(held);
/// });
/// # inspect::no_long_waits();
/// # Ok::<(), inspect::NoLimit>(())
/// ```
pub fn on_long_wait(
    limit: Duration,
    hook: impl Fn(&LongWait) + Send + Sync + 'static,
) -> Result<(), NoLimit> {
    if limit.is_zero() {
        return Err(NoLimit);
    }
    let call = Box::leak(Box::new(move |long| call(long, &hook)));
    lot::watch_by(Some(Box::leak(Box::new(Watcher { limit, call }))));
    Ok(())
}

/// Calls no hook any more for waits that begin from now on.
///
/// ```
/// use furwock::inspect;
/// use std::time::Duration;
///
/// inspect::on_long_wait(Duration::from_secs(10), |long| eprintln!("{long:?}"))?;
/// inspect::no_long_waits();
/// # Ok::<(), inspect::NoLimit>(())
/// ```
pub fn no_long_waits() {
    lot::watch_by(None);
}

/// `on_long_wait` without memory from the allocator. The first call counts.
pub(crate) fn watch(limit: Duration, hook: fn(&LongWait)) {
    static HOOK: OnceLock<fn(&LongWait)> = OnceLock::new();
    static WATCHER: OnceLock<Watcher> = OnceLock::new();
    HOOK.get_or_init(|| hook);
    let watcher = WATCHER.get_or_init(|| Watcher {
        limit,
        call: &|long| {
            if let Some(hook) = HOOK.get() {
                call(long, hook);
            }
        },
    });
    lot::watch_by(Some(watcher));
}

/// The caller stands in a queue, and isn't to be unwound.
fn call(long: Long, hook: &dyn Fn(&LongWait)) {
    struct Abort;

    impl Drop for Abort {
        fn drop(&mut self) {
            std::process::abort();
        }
    }

    let abort = Abort;
    hook(&LongWait::of(long));
    core::mem::forget(abort);
}

/// A limit of zero was given.
///
/// ```
/// use furwock::inspect::{NoLimit, on_long_wait};
/// use std::time::Duration;
///
/// assert_eq!(on_long_wait(Duration::ZERO, |_| ()), Err(NoLimit));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLimit;

impl fmt::Display for NoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a wait takes longer than nothing in any case: the limit must not be zero")
    }
}

impl core::error::Error for NoLimit {}
