//! What is made once.

use crate::common::bounded;
use crate::{assert_both, with_both};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Whether `work` panics; without the hook's message if it is by `fails`' own panic.
fn fails<R>(work: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

fn panics() -> ! {
    resume_unwind(Box::new("a scenario's panic"))
}

#[test]
fn a_once_calls_one_closure_and_remembers_panics() {
    assert_both!(
        {
            let once = sync::Once::new();
            let mut calls = Vec::new();
            let first = fails(|| once.call_once(|| panics()));
            let second = fails(|| once.call_once(|| calls.push("after a panic")));
            once.call_once_force(|state| {
                calls.push("forced");
                calls.push(if state.is_poisoned() { "poisoned" } else { "fresh" });
                calls.push(if once.is_completed() { "completed" } else { "under way" });
            });
            once.call_once(|| calls.push("again"));
            once.call_once_force(|_| calls.push("again"));
            (first, second, once.is_completed(), calls)
        },
        (true, true, true, vec!["forced", "poisoned", "under way"])
    );
}

#[test]
fn a_forced_call_sees_whether_it_is_the_first() {
    assert_both!(
        {
            let mut shown = String::new();
            sync::Once::new().call_once_force(|state| shown = format!("{state:?}"));
            #[allow(deprecated)]
            static OLD: sync::Once = sync::ONCE_INIT;
            (shown, format!("{OLD:?}"), OLD.is_completed())
        },
        ("OnceState { poisoned: false }".to_owned(), "Once { .. }".to_owned(), false)
    );
}

#[test]
fn a_once_lock_has_the_first_value() {
    assert_both!(
        {
            let mut lock = sync::OnceLock::new();
            let mut shown = vec![format!("{lock:?}")];
            let failed = fails(|| lock.get_or_init(|| panics()));
            let values = (lock.get().copied(), lock.set(1), lock.set(2), *lock.get_or_init(|| 3));
            shown.push(format!("{lock:?} {:?}", lock.clone() == sync::OnceLock::from(1)));
            *lock.get_mut().unwrap() += 4;
            let taken = (lock.take(), lock.get().copied(), lock.into_inner());
            (failed, values, taken, shown)
        },
        (
            true,
            (None, Ok(()), Err(2), 1),
            (Some(5), None, None),
            vec!["OnceLock(<uninit>)".to_owned(), "OnceLock(1) true".to_owned()]
        )
    );
}

#[test]
fn a_lazy_lock_makes_its_value_once_or_is_poisoned() {
    assert_both!(
        {
            static MADE: sync::LazyLock<sync::Mutex<Vec<i32>>> =
                sync::LazyLock::new(|| sync::Mutex::new(vec![1]));
            let before = format!("{MADE:?}");
            thread::scope(|scope| {
                for number in 2..5 {
                    scope.spawn(move || MADE.lock().unwrap().push(number));
                }
            });
            let mut numbers = MADE.lock().unwrap().clone();
            numbers.sort();
            let poisoned = sync::LazyLock::<i32>::new(|| panics());
            let failed = (fails(|| *poisoned), fails(|| *poisoned));
            (before, numbers, failed, format!("{poisoned:?}"))
        },
        (
            "LazyLock(<uninit>)".to_owned(),
            vec![1, 2, 3, 4],
            (true, true),
            "LazyLock(<uninit>)".to_owned()
        )
    );
}

/// (std's waits are newer than Rust 1.85.)
#[test]
fn waits_end_when_another_thread_has_completed_it() {
    bounded(|| {
        use furwock::std_compat::{Once, OnceLock};
        let (once, lock) = (Once::new(), OnceLock::new());
        fails(|| once.call_once(|| panics()));
        assert!(fails(|| once.wait()), "it is poisoned");
        thread::scope(|scope| {
            scope.spawn(|| once.call_once_force(|_| lock.set(7).unwrap()));
            once.wait_force();
            assert!(once.is_completed());
            once.wait();
            assert_eq!(*lock.wait(), 7);
        });
    });
}

/// The messages by which a user finds out.
#[test]
fn a_poisoned_lazy_lock_says_so() {
    let message = |caught: Box<dyn std::any::Any + Send>| match caught.downcast::<String>() {
        Ok(text) => *text,
        Err(caught) => caught.downcast_ref::<&str>().expect("a text").to_string(),
    };
    let (std, furwock) = with_both!({
        let lazy = sync::LazyLock::<i32>::new(|| panics());
        fails(|| *lazy);
        message(catch_unwind(AssertUnwindSafe(|| *lazy)).unwrap_err())
    });
    assert_eq!(furwock, std);
}
