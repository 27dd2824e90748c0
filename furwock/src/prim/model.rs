//! The facade's other side: a model checker's atomics, cells and threads, and a kernel futex made
//! of its mutex and condvar.

use crate::sys::clock::Deadline;
use crate::sys::futex::Sleep;

#[cfg(loom)]
use loom as checker;
#[cfg(all(shuttle, not(loom)))]
use shuttle as checker;

use checker::sync::{Condvar, Mutex, MutexGuard};

pub(crate) use checker::hint::spin_loop;

pub(crate) mod atomic {
    pub(crate) use super::checker::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// shuttle watches no cells: `core`'s, behind loom's interface.
#[cfg(all(shuttle, not(loom)))]
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(all(shuttle, not(loom)))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Whether a model checker has found a failure and unwinds: it takes no more calls.
pub(crate) fn checker_has_failed() -> bool {
    std::thread::panicking()
}

pub(crate) fn full_fence() {
    atomic::fence(atomic::Ordering::SeqCst);
}

pub(crate) fn full_fence_after_rmw() {
    full_fence();
}

/// Lets other threads run.
#[cfg(all(shuttle, not(loom)))]
pub(crate) fn give_way() {
    checker::thread::yield_now();
}

/// Models have one processor as far as placing goes.
pub(crate) fn current_cpu() -> u32 {
    0
}

/// A lock of the checker's own, where a model is not about the lock.
#[derive(Debug)]
pub(crate) struct ModelLock(Mutex<()>);

/// Held until dropped.
pub(crate) struct ModelHeld<'l>(Option<MutexGuard<'l, ()>>);

impl Drop for ModelHeld<'_> {
    fn drop(&mut self) {
        if checker_has_failed() {
            core::mem::forget(self.0.take());
        }
    }
}

impl ModelLock {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(()))
    }

    pub(crate) fn lock(&self) -> ModelHeld<'_> {
        ModelHeld(Some(self.0.lock().unwrap()))
    }
}

/// The kernel: checks a word and sleeps, as one step for threads that wake.
struct Kernel {
    lock: Mutex<()>,
    woken: Condvar,
}

checker::lazy_static! {
    static ref KERNEL: Kernel = Kernel { lock: Mutex::new(()), woken: Condvar::new() };
}

/// A deadline may pass at any moment, so that in a model it has always passed: whether a waker came
/// first is the schedule's choice.
pub(crate) fn kernel_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    let guard = KERNEL.lock.lock().unwrap();
    if word.load(atomic::Ordering::Relaxed) != expected {
        return Sleep::Ended;
    }
    if deadline.is_some() {
        // Or a thread that looks again and again whether another lives would keep all others from
        // running.
        #[cfg(all(shuttle, not(loom)))]
        {
            drop(guard);
            give_way();
        }
        return Sleep::TimedOut;
    }
    drop(KERNEL.woken.wait(guard).unwrap());
    Sleep::Ended
}

pub(crate) use kernel_wait as kernel_sleep;
pub(crate) use kernel_wait as kernel_sleep_restarting;

/// There are no signal handlers.
pub(crate) fn is_sleep_ended(_: bool) -> bool {
    false
}

pub(crate) fn kernel_wake_one(_word: &atomic::AtomicU32) {
    let _guard = KERNEL.lock.lock().unwrap();
    KERNEL.woken.notify_all();
}

pub(crate) fn kernel_wake_two(first: &atomic::AtomicU32, second: &atomic::AtomicU32) {
    kernel_wake_one(first);
    kernel_wake_one(second);
}

pub(crate) fn kernel_wake_all(word: &atomic::AtomicU32) {
    kernel_wake_one(word);
}

pub(crate) fn shared_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    deadline: Option<&Deadline>,
) -> Sleep {
    kernel_wait(word, expected, deadline)
}

pub(crate) fn shared_store_and_wake(word: &atomic::AtomicU32, new: u32, _count: u32) {
    let _guard = KERNEL.lock.lock().unwrap();
    word.swap(new, atomic::Ordering::AcqRel);
    KERNEL.woken.notify_all();
}

/// What the kernel does to a word that it finds in the list of thread `tid`, which died.
#[cfg(test)]
pub(crate) fn kernel_marks_death(word: &atomic::AtomicU32, tid: u32) {
    const WAITERS: u32 = libc::FUTEX_WAITERS;
    let mut seen = word.load(atomic::Ordering::Relaxed);
    while seen & libc::FUTEX_TID_MASK == tid {
        let dead = (seen & WAITERS) | libc::FUTEX_OWNER_DIED;
        let ordering = atomic::Ordering::AcqRel;
        match word.compare_exchange(seen, dead, ordering, atomic::Ordering::Relaxed) {
            Ok(_) if seen & WAITERS != 0 => return kernel_wake_one(word),
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

pub(crate) use checker::lazy_static as model_static;

/// The checker drops its statics only after the last thread of an execution.
pub(crate) fn for_ever<T, S: core::ops::Deref<Target = T>>(value: &'static S) -> &'static T {
    value
}

pub(crate) use checker::thread_local as model_thread_local;

checker::lazy_static! {
    static ref THREADS: atomic::AtomicU32 = atomic::AtomicU32::new(1);
}

checker::thread_local! {
    static ID: u32 = THREADS.fetch_add(1, atomic::Ordering::Relaxed);
}

/// The calling thread's id, in the kernel's place.
pub(crate) fn model_thread_id() -> u32 {
    ID.with(|id| *id)
}

/// The calling thread counts as ended from here on, and touches nothing any more.
#[cfg(all(test, shuttle))]
pub(crate) fn model_thread_dies() {
    let id = model_thread_id();
    crate::sys::pretend::DEAD.with_borrow_mut(|dead| dead.push(id));
}

/// Runs `explore` with `flag` raised, for the models that this thread runs. It is lowered also if
/// one fails.
#[cfg(all(test, loom))]
pub(crate) fn with_flag(
    flag: &'static std::thread::LocalKey<core::cell::Cell<bool>>,
    explore: impl FnOnce(),
) {
    struct Lower(&'static std::thread::LocalKey<core::cell::Cell<bool>>);

    impl Drop for Lower {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }

    let _lower = Lower(flag);
    flag.set(true);
    explore();
}
