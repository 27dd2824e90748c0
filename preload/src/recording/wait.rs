//! Waits: from when a thread has found that it has to wait, to when it has got what it waited for
//! or has given up.

use super::pending::{self, One};
use super::thread::{Me, record, slot};
use super::{Kind, clock, count, hold, part, stack, tables};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;
use furwock::lock::{How, Status, thread_id};
use furwock_record::Got;

/// How a wait ended.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    /// The thread got the lock, to itself.
    Held(Status),
    /// It got it, among others, or what else it waited for.
    Got(Status),
    /// The same, without word how. Where the clock says that it was longer than spinning takes, it
    /// slept.
    Over,
    /// The same of a lock, which it got to itself.
    OverHeld,
    /// At a deadline.
    TimedOut,
    /// There was nothing to wait for.
    Not,
}

/// A wait that has begun. Zero is one that isn't recorded.
pub(crate) struct Wait {
    object: usize,
    kind: Kind,
    /// Of the object's lock, plus 1.
    lock: u32,
    stack: u32,
    holder: u32,
    began: u64,
    /// The wait that a signal handler has interrupted with this one.
    outer: Outer,
}

#[derive(Clone, Copy)]
struct Outer {
    waits_for: u64,
    waits_since: u64,
    frame: usize,
}

const NO_OUTER: Outer = Outer { waits_for: 0, waits_since: 0, frame: 0 };

/// Waits that take longer have slept.
const SPINNING_US: u64 = 50;

impl Wait {
    /// Begins one. `holder` is the thread that holds the object; 0 if it isn't known.
    #[inline]
    pub(crate) fn begin<T>(object: *const T, kind: Kind, holder: impl FnOnce() -> u32) -> Self {
        Self::begin_for(object.addr(), kind, holder())
    }

    /// A condvar's waiter locks its mutex again: waits, if that is held by another thread.
    #[inline]
    pub(crate) fn to_relock<T>(mutex: *const T, holder: impl FnOnce() -> u32) -> Self {
        let holder = holder();
        if holder == 0 || holder == thread_id() {
            count::count_hold(mutex, Kind::Mutex);
            return Self::NONE;
        }
        Self::begin_for(mutex.addr(), Kind::Mutex, holder)
    }

    const NONE: Self = Self {
        object: 0,
        kind: Kind::Mutex,
        lock: 0,
        stack: 0,
        holder: 0,
        began: 0,
        outer: NO_OUTER,
    };

    #[inline(never)]
    fn begin_for(object: usize, kind: Kind, holder: u32) -> Self {
        let mut wait =
            Self { object, kind, lock: 0, stack: 0, holder, began: clock::now(), outer: NO_OUTER };
        let frame = (&raw const wait).addr();
        let begun = record(|me| {
            if !part::grow() {
                return None;
            }
            settle(me);
            pending::hand_in_if_due(me, wait.began);
            let at = count::at(me, wait.object, kind);
            let known = count::lock_at(me, at).filter(|&lock| tables::is_of(lock, wait.object));
            let lock = match known {
                Some(lock) => lock,
                None => {
                    let lock = tables::find_or_enter(wait.object as u64, kind)?;
                    count::is_contended(me, at, lock);
                    lock
                }
            };
            count::count_at(me, at);
            let stack = stack::of_caller(me);
            let thread = me.thread;
            let outer = Outer {
                waits_for: thread.waits_for.load(Ordering::Relaxed),
                waits_since: thread.waits_since.load(Ordering::Relaxed),
                frame: slot().waits_at.get(),
            };
            thread.waits_for.store(0, Ordering::Relaxed);
            thread.waits_since.store(wait.began, Ordering::Relaxed);
            thread.waits_stack.store(stack, Ordering::Relaxed);
            thread.waits_holder.store(holder, Ordering::Relaxed);
            thread.waits_kind.store(kind as u32, Ordering::Relaxed);
            thread.waits_for.store(wait.object as u64, Ordering::Release);
            slot().waits_at.set(frame);
            Some((lock, stack, outer))
        });
        if let Some((lock, stack, outer)) = begun {
            wait.lock = lock + 1;
            wait.stack = stack;
            wait.outer = outer;
        } else {
            count::count_other();
        }
        clock::worked_since(wait.began);
        wait
    }

    /// Ends it.
    #[inline]
    pub(crate) fn end(self, ended: impl FnOnce() -> Ended) {
        if self.lock != 0 {
            self.end_as(ended());
        }
    }

