//! Waits for what another thread has to do: signal a condvar, post a semaphore, come to a barrier,
//! end. If the waiter holds a lock that the other takes first, neither goes on.
//!
//! A wait with locks held is noted as a step from each of them to the object. A thread that wakes
//! then says for each of these locks whether it has taken it since it last waited itself: if it
//! has, it is a step from the object to the lock.

use super::super::part::{self, PROCESS};
use super::super::thread::{Me, record};
use super::super::{Kind, stack, tables};
use super::{Again, Take, edges, held, holds, takes};
use crate::glibc;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use furwock_record::{ADDRESS, HELD_READ, WAITED, WAKES, WAKES_WITHOUT};

const ORDER: Ordering = Ordering::Relaxed;

/// Waits with a lock held: the index of the object's lock, and of the lock that was held.
static WAITS: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];
/// The process that they are of.
static PROCESS_ID: AtomicU32 = AtomicU32::new(0);

/// Posts of semaphores, by address: the last of each. A post may come before the wait.
static POSTS: [Post; 64] = [const { Post::new() }; 64];
const LOCKS: usize = 6;

struct Post {
    is_busy: AtomicU32,
    thread: AtomicU32,
    object: AtomicU64,
    stack: AtomicU32,
    /// Their addresses, and the stacks that took them.
    locks: [AtomicU64; LOCKS],
    stacks: [AtomicU32; LOCKS],
}

impl Post {
    const fn new() -> Self {
        Self {
            is_busy: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            object: AtomicU64::new(0),
            stack: AtomicU32::new(0),
            locks: [const { AtomicU64::new(0) }; LOCKS],
            stacks: [const { AtomicU32::new(0) }; LOCKS],
        }
    }

    fn of(object: usize) -> &'static Self {
        &POSTS[(object >> 4 ^ object >> 10) % POSTS.len()]
    }

    /// Calls `look` unless another thread has it.
    fn try_with(&self, look: impl FnOnce()) {
        if self.is_busy.swap(1, Ordering::Acquire) == 0 {
            look();
            self.is_busy.store(0, Ordering::Release);
        }
    }
}

/// A new process has no waits.
fn forget_parents() {
    let process = PROCESS.id.load(ORDER);
    if PROCESS_ID.swap(process, ORDER) != process {
        WAITS.iter().for_each(|wait| wait.store(0, ORDER));
        for post in &POSTS {
            post.object.store(0, ORDER);
            post.is_busy.store(0, ORDER);
        }
    }
}

/// The calling thread is about to wait for `object`, and releases `mutex` meanwhile.
#[cold]
#[inline(never)]
pub(crate) fn waits_for<T>(object: *const T, kind: Kind, mutex: usize, has_deadline: bool) {
    record(|me| {
        let own = &me.own.order;
        if mutex != 0 {
            own.release(mutex);
        }
        own.has_waited();
        if !has_deadline && own.count() != 0 && !glibc::is_single_threaded() && part::grow() {
            forget_parents();
            note_wait(me, object.addr(), kind);
        }
        Some(())
    });
}

fn note_wait(me: Me, object: usize, kind: Kind) -> Option<()> {
    let own = &me.own.order;
    let stack = stack::of_caller(me);
    let taken = tables::find_or_enter(object as u64, kind)?;
    for held in own.all() {
        let Some(first) = held.lock() else { continue };
        let flags = WAITED | if held.reads() { HELD_READ } else { 0 };
        edges::note(me, first, taken, (held.stack(), stack), flags, own.gates(Some(held)));
        if kind == Kind::Thread {
            continue;
        }
        let pair = u64::from(taken + 1) << 32 | u64::from(first + 1);
        let is_free = |wait: &&AtomicU64| {
            let was = wait.compare_exchange(0, pair, ORDER, ORDER).unwrap_or_else(|was| was);
            was == 0 || was == pair
        };
        _ = WAITS.iter().find(is_free);
        if kind == Kind::Semaphore {
            note_earlier_post(me, object, taken, first, held.object());
        }
    }
    Some(())
}

