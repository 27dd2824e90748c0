//! One operation of futex(2).

use super::user_memory::{self, Fault};
use crate::futex::{
    Requeued, WakeOp, compare_requeue_at, is_waited_at, requeue_at, wait_at, wake_at, wake_op_at,
};
use crate::lot::{self, Ended, Key, Signals, Until};
use crate::sys::clock::{Clock, Deadline};
use crate::sys::syscall::syscall_that_may_be_left;
use crate::sys::{futex as kernel, signals};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// Threads that wait in the kernel on private words. The low half counts plain waits: beside shared
/// words, inside a handler, with flags of a later kernel.
pub(super) static WAITING_IN_KERNEL: AtomicU64 = AtomicU64::new(0);

/// One in the high half, which counts waits by priority-inheriting operations.
pub(super) const ONE_INHERITING: u64 = 1 << 32;

/// `futex(uaddr, op, val, timeout_or_val2, uaddr2, val3)`. `Err` holds the errno; the calling
/// thread's own errno stays as it is.
///
/// # Safety
/// As for futex(2): an operation that writes (`FUTEX_WAKE_OP`, those on PI words) must be allowed
/// to write there. Addresses need not be valid: the answer is the kernel's `EFAULT` or `EINVAL`. (A
/// page that is unmapped after it was used for a futex is noticed by a `SIGSEGV` handler, which the
/// first operation that reads a word puts before the program's.)
pub unsafe fn futex(
    uaddr: *mut u32,
    op: i32,
    val: u32,
    timeout_or_val2: *const libc::timespec,
    uaddr2: *mut u32,
    val3: u32,
) -> Result<usize, i32> {
    let operation = Operation { uaddr, op, val, timeout_or_val2, uaddr2, val3 };
    // SAFETY: by this function's contract.
    unsafe { operation.run() }
}

#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) uaddr: *mut u32,
    pub(super) op: i32,
    pub(super) val: u32,
    pub(super) timeout_or_val2: *const libc::timespec,
    pub(super) uaddr2: *mut u32,
    pub(super) val3: u32,
}

/// The plain operations on private words.
pub(super) const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
pub(super) const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

pub(super) const ANY: u32 = libc::FUTEX_BITSET_MATCH_ANY as u32;

/// The bits outside the command. (libc's mask also strips flags of later kernels, which would then
/// be ignored here: calls with such flags must go to the kernel.)
pub(super) const COMMAND: i32 = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

/// The range of commands: `FUTEX_PRIVATE_FLAG` is the bit above them.
pub(super) const COMMANDS: i32 = libc::FUTEX_PRIVATE_FLAG - 1;

/// Why the engine didn't do it.
pub(super) enum Refused {
    /// The errno.
    Errno(i32),
    /// Malformed: the kernel says how.
    Malformed,
}

impl From<Fault> for Refused {
    fn from(_: Fault) -> Self {
        Self::Errno(libc::EFAULT)
    }
}

impl Operation {
    /// A wait that mismatches and a wake without waiters come first: they cost as much as the check
    /// that recognises them.
    ///
    /// # Safety
    /// As for [`futex`].
    #[inline]
    unsafe fn run(self) -> Result<usize, i32> {
        match self.op {
            WAIT if self.timeout_or_val2.is_null()
                && user_memory::holds_another(self.uaddr, self.val) =>
            {
                Err(libc::EAGAIN)
            }
            WAKE if user_memory::is_word(self.uaddr) && lot::is_empty(self.key()) => {
                // SAFETY: by this function's contract.
                if goes_on() { unsafe { self.run_in_kernel() } } else { Ok(0) }
            }
            // SAFETY: by this function's contract.
            _ => unsafe { self.run_closed() },
        }
    }

    /// # Safety
    /// As for [`futex`].
    #[inline(never)]
    unsafe fn run_closed(self) -> Result<usize, i32> {
        // SAFETY: by this function's contract.
        signals::closed(|| unsafe { self.run_whole() })
    }

    /// # Safety
    /// As for [`futex`].
    unsafe fn run_whole(self) -> Result<usize, i32> {
        let private = self.op & libc::FUTEX_PRIVATE_FLAG != 0;
        let done = if private && user_memory::is_word(self.uaddr) {
            // SAFETY: by this function's contract.
            unsafe { self.run_here() }
        } else {
            Err(Refused::Malformed)
        };
        match done {
            Ok(result) => Ok(result),
            Err(Refused::Errno(errno)) => Err(errno),
            // SAFETY: by this function's contract.
            Err(Refused::Malformed) => unsafe { self.run_in_kernel() },
        }
    }

    /// # Safety
    /// As for [`futex`].
    #[cold]
    pub(super) unsafe fn run_in_kernel(self) -> Result<usize, i32> {
        let arguments = [
            self.uaddr.expose_provenance(),
            self.op as usize,
            self.val as usize,
            self.timeout_or_val2.expose_provenance(),
            self.uaddr2.expose_provenance(),
            self.val3 as usize,
        ];
        // It may sleep there.
        // SAFETY: by this function's contract.
        signals::open_for(|| unsafe { syscall_that_may_be_left(libc::SYS_futex, &arguments) })
            .map_err(|errno| errno.0)
    }

