//! Which waiters are let in, or woken, when a release or a departure makes room.

use super::state::{
    Cause, HANDOFF, Kind, Next, ONE_READER, ONE_WAKE, PARKED, READERS_PARKED, UPGRADING, WAKES,
    WRITERS_PARKED, Waiting, next, policy, room, taken,
};
use super::{RawRwLock, long_reads};
use crate::lock::spin::{changes_hands, how_far_ahead};
use crate::lot::{self, From, Key, Locked, Queued, Verdict, Waiter};
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};

/// Settles at a lock that may be gone. Returns how many were let in or woken.
///
/// `word` is where it is, or was. It is looked at only while a waiter is queued there: that
/// for a lock keeps it alive.
#[cold]
pub(super) fn settle_at(word: *const AtomicU64, cause: Cause) -> usize {
    let key = Key::rwlock(word.addr());
    changes_hands(key);
    let mut queue = lot::lock(key);
    settle(word, &mut queue, cause)
}

/// The same, as the last reader leaves.
#[cold]
pub(super) fn settle_left_by_readers(word: *const AtomicU64) -> usize {
    let are_long = long_reads::are_seen(Key::rwlock(word.addr()));
    settle_at(word, if are_long { Cause::ReadForLong } else { Cause::Left })
}

/// Lets in or wakes the waiters whose turn it is, under the bucket's lock.
pub(super) fn settle(word: *const AtomicU64, queue: &mut Locked<'_>, mut cause: Cause) -> usize {
    let key = Key::rwlock(word.addr());
    let address = word.expose_provenance();
    let mut count = 0;
    // A waiter that is woken takes the lock by itself, and then sees to those behind it.
    let mut woken = false;
    while let Some(first) = queue.first(key) {
        // SAFETY: `first` waits for this lock, and stays so as long as the bucket's lock is held:
        // its thread is inside a call on the lock.
        let word = unsafe { &*word };
        let seen = word.load(Ordering::Relaxed);
        let waiting = look(queue, first, seen);
        // What a word claims to wait isn't always there.
        let seen_right = without_absent(seen, waiting);
        let turn = next(seen_right, waiting, cause, u64::from(how_far_ahead(key)));
        let (new, choice) = match turn {
            Next::Nothing => break,
            turn if woken && turn != Next::WakeOther => break,
            Next::Readers | Next::StuckReaders => {
                let which: fn(Kind) -> bool = match turn {
                    Next::Readers => Kind::reads,
                    _ => |kind| kind == Kind::Reader,
                };
                let (readers, all) = count_readers(queue, first, which, room(seen));
                if readers == 0 {
                    break;
                }
                let handed_over = if waiting.first.reads() { HANDOFF } else { 0 };
                let new = (seen_right & !handed_over) + readers * ONE_READER;
                let new = if all { new & !READERS_PARKED } else { new };
                let verdict = Verdict::granted(address, give_back_read);
                (new, Choice { which, verdict, most: readers as usize })
            }
            Next::Upgrader => {
                let new = taken(seen_right, Kind::Upgrader, 0);
                let verdict = Verdict::granted(address, give_back_upgrade);
                (new, Choice { which: |kind| kind == Kind::Upgrader, verdict, most: 1 })
            }
            Next::Give(kind) => {
                let Some((heir, _)) = waiters(queue, first).find(|(_, kind)| !kind.reads()) else {
                    break;
                };
                let new = taken(seen_right & !HANDOFF, kind, heir.tid());
                let verdict = Verdict::granted(address, give_back_ownership);
                (new, Choice { which: |kind| !kind.reads(), verdict, most: 1 })
            }
            Next::WakeOther => {
                let choice =
                    Choice { which: |kind| !kind.reads(), verdict: Verdict::CLAIMED, most: 1 };
                (seen_right + ONE_WAKE, choice)
            }
        };
        let acquire = if mutant::active(Mutant::GrantRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Acquire
        };
        if word.compare_exchange(seen, new, acquire, Ordering::Relaxed).is_err() {
            continue;
        }
        if cause == Cause::Written {
            cause = Cause::Left;
        }
        woken |= turn == Next::WakeOther;
        count += choose(queue, first, choice);
        if !queue.has(key) {
            word.fetch_and(!(PARKED | HANDOFF), Ordering::Relaxed);
        }
    }
    count
}

