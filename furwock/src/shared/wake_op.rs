//! `FUTEX_WAKE_OP`.

use super::clamp;
use super::error::Error;
use super::word::Word;
use crate::futex::WakeOp;
use crate::sys::futex::futex;

/// Does what `op` says to `changed`, then wakes up to `count` waiters of `word`, and up to
/// `count_at_changed` of `changed` if its old value satisfies the comparison. Returns how many were
/// woken on both. Values are compared as signed numbers.
///
/// All of it is one atomic step for every call that waits on, wakes or requeues either word; the
/// change itself is atomic for all accesses. The kernel's ordering is at least acquire and release.
///
/// # Errors
/// `OutOfRange` for a number that the operation can't carry; `ZeroCount` if one of the counts is 0;
/// `NotPlain` for words with a node or a memory policy; `ScopesDiffer` unless both are of one
/// scope; `Os` with the kernel's errno.
pub fn wake_op<W: Word, C: Word>(
    word: &W,
    count: usize,
    changed: &C,
    count_at_changed: usize,
    op: WakeOp<i32>,
) -> Result<usize, Error> {
    let code = op.encode()?;
    if count == 0 || count_at_changed == 0 {
        return Err(Error::ZeroCount);
    }
    let (target, changed) = (word.target(), changed.target());
    if !target.is_plain() || !changed.is_plain() {
        return Err(Error::NotPlain);
    }
    if target.flags() != changed.flags() {
        return Err(Error::ScopesDiffer);
    }
    let number = target.op(libc::FUTEX_WAKE_OP);
    let (count, count_at_changed) = (clamp(count), clamp(count_at_changed) as usize);
    // SAFETY: both words are borrowed meanwhile. The kernel changes the second atomically, and
    // that one is an atomic.
    let answer = unsafe {
        futex(target.address(), number, count, count_at_changed, changed.address(), code)
    };
    answer.map_err(Error::of_futex)
}
