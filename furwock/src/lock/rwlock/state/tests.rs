//! Every transition, for all that a word can say.

use super::*;
use crate::lock::bits::Role;

const ROLES: [Role; 3] = [Role::Newcomer, Role::Spinner, Role::Woken];
const OWNERS: [Kind; 3] = [Kind::Writer, Kind::Upgradable, Kind::Upgrader];
const POLICIES: [Policy; 5] = [
    Policy::PhaseFair,
    Policy::Recursive,
    Policy::PreferReaders,
    Policy::PreferWriters,
    Policy::PreferWritersRecursive,
];
const FLAGS: [u64; 8] =
    [WRITER, SPIN, HANDOFF, UPGRADING, READERS_PARKED, WRITERS_PARKED, BIASED, REVOKED];
const READS: [Kind; 2] = [Kind::Reader, Kind::BriefReader];
const MOST_READERS: u64 = TOO_MANY_READERS / ONE_READER;
const MOST_WAKES: u64 = WAKES / ONE_WAKE;

/// What a role stands for in the word.
const ROLE_BITS: u64 = SPIN | WAKES;
/// What keeps track of readers in slots.
const BIAS: u64 = BIASED | REVOKED;

fn flags() -> impl Iterator<Item = u64> {
    (0..1u32 << FLAGS.len()).map(|set| {
        FLAGS
            .iter()
            .enumerate()
            .filter(|(bit, _)| set & (1 << bit) != 0)
            .map(|(_, flag)| flag)
            .sum()
    })
}

fn words_of(owners: &[u64], heats: &[u64]) -> Vec<u64> {
    let mut words = Vec::new();
    for flags in flags() {
        for &owner in owners {
            for readers in [0, 1, 2, MOST_READERS, MOST_READERS + 1] {
                for wakes in [0, 1, MOST_WAKES] {
                    for heat in heats {
                        for policy in POLICIES {
                            let counts = readers * ONE_READER + wakes * ONE_WAKE;
                            words.push(free(policy) | flags | owner | counts | heat);
                        }
                    }
                }
            }
        }
    }
    words
}

/// Any bits at all.
fn words() -> Vec<u64> {
    words_of(&[0, 1, OWNER], &[0, ONE_HEAT, warm(), HOT - ONE_HEAT, HOT])
}

/// What may come about.
fn is_valid(word: u64) -> bool {
    let owned = owner(word) != 0;
    let writes = is_written(word);
    let upgrades = word & UPGRADING != 0;
    let biased = is_biased(word);
    (owned || !(writes || upgrades))
        && !(writes && (upgrades || readers(word) != 0 || may_be_published(word)))
        && !(biased && (upgrades || word & REVOKED != 0))
}

fn valid() -> Vec<u64> {
    words().into_iter().filter(|&word| is_valid(word)).collect()
}

#[track_caller]
fn assert_changes(word: u64, new: u64, fields: u64) {
    assert_eq!((word ^ new) & !fields, 0, "{word:#x} -> {new:#x}");
    assert!(is_valid(new), "{word:#x} -> {new:#x}");
}

#[test]
fn the_fields_are_apart_and_leave_room_for_every_thread_id() {
    const UNUSED: u64 = 3 << 40;
    let fields = [OWNER, WAKES, WAS_BIASED, HEAT, UNUSED, READERS, POLICY];
    let all = fields.iter().chain(&FLAGS);
    assert_eq!(all.clone().map(|field| u128::from(*field)).sum::<u128>(), u128::from(u64::MAX));
    assert_eq!(all.fold(0, |all, field| all | field), u64::MAX);
    const PID_MAX_LIMIT: u64 = 4 * 1024 * 1024;
    const { assert!(OWNER == PID_MAX_LIMIT - 1) };
    const { assert!(HOT & HEAT == HOT && HOT > HEAT / 2 && ONE_HEAT & HEAT == ONE_HEAT) };
    const { assert!(TOO_MANY_READERS & READERS != 0 && TOO_MANY_READERS > READERS / 2) };
}