/// The semaphore may have been posted already.
fn note_earlier_post(me: Me, object: usize, semaphore: u32, lock: u32, address: usize) {
    let post = Post::of(object);
    post.try_with(|| {
        let thread = post.thread.load(ORDER);
        if post.object.load(ORDER) != object as u64 || thread == me.thread.tid.load(ORDER) {
            return;
        }
        let is_it = |taken: &AtomicU64| taken.load(ORDER) == address as u64;
        let (flag, stack) = match post.locks.iter().position(is_it) {
            Some(at) => (WAKES, post.stacks[at].load(ORDER)),
            None => (WAKES_WITHOUT, 0),
        };
        let stacks = (post.stack.load(ORDER), stack);
        edges::enter(semaphore, lock, stacks, flag, [0; held::GATES], thread);
    });
}

/// The calling thread's wait for `object` is over, and it has `mutex` again.
#[cold]
#[inline(never)]
pub(crate) fn waited_for(mutex: usize, depth_again: Again) {
    let take = Take { reads: false, waits: true, again: depth_again };
    let stack = takes(mutex, Kind::Mutex, take);
    holds(mutex, Kind::Mutex, take, stack);
}

/// The calling thread is about to end other threads' waits for `object`.
#[cold]
#[inline(never)]
pub(crate) fn wakes<T>(object: *const T, kind: Kind) {
    let object = object.addr();
    record(|me| {
        if glibc::is_single_threaded() || !part::grow() {
            return None;
        }
        forget_parents();
        if kind == Kind::Semaphore {
            note_post(me, object);
        }
        if WAITS[0].load(ORDER) == 0 {
            return None;
        }
        let woken = tables::find_live(object as u64, kind)?;
        for wait in &WAITS {
            let wait = wait.load(ORDER);
            if wait == 0 {
                break;
            }
            if (wait >> 32) as u32 == woken + 1 {
                note_wake(me, woken, kind, (wait as u32).wrapping_sub(1));
            }
        }
        Some(())
    });
}

fn note_wake(me: Me, woken: u32, kind: Kind, lock: u32) -> Option<()> {
    let own = &me.own.order;
    let address = (tables::lock(lock)?.object.load(ORDER) & ADDRESS) as usize;
    // What it holds since before its own last wait, such as for a permit that it gives back now, it
    // doesn't have to take again.
    let taken = own.taken(false).find(|taken| taken.0 == address);
    let (flag, taken_stack) = match (taken, kind) {
        (Some((_, _, stack)), _) => (WAKES, stack),
        // One that comes without doesn't end the wait: all have to come.
        (None, Kind::Barrier) => return None,
        (None, _) => (WAKES_WITHOUT, 0),
    };
    let stacks = (stack::of_caller(me), taken_stack);
    edges::note(me, woken, lock, stacks, flag, [0; held::GATES]);
    Some(())
}

fn note_post(me: Me, object: usize) {
    let own = &me.own.order;
    let post = Post::of(object);
    post.try_with(|| {
        let mut locks = own.taken(false).map(|taken| (taken.0, taken.2));
        for (lock, stack) in post.locks.iter().zip(&post.stacks) {
            let (object, taken) = locks.next().unwrap_or((0, 0));
            lock.store(object as u64, ORDER);
            stack.store(taken, ORDER);
        }
        post.stack.store(stack::of_caller(me), ORDER);
        post.thread.store(me.thread.tid.load(ORDER), ORDER);
        post.object.store(object as u64, ORDER);
    });
}

/// The calling thread has joined another, which took locks before it ended.
#[cold]
#[inline(never)]
pub(super) fn joined(thread: usize) {
    record(|me| {
        let (tid, ended) = held::ended(thread)?;
        if me.own.order.count() != 0 && part::is_grown() {
            let joined = tables::find_live(thread as u64, Kind::Thread)?;
            for (object, kind, stack) in ended.taken(true) {
                let lock = tables::find_or_enter(object as u64, kind)?;
                edges::enter(joined, lock, (0, stack), WAKES, [0; held::GATES], tid);
            }
            // A new thread may get the same pthread_t.
            tables::lock(joined)?.is_destroyed.store(1, ORDER);
        }
        Some(())
    });
}
