//! Threads end without telling: furwock asks for no notice of it, which would take one of the
//! program's pthread keys. What a thread owned is collected when others need it. A thread notes its
//! kernel ids on its node and its row of slots; when all of those are taken, the kernel is asked
//! which owners still exist.
//!
//! Only "no such thread" counts as ended. Ids are used again: a live thread with the id of an ended
//! one keeps the ended one's node and row from being collected until it ends too. So does a thread
//! that the kernel still lists although it runs no more: a first thread that has called
//! `pthread_exit`, or one that a tracer hasn't released.

use crate::prim::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::prim::const_unless_model;
use crate::prim::full_fence;
use crate::prim::mutant::{self, Mutant};

/// An owner: process id and thread id, as the kernel gave them. 0 is none.
#[derive(Debug)]
pub(crate) struct Owner(AtomicU64);

const NONE: u64 = 0;
/// A thread whose ids can't be had. What it owns is never collected.
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
const UNKNOWN: u64 = u32::MAX as u64;
const TID_BITS: u32 = 32;

impl Owner {
    const_unless_model! {
        pub(crate) fn none() -> Self {
            Self(AtomicU64::new(NONE))
        }
    }

    /// The owner of what is collected once its thread has ended.
    pub(crate) fn collectable(process: u32, tid: u32) -> u64 {
        u64::from(process) << TID_BITS | u64::from(tid)
    }

    /// Names a thread, 0 for none, without having the thing collected.
    pub(crate) fn lend(&self, tid: u32) {
        self.0.store(tid.into(), Ordering::Relaxed);
    }

    pub(crate) fn set(&self, owner: u64) {
        self.0.store(owner, Ordering::Relaxed);
    }

    /// Takes it for `owner` if it has no owner, and acquires what its last owner did.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn claim(&self, owner: u64) -> bool {
        self.0.compare_exchange(NONE, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// It has no owner from here on, for `claim`.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn release(&self) {
        self.0.store(NONE, Ordering::Release);
    }

    /// The thread's id as the kernel gave it, 0 if there is none.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn tid(&self) -> u32 {
        self.0.load(Ordering::Relaxed) as u32
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn is_lent_to(&self, tid: u32) -> bool {
        self.0.load(Ordering::Relaxed) == u64::from(tid)
    }

    /// What has become of the owner. `caller` is the calling thread; `exists` asks the kernel for a
    /// process and a thread id. Other processes' threads are left alone: in a child that was forked
    /// without its handlers (`_Fork`), the parent's ids stand for the child's own thread.
    ///
    /// After `Ended` everything that the thread did is visible (E-1).
    pub(crate) fn fate(&self, caller: u64, exists: impl FnOnce(u32, u32) -> bool) -> Fate {
        let owner = self.0.load(Ordering::Relaxed);
        let (process, tid) = ((owner >> TID_BITS) as u32, owner as u32);
        if process == 0 || process != (caller >> TID_BITS) as u32 {
            return Fate::Uncollectable;
        }
        if owner == caller {
            return Fate::Caller;
        }
        if exists(process, tid) {
            return Fate::Exists;
        }
        if !mutant::active(Mutant::EndedWithoutFence) {
            full_fence();
        }
        Fate::Ended
    }
}

/// The calling thread as an owner.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn caller() -> u64 {
    crate::sys::thread::ids().map_or(UNKNOWN, |(process, tid)| Owner::collectable(process, tid))
}

/// Whether the kernel says of the calling thread, which certainly exists, that it does. A sandbox
/// may answer in its place.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn can_be_asked_for() -> bool {
    crate::sys::thread::ids().is_some_and(|(process, tid)| crate::sys::thread::exists(process, tid))
}

/// What [`Owner::fate`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Without an owner, lent, or another process's.
    Uncollectable,
    /// The caller's own, or that of an ended thread which had the same id.
    Caller,
    /// Another thread's.
    Exists,
    /// An ended thread's.
    Ended,
}

/// When it pays to ask the kernel for all owners: once as many have come as were there after the
/// last time. So each that comes is charged with about two questions, however many there are, and
/// there are never more than twice as many as threads that exist, and a few.
#[derive(Debug)]
pub(crate) struct Census {
    /// Threads that have come since the last one.
    since: AtomicUsize,
    /// How many existed then.
    existed: AtomicUsize,
    /// One takes it at a time.
    is_on: AtomicBool,
}

