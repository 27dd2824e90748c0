//! Implementations with one fault each, which the comparison must find.

use super::kernel::copy_readable;
use super::{Futex, FutexCall, Kernel, WaitvCall};
use std::sync::atomic::AtomicU32;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Wakes the last waiters first.
    WakesLast,
    /// Returns one more than it woke.
    CountsOneMore,
    /// Wakes one more than asked.
    WakesOneMore,
    /// Wakes no waiter where the kernel wakes one: for a count of 0.
    WakesNoneForZero,
    /// Waits although the word holds something else.
    MissesMismatch,
    /// Wakes any waiter, whatever the bits.
    ForgetsBitset,
    /// Moves waiters before those that are queued there already.
    MovesToFront,
    /// Moves waiters to another word.
    LosesMoved,
    /// Says that the first word of many was woken, whichever it was.
    NamesFirst,
    /// Ignores a deadline that is a valid timespec.
    ForgetsDeadline,
    /// Takes a priority-inheriting lock past plain waiters of its word.
    LocksBesideWaiters,
}

/// The kernel with a fault.
#[derive(Debug)]
pub struct Wrong(pub Fault);

/// Where waiters are put aside.
static ASIDE: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU32 = AtomicU32::new(0);

const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;

fn requeue(from: *mut u32, to: *mut u32, most: i64) -> Result<i64, i32> {
    let (op, most) = (libc::FUTEX_REQUEUE | PRIVATE, std::ptr::without_provenance(most as usize));
    let call = FutexCall { uaddr: from, op, val: 0, timeout_or_val2: most, uaddr2: to, val3: 0 };
    // SAFETY: writes nothing.
    unsafe { Kernel.futex(call) }
}

fn wake_last(word: *mut u32, most: i32) -> Result<i64, i32> {
    let mut woken = 0;
    while woken < i64::from(most.max(1)) {
        let waiting = requeue(word, ASIDE.as_ptr(), i64::from(i32::MAX))?;
        if waiting == 0 {
            break;
        }
        requeue(ASIDE.as_ptr(), word, waiting - 1)?;
        let (uaddr, op) = (ASIDE.as_ptr(), libc::FUTEX_WAKE | PRIVATE);
        let (timeout_or_val2, uaddr2) = (std::ptr::null(), std::ptr::null_mut());
        let call = FutexCall { uaddr, op, val: 1, timeout_or_val2, uaddr2, val3: 0 };
        // SAFETY: writes nothing.
        woken += unsafe { Kernel.futex(call) }?;
    }
    Ok(woken)
}

/// Makes the call while the waiters of `word` are put aside.
///
/// # Safety
/// As for `Futex::futex`.
unsafe fn without_waiters(word: *mut u32, call: FutexCall) -> Result<i64, i32> {
    let before = requeue(word, ASIDE.as_ptr(), i64::from(i32::MAX))?;
    // SAFETY: by the caller's promise.
    let result = unsafe { Kernel.futex(call) };
    requeue(ASIDE.as_ptr(), word, before)?;
    result
}

impl Futex for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    unsafe fn futex(&self, mut call: FutexCall) -> Result<i64, i32> {
        let FutexCall { uaddr, op, val, timeout_or_val2, uaddr2, val3 } = call;
        let wake = op == libc::FUTEX_WAKE | PRIVATE;
        let wait = op == libc::FUTEX_WAIT | PRIVATE;
        let moves = op == libc::FUTEX_REQUEUE | PRIVATE;
        let aligned = uaddr.is_aligned() && !uaddr.is_null();
        match self.0 {
            Fault::WakesLast if wake => return wake_last(uaddr, val.cast_signed()),
            Fault::WakesOneMore if wake => call.val = val.wrapping_add(1),
            Fault::WakesNoneForZero if wake && val == 0 && aligned => return Ok(0),
            Fault::MissesMismatch if wait && aligned => {
                // A word that can't be read gives EFAULT as before.
                let mut held = [val];
                copy_readable(uaddr, &mut held);
                call.val = held[0];
            }
            Fault::ForgetsBitset if op == libc::FUTEX_WAKE_BITSET | PRIVATE && val3 != 0 => {
                call.val3 = u32::MAX;
            }
            Fault::MovesToFront if moves && uaddr != uaddr2 => {
                // SAFETY: by the caller's promise.
                return unsafe { without_waiters(uaddr2, call) };
            }
            Fault::LocksBesideWaiters if op == libc::FUTEX_TRYLOCK_PI | PRIVATE => {
                // SAFETY: by the caller's promise.
                return unsafe { without_waiters(uaddr, call) };
            }
            Fault::LosesMoved if moves && uaddr2.is_aligned() => call.uaddr2 = LOST.as_ptr(),
            // SAFETY: the harness gives a timespec or null.
            Fault::ForgetsDeadline if wait => match unsafe { timeout_or_val2.as_ref() } {
                Some(time) if time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec) => {
                    call.timeout_or_val2 = std::ptr::null();
                }
                _ => {}
            },
            _ => {}
        }
        // SAFETY: by the caller's promise.
        let result = unsafe { Kernel.futex(call) };
        match (self.0, result) {
            (Fault::CountsOneMore, Ok(woken @ 1..)) if wake => Ok(woken + 1),
            _ => result,
        }
    }

    unsafe fn waitv(&self, call: WaitvCall) -> Result<i64, i32> {
        // SAFETY: by the caller's promise.
        let result = unsafe { Kernel.waitv(call) };
        if self.0 == Fault::NamesFirst { result.map(|_| 0) } else { result }
    }
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Fault::WakesLast,
        Fault::CountsOneMore,
        Fault::WakesOneMore,
        Fault::WakesNoneForZero,
        Fault::MissesMismatch,
        Fault::ForgetsBitset,
        Fault::MovesToFront,
        Fault::LosesMoved,
        Fault::NamesFirst,
        Fault::ForgetsDeadline,
        Fault::LocksBesideWaiters,
    ];
}
