//! How many wakes should be on their way at once: learnt for each lock, kept in its bucket.

use super::learnt::wakes_ahead;
use super::mutex_state::MOST_WAKES;
use crate::lot::{self, Key};
use crate::prim::atomic::Ordering;

/// How many woken waiters of the mutex at `key` should be on their way at a time.
///
/// One, as long as those who were woken find the lock taken: more would be a swarm. If they find it
/// free, critical sections are short beside a wake, and with one wake at a time processors stand
/// idle between a release and the next waiter's start. The bucket remembers (`learn`).
///
/// One where priorities count: of two that are woken, the wrong one may be first.
pub(super) fn how_far_ahead(key: Key) -> u32 {
    if lot::are_there_ranks() {
        return 1;
    }
    let most = (2 * lot::processors() as u32).min(MOST_WAKES);
    (1 + wakes_ahead(key).load(Ordering::Relaxed)).min(most)
}

/// Notes how a woken waiter found the lock.
pub(super) fn learn(key: Key, found_free: bool) {
    let hint = wakes_ahead(key);
    let ahead = hint.load(Ordering::Relaxed);
    let new = if found_free { (ahead + 1).min(MOST_WAKES) } else { ahead / 2 };
    if new != ahead {
        hint.store(new, Ordering::Relaxed);
    }
}
