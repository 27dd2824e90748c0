//! A PI lock's word, in the kernel's format: pure, no atomics.
//!
//! | part | bits | set by | means |
//! |---|---|---|---|
//! | owner | 0-29 | the locker's CAS, or the kernel | the kernel id of the thread that holds the lock; 0: none |
//! | `OWNER_DIED` | 30 | the kernel | an owner ended without unlocking; cleared by the next owner |
//! | `WAITERS` | 31 | the kernel | a thread waits in the kernel, or did; forces the release there |
//!
//! | owner | `WAITERS` | `OWNER_DIED` | state |
//! |---|---|---|---|
//! | 0 | 0 | 0 | free: the only state that user space may take |
//! | tid | 0 | 0 | held: the only state that user space may release |
//! | tid | 1 | 0 | held, the kernel knows the waiters and boosts the owner |
//! | tid | any | 1 | held by the heir of a dead owner; the heir hasn't looked yet |
//! | 0 | any | 1 | the kernel found the dead owner on a robust list: to be had through the kernel |
//! | 0 | 1 | 0 | not seen: the kernel never leaves waiters without an owner |
//!
//! | from | to | by | ordering |
//! |---|---|---|---|
//! | free | tid | the locker's CAS | Acquire |
//! | tid | free | the owner's CAS | Release |
//! | tid | tid, `WAITERS` | the kernel, for a waiter | - |
//! | tid, `WAITERS` | heir, `WAITERS` | the kernel, `FUTEX_UNLOCK_PI` | the kernel's locks |
//! | tid, `WAITERS` | free | the kernel, the waiters having left | the kernel's locks |
//! | free | tid (with `WAITERS` if others are moved behind) | the kernel, `FUTEX_CMP_REQUEUE_PI` | the kernel's locks |
//! | dead tid | heir, `WAITERS`, `OWNER_DIED` | the kernel, as the owner ends | the kernel's locks |
//! | any with `OWNER_DIED` | the same without | the owner | Relaxed: it's the owner's own news |

pub(super) const FREE: u32 = 0;
const OWNER: u32 = 0x3fff_ffff;
pub(super) const OWNER_DIED: u32 = 0x4000_0000;
pub(crate) const WAITERS: u32 = 0x8000_0000;

/// The kernel id of the thread that holds the lock; 0 if none does.
pub(crate) fn owner(word: u32) -> u32 {
    word & OWNER
}

/// Whether no thread holds the lock, but only the kernel may give it away.
pub(super) fn is_the_kernels_to_give(word: u32) -> bool {
    word != FREE && owner(word) == 0
}

pub(super) fn owner_died(word: u32) -> bool {
    word & OWNER_DIED != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_kernels() {
        assert_eq!(OWNER, libc::FUTEX_TID_MASK);
        assert_eq!(OWNER_DIED, libc::FUTEX_OWNER_DIED);
        assert_eq!(WAITERS, libc::FUTEX_WAITERS);
        assert_eq!(OWNER | OWNER_DIED | WAITERS, u32::MAX);
        assert_eq!(OWNER & (OWNER_DIED | WAITERS) | OWNER_DIED & WAITERS, 0);
    }

    #[test]
    fn every_state_is_of_one_kind() {
        for tid in [0, 1, OWNER] {
            for bits in [0, WAITERS, OWNER_DIED, WAITERS | OWNER_DIED] {
                let word = tid | bits;
                assert_eq!(owner(word), tid);
                assert_eq!(owner_died(word), bits & OWNER_DIED != 0);
                let kinds = [word == FREE, tid != 0, is_the_kernels_to_give(word)];
                assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1, "{word:#x}");
            }
        }
    }
}
