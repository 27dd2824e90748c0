//! The states of a mutex's word. Pure: no atomics, no waiting.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0..=21 | owner | kernel thread id of the holder; 0 when free |
//! | 22 | PARKED | waiters may be queued at the word's address |
//! | 23 | SPIN | a running thread spins for the lock and will look at it again |
//! | 24 | HANDOFF | the holder must give the lock to the queue's first; nobody may steal it |
//! | 25..=31 | wakes | waiters that have been, or are being, chosen, and will look at the lock again |
//!
//! When a bit may be set, and when it may be left out or cleared:
//!
//! | bit | set | cleared |
//! |---|---|---|
//! | PARKED | under the bucket lock, in an RMW that sees the lock held, or that claims a wake for a waiter it chooses | under the bucket lock, when nobody is queued at the address; by waiters, never by an unlocker |
//! | SPIN | by a running thread that sees the lock held and SPIN and HANDOFF clear | by a spinner, in an RMW that takes the lock or sees it held |
//! | wakes | raised by the release that finds PARKED and no SPIN, and must be if it is 0; by a broadcast that wakes some and moves the rest | lowered by a chosen waiter, in an RMW that takes the lock or sees it held; 0 under the bucket lock when nobody is queued |
//! | HANDOFF | under the bucket lock, by a waiter that queues itself first and sees the lock held | by the holder, as it gives the lock away or finds nobody |
//!
//! Transitions (what isn't named stays; "mine" is the role that the thread has, see `contender::Role`):
//!
//! | from | to | who | ordering |
//! |---|---|---|---|
//! | free | owner = me, less mine | anybody: steals past the queue | Acquire |
//! | held, no SPIN, no HANDOFF | +SPIN, less mine | a running waiter | Relaxed |
//! | held | +PARKED [+HANDOFF], less mine, less what is stale | a waiter, as it queues | Relaxed |
//! | held, PARKED, no SPIN, wakes < ahead, no HANDOFF | free, wakes = ahead | holder, then chooses as many | Release |
//! | held, otherwise, no HANDOFF | free | holder | Release |
//! | held, HANDOFF | owner = first waiter, -HANDOFF | holder, under the bucket lock | Release |
//! | held, HANDOFF, nobody queued | free, -HANDOFF | holder, under the bucket lock | Release |
//! | PARKED, nobody queued | -PARKED, wakes = 0 | a waiter that leaves or took the lock, under the bucket lock | Relaxed |
//!
//! Invalid: free with HANDOFF. Free with somebody queued and neither SPIN nor wakes: that is a lost
//! wakeup (ORDERING.md, M-1 to M-4, say why it can't come about).

use super::contender::Role;

pub(super) const OWNER: u32 = (1 << 22) - 1;
pub(super) const PARKED: u32 = 1 << 22;
pub(super) const SPIN: u32 = 1 << 23;
pub(super) const HANDOFF: u32 = 1 << 24;
pub(super) const ONE_WAKE: u32 = 1 << 25;
pub(super) const WAKES: u32 = !(ONE_WAKE - 1);

pub(super) const FREE: u32 = 0;

/// The most wakes that may be on their way at once.
pub(super) const MOST_WAKES: u32 = WAKES / ONE_WAKE;

/// The word without `role`. Somebody may have taken a wake for stale: then there may be none left to
/// take back.
#[inline]
pub(super) const fn given_up(word: u32, role: Role) -> u32 {
    match role {
        Role::Newcomer => word,
        Role::Spinner => word & !SPIN,
        Role::Woken if word & WAKES != 0 => word - ONE_WAKE,
        Role::Woken => word,
    }
}

#[inline]
pub(super) const fn owner(word: u32) -> u32 {
    word & OWNER
}

#[inline]
pub(super) const fn is_free(word: u32) -> bool {
    owner(word) == 0
}

/// The word after `tid` took a free lock.
#[inline]
pub(super) const fn taken(word: u32, tid: u32, role: Role) -> u32 {
    given_up(word, role) | tid
}

/// What a release leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// It wasn't held: nothing to do.
    NotHeld,
    /// The lock must be given to the first waiter, under the bucket lock.
    HandOff,
    /// This word, and so many waiters to choose, whose wakes it claims.
    To { word: u32, wakes: u32 },
}

/// Whether a release of this word wakes nobody, whatever the table says: nobody is queued, or
/// somebody spins.
#[inline]
pub(super) const fn is_release_plain(word: u32) -> bool {
    !is_free(word) && word & HANDOFF == 0 && word & (PARKED | SPIN) != PARKED
}

/// The release of `word`, with `ahead` (at least 1) wakes to be on their way after it.
#[inline]
pub(super) const fn release(word: u32, ahead: u32) -> Release {
    if is_free(word) {
        return Release::NotHeld;
    }
    if word & HANDOFF != 0 {
        return Release::HandOff;
    }
    let free = word & !OWNER;
    let on_their_way = free / ONE_WAKE;
    if free & PARKED == 0 || free & SPIN != 0 || on_their_way >= ahead {
        return Release::To { word: free, wakes: 0 };
    }
    let wakes = ahead - on_their_way;
    Release::To { word: free + wakes * ONE_WAKE, wakes }
}

/// Whether a release asks how many wakes should be on their way: it wouldn't otherwise wake anybody.
#[inline]
pub(super) const fn asks_how_far_ahead(word: u32) -> bool {
    word & (PARKED | SPIN | HANDOFF) == PARKED
}

