//! `FUTEX_REQUEUE` and `FUTEX_CMP_REQUEUE`, and `futex_requeue` for words that futex(2) can't
//! express.

use super::clamp;
use super::error::Error;
use super::word::{Target, Word};
use crate::futex::Requeued;
use crate::sys::futex::futex;
use crate::sys::futex2::{self, Call, Failure, Waitv};
use crate::sys::syscall::Errno;

/// Wakes up to `wake` waiters of `from`, and moves up to `relocate` of the others, in order, to the
/// end of the queue of `to`.
///
/// A moved waiter keeps its deadline and bitset, and waits until `to` is woken. The value of `to`
/// is not checked. Prefer [`compare_requeue`] where `from` may change meanwhile.
///
/// A moved waiter stays at the address of `to`, in the kernel's queue, even if the word is freed.
/// Wake it before the memory is reused: a robust lock at that address would wake it instead of its
/// own waiters, since the kernel can't tell them apart.
///
/// # Errors
/// `ScopesDiffer` unless both words are of one scope, and both or neither a [`super::NumaWord`];
/// `Unsupported` for nodes and memory policies on kernels that don't know them; `Os` with the
/// kernel's errno.
pub fn requeue<F: Word, T: Word>(
    from: &F,
    to: &T,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, Error> {
    let (from, to) = (from.target(), to.target());
    if !is_plain(&from, &to)? {
        // futex2 always compares.
        loop {
            match requeue_by_futex2(&from, from.load(), &to, wake, relocate) {
                Err(Error::Mismatch) => {}
                done => return done,
            }
        }
    }
    requeue_plain(libc::FUTEX_REQUEUE, &from, 0, &to, wake, relocate)
}

/// The same, provided that `from` holds `expected`. The check and the requeue are one atomic step
/// for every call that waits on, wakes or requeues `from`.
///
/// # Errors
/// `Mismatch` if it doesn't; otherwise as [`requeue`].
pub fn compare_requeue<F: Word, T: Word>(
    from: &F,
    expected: F::Value,
    to: &T,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, Error> {
    let (from, to, expected) = (from.target(), to.target(), F::bits(expected));
    if !is_plain(&from, &to)? {
        return requeue_by_futex2(&from, expected, &to, wake, relocate);
    }
    requeue_plain(libc::FUTEX_CMP_REQUEUE, &from, expected, &to, wake, relocate)
}

/// Whether futex(2) has flags for both words. Neither interface has any for two that differ.
fn is_plain(from: &Target<'_>, to: &Target<'_>) -> Result<bool, Error> {
    if from.flags() != to.flags() { Err(Error::ScopesDiffer) } else { Ok(from.is_plain()) }
}

fn requeue_plain(
    op: i32,
    from: &Target<'_>,
    expected: u32,
    to: &Target<'_>,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, Error> {
    let (op, most) = (from.op(op), clamp(relocate) as usize);
    // SAFETY: both words are borrowed meanwhile; the kernel reads the first.
    let answer = unsafe { futex(from.address(), op, clamp(wake), most, to.address(), expected) };
    answer.map(|reached| split(reached, wake)).map_err(|errno| match errno {
        Errno(libc::EAGAIN) => Error::Mismatch,
        other => Error::of_futex(other),
    })
}

fn requeue_by_futex2(
    from: &Target<'_>,
    expected: u32,
    to: &Target<'_>,
    wake: usize,
    relocate: usize,
) -> Result<Requeued, Error> {
    from.settle();
    to.settle();
    let from_to = [
        Waitv::new(from.address(), expected, from.flags()),
        Waitv::new(to.address(), 0, to.flags()),
    ];
    // SAFETY: both words are borrowed meanwhile; those with a node own the memory of their node.
    let answer = unsafe { futex2::requeue(&from_to, clamp(wake), clamp(relocate)) };
    answer.map(|reached| split(reached, wake)).map_err(|failure| match failure {
        Failure::Errno(Errno(libc::EAGAIN)) => Error::Mismatch,
        other => Error::of_futex2(Call::Requeue, from.flags(), other),
    })
}

/// The kernel counts woken and moved together, and moves only once it has woken enough.
fn split(reached: usize, wake: usize) -> Requeued {
    let woken = reached.min(wake);
    Requeued { woken, moved: reached - woken }
}
