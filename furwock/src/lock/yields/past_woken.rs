//! A yield to waiters that were woken, by a thread on the only processor that passes them.
//!
//! A waiter that was woken has no processor until the thread that runs has used up its slice. Until
//! then the free word names it, and a thread that takes the lock past it expects that of the next
//! word (ORDERING.md, M-10). But a thread has one expectation, which several locks whose words
//! differ refute again and again: each takes two failed exchanges more, and two calls. So once
//! that has happened often, the thread lets the woken waiters run, before it takes the lock. They
//! take it, and wake those behind them, which run in their turn; after a few switches none waits
//! any longer, and all words are quiet.

use super::{IN_VAIN, may_yield};
use crate::lock::spin::PAST_WOKEN;
use crate::lock::trials;
use crate::lot::{self, Key};
use crate::sys::sched_yield::sched_yield;
use core::sync::atomic::{AtomicU32, Ordering};

/// A process's threads yield once in so many times: words that differ have cost as much as the two
/// switches.
const PASSES: u32 = 64;

/// Lets others run now and then, before the caller takes the free lock at `key` past waiters that
/// were woken, and whose word it didn't expect. Returns whether it has. That was of use if the lock
/// `is_quiet` now, or fewer sleep there.
#[cold]
pub(in crate::lock) fn past_woken(key: Key, is_quiet: impl FnOnce() -> bool) -> bool {
    static PASSED: AtomicU32 = AtomicU32::new(0);
    // (A simulation's results may not depend on what another left behind.)
    if cfg!(simulated) || !is_due(&PASSED) || !may_yield() {
        return false;
    }
    let learnt = &lot::advice(key)[PAST_WOKEN];
    let queued = lot::seem_queued(key);
    let has_yielded = trials::are_due(learnt, IN_VAIN) && sched_yield();
    if has_yielded {
        trials::learn(learnt, is_quiet() || lot::seem_queued(key) < queued);
    }
    has_yielded
}

/// Counts one more; whether they are enough. (There is one processor: none is lost but by chance.)
fn is_due(passed: &AtomicU32) -> bool {
    let now = passed.load(Ordering::Relaxed) + 1;
    passed.store(now % PASSES, Ordering::Relaxed);
    now >= PASSES
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_pass_in_so_many_may_yield() {
        let passed = AtomicU32::new(0);
        let due = (0..10 * PASSES).filter(|_| is_due(&passed)).count();
        assert_eq!(due, 10);
    }
}
