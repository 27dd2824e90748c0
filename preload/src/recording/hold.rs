//! How long locks are held, by mutexes' holders and rwlocks' writers: after a long wait, after a
//! long hold or the first that others waited for, and now and then.

use super::pending::{self, One};
use super::thread::{Me, record, slot};
use super::wait::{self, OVER};
use super::{Kind, clock, count, part, stack, tables};
use core::cell::Cell;
use core::ffi::c_int;
use core::hint::black_box;
use core::sync::atomic::Ordering;
use furwock_record::Thread;

/// How many a thread measures at once. One more takes the oldest's place.
const MOST: usize = 4;

/// A hold that is measured.
#[derive(Clone, Copy)]
struct Hold {
    /// 0 if there is none.
    object: usize,
    /// Where the thread counts it, as far as it knows.
    at: usize,
    /// Of the object's lock, plus 1.
    lock: u32,
    began: u64,
    /// Of the call that took it, 0 if it isn't known.
    stack: u32,
}

const NONE: Hold = Hold { object: 0, at: 0, lock: 0, began: 0, stack: 0 };

/// What a thread keeps for its holds.
pub(super) struct Own {
    holds: [Cell<Hold>; MOST],
}

/// A hold that was longer than so many microseconds is worth measuring the next, and so is the one
/// that follows a wait that was longer.
const LONG_US: u64 = 2;

/// Whether a wait or a hold was long.
pub(super) fn is_long(took: u64) -> bool {
    took >= clock::microseconds(LONG_US)
}

/// How many holds the thread measures.
fn measured() -> usize {
    ((slot().holds.get() & !OVER) as usize).min(MOST)
}

fn set_measured(count: usize) {
    let slot = slot();
    slot.holds.set(slot.holds.get() & OVER | count as u32);
}

/// Begins a hold that is measured since the lock was contended.
pub(super) fn begin(me: Me, object: usize, at: usize, lock: u32, stack: u32, now: u64) {
    let counted_at = at;
    let holds = &me.own.holds.holds;
    let count = measured();
    let at = match holds[..count].iter().position(|hold| hold.get().object == object) {
        Some(at) => at,
        None if count < MOST => {
            set_measured(count + 1);
            count
        }
        None => {
            (1..MOST).for_each(|at| holds[at - 1].set(holds[at].get()));
            MOST - 1
        }
    };
    holds[at].set(Hold { object, at: counted_at, lock: lock + 1, began: now, stack });
}

/// Begins one of those that are measured now and then. `at` is where the object is counted.
pub(super) fn begin_sample(me: Me, object: usize, at: usize) {
    if let Some(lock) = count::lock_at(me, at).filter(|&lock| tables::is_of(lock, object)) {
        begin(me, object, at, lock, 0, clock::now());
    }
}

/// The calling thread has released `object`, which may be gone. Returns 0, as `count_hold` does.
#[inline(always)]
pub(crate) fn released<T>(object: *const T) -> c_int {
    if slot().holds.get() != 0 { released_slow(object.addr()) } else { 0 }
}

#[cold]
#[inline(never)]
extern "C-unwind" fn released_slow(object: usize) -> c_int {
    let began = clock::if_work_counts();
    record(|me| {
        let count = measured();
        let holds = &me.own.holds.holds;
        let found = holds[..count].iter().position(|hold| hold.get().object == object);
        let now = if found.is_some() { clock::now() } else { 0 };
        wait::settle(me);
        let at = found?;
        let hold = holds[at].get();
        holds[at].set(holds[count - 1].get());
        set_measured(count - 1);
        end(me, &hold, now);
        Some(())
    });
    if let Some(began) = began {
        clock::worked_since(began);
    }
    black_box(0)
}

fn end(me: Me, hold: &Hold, now: u64) {
    let took = now.saturating_sub(hold.began);
    count::measured(me, hold.at, hold.object, is_long(took));
    let stack = if hold.stack != 0 { hold.stack } else { stack::of_caller(me) };
    let (lock, began) = (hold.lock - 1, hold.began);
    enter(me, lock, stack, began, took);
    pending::hand_in_if_due(me, now);
}

fn enter(me: Me, lock: u32, stack: u32, began: u64, took: u64) {
    let one = One { lock, stack, is_hold: true, began, took, got: 0, sleeps: 0, holder: 0 };
    pending::enter(me, &one);
}

/// The same as `released`, for a lock that others wait for: the first time, when no hold of it was
/// measured, counts from when the first of them came, if one of them still waits.
#[inline]
pub(crate) fn released_to_waiters<T>(object: *const T, kind: Kind) {
    if slot().holds.get() != 0 {
        released_slow(object.addr());
    }
    let (address, is_recorded) = (object.addr(), part::is_ready() && part::is_grown());
    if is_recorded && !count::is_known_contended(address, kind) {
        first_release(address, kind);
    }
}

#[cold]
#[inline(never)]
extern "C-unwind" fn first_release(object: usize, kind: Kind) {
    record::<()>(|me| {
        let at = count::at(me, object, kind);
        if count::lock_at(me, at).is_some_and(|lock| tables::is_of(lock, object)) {
            return None;
        }
        let now = clock::now();
        // A waiter has entered it, if there is one.
        let lock = tables::find_live(object as u64, kind)?;
        count::is_contended(me, at, lock);
        // The waiters may be gone by now, or have come late: the next hold is measured as a whole.
        count::measured(me, at, object, true);
        let threads = part::entries::<Thread>(|sections| &sections.threads);
        let used = part::PROCESS.threads.load(Ordering::Relaxed) as usize;
        let first = threads[..used.min(threads.len())]
            .iter()
            .filter(|thread| thread.waits_for.load(Ordering::Acquire) == object as u64)
            .map(|thread| thread.waits_since.load(Ordering::Relaxed))
            .filter(|&since| since != 0 && since <= now)
            .min()?;
        enter(me, lock, stack::of_caller(me), first, now - first);
        pending::hand_in_if_due(me, now);
        clock::worked_since(now);
        Some(())
    });
}

/// For a thread that has ended.
pub(super) fn forget(ended: Me) {
    ended.own.holds.holds.iter().for_each(|hold| hold.set(NONE));
}