#[test]
fn a_policy_is_what_it_was_set_to_and_touches_nothing_else() {
    for word in words() {
        for policy_then in POLICIES {
            let new = under(word, policy_then);
            assert_eq!(policy(new), policy_then);
            assert_eq!(new & !POLICY, word & !POLICY);
        }
    }
    for policy_then in POLICIES {
        assert_eq!(free(policy_then) & !POLICY, 0);
        assert!(is_valid(free(policy_then)));
    }
}

#[test]
fn kinds_survive_as_tokens() {
    for kind in OWNERS.into_iter().chain(READS) {
        assert_eq!(Kind::from_token(kind.token()), kind);
    }
}

#[test]
fn giving_up_a_role_never_reaches_another_field() {
    for word in words() {
        assert_eq!(WRITES.given_up(word, Role::Newcomer), word);
        assert_eq!(WRITES.given_up(word, Role::Spinner), word & !SPIN);
        let woken = WRITES.given_up(word, Role::Woken);
        assert_eq!(woken & !WAKES, word & !WAKES);
        assert_eq!((woken & WAKES) / ONE_WAKE, ((word & WAKES) / ONE_WAKE).saturating_sub(1));
    }
}

#[test]
fn a_reader_that_enters_at_once_was_stopped_by_nothing() {
    for word in words() {
        let Some(new) = read_at_once(word) else { continue };
        assert_eq!(stops_reader(word, false), None, "{word:#x}");
        assert_eq!(new, read(word, true), "{word:#x}: the slow path would do otherwise");
        assert_eq!(word & (WRITER | UPGRADING | BIASED), 0);
    }
}

#[test]
fn a_reader_that_passes_sleepers_enters_as_the_slow_path_would_have_it() {
    for word in words() {
        let Some(new) = read_past_sleepers(word) else { continue };
        assert_eq!(stops_reader(word, false), None, "{word:#x}");
        assert_eq!(read_at_once(word), None, "{word:#x}: it is the fast path's");
        let waits = word & PARKED != 0;
        assert!(new == read(word, true) || !waits, "{word:#x}");
        assert_eq!(new, word + ONE_READER);
        assert_eq!(word & (OWNER | READERS | WRITER | UPGRADING | BIASED), 0);
    }
}

#[test]
fn a_reader_enters_beside_no_writer_and_is_counted_once() {
    for word in valid() {
        for forced in [false, true] {
            if stops_reader(word, forced).is_some() {
                continue;
            }
            assert!(!is_written(word));
            assert!(readers(word) < MOST_READERS);
            for may_bias in [false, true] {
                let new = read(word, may_bias);
                assert_changes(word, new, READERS | HEAT | BIAS | WAS_BIASED);
                assert_eq!(readers(new), readers(word) + 1);
                assert!(new & HEAT <= HOT);
                let heated = (word & HEAT) + ONE_HEAT;
                assert!(new & HEAT == 0 || [word & HEAT, heated].contains(&(new & HEAT)));
                if may_be_published(word) {
                    assert!(may_be_published(new), "{word:#x}: readers in slots were forgotten");
                }
                if is_biased(new) && !is_biased(word) {
                    let waits = SPIN | HANDOFF | UPGRADING | PARKED;
                    assert!(may_bias && word & HOT != 0 && word & waits == 0, "{word:#x}");
                }
            }
        }
    }
}

#[test]
fn readers_wait_as_their_policy_says() {
    for word in valid().into_iter().filter(|&word| readers(word) < MOST_READERS) {
        let stop = stops_reader(word, false);
        let is_written_soon = word & (SPIN | WAKES | WRITERS_PARKED | HANDOFF | UPGRADING);
        match policy(word) {
            _ if is_written(word) => assert_eq!(stop, Some(Stop::Closed)),
            Policy::PreferReaders => assert_eq!(stop, None),
            Policy::PreferWriters => assert_eq!(stop.is_some(), is_written_soon != 0),
            Policy::PhaseFair | Policy::Recursive | Policy::PreferWritersRecursive => {
                let closed = word & (UPGRADING | HANDOFF) != 0;
                assert_eq!(stop == Some(Stop::Closed), closed);
                assert_ne!(stop, Some(Stop::WritersFirst));
            }
        }
        assert_eq!(stops_reader(word, true).is_some(), is_written(word));
        if stop.is_none() && policy(word) != Policy::PreferReaders {
            assert!(has_room_for(word, Kind::Reader));
        }
    }
}

