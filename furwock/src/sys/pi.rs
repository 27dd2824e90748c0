//! futex(2)'s operations on priority-inheriting words.
//!
//! The kernel needs no address to be valid: it answers EFAULT. It writes to a PI word only for a
//! thread that locks it, unlocks it, or waits to be moved to it.

use super::clock::{Clock, Deadline};
use super::futex::futex;
use super::syscall::Errno;
use core::ptr::{null, with_exposed_provenance};
use core::sync::atomic::AtomicU32;

/// Which threads may use a word: those of one process, or of all that map its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The threads of one process. The kernel finds the word's queue by its virtual address.
    #[default]
    Private,
    /// Threads of any process that maps the word's memory. The kernel finds the queue by the page
    /// behind the address, which takes a little longer.
    Shared,
}

impl Scope {
    fn flag(self) -> i32 {
        match self {
            Scope::Private => libc::FUTEX_PRIVATE_FLAG,
            Scope::Shared => 0,
        }
    }
}

/// The operation that `lock` uses for `deadline`, by name and by the version that brought it.
///
/// `FUTEX_LOCK_PI` counts its deadline on `CLOCK_REALTIME`, whatever the flags.
pub(crate) fn lock_operation(deadline: Option<&Deadline>) -> (i32, &'static str, &'static str) {
    match deadline.map(Deadline::clock) {
        Some(Clock::Monotonic) => (libc::FUTEX_LOCK_PI2, "FUTEX_LOCK_PI2", "Linux 5.14"),
        _ => (libc::FUTEX_LOCK_PI, "FUTEX_LOCK_PI", "Linux 2.6.18"),
    }
}

/// `FUTEX_LOCK_PI` or `FUTEX_LOCK_PI2`: takes the lock, boosting its owner meanwhile.
pub(crate) fn lock(
    word: &AtomicU32,
    scope: Scope,
    deadline: Option<&Deadline>,
) -> Result<(), Errno> {
    let op = lock_operation(deadline).0 | scope.flag();
    // SAFETY: the word is an atomic that outlives the call, and so does the deadline.
    unsafe { futex(word.as_ptr(), op, 0, timeout(deadline), null(), 0) }.map(drop)
}

/// `FUTEX_TRYLOCK_PI`: takes a lock that has no owner, whatever else its word says.
pub(crate) fn try_lock(word: &AtomicU32, scope: Scope) -> Result<(), Errno> {
    let op = libc::FUTEX_TRYLOCK_PI | scope.flag();
    // SAFETY: the word is an atomic that outlives the call.
    unsafe { futex(word.as_ptr(), op, 0, 0, null(), 0) }.map(drop)
}

/// `FUTEX_UNLOCK_PI`: hands the lock to its first waiter, or frees it.
pub(crate) fn unlock(word: &AtomicU32, scope: Scope) -> Result<(), Errno> {
    let op = libc::FUTEX_UNLOCK_PI | scope.flag();
    // SAFETY: the word is an atomic, and the caller's call on it says that it exists.
    unsafe { futex(word.as_ptr(), op, 0, 0, null(), 0) }.map(drop)
}

/// `FUTEX_WAIT_REQUEUE_PI`: waits while `word` holds `expected`, to be moved to `mutex`.
pub(crate) fn wait_requeue(
    word: &AtomicU32,
    expected: u32,
    mutex: &AtomicU32,
    scope: Scope,
    deadline: Option<&Deadline>,
) -> Result<(), Errno> {
    let mut op = libc::FUTEX_WAIT_REQUEUE_PI | scope.flag();
    if deadline.is_some_and(|deadline| deadline.clock() == Clock::Realtime) {
        op |= libc::FUTEX_CLOCK_REALTIME;
    }
    // SAFETY: both words are atomics that outlive the call, and so does the deadline.
    unsafe { futex(word.as_ptr(), op, expected, timeout(deadline), mutex.as_ptr(), 0) }.map(drop)
}

/// `FUTEX_CMP_REQUEUE_PI`: moves the first waiter and up to `others` more from `word`, if it holds
/// `expected`, to the PI word at the address `mutex`. Returns how many.
///
/// That word need not exist any more: then no waiter can be moved there, and the kernel at most
/// reads from the address.
pub(crate) fn compare_requeue(
    word: &AtomicU32,
    expected: u32,
    others: u32,
    mutex: usize,
    scope: Scope,
) -> Result<usize, Errno> {
    let op = libc::FUTEX_CMP_REQUEUE_PI | scope.flag();
    let others = others.min(i32::MAX as u32) as usize;
    let mutex = with_exposed_provenance(mutex);
    // SAFETY: the kernel writes at `mutex` only for a thread that waits in `wait_requeue` with that
    // very address, for which it keeps the word alive. `1` is the count that the call demands.
    unsafe { futex(word.as_ptr(), op, 1, others, mutex, expected) }
}

fn timeout(deadline: Option<&Deadline>) -> usize {
    deadline.map_or(0, |deadline| core::ptr::from_ref(deadline.timespec()).expose_provenance())
}