/// The lock at `address`, for a waiter of it that leaves its call without returning.
///
/// # Safety
/// The caller is that waiter's thread, in its call on the lock at `address`.
unsafe fn lock_at(address: usize) -> &'static RawRwLock {
    // SAFETY: a call that waits for a lock keeps it alive.
    unsafe { &*core::ptr::with_exposed_provenance::<RawRwLock>(address) }
}

/// Of a reader that the word counts, whatever the thread has in a slot besides.
///
/// # Safety
/// As for `lock_at`.
unsafe fn give_back_read(address: usize) {
    // SAFETY: by this function's contract.
    unsafe { lock_at(address) }.unlock_counted();
}

/// # Safety
/// As for `lock_at`.
unsafe fn give_back_upgrade(address: usize) {
    // SAFETY: by this function's contract.
    unsafe { lock_at(address) }.downgrade_to_upgradable();
}

/// Of a writer, or of one that waits for readers in slots yet, or of an upgradable reader.
///
/// # Safety
/// As for `lock_at`.
unsafe fn give_back_ownership(address: usize) {
    // SAFETY: by this function's contract.
    let lock = unsafe { lock_at(address) };
    if lock.is_locked_exclusive() {
        lock.unlock_exclusive();
    } else {
        lock.unlock_upgradable();
    }
}

/// What becomes of the lock when a signal handler leaves a wait of its owner for good: the wait for
/// readers to leave. (What a waiter is given as it is chosen says itself how it is given back.)
pub(super) type OnLeave = fn(usize, From);

