//! Which waiters are let in, or woken, when a release or a departure makes room.

use super::RawRwLock;
use super::state::{
    Cause, HANDOFF, Kind, Next, ONE_READER, ONE_WAKE, PARKED, READERS_PARKED, UPGRADING,
    WRITERS_PARKED, Waiting, next, only_wakes_readers, policy, room, taken,
};
use crate::lock::spin::{changes_hands, how_far_ahead, now_ns};
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

/// Lets in or wakes the waiters whose turn it is, under the bucket's lock.
pub(super) fn settle(word: *const AtomicU64, queue: &mut Locked<'_>, mut cause: Cause) -> usize {
    let key = Key::rwlock(word.addr());
    let address = word.expose_provenance();
    let mut count = 0;
    // A waiter that is woken takes the lock by itself, and then sees to those behind it.
    let mut woken = false;
    let mut readers_woken = false;
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
            // The woken readers see to writers (W-6). An upgradable reader has room beside them.
            Next::WakeOther if readers_woken && is_left_to_readers(waiting.other) => break,
            Next::Readers | Next::StuckReaders => {
                let which: fn(Kind) -> bool = match turn {
                    Next::Readers => Kind::reads,
                    _ => Kind::is_stuck_reader,
                };
                let young_at = only_wakes_readers(seen, waiting.first).then(now_ns);
                let readers = count_readers(queue, first, which, young_at, room(seen));
                if readers.chosen == 0 {
                    break;
                }
                let handed_over = if waiting.first.reads() { HANDOFF } else { 0 };
                let new = (seen_right & !handed_over) + readers.let_in * ONE_READER;
                let new = if readers.all { new & !READERS_PARKED } else { new };
                let verdict = Verdict::granted(address, give_back_read);
                (new, Choice { which, verdict, young_at, most: readers.chosen as usize })
            }
            Next::Upgrader => {
                let new = taken(seen_right, Kind::Upgrader, 0);
                let verdict = Verdict::granted(address, give_back_upgrade);
                let which: fn(Kind) -> bool = |kind| kind == Kind::Upgrader;
                (new, Choice { which, verdict, young_at: None, most: 1 })
            }
            Next::Give(kind) => {
                let tid = first.tid();
                let new = taken(seen_right & !HANDOFF, kind, tid);
                let verdict = Verdict::granted(address, give_back_ownership);
                (new, Choice { which: |kind| !kind.reads(), verdict, young_at: None, most: 1 })
            }
            Next::WakeOther => {
                let verdict = Verdict::CLAIMED;
                let choice =
                    Choice { which: |kind| !kind.reads(), verdict, young_at: None, most: 1 };
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
        readers_woken |= choice.young_at.is_some();
        count += choose(queue, first, choice);
        if !queue.has(key) {
            word.fetch_and(!(PARKED | HANDOFF), Ordering::Relaxed);
        }
    }
    count
}

/// Whether readers that are only woken see to `other`, the first that waits and isn't a reader.
fn is_left_to_readers(other: Option<Kind>) -> bool {
    other == Some(Kind::Writer) || mutant::active(Mutant::WokenReadersAlone)
}

/// The lock at `address`, for a waiter of it that leaves its call without returning.
///
/// # Safety
/// The caller is that waiter's thread, in its call on the lock at `address`.
unsafe fn lock_at(address: usize) -> &'static RawRwLock {
    // SAFETY: a call that waits for a lock keeps it alive.
    unsafe { &*core::ptr::with_exposed_provenance::<RawRwLock>(address) }
}

/// # Safety
/// As for `lock_at`.
unsafe fn give_back_read(address: usize) {
    // SAFETY: by this function's contract.
    unsafe { lock_at(address) }.unlock_shared();
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
    /// Readers that are young at this time are only woken (W-6).
    young_at: Option<u64>,
    most: usize,
}

/// Whether `waiter` is a reader that is only woken, if those are that are young at this time.
fn is_only_woken(waiter: Queued<'_>, young_at: Option<u64>) -> bool {
    young_at.is_some_and(|now| Kind::is_young(waiter.token(), now))
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
                waiting.stuck |= kind.is_stuck_reader();
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

struct Readers {
    chosen: u64,
    /// Of those chosen, how many aren't only woken.
    let_in: u64,
    /// No other reader waits.
    all: bool,
}

/// Counts the first readers that wait and that `which` holds for, `most` at most.
fn count_readers(
    queue: &Locked<'_>,
    first: Queued<'_>,
    which: fn(Kind) -> bool,
    young_at: Option<u64>,
    most: u64,
) -> Readers {
    let mut readers = Readers { chosen: 0, let_in: 0, all: true };
    for (waiter, kind) in waiters(queue, first).filter(|(_, kind)| kind.reads()) {
        if which(kind) && readers.chosen < most {
            let enters =
                !is_only_woken(waiter, young_at) || mutant::active(Mutant::WokenReaderCounted);
            readers.chosen += 1;
            readers.let_in += u64::from(enters);
        } else {
            readers.all = false;
        }
    }
    readers
}

fn choose(queue: &Locked<'_>, first: Queued<'_>, choice: Choice) -> usize {
    let mut count = 0;
    let mut at = Some(first);
    while let Some(waiter) = at.filter(|_| count < choice.most) {
        at = queue.after(waiter);
        if (choice.which)(kind(waiter)) {
            let woken = is_only_woken(waiter, choice.young_at);
            queue.choose(waiter, if woken { Verdict::WOKEN } else { choice.verdict });
            count += 1;
        }
    }
    count
}