/// As those that slept: `Next::Readers` after a write is their turn under the same policies.
#[test]
fn readers_that_were_shut_out_enter_after_a_writer_where_sleepers_do() {
    let waiting = Waiting {
        first: Kind::Writer,
        reader: true,
        stuck: false,
        other: Some(Kind::Writer),
        upgrader: false,
    };
    for word in POLICIES.map(free) {
        let sleepers_enter = next(word, waiting, Cause::Written, 1) == Next::Readers;
        assert_eq!(enters_after_writer(word), sleepers_enter, "{:?}", policy(word));
        assert!(!enters_after_writer(word | WRITER));
    }
}

/// Some thread is inside, on the way or due, and settles: else a reader would sleep for ever.
#[test]
fn a_reader_queues_only_where_a_thread_will_settle() {
    for word in valid() {
        for forced in [false, true] {
            let Some(stop) = stops_reader(word, forced) else { continue };
            if may_park_reader(stop) {
                let inside = word & (OWNER | READERS) != 0;
                let on_the_way = word & (SPIN | WAKES) != 0;
                // Queued, and not inside: the thread that let it come to that settles.
                let due = word & (HANDOFF | WRITERS_PARKED) != 0;
                assert!(inside || on_the_way || due, "{word:#x}");
                let queued = bits(Kind::Reader).queued(word, Role::Newcomer, false);
                assert_changes(word, queued, READERS_PARKED);
                assert!(queued & READERS_PARKED != 0);
            }
            if stop == Stop::Sleepers {
                assert!(word & (OWNER | READERS) != 0, "{word:#x}: no thread inside wakes it");
            }
        }
    }
}

#[test]
fn a_reader_seizes_the_lock_from_a_writer_only() {
    for word in valid() {
        match seized_by_reader(word) {
            None => assert!(!is_written(word)),
            Some(new) => {
                assert!(is_written(word) && owner(new) == 0 && readers(new) == 1);
                assert_changes(word, new, OWNER | WRITER | READERS);
            }
        }
    }
}

/// What a dead owner had is the caller's, if that lets it in; others that are inside keep it out.
#[test]
fn an_owner_is_replaced_only_where_the_new_one_has_room() {
    for word in valid().into_iter().filter(|&word| owner(word) != 0) {
        let others = readers(word) != 0;
        for kind in [Kind::Writer, Kind::Upgradable] {
            let new = (bits(kind).seize)(word, 77);
            let full = kind == Kind::Upgradable && room(word) == 0;
            let kept_out = full || (kind == Kind::Writer && others);
            assert_eq!(new.is_none(), kept_out, "{word:#x}");
            let Some(new) = new else { continue };
            assert_changes(word, new, OWNER | WRITER | UPGRADING | HEAT | BIAS);
            assert_eq!((owner(new), readers(new)), (77, readers(word)));
            assert_eq!(may_be_published(new), may_be_published(word));
        }
    }
}

/// In a child with an empty queue, the word speaks of no thread but those that it has.
#[test]
fn a_childs_word_is_clean_of_its_parents_threads() {
    for word in valid() {
        let stays = (WRITES.in_child)(word, |_| true);
        assert_changes(word, stays, STALE_IN_CHILD);
        assert_eq!(stays & STALE_IN_CHILD, 0);
        let new = (WRITES.in_child)(word, |_| false);
        let waits = word & (UPGRADING | WRITER) == UPGRADING;
        let expected = if waits { upgradable_left(stays) } else { stays };
        assert_eq!(new, expected, "{word:#x}");
    }
}

