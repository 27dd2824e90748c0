//! Once, OnceLock and LazyLock in forked children. They are alone in this program: a child panics,
//! and would wait for the panic of another test's thread, which isn't there.

use furwock::{LazyLock, Once, OnceLock, OnceState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

/// The code with which a child ends that runs `check`, and ends with 1 if it hangs.
fn in_child(check: impl FnOnce() -> i32) -> i32 {
    let mut status = 0;
    // SAFETY: the child runs `check` and ends, without running what the parent would at its end.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(20);
                let code = catch_unwind(AssertUnwindSafe(check)).unwrap_or(2);
                libc::_exit(code)
            }
            child => libc::waitpid(child, &mut status, 0),
        };
    }
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
}

#[test]
fn a_child_finds_a_call_of_its_parents_other_threads_cut_short() {
    let (once, value) = (Once::new(), OnceLock::new());
    let lazy = LazyLock::new(|| {
        once.call_once(|| {
            value.get_or_init(|| {
                // In all three: the parent's thread stays here until the child has ended.
                let (begun, go_on) = WAY.wait();
                begun.send(()).unwrap();
                go_on.lock().recv().unwrap();
                5
            });
        });
        5
    });
    static WAY: OnceLock<Way> = OnceLock::new();
    type Way = (mpsc::SyncSender<()>, furwock::Mutex<mpsc::Receiver<()>>);
    let (begun, has_begun) = mpsc::sync_channel(1);
    let (end, go_on) = mpsc::sync_channel(1);
    WAY.set((begun, furwock::Mutex::new(go_on))).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*lazy, 5));
        has_begun.recv().unwrap();
        let ended = in_child(|| {
            assert_eq!(once.state(), OnceState::Poisoned);
            assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| ()))).is_err());
            once.call_once_force(|state| assert!(state.is_poisoned()));
            assert!(value.get().is_none());
            assert_eq!(value.get_or_init(|| 6), &6);
            assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
            7
        });
        end.send(()).unwrap();
        assert_eq!(ended, 7);
    });
    assert_eq!((*lazy, value.get(), once.state()), (5, Some(&5), OnceState::Done));
}

#[test]
fn a_call_that_forks_goes_on_in_both_processes() {
    let (once, outer) = (Once::new(), Once::new());
    let mut ended = None;
    outer.call_once(|| {
        once.call_once(|| {
            ended = Some(in_child(|| {
                let state = || (once.state(), outer.state());
                // Asked by another thread of the child, too.
                let other = thread::scope(|scope| scope.spawn(state).join().unwrap());
                let both = (OnceState::InProgress, OnceState::InProgress);
                if (state(), other) == (both, both) { 7 } else { 3 }
            }));
        });
    });
    assert_eq!(ended, Some(7));
    assert!(once.is_completed() && outer.is_completed());
}
