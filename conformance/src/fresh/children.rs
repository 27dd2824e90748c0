//! Rounds that fork a child while threads use new objects. The child uses them too.

use super::pool::Pool;
use super::round::{NOW, Random, tid};
use furwock::Semaphore;
use furwock::lock::{RawMutex, RawRwLock};
use std::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Not a kind: `round::name` says "a child".
const A_CHILD: usize = usize::MAX;

/// Enough reads to make a rwlock hot.
const READS: u64 = 150;

/// A mutex, a rwlock, and a semaphore without permits, of one face.
pub(super) trait Objects: Sync {
    /// # Safety
    /// There is memory of this layout at `at`, and nothing uses it.
    unsafe fn make(at: *mut Self);

    /// # Safety
    /// They were made, and no thread uses them any more.
    unsafe fn end(at: *mut Self);

    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn unlock(&self);
    fn read(&self);
    fn write(&self);
    fn try_write(&self) -> bool;
    fn stop_writing(&self);
    fn stop_writing_in_child(&self);
    fn post(&self);
    fn take(&self);
    fn is_taken(&self) -> bool;
}

/// The crate's.
pub(super) struct Own {
    mutex: RawMutex,
    lock: RawRwLock,
    semaphore: Semaphore,
}

impl Objects for Own {
    unsafe fn make(at: *mut Self) {
        let (mutex, lock) = (RawMutex::new(), RawRwLock::new());
        // SAFETY: by the caller's promise.
        unsafe { at.write(Self { mutex, lock, semaphore: Semaphore::new(0) }) };
    }

    unsafe fn end(at: *mut Self) {
        // SAFETY: by the caller's promise.
        unsafe { at.drop_in_place() };
    }

    fn lock(&self) {
        self.mutex.lock();
    }

    fn try_lock(&self) -> bool {
        self.mutex.try_lock()
    }

    fn unlock(&self) {
        self.mutex.unlock();
    }

    fn read(&self) {
        self.lock.lock_shared();
        self.lock.unlock_shared();
    }

    fn write(&self) {
        self.lock.lock_exclusive();
    }

    fn try_write(&self) -> bool {
        self.lock.try_lock_exclusive()
    }

    fn stop_writing(&self) {
        self.lock.unlock_exclusive();
    }

    fn stop_writing_in_child(&self) {
        self.stop_writing();
    }

    fn post(&self) {
        self.semaphore.release().expect("few");
    }

    fn take(&self) {
        self.semaphore.acquire();
    }

    fn is_taken(&self) -> bool {
        self.semaphore.available() == 0
    }
}

/// Forks one child, which inherits the mutex and the rwlock held while other threads contend.
pub(super) fn fork<O: Objects>(pool: &Pool, random: &mut Random) -> u64 {
    NOW.kind.store(A_CHILD, Ordering::Relaxed);
    NOW.tids[0].store(tid(), Ordering::Relaxed);
    let at = pool.place(random, Layout::new::<O>()).cast::<O>();
    // SAFETY: the pool's, and no other object is alive.
    let objects = unsafe {
        O::make(at);
        &*at
    };
    // Some make the rwlock hot for the child, or nearly hot.
    let reads = random.below(READS);
    let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let child = thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Ordering::Release);
            while !stop.load(Ordering::Relaxed) {
                objects.read();
                objects.lock();
                objects.unlock();
                if objects.try_write() {
                    objects.stop_writing();
                }
            }
        });
        // A thread that begins holds a lock of std's, which the child's threads need as they begin.
        while !begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
        (0..reads).for_each(|_| objects.read());
        objects.lock();
        objects.write();
        // SAFETY: the child uses what the thread that forked held, and ends without exit handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let ran = catch_unwind(AssertUnwindSafe(|| in_child(objects)));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(ran.is_err())) };
        }
        objects.stop_writing();
        objects.unlock();
        stop.store(true, Ordering::Relaxed);
        child
    });
    assert!(child > 0, "fork");
    let mut status = 0;
    // SAFETY: writes one int. What hangs is seen by the watchdog.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {}
    if status != 0 {
        eprintln!("FAILED: a child ended with status {status:#x}");
        // SAFETY: ends the process.
        unsafe { libc::_exit(1) };
    }
    // SAFETY: no thread uses them any more.
    unsafe { O::end(at) };
    NOW.done.fetch_add(1, Ordering::Relaxed);
    1
}

/// Two threads meet, as in the parent's rounds.
fn in_child<O: Objects>(objects: &O) {
    objects.stop_writing_in_child();
    objects.unlock();
    let (here, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                here.fetch_add(1, Ordering::AcqRel);
                while here.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                (0..READS).for_each(|_| objects.read());
                objects.write();
                objects.lock();
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                objects.post();
                objects.unlock();
                objects.stop_writing();
            });
        }
        (0..2).for_each(|_| objects.take());
    });
    assert_eq!(count.into_inner(), 2);
    assert!(objects.try_write() && objects.try_lock());
    assert!(objects.is_taken());
}
