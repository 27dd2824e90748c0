//! `FUTEX_WAKE_OP`.

use super::clamp;
use super::error::Error;
use super::word::Word;
use crate::futex::WakeOperation;
use crate::sys::futex::futex;

/// Does `operation` to `changed`, then wakes up to `count` waiters of `word`, and up to
/// `changed_count` of `changed` if its old value satisfies the comparison. Returns how many were
/// woken on both.
///
/// All of it is one step for everybody who waits on, wakes or requeues either word; the change
/// itself is atomic for everybody. The kernel's ordering is at least acquire and release.
///
/// # Errors
/// `OutOfRange` for a number that the operation can't carry; `ZeroCount` if one of the counts is 0;
/// `NotPlain` for words with a node or a memory policy; `ScopesDiffer` unless both are of one scope;
/// `Os` with the kernel's errno.
pub fn wake_op<W: Word, C: Word>(
    word: &W,
    count: usize,
    changed: &C,
    changed_count: usize,
    operation: &WakeOperation,
) -> Result<usize, Error> {
    let code = operation.encode()?;
    if count == 0 || changed_count == 0 {
        return Err(Error::ZeroCount);
    }
    let (target, changed) = (word.target(), changed.target());
    if !target.is_plain() || !changed.is_plain() {
        return Err(Error::NotPlain);
    }
    if target.flags() != changed.flags() {
        return Err(Error::ScopesDiffer);
    }
    let op = target.op(libc::FUTEX_WAKE_OP);
    let (count, changed_count) = (clamp(count), clamp(changed_count) as usize);
    // SAFETY: both words are borrowed meanwhile. The kernel changes the second atomically, and
    // that one is an atomic.
    let answer =
        unsafe { futex(target.address(), op, count, changed_count, changed.address(), code) };
    answer.map_err(Error::of_futex)
}
