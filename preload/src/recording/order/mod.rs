//! The order in which locks are taken, beneath `furwock run --lock-order`: an entry for each lock
//! that was taken while another was held, by the first thread that did so with these gates.
//!
//! - `held` is each thread's list of locks that it holds, with the stacks that took them.
//! - `edges` writes entries, once for each thread.
//! - `wakes` notes which locks a thread takes before it ends another's wait: a wait with one of
//!   them held would never end.
//!
//! A step is written before the thread waits, so that a deadlock that does happen is there as well.
//! Attempts that don't wait, and those with a deadline, can't deadlock: the lock counts as held
//! afterwards, but its taking is no step. Nor is what happens while the process has one thread.

mod edges;
mod held;
mod join;
mod wakes;

use super::thread::{Me, record};
use super::{Kind, part, stack, tables};
use crate::environment::Environment;
use crate::{glibc, layout};
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use furwock_record::{BEHIND_WRITERS, HELD_READ, TAKEN_READ, WRITES};
use held::Held;

pub(super) use held::Own;
pub(crate) use wakes::{waited_for, waits_for, wakes};

static ORDERS: AtomicBool = AtomicBool::new(false);

/// Asks for the order if the environment does.
pub(super) fn start(environment: &Environment) {
    let asked = environment.asked(c"FURWOCK_LOCK_ORDER") == Some(c"1");
    ORDERS.store(asked, Ordering::Relaxed);
    if asked {
        layout::order();
    }
}

/// Whether the order is recorded.
#[inline(always)]
pub(crate) fn orders() -> bool {
    ORDERS.load(Ordering::Relaxed)
}

/// For a thread that has ended.
pub(super) fn forget(ended: Me) {
    ended.own.order.forget();
}

/// What happens to a thread that takes what it holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It gets it once more, or an error.
    Returns,
    /// It waits for itself.
    Waits,
    /// It is a rwlock: reads may recurse, and a writer is refused.
    ReadsReturn,
    /// It is a rwlock whose readers wait for waiting writers.
    ReadsWait,
}

/// How a lock is taken.
#[derive(Clone, Copy)]
pub(crate) struct Take {
    pub(crate) reads: bool,
    /// Without a deadline.
    pub(crate) waits: bool,
    pub(crate) again: Again,
}

/// Calls `call`, which takes `object`, and notes it.
#[inline(never)]
pub(crate) fn ordered<T>(
    object: *const T,
    kind: Kind,
    take: Take,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let stack = if take.waits { takes(object.addr(), kind, take) } else { 0 };
    let result = call();
    if matches!(result, 0 | libc::EOWNERDEAD) {
        holds(object.addr(), kind, take, stack);
    }
    result
}

/// The calling thread is about to release `object`.
#[cold]
#[inline(never)]
pub(crate) fn releases<T>(object: *const T) {
    let object = object.addr();
    record(|me| {
        if !me.own.order.release(object) {
            held::release_by_another(object);
        }
        Some(())
    });
}

/// Notes the steps of a call that may wait for `object`, and returns its stack.
fn takes(object: usize, kind: Kind, take: Take) -> u32 {
    let noted = record(|me| {
        if !part::grow() {
            return None;
        }
        let stack = stack::of_caller(me);
        if !glibc::is_single_threaded() {
            note(me, object, kind, take, stack);
        }
        Some(stack)
    });
    noted.unwrap_or(0)
}

fn note(me: Me, object: usize, kind: Kind, take: Take, stack: u32) -> Option<()> {
    let own = &me.own.order;
    let prefers_writers = take.again == Again::ReadsWait;
    let is_written = prefers_writers && !take.reads;
    if own.count() == 0 && !is_written {
        return Some(());
    }
    let again = own.find(object);
    if let Some(again) = again {
        let waits = match take.again {
            Again::Returns => false,
            Again::Waits => true,
            Again::ReadsReturn => again.reads() && !take.reads,
            Again::ReadsWait => again.reads(),
        };
        if !waits {
            return Some(());
        }
    }
    let taken = tables::find_or_enter(object as u64, kind)?;
    let behind = if prefers_writers && take.reads { BEHIND_WRITERS } else { 0 };
    let flags = behind | if take.reads { TAKEN_READ } else { 0 };
    let stacks = |held: &Held| (held.stack(), stack);
    for held in own.all().filter(|held| again.is_none_or(|again| core::ptr::eq(again, *held))) {
        let Some(first) = held.lock() else { continue };
        let flags = flags | if held.reads() { HELD_READ } else { 0 };
        edges::note(me, first, taken, stacks(held), flags, own.gates(Some(held)));
    }
    if is_written && again.is_none() {
        edges::note(me, taken, taken, (stack, stack), WRITES, own.gates(None));
    }
    Some(())
}

/// The thread holds `object` now.
fn holds(object: usize, kind: Kind, take: Take, stack: u32) {
    record(|me| {
        if !part::grow() {
            return None;
        }
        let stack = if stack == 0 { stack::of_caller(me) } else { stack };
        me.own.order.hold(object, kind, take.reads, stack);
        if take.waits {
            me.own.order.has_taken(object, kind, stack);
        }
        Some(())
    });
}
