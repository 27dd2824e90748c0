//! Flags of later kernels, such as `FUTEX_ROBUST_UNLOCK` (Linux 7.2), which makes a wake release a
//! lock first.
//!
//! Only the kernel knows their meaning: it executes the operation first, or refuses it. If it wakes
//! or requeues, waiters of a private word that queue here are woken and moved too, up to what
//! remains of the counts. The kernel returns only one number for both words, so that a
//! `FUTEX_WAKE_OP` may wake some waiters of its second word spuriously. Waiters with such flags
//! stand in the kernel's queue.

use super::operation::{ANY, COMMANDS, Operation, Refused};
use crate::futex::{Requeued, requeue_at, wake_at};

impl Operation {
    /// # Safety
    /// As for [`futex`](super::futex).
    #[cold]
    pub(super) unsafe fn run_with_new_flags(self) -> Result<usize, Refused> {
        match self.op & COMMANDS {
            libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI => self.wait_in_kernel(),
            // SAFETY: by this function's contract.
            _ => match unsafe { self.run_in_kernel() } {
                Ok(done) => Ok(done + self.run_here_after(done)),
                Err(errno) => Err(Refused::Errno(errno)),
            },
        }
    }

    /// What the kernel left over, after doing this many. Returns how many more.
    pub(super) fn run_here_after(self, done: usize) -> usize {
        let key2 = self.key2();
        let val2 = self.timeout_or_val2.addr() as u32;
        let at_most = |count: u32| usize::try_from(count as i32).unwrap_or(0);
        match self.op & COMMANDS {
            libc::FUTEX_WAKE => wake_at(self.key(), self.count().saturating_sub(done), ANY),
            libc::FUTEX_WAKE_BITSET => {
                wake_at(self.key(), self.count().saturating_sub(done), self.val3)
            }
            libc::FUTEX_WAKE_OP => {
                let first = self.count().saturating_sub(done);
                let second = at_most(val2).max(1).saturating_sub(done.saturating_sub(self.count()));
                wake_at(self.key(), first, ANY) + wake_at(key2, second, ANY)
            }
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => {
                let woken = done.min(at_most(self.val));
                let (wake, relocate) = (at_most(self.val) - woken, at_most(val2));
                let relocate = relocate.saturating_sub(done - woken);
                let Requeued { woken, moved } = requeue_at(self.key(), key2, wake, relocate);
                woken + moved
            }
            _ => 0,
        }
    }
}
