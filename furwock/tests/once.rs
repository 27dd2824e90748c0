//! Once, OnceLock and LazyLock: one call, its waiters, panics and errors, drops.

use furwock::{LazyLock, Once, OnceLock, OnceState};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;

/// Long enough for a thread to have begun to wait; nothing fails if it hasn't.
const SOON: Duration = Duration::from_millis(20);

fn panics<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    let said = payload.downcast_ref::<String>().cloned();
    said.unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string())
}

#[test]
fn one_of_many_threads_calls_and_all_see_what_it_did() {
    for _ in 0..200 {
        let (once, calls, meet) = (Once::new(), AtomicU32::new(0), Barrier::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    meet.wait();
                    once.call_once(|| _ = calls.fetch_add(1, Ordering::Relaxed));
                    assert_eq!(calls.load(Ordering::Relaxed), 1);
                    assert!(once.is_completed());
                });
            }
        });
    }
}

#[test]
fn threads_that_come_meanwhile_wait() {
    static ONCE: Once = Once::new();
    let (in_call, called) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            ONCE.call_once(|| {
                in_call.wait();
                thread::sleep(SOON);
                called.store(true, Ordering::Relaxed);
            });
        });
        in_call.wait();
        assert_eq!(ONCE.state(), OnceState::InProgress);
        for waits in [|| ONCE.call_once(|| unreachable!()), || ONCE.wait(), || ONCE.wait_force()] {
            let called = &called;
            scope.spawn(move || {
                waits();
                assert!(called.load(Ordering::Relaxed));
            });
        }
    });
}

#[test]
fn waiters_that_come_first_are_let_go() {
    let (once, value) = (Once::new(), OnceLock::new());
    thread::scope(|scope| {
        scope.spawn(|| once.wait());
        scope.spawn(|| once.wait_force());
        scope.spawn(|| assert_eq!(*value.wait(), 7));
        thread::sleep(SOON);
        once.call_once(|| ());
        value.set(7).unwrap();
    });
}

#[test]
fn a_panic_poisons_until_a_forced_call() {
    let once = Once::new();
    assert_eq!(panics(|| once.call_once(|| panic!("first"))), "first");
    assert_eq!(once.state(), OnceState::Poisoned);
    assert!(!once.is_completed());
    let said = "Once instance has previously been poisoned";
    assert_eq!(panics(|| once.call_once(|| unreachable!())), said);
    assert_eq!(panics(|| once.wait()), said);
    assert_eq!(panics(|| once.call_once_force(|_| panic!("again"))), "again");
    once.call_once_force(|state| assert!(state.is_poisoned() && !state.is_done()));
    once.call_once_force(|_| unreachable!());
    once.wait();
    assert!(once.state().is_done());
}

#[test]
fn a_panic_lets_the_waiters_go_on() {
    let (once, in_call) = (Once::new(), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            panics(|| {
                once.call_once(|| {
                    in_call.wait();
                    thread::sleep(SOON);
                    panic!("no");
                });
            })
        });
        in_call.wait();
        scope.spawn(|| assert!(panics(|| once.wait()).contains("poisoned")));
        assert!(panics(|| once.call_once(|| unreachable!())).contains("poisoned"));
    });
}

#[test]
fn a_call_by_its_own_closure_panics() {
    let once = Once::new();
    let said = panics(|| once.call_once(|| once.call_once(|| ())));
    assert_eq!(said, "a Once is called by what it calls");
    assert_eq!(once.state(), OnceState::Poisoned);
    let (outer, inner) = (Once::new(), Once::new());
    outer.call_once(|| inner.call_once(|| ()));
    assert!(outer.is_completed() && inner.is_completed());
}

#[test]
fn a_value_is_written_once() {
    let lock = OnceLock::new();
    assert_eq!(format!("{lock:?}"), "OnceLock(<uninit>)");
    assert_eq!(lock.get_or_try_init(|| Err::<i32, _>("none")), Err("none"));
    assert_eq!(panics(|| lock.get_or_init(|| panic!("none"))), "none");
    assert!(lock.get().is_none());
    assert_eq!(lock.get_or_init(|| 1), &1);
    assert_eq!(lock.set(2), Err(2));
    assert_eq!(lock.get_or_try_init(|| Err("none")), Ok(&1));
    assert_eq!(format!("{lock:?}"), format!("{:?}", std::sync::OnceLock::from(1)));
    assert_eq!(lock, OnceLock::from(1));
    assert_ne!(lock.clone(), OnceLock::new());
    let mut lock = lock;
    *lock.get_mut().unwrap() += 1;
    assert_eq!((lock.take(), lock.take()), (Some(2), None));
    lock.set(3).unwrap();
    assert_eq!(lock.into_inner(), Some(3));
}

#[test]
fn a_value_is_dropped_once() {
    let counted = Rc::new(());
    let lock = OnceLock::from(Rc::clone(&counted));
    let second = lock.clone();
    assert_eq!(Rc::strong_count(&counted), 3);
    drop((lock.set(Rc::clone(&counted)), lock));
    assert_eq!(Rc::strong_count(&counted), 2);
    assert!(second.into_inner().is_some());
    assert_eq!(Rc::strong_count(&counted), 1);
    drop(OnceLock::<Rc<()>>::new());

    let by_closure = Rc::clone(&counted);
    drop(LazyLock::new(move || by_closure));
    assert_eq!(Rc::strong_count(&counted), 1);
    let by_closure = Rc::clone(&counted);
    let lazy = LazyLock::new(move || by_closure);
    assert_eq!(Rc::strong_count(&lazy), 2);
    drop(lazy);
    assert_eq!(Rc::strong_count(&counted), 1);
    let by_closure = Rc::clone(&counted);
    let lazy: LazyLock<(), _> = LazyLock::new(move || {
        drop(by_closure);
        panic!("dropped");
    });
    assert_eq!(panics(|| LazyLock::force(&lazy)), "dropped");
    drop(lazy);
    assert_eq!(Rc::strong_count(&counted), 1);
}

#[test]
fn a_lazy_value_is_made_by_one_thread() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| {
        thread::sleep(SOON);
        vec![MADE.fetch_add(1, Ordering::Relaxed)]
    });
    assert_eq!(format!("{LAZY:?}"), "LazyLock(<uninit>)");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| assert_eq!(*LAZY, [0]));
        }
    });
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    assert_eq!(format!("{LAZY:?}"), "LazyLock([0])");
}

#[test]
fn a_lazy_value_that_panicked_stays_poisoned() {
    let calls = Cell::new(0);
    let mut lazy: LazyLock<(), _> = LazyLock::new(|| {
        calls.set(calls.get() + 1);
        panic!("none");
    });
    assert_eq!(panics(|| *lazy), "none");
    let said = "LazyLock instance has previously been poisoned";
    assert_eq!(panics(|| *lazy), said);
    assert_eq!(panics(|| *LazyLock::force_mut(&mut lazy)), said);
    assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
    assert_eq!(panics(|| LazyLock::into_inner(lazy)), said);
    assert_eq!(calls.get(), 1);
}

/// The last to use it frees it while the call that completed it may not have returned.
#[test]
fn it_may_be_freed_as_soon_as_it_is_done() {
    for _ in 0..2000 {
        let lock = Arc::new(OnceLock::new());
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || _ = other.set(1));
        assert_eq!(*lock.wait(), 1);
        drop(lock);
        writer.join().unwrap();
    }
}
