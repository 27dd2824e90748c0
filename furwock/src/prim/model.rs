//! The facade's other side: a model checker's atomics, cells and threads, and a kernel futex made
//! of its mutex and condvar.

use super::Sleep;
use crate::sys::clock::Deadline;

#[cfg(loom)]
use loom as checker;
#[cfg(all(shuttle, not(loom)))]
use shuttle as checker;

use checker::sync::{Condvar, Mutex, MutexGuard};

pub(crate) use super::model_pi as pi;
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
        if super::checker_has_failed() {
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

/// The kernel: checks a word and sleeps, as one step for whoever wakes.
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
        // Or a thread that looks again and again whether another lives would keep all others from running.
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

pub(crate) fn kernel_wake_one(_word: &atomic::AtomicU32) {
    let _guard = KERNEL.lock.lock().unwrap();
    KERNEL.woken.notify_all();
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

macro_rules! model_static {
    ($($rest:tt)*) => { crate::prim::lazy_static! { $($rest)* } };
}
pub(crate) use checker::lazy_static;
pub(crate) use model_static;

/// The checker drops its statics only after the last thread of an execution.
pub(crate) fn for_ever<T, S: core::ops::Deref<Target = T>>(value: &'static S) -> &'static T {
    value
}

use crate::lot::Thread;

checker::lazy_static! {
    static ref THREADS: atomic::AtomicU32 = atomic::AtomicU32::new(1);
}

checker::thread_local! {
    static OWN: (&'static Thread, u32) = new_thread();
}

fn new_thread() -> (&'static Thread, u32) {
    let (node, id) = (model_node(), THREADS.fetch_add(1, atomic::Ordering::Relaxed));
    #[cfg(all(test, shuttle))]
    NAMED.with_borrow_mut(|named| named.push((id, node)));
    (node, id)
}

#[cfg(all(test, shuttle))]
std::thread_local! {
    static NAMED: core::cell::RefCell<Vec<(u32, &'static Thread)>> =
        const { core::cell::RefCell::new(Vec::new()) };
}

/// The model thread with this id, once it has one.
#[cfg(all(test, shuttle))]
pub(crate) fn model_thread_named(id: u32) -> Option<&'static Thread> {
    NAMED.with_borrow(|named| named.iter().find(|(named, _)| *named == id).map(|(_, node)| *node))
}

/// A node that lives as long as anything of its execution, and longer.
pub(crate) fn model_node() -> &'static Thread {
    let node = Box::into_raw(Box::new(Thread::new()));
    #[cfg(all(test, shuttle))]
    NODES.with_borrow_mut(|nodes| nodes.push(node));
    // SAFETY: never freed, or by `forget_ended_executions`.
    unsafe { &*node }
}

#[cfg(all(test, shuttle))]
std::thread_local! {
    static NODES: core::cell::RefCell<Vec<*mut Thread>> = const { core::cell::RefCell::new(Vec::new()) };
}

#[cfg(all(test, shuttle))]
std::thread_local! {
    static DEAD: core::cell::RefCell<Vec<u32>> = const { core::cell::RefCell::new(Vec::new()) };
}

/// The calling thread counts as ended from here on, and touches nothing any more.
#[cfg(all(test, shuttle))]
pub(crate) fn model_thread_dies() {
    DEAD.with_borrow_mut(|dead| dead.push(model_thread_id()));
}

/// Whether the model thread with this id hasn't ended.
#[cfg(all(test, shuttle))]
pub(crate) fn model_thread_lives(id: u32) -> bool {
    DEAD.with_borrow(|dead| !dead.contains(&id))
}

/// Frees what all executions that have ended left: a test that runs millions of them calls it in between.
#[cfg(all(test, shuttle))]
pub(crate) fn forget_ended_executions() {
    DEAD.take();
    NAMED.take();
    for node in NODES.take() {
        // SAFETY: made by `model_node`; nothing of its execution is left that will run.
        drop(unsafe { Box::from_raw(node) });
    }
}

pub(crate) fn model_thread() -> &'static Thread {
    OWN.with(|own| own.0)
}

pub(crate) fn model_thread_id() -> u32 {
    OWN.with(|own| own.1)
}
