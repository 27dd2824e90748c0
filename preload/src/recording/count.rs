//! Counting operations: in a small table of the thread's own, by address. What it has no room for
//! is handed in: to the object's lock if it has an entry, and to a sum of all others.

use super::thread::{Me, Slot, record, slot};
use super::{Kind, hold, part, tables};
use core::cell::Cell;
use core::ffi::c_int;
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use furwock_record::{ADDRESS, COUNTS, Count, KIND_SHIFT, Thread};

/// The thread's note in a key of its own: the last hold that was measured was long, or the first
/// that others waited for, so that the next is measured, too. `count` doesn't find the object by
/// its key then.
const LONG: u64 = 1 << 63;

/// What a thread keeps for each of its counts.
#[repr(C)]
pub(super) struct Own {
    /// What each is of, as in [`Count::object`]. `count` looks here, and not in the part: a new
    /// process finds nothing (`thread::map_own`), whatever it has of its parent's.
    keys: [Cell<u64>; COUNTS],
    /// Of an object that was contended: its lock's index, plus 1.
    lock: [Cell<u32>; COUNTS],
    /// How many attempts were contended, since it has one.
    contended: [Cell<u8>; COUNTS],
}

/// One in so many operations has its hold measured, if the lock was contended.
const SAMPLED: u64 = 128;
/// And one in so many that were contended themselves.
const CONTENDED_SAMPLED: u8 = 8;

/// Every so many operations that `count` doesn't find by itself, it is made to.
const MOVED: u64 = 8;

/// An object as in [`Count::object`].
#[inline(always)]
pub(super) fn key(object: usize, kind: Kind) -> u64 {
    object as u64 | (kind as u64) << KIND_SHIFT
}

/// Where the object's count is if that place was free.
#[inline(always)]
fn place(object: usize) -> usize {
    ((object >> 3) ^ (object >> 10)) % COUNTS
}

/// A count is the thread's own, so that no locked instruction is needed; a signal handler that
/// comes in between counts before or after.
#[inline(always)]
fn add_one(number: &AtomicU64) {
    // SAFETY: adds to one number.
    unsafe {
        core::arch::asm!("inc qword ptr [{}]", in(reg) number.as_ptr(), options(nostack));
    }
}

/// Counts an operation on `object` by which the caller doesn't hold it alone.
#[inline(always)]
pub(crate) fn count<T>(object: *const T, kind: Kind) {
    let object = object.addr();
    match find(object, kind) {
        Some((count, _)) => add_one(&count.operations),
        None => _ = count_slow(object, kind, false),
    }
}

/// Counts an operation by which the caller holds `object` alone. Returns 0, so that a lock function
/// that ends with it saves nothing for its calls: they are jumps.
#[inline(always)]
pub(crate) fn count_hold<T>(object: *const T, kind: Kind) -> c_int {
    let object = object.addr();
    let Some((count, at)) = find(object, kind) else { return count_slow(object, kind, true) };
    // (What it was before: to load what has just been stored takes longer.)
    let before = count.operations.load(Ordering::Relaxed);
    add_one(&count.operations);
    if before % SAMPLED == SAMPLED - 1 { sample(object, at) } else { 0 }
}

/// The count of `object`, if it is where it is looked for first.
#[inline(always)]
fn find(object: usize, kind: Kind) -> Option<(&'static Count, usize)> {
    let slot = slot();
    // SAFETY: null, or what `enter` has set.
    let own = unsafe { slot.own.get().as_ref() }?;
    let (place, key) = (place(object), key(object, kind));
    let mut places = [place, place ^ 1].into_iter();
    let at = places.find(|&at| own.counts.keys[at].get() == key)?;
    // SAFETY: set with `own`.
    Some((unsafe { &(&(*slot.thread.get()).counts)[at] }, at))
}

/// The thread's entry, if it has one.
#[inline(always)]
fn known(slot: &Slot) -> Option<&'static Thread> {
    if !part::is_ready() {
        return None;
    }
    // SAFETY: null, or what `enter` has set.
    unsafe { slot.thread.get().as_ref() }
}

/// May unwind: a signal handler that was put off runs at its end. Returns 0, which its caller
/// mustn't know.
#[cold]
#[inline(never)]
extern "C-unwind" fn count_slow(object: usize, kind: Kind, is_held: bool) -> c_int {
    if part::is_off() {
        return black_box(0);
    }
    let counted = record(|me| {
        let at = find_or_enter(me, object, kind);
        add_one(&me.thread.counts[at].operations);
        if is_held && me.own.counts.keys[at].get() & LONG != 0 {
            hold::begin_sample(me, object, at);
        }
        Some(())
    });
    if counted.is_none() {
        count_other();
    }
    black_box(0)
}

/// The operation is one whose hold is measured, if the lock was contended.
#[cold]
#[inline(never)]
extern "C-unwind" fn sample(object: usize, at: usize) -> c_int {
    record(|me| {
        hold::begin_sample(me, object, at);
        Some(())
    });
    black_box(0)
}

/// Counts an operation that the calling thread can't count by itself.
#[cold]
pub(super) fn count_other() {
    if part::is_ready() {
        part::part().other_operations.fetch_add(1, Ordering::Relaxed);
    }
}

