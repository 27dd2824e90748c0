//! Every transition, for all that a word can say.

use super::*;
use crate::lock::bits::Role;
use crate::lock::spin::MOST_AHEAD;

const ROLES: [Role; 3] = [Role::Newcomer, Role::Spinner, Role::Woken];

fn given_up(word: u32, role: Role) -> u32 {
    u32::try_from(BITS.given_up(word.into(), role)).unwrap()
}

fn taken(word: u32, tid: u32, role: Role) -> u32 {
    u32::try_from(BITS.taken(word.into(), role, tid)).unwrap()
}

fn queued(word: u32, role: Role, hand_off: bool) -> u32 {
    u32::try_from(BITS.queued(word.into(), role, hand_off)).unwrap()
}

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
fn a_spinner_stays_unseen_only_while_no_wake_is_due() {
    for word in valid().filter(|&word| !is_free(word)) {
        let leaves_it = matches!(release(word, 1), Release::To { wakes: 0, .. });
        assert_eq!(may_stay_unseen(word), leaves_it, "{word:#x}");
    }
}

#[test]
fn a_release_of_every_valid_word_is_valid_and_strands_no_waiter() {
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
                    assert!(!stranded, "{word:#x} -> {free:#x} strands sleepers");
                }
            }
        }
    }
}

#[test]
fn what_is_expected_of_a_free_word_may_be_released_to_without_a_wake() {
    for word in valid().filter(|&word| is_free(word)) {
        for ahead in 1..=3 {
            let expected = expected_after(word, ahead);
            assert!(expected == 0 || expected == word);
            let released = release(expected | 77, ahead);
            assert_eq!(released, Release::To { word: expected, wakes: 0 }, "{word:#x}");
        }
    }
}

#[test]
fn a_release_that_is_said_to_wake_some_does_however_many_are_to_be_on_their_way() {
    for word in valid().filter(|&word| !is_free(word)) {
        let wakes = |ahead| matches!(release(word, ahead), Release::To { wakes: 1.., .. });
        assert_eq!(wakes_some(word), wakes(1), "{word:#x}");
        assert!(!wakes_some(word) || wakes(2) && wakes(MOST_WAKES));
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
            for (stale, hand_off) in [(0, false), (0, true), (WAKES, false), (WAKES | SPIN, false)]
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

#[test]
fn a_word_has_room_for_as_many_wakes_as_are_ever_claimed() {
    const { assert!(MOST_WAKES >= MOST_AHEAD) };
}

/// What the slow path takes for available is what a release leaves, and nothing else.
#[test]
fn a_lock_is_available_when_it_is_free() {
    for word in valid() {
        assert_eq!(BITS.is_available(word.into()), is_free(word));
        let contested = word & PARKED != 0 && word & (SPIN | WAKES) != 0;
        assert_eq!(BITS.is_contested(word.into()), contested);
    }
}
