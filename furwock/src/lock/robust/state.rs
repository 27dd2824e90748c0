//! The states of a robust word. Pure: no atomics, no waiting.
//!
//! The kernel prescribes them, and writes them when a thread dies.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..=29 | owner | kernel thread id of the holder; 0 when free |
//! | 30 | OWNER_DIED | a holder died; set until a holder has made the data consistent |
//! | 31 | WAITERS | a thread may sleep on the word |
//!
//! Transitions of the mutex's word (what isn't named stays):
//!
//! | from | to | by | ordering |
//! |---|---|---|---|
//! | owner 0 | owner = me, -WAITERS | any thread; past the turnstile unless the top waiter starves | Acquire |
//! | owner = other | +WAITERS | the turnstile's holder, before it sleeps | Relaxed |
//! | owner = me, neither bit | 0 | holder | Release |
//! | owner = me, WAITERS | 0, or WAITERS on newer kernels, and one wake in the same step | holder | Release at least |
//! | owner = me, OWNER_DIED | -OWNER_DIED | holder, `make_consistent` | Relaxed |
//! | owner = me, OWNER_DIED | all ones, and all woken in the same step | a holder that gives up | a swap's |
//! | owner = the dying | owner 0, +OWNER_DIED, one woken if WAITERS | kernel | a full barrier |
//!
//! The turnstile's word is the same, but OWNER_DIED has no meaning there, and the thread that takes
//! it sets WAITERS, so that every release and every death wakes the next. A reader's slot is a word
//! that is only ever taken if it is to be had at once, and on which only the mutex's holder sleeps.
//!
//! WAITERS with owner 0 and no OWNER_DIED is free, and rare: `FUTEX_ROBUST_UNLOCK` may leave it if
//! other threads remain asleep. The kernel passes on the wake of a thread that was woken and then
//! killed if it finds owner 0; before Linux 6.2, only if it finds a plain 0, and not what a death
//! leaves.

pub(super) const FREE: u32 = 0;
pub(super) const OWNER: u32 = (1 << 30) - 1;
pub(super) const OWNER_DIED: u32 = 1 << 30;
pub(super) const WAITERS: u32 = 1 << 31;

/// No thread has this id, so that the lock is never free, and no death changes it.
pub(super) const NOT_RECOVERABLE: u32 = u32::MAX;

/// The holder's thread id; 0 if no thread holds it or ever will again.
pub(super) const fn owner(word: u32) -> u32 {
    if word == NOT_RECOVERABLE { 0 } else { word & OWNER }
}

pub(super) const fn is_free(word: u32) -> bool {
    word & OWNER == 0
}

/// A free word, taken by `tid`.
pub(super) const fn taken(word: u32, tid: u32) -> u32 {
    tid | (word & OWNER_DIED)
}

pub(super) const fn is_inconsistent(word: u32) -> bool {
    word & OWNER_DIED != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_lock_is_neither_free_nor_owned() {
        assert!(!is_free(NOT_RECOVERABLE));
        assert_eq!(owner(NOT_RECOVERABLE), 0);
    }

    #[test]
    fn what_a_death_leaves_is_free_and_stays_inconsistent() {
        for word in [OWNER_DIED, OWNER_DIED | WAITERS] {
            assert!(is_free(word));
            assert_eq!(taken(word, 7), 7 | OWNER_DIED);
            assert!(is_inconsistent(taken(word, 7)));
        }
        assert!(!is_inconsistent(taken(FREE, 7)));
    }

    #[test]
    fn a_release_by_the_kernel_leaves_a_free_word() {
        for word in [FREE, WAITERS] {
            assert!(is_free(word) && !is_inconsistent(word));
            assert_eq!((owner(word), taken(word, 7)), (0, 7));
        }
    }

    #[test]
    fn the_bits_are_the_kernels() {
        assert_eq!(OWNER, libc::FUTEX_TID_MASK);
        assert_eq!(OWNER_DIED, libc::FUTEX_OWNER_DIED);
        assert_eq!(WAITERS, libc::FUTEX_WAITERS);
    }
}
