//! What becomes of the lock when a signal handler leaves a wait of its owner for good: the wait for readers
//! to leave. (What other waiters are given with their choice says itself how it is given back.)

use super::RawRwLock;
use super::state::UPGRADING;
use crate::lot::From;
use crate::prim::atomic::Ordering;

pub(super) type OnLeave = fn(usize, From);

/// # Safety
/// The waiter's call on the lock isn't over.
unsafe fn lock<'l>(address: usize) -> &'l RawRwLock {
    // SAFETY: by this function's contract.
    let lock: &RawRwLock = unsafe { &*core::ptr::with_exposed_provenance(address) };
    lock.word.fetch_and(!UPGRADING, Ordering::Relaxed);
    lock
}

/// An owner that was to be the writer.
pub(super) fn owner(address: usize, _: From) {
    // SAFETY: as of every debt. (If it had become the writer, it is the upgradable reader again by now.)
    unsafe { lock(address) }.unlock_upgradable();
}

/// An upgradable reader, which stays what it was.
pub(super) fn upgrader(address: usize, _: From) {
    // SAFETY: as of every debt.
    unsafe { lock(address) }.settle_after_leaving();
}