/// Fewer than so many newcomers are not worth a walk.
const LEAST: usize = 32;

impl Census {
    const_unless_model! {
        pub(crate) fn new() -> Self {
            Self {
                since: AtomicUsize::new(0),
                existed: AtomicUsize::new(0),
                is_on: AtomicBool::new(false),
            }
        }
    }

    /// A thread has come.
    pub(crate) fn count(&self) {
        self.since.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether one is due.
    pub(crate) fn pays(&self) -> bool {
        let existed = self.existed.load(Ordering::Relaxed);
        self.since.load(Ordering::Relaxed) >= existed.max(LEAST)
    }

    /// Has `round` collect, which returns how many owners exist; unless another thread, or the one
    /// that the calling signal handler interrupted, is doing it. Only `round` takes things from
    /// ended owners.
    pub(crate) fn take(&self, round: impl FnOnce() -> usize) {
        if self.is_on.swap(true, Ordering::Acquire) {
            return;
        }
        self.since.store(0, Ordering::Relaxed);
        self.existed.store(round(), Ordering::Relaxed);
        self.is_on.store(false, Ordering::Release);
    }

    /// In a forked child, which starts with nothing to collect.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn forget(&self) {
        self.since.store(0, Ordering::Relaxed);
        self.existed.store(0, Ordering::Relaxed);
        self.is_on.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Threads come; `live` of them exist at any time. How many were asked for altogether, and the
    /// most that were there at once.
    fn churn(live: usize, coming: usize) -> (usize, usize) {
        let census = Census::new();
        let (mut there, mut most, mut asked) = (0, 0, 0);
        for come in 1..=coming {
            if census.pays() {
                asked += there;
                there = there.min(live.min(come - 1));
                census.take(|| there);
            }
            census.count();
            there += 1;
            most = most.max(there);
        }
        (asked, most)
    }

    #[test]
    fn a_newcomer_costs_two_questions_and_owners_are_bounded() {
        for live in [0, 1, 10, 31, 32, 33, 500, 10_000] {
            let (asked, most) = churn(live, 100_000);
            assert!(asked <= 2 * 100_000, "{live} live: {asked} asked");
            assert!(most <= 2 * live + LEAST, "{live} live: {most} at once");
        }
    }

    #[test]
    fn threads_that_stay_are_asked_for_twice_each_at_most() {
        let (asked, _) = churn(usize::MAX, 100_000);
        assert!(asked <= 2 * 100_000, "{asked}");
    }

    #[test]
    fn one_takes_it_at_a_time() {
        let census = Census::new();
        census.take(|| {
            census.take(|| panic!("within another"));
            0
        });
        let mut taken = false;
        census.take(|| {
            taken = true;
            0
        });
        assert!(taken);
    }

    #[test]
    fn only_a_thread_that_does_not_exist_has_ended() {
        let owner = Owner::none();
        let me = Owner::collectable(3, 8);
        let unasked = |_, _| panic!("not to be asked for");
        owner.set(UNKNOWN);
        assert!(!owner.claim(UNKNOWN), "each has its own");
        assert_eq!(owner.fate(UNKNOWN, unasked), Fate::Uncollectable);
        assert_eq!(owner.fate(me, unasked), Fate::Uncollectable);
        owner.release();
        assert_eq!(owner.fate(me, unasked), Fate::Uncollectable);
        owner.lend(7);
        assert!(owner.is_lent_to(7) && !owner.is_lent_to(8));
        assert_eq!(owner.fate(me, unasked), Fate::Uncollectable);
        assert!(!owner.claim(me));
        owner.release();
        assert!(owner.claim(me) && !owner.is_lent_to(8));
        assert_eq!(owner.fate(me, unasked), Fate::Caller);
        let asked = |answer| move |process, tid| (process, tid) == (3, 8) && answer;
        assert_eq!(owner.fate(Owner::collectable(3, 9), asked(true)), Fate::Exists);
        assert_eq!(owner.fate(Owner::collectable(3, 9), asked(false)), Fate::Ended);
        assert_eq!(owner.fate(Owner::collectable(4, 8), unasked), Fate::Uncollectable);
    }
}