/// The word after a waiter queued itself on a held lock, giving up its role.
#[inline]
pub(super) const fn queued(word: u32, role: Role, hand_off: bool) -> u32 {
    let asked = if hand_off { HANDOFF } else { 0 };
    given_up(word, role) | PARKED | asked
}

/// The word of a free lock for whose waiters `wakes` are claimed, and others moved to its queue.
#[inline]
pub(super) const fn expecting(word: u32, wakes: u32) -> u32 {
    let room = MOST_WAKES - word / ONE_WAKE;
    let wakes = if wakes < room { wakes } else { room };
    (word | PARKED) + wakes * ONE_WAKE
}

/// The bits that stand for nobody when nobody is queued at the word's address: wakes may have been
/// claimed for a waiter that timed out, or, in a forked child, by threads that only its parent has.
/// (A spinner that is alive all the same sets its bit again.)
#[inline]
pub(super) const fn stale_when_nobody_is_queued(forked: bool) -> u32 {
    if forked { WAKES | SPIN } else { WAKES }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const ROLES: [Role; 3] = [Role::Newcomer, Role::Spinner, Role::Woken];

    fn words() -> impl Iterator<Item = u32> {
        let owners = [0, 1, 4711, OWNER];
        let wakes = [0, 1, 2, MOST_WAKES - 1, MOST_WAKES];
        owners.into_iter().flat_map(move |owner| {
            (0..8u32).flat_map(move |bits| {
                wakes.into_iter().map(move |wakes| owner | (bits << 22) | (wakes * ONE_WAKE))
            })
        })
    }

    fn valid() -> impl Iterator<Item = u32> {
        words().filter(|&word| !(is_free(word) && word & HANDOFF != 0))
    }

    #[test]
    fn the_fields_are_apart_and_leave_room_for_every_thread_id() {
        assert_eq!(OWNER ^ PARKED ^ SPIN ^ HANDOFF ^ WAKES, u32::MAX);
        const PID_MAX_LIMIT: u32 = 4 * 1024 * 1024;
        const { assert!(OWNER == PID_MAX_LIMIT - 1) };
    }

    #[test]
    fn a_release_of_every_valid_word_is_valid_and_strands_nobody() {
        for word in valid() {
            for ahead in [1, 2, MOST_WAKES] {
                match release(word, ahead) {
                    Release::NotHeld => assert!(is_free(word)),
                    Release::HandOff => assert!(word & HANDOFF != 0 && !is_free(word)),
                    Release::To { word: free, wakes } => {
                        assert!(is_free(free) && free & HANDOFF == 0);
                        assert_eq!(free & (PARKED | SPIN), word & (PARKED | SPIN));
                        assert_eq!(free / ONE_WAKE, word / ONE_WAKE + wakes);
                        assert!(wakes == 0 || free / ONE_WAKE == ahead);
                        let stranded = free & PARKED != 0 && free & (SPIN | WAKES) == 0;
                        assert!(!stranded, "{word:#x} -> {free:#x} leaves sleepers to nobody");
                    }
                }
            }
        }
    }

    #[test]
    fn a_plain_release_wakes_nobody() {
        for word in valid().filter(|&word| is_release_plain(word)) {
            assert_eq!(release(word, 1), Release::To { word: word & !OWNER, wakes: 0 });
        }
    }

    #[test]
    fn a_release_that_does_not_ask_does_not_need_the_answer() {
        for word in valid().filter(|&word| !asks_how_far_ahead(word)) {
            assert_eq!(release(word, 1), release(word, MOST_WAKES));
        }
    }

    #[test]
    fn taking_a_free_lock_names_the_owner_and_gives_up_only_the_role() {
        for word in valid().filter(|&word| is_free(word)) {
            for role in ROLES {
                let new = taken(word, 77, role);
                assert_eq!(owner(new), 77);
                assert_eq!(new & !OWNER, given_up(word, role));
            }
        }
    }

    #[test]
    fn giving_up_a_role_never_reaches_another_field() {
        for word in words() {
            assert_eq!(given_up(word, Role::Newcomer), word);
            assert_eq!(given_up(word, Role::Spinner), word & !SPIN);
            let woken = given_up(word, Role::Woken);
            assert_eq!(woken & !WAKES, word & !WAKES);
            assert_eq!(woken / ONE_WAKE, (word / ONE_WAKE).saturating_sub(1));
        }
    }

    #[test]
    fn a_waiter_that_queues_keeps_the_owner_and_lets_the_next_release_wake() {
        for word in valid().filter(|&word| !is_free(word)) {
            for role in ROLES {
                for (stale, hand_off) in
                    [(0, false), (0, true), (WAKES, false), (WAKES | SPIN, false)]
                {
                    let new = queued(word & !stale, role, hand_off);
                    assert_eq!(owner(new), owner(word));
                    assert!(new & PARKED != 0);
                    assert_eq!(new & HANDOFF != 0, hand_off || word & HANDOFF != 0);
                    if stale != 0 && new & (SPIN | HANDOFF) == 0 {
                        assert!(matches!(release(new, 1), Release::To { wakes: 1, .. }));
                    }
                }
            }
        }
    }

    #[test]
    fn claims_stay_within_their_field() {
        for word in valid() {
            for wakes in [1, 2, MOST_WAKES] {
                let new = expecting(word, wakes);
                assert_eq!(new & !(WAKES | PARKED), word & !(WAKES | PARKED));
                assert!(new & PARKED != 0 && new & WAKES != 0);
            }
        }
    }
}
