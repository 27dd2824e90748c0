//! The waiter's side: queue, release the mutex, sleep.

use super::{NO_WAITERS, RawCondvar};
use crate::lock::yields::{self, Balance};
use crate::lock::{Outcome, RawMutex};
use crate::lot::{self, Debt, Ended, From, Place, Verdict, Wait};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::{Clock, Deadline};
use crate::sys::thread::nap;
use core::cell::Cell;

/// What yields before a sleep came to.
static BALANCE: Balance = Balance::new();

/// How a wait on a condition variable ended, and what the waiter owes the mutex.
#[must_use = "the mutex has to be locked again"]
#[derive(Debug)]
pub struct CondvarWait {
    outcome: Outcome,
    verdict: Verdict,
}

impl CondvarWait {
    fn new(outcome: Outcome, verdict: Verdict) -> Self {
        Self { outcome, verdict }
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Locks the mutex again; `mutex` must be the one waited with. Acquire.
    pub fn relock(self, mutex: &RawMutex) -> Outcome {
        mutex.lock_chosen(self.verdict);
        self.outcome
    }
}

/// Queues the caller, calls `release`, which must release the mutex, and waits. If `release`
/// can't, it returns false: then the wait is over, `NotReleased`.
///
/// `mutex` is where a signal may move the waiter to; with `None` it is always woken. An
/// `interruptible` wait ends when the thread is interrupted, unless it has been signalled. If a
/// signal handler leaves the wait for good, `was_notified` tells whether a notification had come to
/// it.
///
/// # Safety
/// `release` neither unwinds nor waits. If there is a `mutex`, it lives until the caller has
/// called `relock` with it on what this returns, which it does before anything else.
pub unsafe fn wait_released(
    condvar: &RawCondvar,
    mutex: Option<&RawMutex>,
    release: impl FnOnce() -> bool,
    deadline: Option<&Deadline>,
    interruptible: bool,
    was_notified: &Cell<bool>,
) -> CondvarWait {
    let key = condvar.key();
    let owed = Owed { mutex, was_notified };
    let token = mutex.map_or(0, |mutex| core::ptr::from_ref(mutex).expose_provenance());
    let Some(node) = lot::node() else {
        return wait_without_memory(release, deadline);
    };
    let mut release = Some(release);
    if mutant::active(Mutant::UnlockBeforeEnqueue) {
        release.take().map(|release| release());
    }
    let mut bucket = lot::announce(key);
    condvar.mark_waiter();
    let mut wait = Wait::enqueue(&mut bucket, &node, key, token, Place::Back)
        .until(deadline)
        .interruptible(interruptible)
        .deadline_ends_when_moved();
    let debt = Debt { settle: left, address: (&raw const owed).expose_provenance() };
    wait = wait.owing(Some(debt));
    drop(bucket);
    // From here on a signal finds the waiter (C-1).
    let released = release.is_none_or(|release| release());
    let over = Deadline::at(Clock::Monotonic, 0, 0);
    if !released {
        wait = wait.until(over.as_ref());
    }
    if released && deadline.is_none() {
        yields::once(&BALANCE, || wait.is_notified());
    }
    // A waiter that leaves does so under the bucket lock, and doesn't touch the condvar again:
    // it may be destroyed once it counts as having no waiters (C-4).
    let ended = wait.sleep(|was_last| {
        if was_last {
            condvar.word.store(NO_WAITERS, Ordering::Relaxed);
        }
    });
    match ended {
        Ended::Chosen(verdict) if !released => {
            // The signal was for a thread that really waits.
            condvar.notify_one();
            CondvarWait::new(Outcome::NotReleased, verdict)
        }
        _ if !released => CondvarWait::new(Outcome::NotReleased, Verdict::WOKEN),
        Ended::Chosen(verdict) => CondvarWait::new(Outcome::Signalled, verdict),
        Ended::TimedOut => CondvarWait::new(Outcome::TimedOut, Verdict::WOKEN),
        Ended::Interrupted | Ended::Signalled => {
            CondvarWait::new(Outcome::Interrupted, Verdict::WOKEN)
        }
    }
}

/// What a waiter that leaves for good owes.
struct Owed<'w> {
    mutex: Option<&'w RawMutex>,
    was_notified: &'w Cell<bool>,
}

fn left(owed: usize, from: From) {
    // SAFETY: in the frame of the wait, which is not over.
    let owed = unsafe { &*core::ptr::with_exposed_provenance::<Owed<'_>>(owed) };
    owed.was_notified.set(from != From::Queue);
    if let (Some(mutex), From::Chosen { .. }) = (owed.mutex, from) {
        mutex.wake_all();
    }
}

/// A wait that ends soon and for no reason, since the kernel has no memory for the waiter's node.
#[cold]
fn wait_without_memory(release: impl FnOnce() -> bool, deadline: Option<&Deadline>) -> CondvarWait {
    if !release() {
        return CondvarWait::new(Outcome::NotReleased, Verdict::WOKEN);
    }
    nap();
    let timed_out = deadline.is_some_and(Deadline::has_passed);
    let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Signalled };
    CondvarWait::new(outcome, Verdict::WOKEN)
}