/// The index of the object's count in its thread's table.
fn find_or_enter(me: Me, object: usize, kind: Kind) -> usize {
    const WAYS: usize = 4;
    let (place, key) = (place(object), key(object, kind));
    let row = place - place % WAYS;
    let is = |at: usize| me.own.counts.keys[at].get();
    if let Some(at) = (row..row + WAYS).find(|&at| is(at) & !LONG == key) {
        let operations = me.thread.counts[at].operations.load(Ordering::Relaxed);
        return if at & !1 != place & !1 && operations.is_multiple_of(MOVED) {
            swap(me, at, place)
        } else {
            at
        };
    }
    // Where `count` looks first, and then.
    let mut places = [place, place ^ 1, place ^ 2, place ^ 3].into_iter();
    let at = places.find(|&at| is(at) == 0).unwrap_or(place);
    let count = &me.thread.counts[at];
    hand_in(me, at);
    count.object.store(key, Ordering::Release);
    me.own.counts.keys[at].set(key);
    at
}

/// Swaps two counts, so that `count` finds the one from `at` by itself. Where there are more in use
/// than it finds, that is done now and then, and most of them stay. Returns where it is.
///
/// For a moment neither is there: a handler that comes in counts its operation elsewhere
/// (`count_other`), and a program that is killed loses two counts and has none twice.
#[cold]
fn swap(me: Me, at: usize, place: usize) -> usize {
    let own = &me.own.counts;
    let (one, other) = (&me.thread.counts[at], &me.thread.counts[place]);
    let notes = (own.keys[at].take(), own.keys[place].take());
    compiler_fence(Ordering::SeqCst);
    let take = |from: &AtomicU64| {
        let value = from.load(Ordering::Relaxed);
        from.store(0, Ordering::Relaxed);
        value
    };
    let keys = (take(&one.object), take(&other.object));
    compiler_fence(Ordering::SeqCst);
    let operations = (take(&one.operations), take(&other.operations));
    one.operations.store(operations.1, Ordering::Relaxed);
    other.operations.store(operations.0, Ordering::Relaxed);
    own.lock[at].swap(&own.lock[place]);
    own.contended[at].swap(&own.contended[place]);
    one.object.store(keys.1, Ordering::Release);
    other.object.store(keys.0, Ordering::Release);
    own.keys[at].set(notes.1);
    own.keys[place].set(notes.0);
    place
}

/// Notes that the object that is counted at `at` was contended: its lock has the index `lock`.
pub(super) fn is_contended(me: Me, at: usize, lock: u32) {
    me.own.counts.lock[at].set(lock + 1);
    me.own.counts.contended[at].set(0);
}

/// Whether the object that is counted at `at` has its hold measured after an attempt that was
/// contended and short: the first time, if the last one was long, and now and then.
pub(super) fn is_sampled(me: Me, at: usize) -> bool {
    let contended = &me.own.counts.contended[at];
    let before = contended.get();
    contended.set((before + 1) % CONTENDED_SAMPLED);
    before == 0 || me.own.counts.keys[at].get() & LONG != 0
}

/// Whether the calling thread knows the object to be contended, as far as `count` finds it by
/// itself.
#[inline]
pub(super) fn is_known_contended(object: usize, kind: Kind) -> bool {
    // SAFETY: null, or what `enter` has set.
    let Some(own) = (unsafe { slot().own.get().as_ref() }) else { return false };
    let place = place(object);
    [place, place ^ 1].into_iter().any(|at| {
        let found = own.counts.keys[at].get() & !LONG;
        found == key(object, kind) && own.counts.lock[at].get() != 0
    })
}

/// Whether the last hold of `object`, which is counted at `at` as far as is known, was long.
pub(super) fn measured(me: Me, at: usize, object: usize, was_long: bool) {
    let own = &me.own.counts.keys[at];
    let key = own.get();
    if key & ADDRESS == object as u64 {
        own.set(if was_long { key | LONG } else { key & !LONG });
    }
}

/// Adds an operation that had to wait.
pub(super) fn count_at(me: Me, at: usize) {
    add_one(&me.thread.counts[at].operations);
}

/// The lock that the calling thread knows its object at `at` to have.
pub(super) fn lock_at(me: Me, at: usize) -> Option<u32> {
    me.own.counts.lock[at].get().checked_sub(1)
}

/// Where the object's count is.
pub(super) fn at(me: Me, object: usize, kind: Kind) -> usize {
    find_or_enter(me, object, kind)
}

/// The entry is free afterwards.
fn hand_in(me: Me, at: usize) {
    me.own.counts.keys[at].set(0);
    me.own.counts.lock[at].set(0);
    compiler_fence(Ordering::SeqCst);
    let count = &me.thread.counts[at];
    let object = count.object.load(Ordering::Relaxed);
    let operations = count.operations.load(Ordering::Relaxed);
    count.operations.store(0, Ordering::Relaxed);
    count.object.store(0, Ordering::Release);
    if object == 0 || operations == 0 {
        return;
    }
    match tables::find(object) {
        Some(lock) => _ = lock.operations.fetch_add(operations, Ordering::Relaxed),
        None => {
            let other = &me.thread.other_operations;
            other.store(other.load(Ordering::Relaxed) + operations, Ordering::Relaxed);
        }
    }
}

/// For a thread that has ended.
pub(super) fn hand_in_all(ended: Me) {
    (0..COUNTS).for_each(|at| hand_in(ended, at));
    let (thread, part) = (ended.thread, part::part());
    for (from, to) in [
        (&thread.other_operations, &part.other_operations),
        (&thread.left_to_glibc, &part.left_to_glibc),
    ] {
        to.fetch_add(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Counts a call that was left to glibc.
#[inline(always)]
pub(crate) fn left_to_glibc() {
    match known(slot()) {
        Some(thread) => add_one(&thread.left_to_glibc),
        None => left_to_glibc_slow(),
    }
}

#[cold]
#[inline(never)]
extern "C-unwind" fn left_to_glibc_slow() {
    if part::is_off() {
        return;
    }
    record(|me| {
        add_one(&me.thread.left_to_glibc);
        Some(())
    });
}
