//! ReentrantMutex: its owner may lock it again, others wait until the last guard has gone.

mod common;

use common::{eventually, is_asleep};
use furwock::lock::thread_id;
use furwock::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
use std::cell::{Cell, RefCell};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

static NAMES: ReentrantMutex<RefCell<Vec<&str>>> = ReentrantMutex::new(RefCell::new(Vec::new()));

#[test]
fn its_owner_locks_it_again_and_others_wait() {
    let outer = NAMES.lock();
    {
        let inner = NAMES.try_lock().unwrap();
        inner.borrow_mut().push("first");
        assert!(NAMES.try_lock_for(Duration::ZERO).is_some());
    }
    assert!(NAMES.is_locked() && NAMES.is_owned_by_current_thread());
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        scope.spawn(move || {
            assert!(!NAMES.is_owned_by_current_thread() && NAMES.try_lock().is_none());
            assert!(NAMES.try_lock_for(Duration::from_millis(5)).is_none());
            tell.send(thread_id()).unwrap();
            NAMES.lock().borrow_mut().push("third");
        });
        let other = told.recv().unwrap();
        eventually("it waits", || is_asleep(other));
        outer.borrow_mut().push("second");
        drop(outer);
    });
    assert_eq!(*NAMES.lock().borrow(), ["first", "second", "third"]);
    assert!(!NAMES.is_locked());
}

#[test]
fn threads_exclude_one_another() {
    const ROUNDS: u32 = 20_000;
    let count = ReentrantMutex::new(Cell::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let outer = count.lock();
                    let seen = outer.get();
                    count.lock().set(seen + 1);
                }
            });
        }
    });
    assert_eq!(count.into_inner().get(), 4 * ROUNDS);
}

#[test]
fn a_part_of_it_keeps_it_locked() {
    let pair = ReentrantMutex::new((1, 2));
    let part: MappedReentrantMutexGuard<'_, i32> =
        ReentrantMutexGuard::map(pair.lock(), |pair| &pair.1);
    thread::scope(|scope| scope.spawn(|| assert!(pair.try_lock().is_none())).join().unwrap());
    assert_eq!((*part, pair.lock().0), (2, 1));
}

/// The child has another thread id, and is the owner all the same.
#[test]
fn a_child_owns_what_its_thread_held() {
    let lock = ReentrantMutex::new(());
    let guard = lock.lock();
    let mut status = 0;
    // SAFETY: the child locks and ends.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(20);
                let again = lock.try_lock().is_some() && lock.is_owned_by_current_thread();
                drop(guard);
                libc::_exit(if again && lock.try_lock().is_some() { 7 } else { 1 });
            }
            child => libc::waitpid(child, &mut status, 0),
        };
    }
    assert_eq!(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }, 7);
}