#[test]
fn an_owner_shares_the_lock_with_no_thread_it_excludes() {
    for word in valid() {
        for kind in OWNERS {
            // An upgrader is the upgradable reader.
            let is_owner = owner(word) != 0 && !is_written(word);
            if !is_available(word, kind) || (kind == Kind::Upgrader && !is_owner) {
                continue;
            }
            assert!(kind == Kind::Upgrader || word & (HANDOFF | OWNER) == 0);
            assert!(!is_written(word));
            for role in ROLES {
                let new = bits(kind).taken(word, role, 77);
                let mine = bits(kind).given_up(word, role) & ROLE_BITS;
                assert_eq!(new & ROLE_BITS, mine, "{word:#x}: more than its role");
                let expected = if kind == Kind::Upgrader { owner(word) } else { 77 };
                assert_eq!(owner(new), expected);
                match kind {
                    Kind::Writer if may_be_published(word) => {
                        assert_changes(word, new, OWNER | ROLE_BITS | UPGRADING | BIAS | HEAT);
                        assert_eq!(new & (WRITER | UPGRADING | BIAS), UPGRADING | REVOKED);
                        assert_eq!(new & HEAT, warm());
                    }
                    Kind::Writer => {
                        assert_changes(word, new, OWNER | ROLE_BITS | WRITER | HEAT);
                        assert_eq!(new & (WRITER | HEAT), WRITER);
                    }
                    Kind::Upgrader => {
                        assert_changes(word, new, ROLE_BITS | WRITER | UPGRADING | HEAT);
                        assert_eq!(new & (WRITER | UPGRADING), WRITER);
                        let is_warm = word & HEAT == warm();
                        assert_eq!(new & HEAT, if is_warm { warm() } else { 0 });
                    }
                    _ => {
                        assert_changes(word, new, OWNER | ROLE_BITS);
                        assert!(!is_written(new));
                    }
                }
                if is_written(new) {
                    assert_eq!(readers(new), 0);
                    assert!(!may_be_published(new), "{word:#x}: readers may be in slots");
                }
            }
        }
    }
}

#[test]
fn a_waiting_writer_ends_the_bias_and_gives_up_only_its_role() {
    for word in valid() {
        for kind in OWNERS {
            for role in ROLES {
                let bits = bits(kind);
                let given_up = bits.given_up(word, role);
                let spins = bits.spinning(word, role);
                let heat = if is_biased(word) { HEAT } else { 0 };
                assert_changes(word, spins, ROLE_BITS | BIAS | heat);
                assert_eq!(spins & ROLE_BITS, (given_up & ROLE_BITS) | SPIN);
                for hand_off in [false, true] {
                    let sleeps = bits.queued(word, role, hand_off);
                    let others = WRITERS_PARKED | HANDOFF | heat;
                    assert_changes(word, sleeps, ROLE_BITS | BIAS | others);
                    assert_eq!(sleeps & ROLE_BITS, given_up & ROLE_BITS);
                    assert!(sleeps & WRITERS_PARKED != 0);
                    assert_eq!(sleeps & HANDOFF != 0, hand_off || word & HANDOFF != 0);
                    assert_eq!(may_be_published(sleeps), may_be_published(word));
                    assert!(!is_biased(sleeps) || kind == Kind::Upgradable);
                }
                assert_eq!(may_be_published(spins), may_be_published(word));
                assert!(!is_biased(spins) || kind == Kind::Upgradable);
            }
        }
    }
}

#[test]
fn an_upgrade_closes_the_lock_and_forgets_no_slot() {
    for word in valid() {
        let heat = if is_biased(word) { HEAT } else { 0 };
        assert_changes(word, revoked(word), BIAS | heat);
        assert!(!is_biased(revoked(word)));
        assert_eq!(may_be_published(revoked(word)), may_be_published(word));
        if owner(word) == 0 || is_written(word) {
            continue;
        }
        let new = drained_by(word);
        assert_changes(word, new, UPGRADING | BIAS | HEAT);
        assert_eq!(new & HEAT, if may_be_published(word) { warm() } else { word & HEAT });
        assert!(new & UPGRADING != 0 && !is_biased(new));
        assert_eq!(may_be_published(new), may_be_published(word));
        // From here on no reader can set the bias: the owner would wait for readers that come
        // later.
        for may_bias in [false, true] {
            assert!(!is_biased(read(new, may_bias)));
        }
        assert!(!has_room_for(new, Kind::Writer) && !has_room_for(new, Kind::Upgradable));
    }
}

/// Reads, one after the other, after which `word` is biased.
fn reads_until_biased(word: u64) -> usize {
    let reads = core::iter::successors(Some(word), |&word| Some(read(word, true) - ONE_READER));
    reads.take_while(|&word| !is_biased(word)).count()
}

