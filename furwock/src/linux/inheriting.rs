//! Operations on priority-inheriting words, beside plain waiters of the same words.
//!
//! The kernel executes these operations, and queues their waiters. Plain waiters of private words
//! queue here, where the kernel can't see them. If it saw both, it would refuse to mix them,
//! depending on the first waiter of a word:
//!
//! | operation | refused (`EINVAL`) if the first waiter is a plain one |
//! |---|---|
//! | `LOCK_PI`, `LOCK_PI2`, `TRYLOCK_PI` | of the word, whatever it holds but the caller's id (`EDEADLK`) |
//! | `UNLOCK_PI` | of the word, if the caller holds the lock |
//! | `CMP_REQUEUE_PI` | of the word; or of the target, if there is a waiter to be moved there |
//! | `WAIT_REQUEUE_PI` | never: it queues behind |
//!
//! So the engine's queue is checked before the system call. If waiters of both kinds wait on one
//! word, it isn't known which came first: those in the kernel count as first. A `CMP_REQUEUE_PI`
//! that would have reached the plain ones is refused after it has moved the others, as in the
//! kernel.

use super::operation::{
    COMMAND, ONE_INHERITING, Operation, Refused, WAITING_IN_KERNEL, deadline, is_waited_on,
};
use super::user_memory;
use crate::lot;
use crate::sys::clock::Clock;
use crate::sys::futex as kernel;
use core::sync::atomic::Ordering;

const INVALID: Refused = Refused::Errno(libc::EINVAL);

impl Operation {
    /// # Safety
    /// As for [`futex`](super::futex).
    #[cold]
    pub(super) unsafe fn run_inheriting(self) -> Result<usize, Refused> {
        let command = self.op & COMMAND;
        match command {
            libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 | libc::FUTEX_TRYLOCK_PI => {
                self.would_lock()?;
            }
            libc::FUTEX_UNLOCK_PI => self.would_unlock()?,
            libc::FUTEX_CMP_REQUEUE_PI => self.would_requeue()?,
            _ => {}
        }
        let may_wait = [libc::FUTEX_LOCK_PI, libc::FUTEX_LOCK_PI2, libc::FUTEX_WAIT_REQUEUE_PI];
        let waiting = if may_wait.contains(&command) { ONE_INHERITING } else { 0 };
        WAITING_IN_KERNEL.fetch_add(waiting, Ordering::SeqCst);
        // SAFETY: by this function's contract.
        let done = unsafe { self.run_in_kernel() };
        WAITING_IN_KERNEL.fetch_sub(waiting, Ordering::Relaxed);
        match done {
            Ok(moved) if command == libc::FUTEX_CMP_REQUEUE_PI && self.goes_beyond(moved) => {
                Err(INVALID)
            }
            done => done.map_err(Refused::Errno),
        }
    }

    fn would_lock(self) -> Result<(), Refused> {
        if !is_first_plain(self.uaddr) {
            return Ok(());
        }
        let has_timeout = self.op & COMMAND != libc::FUTEX_TRYLOCK_PI;
        if has_timeout && !self.timeout_or_val2.is_null() {
            // The clock doesn't matter, only whether the time is valid.
            deadline(user_memory::load_timespec(self.timeout_or_val2)?, Clock::Realtime)?;
        }
        let held = user_memory::load(self.uaddr)?;
        let is_own = held & libc::FUTEX_TID_MASK == lot::tid();
        Err(if is_own { Refused::Errno(libc::EDEADLK) } else { INVALID })
    }

    fn would_unlock(self) -> Result<(), Refused> {
        if !is_first_plain(self.uaddr) {
            return Ok(());
        }
        let held = user_memory::load(self.uaddr)?;
        let is_own = held & libc::FUTEX_TID_MASK == lot::tid();
        // The kernel reports that another thread's lock can't be released.
        if is_own { Err(INVALID) } else { Ok(()) }
    }

    fn would_requeue(self) -> Result<(), Refused> {
        let is_well_formed = self.val == 1
            && self.others().is_some()
            && self.uaddr != self.uaddr2
            && user_memory::is_word(self.uaddr2);
        if !is_well_formed {
            return Err(Refused::Malformed);
        }
        let is_refused = is_first_plain(self.uaddr)
            || is_first_plain(self.uaddr2) && is_waited_on_in_kernel(self.uaddr);
        if !is_refused {
            return Ok(());
        }
        self.look(self.val3)?;
        user_memory::load(self.uaddr2)?;
        Err(INVALID)
    }

    /// Whether a `CMP_REQUEUE_PI` that moved this many would have moved more, and would have
    /// reached plain waiters.
    fn goes_beyond(self, moved: usize) -> bool {
        self.others().is_some_and(|others| moved <= others) && is_waited_on(self.uaddr)
    }

    /// How many waiters a `CMP_REQUEUE_PI` may move besides the first.
    fn others(self) -> Option<usize> {
        let others = self.timeout_or_val2.addr() as u32;
        usize::try_from(others as i32).ok()
    }
}

/// Whether a word has plain waiters here, and none in the kernel.
fn is_first_plain(word: *const u32) -> bool {
    is_waited_on(word) && !is_waited_on_in_kernel(word)
}

/// Whether a private word has waiters in the kernel, of any kind.
fn is_waited_on_in_kernel(word: *const u32) -> bool {
    let op = libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
    // To the word itself: this counts a plain waiter, and fails with other ones.
    // SAFETY: requeueing writes nothing.
    !matches!(unsafe { kernel::futex(word, op, 0, 1, word, 0) }, Ok(0))
}