    /// The clock flag is valid only where it is checked.
    #[inline]
    unsafe fn run_here(self) -> Result<usize, Refused> {
        let realtime = self.op & libc::FUTEX_CLOCK_REALTIME != 0;
        match self.op & COMMAND {
            libc::FUTEX_WAIT if !realtime => self.wait(ANY, || self.relative_deadline()),
            libc::FUTEX_WAIT_BITSET => self.wait(self.val3, || self.absolute_deadline(realtime)),
            libc::FUTEX_WAKE if !realtime => self.wake(ANY),
            libc::FUTEX_WAKE_BITSET if !realtime => self.wake(self.val3),
            libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE if !realtime => self.requeue(),
            // SAFETY: by this function's contract.
            libc::FUTEX_WAKE_OP if !realtime => unsafe { self.wake_op() },
            libc::FUTEX_LOCK_PI
            | libc::FUTEX_TRYLOCK_PI
            | libc::FUTEX_UNLOCK_PI
            | libc::FUTEX_CMP_REQUEUE_PI
                if !realtime =>
            {
                // SAFETY: by this function's contract.
                unsafe { self.run_inheriting() }
            }
            libc::FUTEX_LOCK_PI2 | libc::FUTEX_WAIT_REQUEUE_PI => {
                // SAFETY: by this function's contract.
                unsafe { self.run_inheriting() }
            }
            // SAFETY: by this function's contract.
            op if op & !COMMANDS != 0 => unsafe { self.run_with_new_flags() },
            _ => Err(Refused::Malformed),
        }
    }

    pub(super) fn key(self) -> Key {
        Key::word(self.uaddr.addr())
    }

    pub(super) fn key2(self) -> Key {
        Key::word(self.uaddr2.addr())
    }

    /// Whether the word holds `expected`, without side effects.
    #[inline]
    pub(super) fn look(self, expected: u32) -> Result<(), Refused> {
        if user_memory::load(self.uaddr)? == expected {
            Ok(())
        } else {
            Err(Refused::Errno(libc::EAGAIN))
        }
    }

    #[inline]
    fn wait(
        self,
        bitset: u32,
        deadline: impl FnOnce() -> Result<Option<Deadline>, Refused>,
    ) -> Result<usize, Refused> {
        let deadline = match self.timeout_or_val2.is_null() {
            true => None,
            false => deadline()?,
        };
        if bitset == 0 {
            return Err(Refused::Malformed);
        }
        self.look(self.val)?;
        self.wait_slow(bitset, deadline)
    }

    #[cold]
    fn wait_slow(self, bitset: u32, deadline: Option<Deadline>) -> Result<usize, Refused> {
        if lot::may_not_lock() {
            return self.wait_in_kernel();
        }
        let look = || self.look(self.val);
        let until =
            Until { deadline: deadline.as_ref(), signals: Signals::AsFutex, ..Until::default() };
        match wait_at(self.key(), look, until, bitset)? {
            Ended::Chosen(_) | Ended::Interrupted => Ok(0),
            Ended::TimedOut => Err(Refused::Errno(libc::ETIMEDOUT)),
            Ended::Signalled => Err(Refused::Errno(libc::EINTR)),
        }
    }

    /// For a signal handler that has interrupted its own thread inside the engine.
    pub(super) fn wait_in_kernel(self) -> Result<usize, Refused> {
        WAITING_IN_KERNEL.fetch_add(1, Ordering::SeqCst);
        // SAFETY: waiting writes nothing.
        let result = unsafe { self.run_in_kernel() };
        WAITING_IN_KERNEL.fetch_sub(1, Ordering::Relaxed);
        result.map_err(Refused::Errno)
    }

    fn relative_deadline(self) -> Result<Option<Deadline>, Refused> {
        let timeout = user_memory::load_timespec(self.timeout_or_val2)?;
        let (Ok(seconds), Ok(nanoseconds @ 0..1_000_000_000)) =
            (u64::try_from(timeout.tv_sec), u32::try_from(timeout.tv_nsec))
        else {
            return Err(Refused::Malformed);
        };
        Ok(Some(Deadline::after(Duration::new(seconds, nanoseconds))))
    }

    fn absolute_deadline(self, realtime: bool) -> Result<Option<Deadline>, Refused> {
        let clock = if realtime { Clock::Realtime } else { Clock::Monotonic };
        deadline(user_memory::load_timespec(self.timeout_or_val2)?, clock).map(Some)
    }

    /// At least one, as in the kernel, which counts after it has woken.
    pub(super) fn count(self) -> usize {
        usize::try_from(self.val as i32).unwrap_or(0).max(1)
    }

