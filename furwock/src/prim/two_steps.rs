//! The release of a robust word as two steps, for every kernel but the real one: none of them kills
//! a thread in between.

#[cfg(any(loom, shuttle))]
use super::model::{atomic, shared_store_and_wake};
#[cfg(simulated)]
use super::simulated::{atomic, shared_store_and_wake};
use crate::sys::robust_list::List;

pub(crate) fn unlock_is_one_step() -> bool {
    false
}

pub(crate) fn robust_unlock(word: &atomic::AtomicU32, tid: u32, list: List) -> Result<(), u32> {
    word.compare_exchange(tid, 0, atomic::Ordering::Release, atomic::Ordering::Relaxed)?;
    list.end();
    Ok(())
}

pub(crate) fn robust_unlock_and_wake(word: &atomic::AtomicU32, list: List) {
    shared_store_and_wake(word, 0, 1);
    list.end();
}
