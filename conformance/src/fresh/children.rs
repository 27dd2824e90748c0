//! Rounds in which a child is forked while threads use a new object, and uses it too.

use super::pool::Pool;
use super::round::{NOW, Random, tid};
use furwock::{Mutex, RwLock, Semaphore};
use std::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Not a kind: `round::name` says "a child".
const A_CHILD: usize = usize::MAX;

/// Enough to make a rwlock hot.
const READS: usize = 150;

struct Objects {
    mutex: Mutex<()>,
    lock: RwLock<()>,
    semaphore: Semaphore,
}

/// One child. It gets the mutex and the rwlock as their holder, while others want them.
pub(super) fn fork(pool: &Pool, random: &mut Random) -> u64 {
    NOW.kind.store(A_CHILD, Ordering::Relaxed);
    NOW.tids[0].store(tid(), Ordering::Relaxed);
    let at = pool.place(random, Layout::new::<Objects>()).cast::<Objects>();
    let semaphore = Semaphore::new(0).expect("none");
    // SAFETY: the pool's, and no other object is alive.
    let objects = unsafe {
        at.write(Objects { mutex: Mutex::new(()), lock: RwLock::new(()), semaphore });
        &*at
    };
    // Hot for the child, or about to be.
    let reads = random.below(READS as u64);
    let stop = AtomicBool::new(false);
    let child = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(objects.lock.read());
                drop(objects.mutex.lock());
                drop(objects.lock.try_write());
            }
        });
        (0..reads).for_each(|_| drop(objects.lock.read()));
        let (mutex, lock) = (objects.mutex.lock(), objects.lock.write());
        // SAFETY: the child uses what the thread that forked held, and ends without exit handlers.
        let child = unsafe { libc::fork() };
        drop((lock, mutex));
        if child == 0 {
            let ran = catch_unwind(AssertUnwindSafe(|| in_child(objects)));
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(ran.is_err())) };
        }
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
    // SAFETY: nobody uses them any more.
    unsafe { at.drop_in_place() };
    NOW.done.fetch_add(1, Ordering::Relaxed);
    1
}

/// Two threads meet, as in the parent's rounds.
fn in_child(objects: &Objects) {
    let (here, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                here.fetch_add(1, Ordering::AcqRel);
                while here.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                for _ in 0..READS {
                    drop(objects.lock.read());
                }
                let _writes = objects.lock.write();
                let _holds = objects.mutex.lock();
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                objects.semaphore.release().expect("few");
            });
        }
        (0..2).for_each(|_| objects.semaphore.acquire());
    });
    assert_eq!(count.into_inner(), 2);
    assert!(objects.lock.try_write().is_some() && objects.mutex.try_lock().is_some());
    assert_eq!(objects.semaphore.available(), 0);
}
