//! The states of a mutex's word. Pure: no atomics, no waiting.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..=21 | owner | kernel thread id of the holder; 0 when free |
//! | 22 | PARKED | waiters may be queued at the word's address |
//! | 23 | SPIN | a running thread spins for the lock and will look at it again |
//! | 24 | WAKE | a waiter has been, or is being, chosen, and will look at the lock again |
//! | 25 | HANDOFF | the holder must give the lock to the queue's first; nobody may steal it |
//!
//! When a bit may be set, and when it may be left out or cleared:
//!
//! | bit | set | cleared |
//! |---|---|---|
//! | PARKED | under the bucket lock, in an RMW that sees the lock held, or that claims WAKE for a waiter it chooses | under the bucket lock, when nobody is queued at the address; by waiters, never by an unlocker |
//! | SPIN | by a running thread that sees the lock held and SPIN and HANDOFF clear | by a spinner, in an RMW that takes the lock or sees it held |
//! | WAKE | by the release that finds PARKED and neither SPIN nor WAKE; by a broadcast that wakes one and moves the rest | by a chosen waiter, in an RMW that takes the lock or sees it held; under the bucket lock when nobody is queued |
//! | HANDOFF | under the bucket lock, by a waiter that queues itself first and sees the lock held | by the holder, as it gives the lock away or finds nobody |
//!
//! Transitions (`+X` sets, `-X` clears; what isn't named stays):
//!
//! | from | to | who | ordering |
//! |---|---|---|---|
//! | free | owner = me, -SPIN/-WAKE if mine | anybody: steals past the queue | Acquire |
//! | held, no SPIN, no HANDOFF | +SPIN, -WAKE if mine | a running waiter | Relaxed |
//! | held, SPIN mine | -SPIN +PARKED [+HANDOFF] | the spinner, out of patience, as it queues | Relaxed |
//! | held | +PARKED [+HANDOFF], -WAKE if mine or nobody is queued | a waiter, as it queues | Relaxed |
//! | held, PARKED, no SPIN, no WAKE, no HANDOFF | free, +WAKE | holder, then chooses the first | Release |
//! | held, otherwise, no HANDOFF | free | holder | Release |
//! | held, HANDOFF | owner = first waiter, -HANDOFF | holder, under the bucket lock | Release |
//! | held, HANDOFF, nobody queued | free, -HANDOFF | holder, under the bucket lock | Release |
//! | PARKED, nobody queued | -PARKED -WAKE | a waiter that leaves or took the lock, under the bucket lock | Relaxed |
//!
//! Invalid: free with HANDOFF. Free with somebody queued and neither SPIN nor WAKE: that is a lost
//! wakeup (ORDERING.md, M-1 to M-4, say why it can't come about).

pub(super) const OWNER: u32 = (1 << 22) - 1;
pub(super) const PARKED: u32 = 1 << 22;
pub(super) const SPIN: u32 = 1 << 23;
pub(super) const WAKE: u32 = 1 << 24;
pub(super) const HANDOFF: u32 = 1 << 25;

pub(super) const FREE: u32 = 0;

#[inline]
pub(super) const fn owner(word: u32) -> u32 {
    word & OWNER
}

#[inline]
pub(super) const fn is_free(word: u32) -> bool {
    owner(word) == 0
}

/// Whether a running waiter may become the spinner.
#[inline]
pub(super) const fn may_spin(word: u32) -> bool {
    word & (SPIN | HANDOFF) == 0
}

/// The word after `tid` took a free lock, giving up the bits in `role`.
#[inline]
pub(super) const fn taken(word: u32, tid: u32, role: u32) -> u32 {
    (word | tid) & !role
}

/// What a release leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// It wasn't held: nothing to do.
    NotHeld,
    /// The lock must be given to the first waiter, under the bucket lock.
    HandOff,
    /// This word, with nobody to wake.
    To(u32),
    /// This word, which claims WAKE: choose the first waiter.
    ToAndWake(u32),
}