    #[inline(never)]
    fn end_as(self, ended: Ended) {
        let now = clock::now();
        record::<()>(|me| {
            let (thread, outer) = (me.thread, self.outer);
            thread.waits_for.store(outer.waits_for, Ordering::Release);
            thread.waits_since.store(outer.waits_since, Ordering::Relaxed);
            slot().waits_at.set(outer.frame);
            let waited = match ended {
                Ended::Held(status) | Ended::Got(status) => status.how != How::Fast,
                Ended::Not => false,
                _ => true,
            };
            if !waited {
                return None;
            }
            let took = now.saturating_sub(self.began);
            let (got, sleeps) = match ended {
                Ended::Held(status) | Ended::Got(status) => (got(status), status.sleeps),
                Ended::TimedOut => (TIMED_OUT, u32::from(took > clock::microseconds(SPINNING_US))),
                Ended::Over | Ended::OverHeld if took > clock::microseconds(SPINNING_US) => {
                    (Got::Slept as u32, 1)
                }
                _ => (Got::Spun as u32, 0),
            };
            let is_held = matches!(ended, Ended::Held(_) | Ended::OverHeld);
            let over = Over {
                one: One {
                    lock: self.lock - 1,
                    stack: self.stack,
                    is_hold: false,
                    began: self.began,
                    took,
                    got,
                    sleeps,
                    holder: self.holder,
                },
                object: self.object,
                kind: self.kind,
            };
            if is_held && !pending::is_event(took) {
                let own = &me.own.wait;
                own.over.set(MaybeUninit::new(over));
                own.is_over.set(true);
                slot().holds.set(slot().holds.get() | OVER);
            } else {
                sum_up(me, &over);
            }
            if is_held {
                begin_hold(me, &over, now);
            }
            Some(())
        });
        clock::worked_since(now);
    }
}

/// A wait that is over.
#[derive(Clone, Copy)]
struct Over {
    one: One,
    object: usize,
    kind: Kind,
}

/// What a thread keeps of its waits: a short one is summed up after the release, so that other
/// threads don't wait for that, too.
pub(super) struct Own {
    /// There is one.
    is_over: Cell<bool>,
    over: Cell<MaybeUninit<Over>>,
}

/// In `Slot::holds`: there is a wait to sum up.
pub(super) const OVER: u32 = 1 << 31;

/// Sums up the wait that is over, if there is one.
#[inline]
pub(super) fn settle(me: Me) {
    if let Some(over) = take(me) {
        slot().holds.set(slot().holds.get() & !OVER);
        sum_up(me, &over);
    }
}

/// For a process that ends.
pub(super) fn settle_own() {
    record(|me| {
        settle(me);
        Some(())
    });
}

/// For a thread that has ended.
pub(super) fn settle_of_ended(ended: Me) {
    if let Some(over) = take(ended) {
        sum_up(ended, &over);
    }
}

#[inline]
fn take(me: Me) -> Option<Over> {
    // SAFETY: set before `is_over`.
    me.own.wait.is_over.take().then(|| unsafe { me.own.wait.over.get().assume_init() })
}

fn sum_up(me: Me, over: &Over) {
    pending::enter(me, &over.one);
    let sum = if matches!(over.kind, Kind::Mutex | Kind::RwLock | Kind::Spin) {
        &me.thread.waited
    } else {
        &me.thread.idle
    };
    sum.store(sum.load(Ordering::Relaxed) + over.one.took, Ordering::Relaxed);
}

/// Begins to measure the hold that follows, if it is one to be measured.
fn begin_hold(me: Me, over: &Over, now: u64) {
    let Over { one, object, kind, .. } = *over;
    let at = count::at(me, object, kind);
    let is_sampled = count::is_sampled(me, at);
    if is_sampled || hold::is_long(one.took) {
        hold::begin(me, object, at, one.lock, one.stack, now);
    }
}

/// An index of `Pending::got`.
const TIMED_OUT: u32 = 4;

fn got(status: Status) -> u32 {
    (match status.how {
        How::Fast | How::Stolen => Got::Stolen,
        How::Spun => Got::Spun,
        How::Slept => Got::Slept,
        How::HandedOver => Got::HandedOver,
    }) as u32
}

/// A jump is about to leave those frames of the calling thread for which `is_left` says so.
pub(crate) fn jumped(is_left: impl Fn(usize) -> bool) {
    let slot = slot();
    let frame = slot.waits_at.get();
    if frame != 0 && is_left(frame) {
        slot.waits_at.set(0);
        record(|me| {
            me.thread.waits_for.store(0, Ordering::Relaxed);
            Some(())
        });
    }
}