#[test]
fn a_lock_that_was_biased_when_it_was_written_becomes_biased_sooner() {
    let (after, again) = ((HOT / ONE_HEAT) as usize + 1, AGAIN as usize + 1);
    let write = |word| {
        let mut word = taken(word, Kind::Writer, 77);
        if !is_written(word) {
            // It has drained the slots.
            word = taken(word & !REVOKED, Kind::Upgrader, 0);
        }
        assert!(is_written(word));
        written(word)
    };
    let cold = free(Policy::PhaseFair);
    assert_eq!(reads_until_biased(cold), after);
    let biased = cold | BIASED | WAS_BIASED;
    let warm = write(biased);
    assert_eq!(reads_until_biased(warm), again);
    assert_eq!(reads_until_biased(write(warm)), after, "written again before it was biased");
    let revoked = bits(Kind::Writer)
        .given_up(bits(Kind::Writer).spinning(biased, Role::Newcomer), Role::Spinner);
    assert_eq!(reads_until_biased(revoked), again, "a writer has given up");
    assert_eq!(reads_until_biased(write(revoked)), again);
    let upgraded = taken(drained_by(biased | 77) & !REVOKED, Kind::Upgrader, 0);
    assert_eq!(reads_until_biased(written(upgraded)), again);
    let upgraded = taken(drained_by(cold | 77 | (HOT / 2)), Kind::Upgrader, 0);
    assert_eq!(reads_until_biased(written(upgraded)), after);
}

#[test]
fn a_release_that_would_strand_sleepers_is_settled() {
    for word in valid() {
        let left = match () {
            () if is_written(word) => written(word),
            () if owner(word) != 0 => upgradable_left(word),
            () => continue,
        };
        assert_changes(word, left, OWNER | WRITER | UPGRADING);
        assert!(owner(left) == 0 && !is_written(left) && left & UPGRADING == 0);
        assert_changes(word, left + ONE_READER, OWNER | WRITER | UPGRADING | READERS);
        let on_the_way = left & (SPIN | WAKES) != 0;
        assert!(is_to_be_settled(left) || on_the_way || left & PARKED == 0, "{left:#x}");
        assert!(is_to_be_settled(left) || left & HANDOFF == 0, "{left:#x}");
    }
}

#[test]
fn the_last_reader_sees_to_the_upgrader_and_to_sleepers() {
    for word in valid().into_iter().filter(|&word| readers(word) != 0) {
        let left = word - ONE_READER;
        assert_changes(word, left, READERS);
        let waits =
            left & (HANDOFF | UPGRADING) != 0 || (left & PARKED != 0 && left & (SPIN | WAKES) == 0);
        assert_eq!(is_to_be_settled_by_reader(left), readers(left) == 0 && waits, "{left:#x}");
    }
}

#[test]
fn there_is_room_for_as_many_readers_as_the_field_has() {
    for word in words() {
        let full = word + room(word) * ONE_READER;
        assert_eq!(full & !READERS, word & !READERS);
        assert_eq!(readers(full), readers(word).max(MOST_READERS));
    }
}

/// Every queue that a thread may be found in, as `next` sees it.
fn queues() -> Vec<Waiting> {
    let mut queues = Vec::new();
    let some_first = OWNERS.into_iter().chain(READS);
    for first in some_first {
        for (reader, stuck) in [(false, false), (true, false), (true, true)] {
            for other in OWNERS.into_iter().map(Some).chain([None]) {
                for upgrader in [false, true] {
                    let first_fits = match first {
                        Kind::Reader => stuck,
                        Kind::BriefReader => reader,
                        kind => other == Some(kind),
                    };
                    let upgrader_fits = match other {
                        None => !upgrader,
                        Some(Kind::Upgrader) => upgrader,
                        Some(_) => true,
                    };
                    if first_fits && upgrader_fits {
                        queues.push(Waiting { first, reader, stuck, other, upgrader });
                    }
                }
            }
        }
    }
    queues
}