#[inline]
pub(super) const fn release(word: u32) -> Release {
    if is_free(word) {
        return Release::NotHeld;
    }
    if word & HANDOFF != 0 {
        return Release::HandOff;
    }
    let free = word & !OWNER;
    if free & (PARKED | SPIN | WAKE) == PARKED {
        Release::ToAndWake(free | WAKE)
    } else {
        Release::To(free)
    }
}

/// The word after a waiter queued itself on a held lock, giving up the bits in `role`, and clearing
/// those in `stale`, which it knows to stand for nobody.
#[inline]
pub(super) const fn queued(word: u32, role: u32, stale: u32, hand_off: bool) -> u32 {
    let asked = if hand_off { HANDOFF } else { 0 };
    ((word | PARKED) & !role & !stale) | asked
}

/// The bits that stand for nobody when nobody is queued at the word's address: a wake may have been
/// claimed for a waiter that timed out, or, in a forked child, by threads that only its parent has.
/// (A spinner that is alive all the same sets its bit again.)
#[inline]
pub(super) const fn stale_when_nobody_is_queued(forked: bool) -> u32 {
    if forked { WAKE | SPIN } else { WAKE }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn words() -> impl Iterator<Item = u32> {
        let owners = [0, 1, 4711, OWNER];
        owners.into_iter().flat_map(|owner| (0..16u32).map(move |bits| owner | bits << 22))
    }

    fn valid() -> impl Iterator<Item = u32> {
        words().filter(|&word| !(is_free(word) && word & HANDOFF != 0))
    }

    #[test]
    fn the_bits_are_apart_and_leave_room_for_every_thread_id() {
        let bits = [PARKED, SPIN, WAKE, HANDOFF];
        assert_eq!(bits.iter().sum::<u32>(), bits.iter().fold(0, |all, bit| all | bit));
        assert_eq!(bits.iter().sum::<u32>() & OWNER, 0);
        const PID_MAX_LIMIT: u32 = 4 * 1024 * 1024;
        const { assert!(OWNER == PID_MAX_LIMIT - 1) };
    }

    #[test]
    fn a_release_of_every_valid_word_is_valid_and_strands_nobody() {
        for word in valid() {
            match release(word) {
                Release::NotHeld => assert!(is_free(word)),
                Release::HandOff => assert!(word & HANDOFF != 0 && !is_free(word)),
                Release::To(free) => {
                    assert!(is_free(free) && free & HANDOFF == 0);
                    assert_eq!(free, word & !OWNER);
                    let stranded = free & PARKED != 0 && free & (SPIN | WAKE) == 0;
                    assert!(!stranded, "{word:#x} -> {free:#x} leaves sleepers to nobody");
                }
                Release::ToAndWake(free) => {
                    assert!(is_free(free) && free & HANDOFF == 0);
                    assert_eq!(free & (PARKED | SPIN | WAKE), PARKED | WAKE);
                }
            }
        }
    }

    #[test]
    fn taking_a_free_lock_names_the_owner_and_gives_up_only_the_role() {
        for word in valid().filter(|&word| is_free(word)) {
            for role in [0, SPIN, WAKE] {
                let new = taken(word, 77, role);
                assert_eq!(owner(new), 77);
                assert_eq!(new & !OWNER, word & !role);
            }
        }
    }

    #[test]
    fn a_waiter_that_queues_keeps_the_owner_and_lets_the_next_release_wake() {
        for word in valid().filter(|&word| !is_free(word)) {
            for role in [0, SPIN, WAKE] {
                for (stale, hand_off) in
                    [(0, false), (0, true), (WAKE, false), (WAKE | SPIN, false)]
                {
                    let new = queued(word, role, stale, hand_off);
                    assert_eq!(owner(new), owner(word));
                    assert!(new & PARKED != 0 && new & role == 0);
                    assert_eq!(new & HANDOFF != 0, hand_off || word & HANDOFF != 0);
                    if stale != 0 && new & (SPIN | HANDOFF) == 0 {
                        assert!(matches!(release(new), Release::ToAndWake(_)));
                    }
                }
            }
        }
    }

    #[test]
    fn nobody_spins_beside_a_spinner_or_a_hand_off() {
        for word in valid() {
            assert_eq!(may_spin(word), word & SPIN == 0 && word & HANDOFF == 0);
        }
    }
}