/// Of a waiter that owns nothing. If it was woken, it had promised to look at the lock: as long as
/// the word says so, no release sees to those that wait. If it was the last in the queue, the word
/// still speaks of the queue, and of the hand-off that it may have asked for.
pub(super) fn waiter_left(address: usize, from: From) {
    if mutant::active(Mutant::WakeLeftInWord) {
        return;
    }
    // SAFETY: as of every debt.
    let lock = unsafe { lock_at(address) };
    if from == (From::Chosen { holds_wake: true }) {
        let mut word = lock.word.load(Ordering::Relaxed);
        while word & WAKES != 0 {
            match lock.exchange(word, word - ONE_WAKE, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
    }
    lock.settle_after_leaving();
}

/// Of an owner that was to be the writer.
pub(super) fn owner_left(address: usize, _: From) {
    // SAFETY: as of every debt. (If it had become the writer, it is the upgradable reader again by
    // now.)
    let lock = unsafe { lock_at(address) };
    lock.word.fetch_and(!UPGRADING, Ordering::Relaxed);
    lock.unlock_upgradable();
}

/// Of an upgradable reader, which stays what it was.
pub(super) fn upgrader_left(address: usize, _: From) {
    // SAFETY: as of every debt.
    let lock = unsafe { lock_at(address) };
    lock.word.fetch_and(!UPGRADING, Ordering::Relaxed);
    lock.settle_after_leaving();
}

/// Which waiters to choose: the first ones that `which` holds for.
struct Choice {
    which: fn(Kind) -> bool,
    verdict: Verdict,
    most: usize,
}

fn kind(waiter: Queued<'_>) -> Kind {
    Kind::from_token(waiter.token())
}

/// All waiters that are queued at the address of `first`, which is the first of them.
fn waiters<'q>(
    queue: &'q Locked<'_>,
    first: Queued<'q>,
) -> impl Iterator<Item = (Queued<'q>, Kind)> {
    core::iter::successors(Some(first), |waiter| queue.after(*waiter))
        .map(|waiter| (waiter, kind(waiter)))
}

/// Whether only readers are queued before `waiter`.
pub(super) fn is_first_that_writes(queue: &Locked<'_>, waiter: &'static Waiter) -> bool {
    let first = queue.first(waiter.key());
    let writes = |(_, kind): &(_, Kind)| !kind.reads();
    let found = first.and_then(|first| waiters(queue, first).find(writes));
    found.is_some_and(|(first, _)| core::ptr::eq(first.waiter(), waiter))
}

/// Looks as far as `word` says that there is something to be found.
fn look(queue: &Locked<'_>, first: Queued<'_>, word: u64) -> Waiting {
    let first_kind = kind(first);
    let mut waiting =
        Waiting { first: first_kind, reader: false, stuck: false, other: None, upgrader: false };
    let recursive = policy(word).lets_readers_recurse();
    for (_, kind) in waiters(queue, first) {
        match kind {
            kind if kind.reads() => {
                waiting.reader = true;
                waiting.stuck |= kind == Kind::Reader;
            }
            kind => {
                waiting.other = waiting.other.or(Some(kind));
                waiting.upgrader |= kind == Kind::Upgrader;
            }
        }
        let found = (word & READERS_PARKED == 0 || waiting.stuck || (waiting.reader && !recursive))
            && (word & WRITERS_PARKED == 0 || waiting.other.is_some())
            && (word & UPGRADING == 0 || waiting.upgrader);
        if found {
            break;
        }
    }
    waiting
}

/// The word without the bits for kinds of waiters that there aren't.
fn without_absent(word: u64, waiting: Waiting) -> u64 {
    let mut word = word;
    if !waiting.reader {
        word &= !READERS_PARKED;
    }
    if waiting.other.is_none() {
        word &= !WRITERS_PARKED;
    }
    word
}

/// Readers that wait and that `which` holds for, `most` at most, and whether those are all readers.
fn count_readers(
    queue: &Locked<'_>,
    first: Queued<'_>,
    which: fn(Kind) -> bool,
    most: u64,
) -> (u64, bool) {
    let count = |counts: fn(Kind) -> bool| {
        waiters(queue, first).filter(|(_, kind)| counts(*kind)).count() as u64
    };
    let readers = count(which).min(most);
    (readers, readers == count(Kind::reads))
}

fn choose(queue: &Locked<'_>, first: Queued<'_>, choice: Choice) -> usize {
    let mut count = 0;
    let mut at = Some(first);
    while let Some(waiter) = at.filter(|_| count < choice.most) {
        at = queue.after(waiter);
        if (choice.which)(kind(waiter)) {
            queue.choose(waiter, choice.verdict);
            count += 1;
        }
    }
    count
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// The word says that a woken writer is on its way, which a signal handler has left for good.
    #[test]
    fn a_woken_waiter_that_leaves_for_good_takes_its_wake_back() {
        let lock = RawRwLock::new();
        let address = (&raw const lock.word).expose_provenance();
        let has_entered = AtomicU64::new(0);
        lock.lock_exclusive();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lock.lock_shared();
                has_entered.store(1, Ordering::SeqCst);
                lock.unlock_shared();
            });
            while lock.word.load(Ordering::SeqCst) & READERS_PARKED == 0 {
                std::thread::yield_now();
            }
            lock.word.fetch_add(ONE_WAKE, Ordering::SeqCst);
            lock.unlock_exclusive();
            assert_eq!(has_entered.load(Ordering::SeqCst), 0, "a wake under way is waited for");
            waiter_left(address, From::Chosen { holds_wake: true });
            let start = Instant::now();
            while has_entered.load(Ordering::SeqCst) == 0 {
                let so_far = start.elapsed();
                // (The reader would keep the scope from ending.)
                if so_far > Duration::from_secs(20) {
                    std::process::abort();
                }
                std::thread::yield_now();
            }
        });
        assert_eq!(lock.word.load(Ordering::SeqCst) & (WAKES | PARKED), 0);
        // A wake that was taken for stale isn't taken back twice.
        waiter_left(address, From::Chosen { holds_wake: true });
        assert_eq!(lock.word.load(Ordering::SeqCst) & WAKES, 0);
    }

    #[test]
    fn the_last_waiter_that_leaves_for_good_leaves_no_hand_off_behind() {
        for from in [From::Queue, From::Chosen { holds_wake: false }] {
            let lock = RawRwLock::new();
            lock.word.fetch_or(HANDOFF | WRITERS_PARKED, Ordering::SeqCst);
            assert!(!lock.try_lock_exclusive(), "promised to a waiter");
            waiter_left((&raw const lock.word).expose_provenance(), from);
            assert!(lock.try_lock_exclusive(), "{from:?}");
            lock.unlock_exclusive();
        }
    }
}