/// Valid words, with the bits that say what is in `waiting`, each with all that `next` is asked.
fn turns() -> impl Iterator<Item = (u64, Waiting, Cause, u64, Next)> {
    let words: Vec<_> =
        words_of(&[0, 1], &[0]).into_iter().filter(|&word| is_valid(word)).collect();
    queues().into_iter().flat_map(move |waiting| {
        // A thread that waits to upgrade is the owner, has drained the slots, and no writer.
        let fits = move |word: u64| {
            let upgrades = word & UPGRADING != 0 && !may_be_published(word);
            (word & READERS_PARKED != 0) == waiting.reader
                && (word & WRITERS_PARKED != 0) == waiting.other.is_some()
                && (upgrades || !waiting.upgrader)
        };
        let words: Vec<_> = words.iter().copied().filter(|&word| fits(word)).collect();
        words.into_iter().flat_map(move |word| {
            [Cause::Written, Cause::ReadForLong, Cause::Left].into_iter().flat_map(move |cause| {
                // A machine with many processors asks for more wakes than can be counted.
                [1, 2, MOST_WAKES, MOST_WAKES + 1, 127].into_iter().map(move |ahead| {
                    (word, waiting, cause, ahead, next(word, waiting, cause, ahead))
                })
            })
        })
    })
}

#[test]
fn no_waiter_is_let_in_without_room() {
    for (word, waiting, cause, ahead, next) in turns() {
        let context = format!("{word:#x} {waiting:?} {cause:?} {ahead}");
        if next != Next::Nothing {
            assert!(!is_written(word), "{context}");
        }
        match next {
            Next::Nothing => {}
            Next::Readers | Next::StuckReaders => {
                assert!(waiting.reader, "{context}");
                assert!(waiting.stuck || next == Next::Readers, "{context}");
                let closed = word & UPGRADING != 0;
                let policy = policy(word);
                let may_pass = policy == Policy::PreferReaders || policy.lets_readers_recurse();
                assert!(!closed || may_pass, "{context}");
                assert!(room(word) == 0 || is_valid(word + ONE_READER), "{context}");
            }
            Next::Upgrader => {
                assert!(waiting.upgrader && word & UPGRADING != 0, "{context}");
                assert_changes(word, taken(word, Kind::Upgrader, 0), WRITER | UPGRADING | HEAT);
            }
            Next::Give(kind) => {
                let after_long_reads = cause == Cause::ReadForLong
                    && kind == Kind::Writer
                    && word & (SPIN | READERS | BIASED | REVOKED) == 0
                    && !waiting.reader;
                assert!(word & HANDOFF != 0 || after_long_reads, "{context}");
                assert_eq!(waiting.other, Some(kind), "{context}");
                assert!(has_room_for(word, kind) && !kind.reads(), "{context}");
                let new = taken(word & !HANDOFF, kind, 77);
                let fields = HANDOFF | OWNER | WRITER | UPGRADING | HEAT | BIAS;
                assert_changes(word, new, fields);
            }
            Next::WakeOther => {
                assert_eq!(word & (HANDOFF | UPGRADING), 0, "{context}");
                let gives = cause == Cause::ReadForLong && word & (BIASED | REVOKED) == 0;
                assert!(!gives || waiting.reader || waiting.other != Some(Kind::Writer));
                assert!(waiting.other.is_some_and(|kind| has_room_for(word, kind)), "{context}");
                assert_changes(word, word + ONE_WAKE, WAKES);
            }
        }
    }
}

/// Whether some waiter is next, and could be inside.
fn is_a_waiters_turn(word: u64, waiting: Waiting) -> bool {
    if is_written(word) {
        return false;
    }
    // A reader may wait for readers that sleep.
    let is_read = word & (OWNER | READERS | REVOKED) != 0;
    if policy(word).lets_readers_recurse() && waiting.stuck && is_read {
        return true;
    }
    if word & UPGRADING != 0 {
        let readers_go_on = policy(word) == Policy::PreferReaders && waiting.reader;
        return readers_go_on || (waiting.upgrader && has_room_for(word, Kind::Upgrader));
    }
    let others = waiting.other.is_some_and(|kind| has_room_for(word, kind));
    match policy(word) {
        Policy::PreferWriters if waiting.other.is_some() => others,
        _ if word & HANDOFF != 0 => has_room_for(word, waiting.first),
        Policy::PreferReaders => waiting.reader || others,
        Policy::PhaseFair | Policy::Recursive | Policy::PreferWritersRecursive => {
            waiting.first.reads() || others
        }
        Policy::PreferWriters => waiting.reader,
    }
}

