//! A model checker's kernel for PI words: queues under one lock, and waiters that own the mutex
//! when they return. It boosts no thread. Its accesses to words are as ordered as the kernel's.

#[cfg(loom)]
use loom as checker;
#[cfg(all(shuttle, not(loom)))]
use shuttle as checker;

use super::model::atomic::{AtomicU32, Ordering};
use super::model::model_thread_id as me;
use crate::sys::clock::Deadline;
use crate::sys::pi::Scope;
use crate::sys::syscall::Errno;
use checker::sync::{Condvar, Mutex, MutexGuard};

const WAITERS: u32 = libc::FUTEX_WAITERS;

/// The thread that a word names, 0 for none.
fn owner(word: u32) -> u32 {
    word & libc::FUTEX_TID_MASK
}

struct Kernel {
    queue: Mutex<Vec<Waiter>>,
    moved: Condvar,
}

checker::lazy_static! {
    static ref KERNEL: Kernel = Kernel { queue: Mutex::new(Vec::new()), moved: Condvar::new() };
}

/// A waiting thread. Its words live until it has left the queue.
struct Waiter {
    tid: u32,
    /// Where it waits to be moved from; null once it waits for the mutex.
    on: *const AtomicU32,
    mutex: *const AtomicU32,
}

// SAFETY: the words are shared anyway.
unsafe impl Send for Waiter {}

fn queue() -> MutexGuard<'static, Vec<Waiter>> {
    KERNEL.queue.lock().unwrap()
}

/// Gives `mutex` to `tid` if it is free, and marks it as waited for otherwise.
fn take_or_mark(mutex: &AtomicU32, tid: u32, waiters: u32) -> bool {
    loop {
        let word = mutex.load(Ordering::Relaxed);
        let free = owner(word) == 0;
        let new = if free { tid | waiters } else { word | WAITERS };
        let exchange = mutex.compare_exchange(word, new, Ordering::AcqRel, Ordering::Relaxed);
        if exchange.is_ok() {
            return free;
        }
    }
}

/// Whether `mutex` is the caller's, or its owner waits, through others, for one that is.
fn closes_a_circle(queue: &[Waiter], mut mutex: &AtomicU32) -> bool {
    loop {
        let holder = owner(mutex.load(Ordering::Relaxed));
        if holder == me() {
            return true;
        }
        let waits = queue.iter().find(|waiter| waiter.tid == holder && waiter.on.is_null());
        let Some(waiter) = waits else { return false };
        // SAFETY: its waiter keeps the word alive while it is queued.
        mutex = unsafe { &*waiter.mutex };
    }
}

/// Sleeps until the caller's waiter has left the queue, owning its mutex. With a deadline it passes
/// at some moment: unless the caller owns its mutex by then, it leaves.
fn sleep(deadline: bool) -> Result<(), Errno> {
    let mut queue = queue();
    while let Some(at) = queue.iter().position(|waiter| waiter.tid == me()) {
        if deadline {
            queue.remove(at);
            return Err(Errno(libc::ETIMEDOUT));
        }
        queue = KERNEL.moved.wait(queue).unwrap();
    }
    Ok(())
}

pub(crate) fn lock(
    word: &AtomicU32,
    _scope: Scope,
    deadline: Option<&Deadline>,
) -> Result<(), Errno> {
    let mut waiters = queue();
    if closes_a_circle(&waiters, word) {
        return Err(Errno(libc::EDEADLK));
    }
    if take_or_mark(word, me(), 0) {
        return Ok(());
    }
    waiters.push(Waiter { tid: me(), on: core::ptr::null(), mutex: word });
    drop(waiters);
    sleep(deadline.is_some())
}

pub(crate) fn try_lock(word: &AtomicU32, _scope: Scope) -> Result<(), Errno> {
    let _queue = queue();
    if take_or_mark(word, me(), 0) { Ok(()) } else { Err(Errno(libc::EAGAIN)) }
}

pub(crate) fn unlock(word: &AtomicU32, _scope: Scope) -> Result<(), Errno> {
    let mut queue = queue();
    let heir =
        queue.iter().position(|waiter| waiter.on.is_null() && core::ptr::eq(waiter.mutex, word));
    let new = heir.map_or(0, |at| queue[at].tid | WAITERS);
    word.store(new, Ordering::Release);
    if let Some(at) = heir {
        queue.remove(at);
        KERNEL.moved.notify_all();
    }
    Ok(())
}

pub(crate) fn wait_requeue(
    word: &AtomicU32,
    expected: u32,
    mutex: &AtomicU32,
    _scope: Scope,
    deadline: Option<&Deadline>,
) -> Result<(), Errno> {
    let mut waiters = queue();
    if word.load(Ordering::Relaxed) != expected {
        return Err(Errno(libc::EAGAIN));
    }
    waiters.push(Waiter { tid: me(), on: word, mutex });
    drop(waiters);
    sleep(deadline.is_some())
}

pub(crate) fn compare_requeue(
    word: &AtomicU32,
    expected: u32,
    others: u32,
    mutex: usize,
    _scope: Scope,
) -> Result<usize, Errno> {
    let mut queue = queue();
    if word.load(Ordering::Relaxed) != expected {
        return Err(Errno(libc::EAGAIN));
    }
    let mut moved = 0;
    let mut at = 0;
    while at < queue.len() && moved <= others as usize {
        if !core::ptr::eq(queue[at].on, word) {
            at += 1;
            continue;
        }
        if queue[at].mutex.addr() != mutex {
            return Err(Errno(libc::EINVAL));
        }
        moved += 1;
        let waiters = if others == 0 { 0 } else { WAITERS };
        // SAFETY: its waiter keeps the word alive while it is queued.
        if take_or_mark(unsafe { &*queue[at].mutex }, queue[at].tid, waiters) {
            queue.remove(at);
        } else {
            queue[at].on = core::ptr::null();
            at += 1;
        }
    }
    KERNEL.moved.notify_all();
    Ok(moved)
}