    #[inline]
    fn wake(self, bitset: u32) -> Result<usize, Refused> {
        if bitset == 0 {
            return Err(Refused::Malformed);
        }
        let count = self.count();
        if WAITING_IN_KERNEL.load(Ordering::Relaxed) as u32 != 0 {
            // First, since one of them may be a handler that keeps a bucket's lock from being
            // released.
            let woken = wake_rest(self.uaddr, 0, count, bitset)?;
            return Ok(woken + wake_at(self.key(), count - woken, bitset));
        }
        let woken = wake_at(self.key(), count, bitset);
        if woken < count && goes_on() {
            return wake_rest(self.uaddr, woken, count, bitset);
        }
        Ok(woken)
    }

    fn requeue(self) -> Result<usize, Refused> {
        let compare = self.op & COMMAND == libc::FUTEX_CMP_REQUEUE;
        let val2 = self.timeout_or_val2.addr() as u32;
        let (Ok(wake), Ok(relocate)) =
            (usize::try_from(self.val as i32), usize::try_from(val2 as i32))
        else {
            return Err(Refused::Malformed);
        };
        if !user_memory::is_word(self.uaddr2) {
            return Err(Refused::Malformed);
        }
        let Requeued { woken, moved } = if compare {
            self.look(self.val3)?;
            let look = || self.look(self.val3);
            compare_requeue_at(self.key(), look, self.key2(), wake, relocate)?
        } else {
            requeue_at(self.key(), self.key2(), wake, relocate)
        };
        if (woken < wake || moved < relocate) && goes_on() {
            let rest = Operation {
                val: (wake - woken) as u32,
                timeout_or_val2: core::ptr::without_provenance(relocate - moved),
                ..self
            };
            // SAFETY: requeueing writes nothing.
            return match unsafe { rest.run_in_kernel() } {
                Ok(more) => Ok(woken + moved + more),
                // The word changed after this part was done: that part stands.
                Err(libc::EAGAIN) if compare => Ok(woken + moved),
                Err(errno) => Err(Refused::Errno(errno)),
            };
        }
        Ok(woken + moved)
    }

    /// # Safety
    /// The program may write to `uaddr2`.
    unsafe fn wake_op(self) -> Result<usize, Refused> {
        if !user_memory::is_word(self.uaddr2) {
            return Err(Refused::Malformed);
        }
        let op = WakeOp::decode(self.val3).map_err(|_| Refused::Malformed)?;
        let count = self.count();
        let val2 = self.timeout_or_val2.addr() as u32;
        let count2 = usize::try_from(val2 as i32).unwrap_or(0).max(1);
        let mut holds = false;
        let change = || {
            // SAFETY: by this function's contract.
            let old = unsafe {
                user_memory::update(self.uaddr2, |old| op.applied_to(old as i32) as u32)
            }?;
            holds = op.comparison.holds(old as i32, op.comparand);
            Ok::<_, Refused>(holds)
        };
        let both = wake_op_at(self.key(), self.key2(), change, count, count2)?;
        let (mut first, mut second) = (both.woken, both.woken_at_changed);
        if goes_on() {
            if first < count {
                first = wake_rest(self.uaddr, first, count, ANY)?;
            }
            if holds && second < count2 {
                second = wake_rest(self.uaddr2, second, count2, ANY)?;
            }
        }
        Ok(first + second)
    }
}

/// A deadline at a point in time.
pub(super) fn deadline(at: libc::timespec, clock: Clock) -> Result<Deadline, Refused> {
    if at.tv_sec < 0 {
        return Err(Refused::Malformed);
    }
    Deadline::at(clock, at.tv_sec, at.tv_nsec).ok_or(Refused::Malformed)
}

/// Whether threads may wait in the kernel. Called after the engine's own check for waiters, whose
/// fence orders this load after the caller's store; `WAITING_IN_KERNEL` rises before the kernel
/// checks the words of such a waiter.
#[inline]
fn goes_on() -> bool {
    WAITING_IN_KERNEL.load(Ordering::Relaxed) != 0
}

/// Whether anything waits here on a word, as far as a handler that must not take a lock can tell.
pub(super) fn is_waited_on(word: *const u32) -> bool {
    is_waited_at(Key::word(word.addr()))
}

/// Wakes in the kernel as many as are missing from `count`. Returns the new total.
#[cold]
pub(super) fn wake_rest(
    uaddr: *const u32,
    woken: usize,
    count: usize,
    bitset: u32,
) -> Result<usize, Refused> {
    let op = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let missing = (count - woken) as u32;
    // SAFETY: waking writes nothing.
    match unsafe { kernel::futex(uaddr, op, missing, 0, core::ptr::null(), bitset) } {
        Ok(more) => Ok(woken + more),
        // Priority-inheriting waiters: the kernel refuses to wake them this way, and reports that
        // even if it woke others.
        Err(errno) if woken == 0 || errno.0 == libc::EINVAL => Err(Refused::Errno(errno.0)),
        Err(_) => Ok(woken),
    }
}