#[test]
fn no_waiter_is_stranded_at_its_turn() {
    for (word, waiting, cause, ahead, next) in turns() {
        let on_the_way = word & (SPIN | WAKES) != 0;
        if next == Next::Nothing {
            let forgotten = is_a_waiters_turn(word, waiting) && !on_the_way;
            assert!(!forgotten, "{word:#x} {waiting:?} {cause:?} {ahead}");
            // At the least some thread has to be there that will settle once more.
            assert!(word & (OWNER | READERS) != 0 || on_the_way, "{word:#x} {waiting:?}");
        }
    }
}

#[test]
fn readers_that_queued_enter_together_after_a_writer() {
    for (word, waiting, cause, _, next) in turns() {
        let shared_turns = matches!(policy(word), Policy::PhaseFair | Policy::Recursive);
        let open = word & (WRITER | UPGRADING) == 0;
        if shared_turns && open && waiting.reader && cause == Cause::Written {
            assert_eq!(next, Next::Readers, "{word:#x} {waiting:?}");
        }
        // Each phase lets in those that wait: only a writer's end begins one.
        if policy(word) == Policy::PhaseFair && next == Next::Readers && cause != Cause::Written {
            assert!(waiting.first.reads(), "{word:#x} {waiting:?}");
        }
    }
}

/// Also where a hand-off is asked for: it keeps thieves out, and lets no reader past them.
#[test]
fn writers_that_are_preferred_go_before_readers_that_wait() {
    for (word, waiting, cause, _, next) in turns() {
        let Some(other) = waiting.other else { continue };
        let asked = cause == Cause::Written || word & HANDOFF != 0;
        let is_read = word & (READERS | OWNER | REVOKED) != 0;
        let after_a_writer = asked && !is_read && has_room_for(word, other);
        let first = match policy(word) {
            Policy::PreferWriters => true,
            Policy::PreferWritersRecursive => after_a_writer,
            _ => false,
        };
        if first {
            assert_ne!(next, Next::Readers, "{word:#x} {waiting:?} {cause:?}");
        }
    }
}

#[test]
fn spinners_are_worth_it_only_behind_a_writer_that_may_be_overtaken() {
    for word in words() {
        for over in [false, true] {
            let spins = is_worth_a_spin(word, || over);
            assert!(!spins || (word & (WRITER | UPGRADING) != 0 && word & HANDOFF == 0));
            assert!(!spins || !over || word & PARKED == 0);
        }
    }
}

#[test]
fn a_writer_enters_at_once_only_a_lock_that_no_thread_uses() {
    for word in valid() {
        let Some(new) = written_at_once(word, 77) else { continue };
        assert!(is_available(word, Kind::Writer) && word & (PARKED | SPIN | WAKES | BIAS) == 0);
        assert_eq!(new, taken(word, Kind::Writer, 77));
        assert_eq!(written(new), word & (POLICY | WAS_BIASED));
        assert_eq!(new == only_writer(77), word & (POLICY | WAS_BIASED) == 0);
    }
}

#[test]
fn a_writer_that_passes_sleepers_enters_a_free_lock_without_slots() {
    for word in valid() {
        let Some(new) = written_past_sleepers(word, 77) else { continue };
        assert!(is_available(word, Kind::Writer) && word & BIAS == 0);
        assert_eq!(written_at_once(word, 77), None, "{word:#x}: it is the fast path's");
        assert_eq!(new, WRITES.taken(word, Role::Newcomer, 77), "{word:#x}");
        assert!(is_written(new));
    }
}

#[test]
fn a_reader_that_leaves_quietly_leaves_nothing_to_settle_and_no_slot() {
    let mut quiet = 0;
    for word in valid().into_iter().filter(|&word| is_quietly_read(word)) {
        let left = word - ONE_READER;
        assert!(!is_to_be_settled(left) && !is_written(word) && word & BIAS == 0, "{word:#x}");
        assert_eq!(left & !READERS, word & !READERS, "{word:#x}");
        quiet += 1;
    }
    assert_ne!(quiet, 0);
    assert!(is_quietly_read(ONE_READER) && !is_quietly_read(free(Policy::Recursive)));
}
