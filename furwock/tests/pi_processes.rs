//! The PI mutex and condvar in processes of their own: shared between several, and where system
//! calls are forbidden or missing.

mod common;
mod process;

use common::seccomp::{NUMBER, allow, argument, jump, live_under, load, mask, refuse};
use common::{asleep, bounded, deadlines, eventually};
use furwock::lock::pi::{self, Acquired, PiError, RawPiMutex, Scope};
use furwock::{PiCondvar, PiMutex};
use process::{fork, kill, map, reap};
use std::time::Duration;

/// Locks and unlocks where any system call but `_exit` kills.
#[test]
fn uncontended_means_no_system_call() {
    let (mutex, condvar) = (PiMutex::new(0), PiCondvar::new());
    drop(mutex.lock().unwrap());
    let child = fork(|| {
        // SAFETY: the child does no more than what follows.
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
        for _ in 0..1000 {
            let mut guard = mutex.lock().unwrap();
            *guard += 1;
            assert!(mutex.try_lock().is_none());
            assert!(!condvar.notify_one().unwrap() && condvar.notify_all().unwrap() == 0);
            drop(guard);
        }
        // SAFETY: ends the only thread. (exit_group is forbidden, too.)
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    });
    assert_eq!(reap(child), 0);
}

/// Children count together, and hand a turn around, in memory that they share.
#[test]
fn processes_share() {
    bounded(|| {
        const CHILDREN: u32 = 3;
        const ROUNDS: u32 = 200;
        struct Shared {
            mutex: PiMutex<(u32, u32)>,
            condvar: PiCondvar,
        }
        let pages = map(size_of::<Shared>(), -1).cast::<Shared>();
        // SAFETY: new pages, large and aligned enough.
        unsafe {
            let mutex = PiMutex::with_scope(Scope::Shared, (0, 0));
            pages.write(Shared { mutex, condvar: PiCondvar::new() });
        }
        // SAFETY: just written; never unmapped.
        let shared: &'static Shared = unsafe { &*pages };
        furwock::lock::thread_id();
        let children: Vec<_> = (0..CHILDREN)
            .map(|number| {
                fork(move || {
                    for _ in 0..ROUNDS {
                        let guard = shared.mutex.lock().unwrap();
                        let not_mine = |state: &mut (u32, u32)| state.0 % CHILDREN != number;
                        let mut guard = shared.condvar.wait_while(guard, not_mine).unwrap();
                        guard.0 += 1;
                        drop(guard);
                        shared.condvar.notify_all().unwrap();
                        shared.mutex.lock().unwrap().1 += 1;
                    }
                })
            })
            .collect();
        children.into_iter().for_each(|child| assert_eq!(reap(child), 0));
        assert_eq!(*shared.mutex.lock().unwrap(), (CHILDREN * ROUNDS, CHILDREN * ROUNDS));
    });
}

/// A waiting process inherits from one that is killed with the lock held.
#[test]
fn a_killed_process_passes_the_lock_on() {
    bounded(|| {
        let pages = map(size_of::<RawPiMutex>(), -1).cast::<RawPiMutex>();
        // SAFETY: zeroed pages, never unmapped; zeroes are a mutex.
        let mutex: &'static RawPiMutex = unsafe { &*pages };
        furwock::lock::thread_id();
        let child = fork(move || {
            mutex.lock().unwrap();
            loop {
                // SAFETY: waits for the signal that kills.
                unsafe { libc::pause() };
            }
        });
        eventually("the child has it", || mutex.owner() == child as u32);
        let heir = asleep(|| {
            let acquired = mutex.lock();
            mutex.unlock().unwrap();
            acquired
        });
        kill(child);
        assert_ne!(reap(child), 0);
        assert_eq!(heir.join().unwrap(), Ok(Acquired::OwnerDied));
        assert_eq!(mutex.lock(), Ok(Acquired::Properly));
    });
}

/// A filter plays a kernel without the later operations: there are typed errors, and nothing is
/// left locked, waited for or lost.
#[test]
fn what_the_kernel_lacks_is_reported() {
    let lacks = |call, since| Some(PiError::Unsupported(pi::Unsupported { call, since }));
    let mutex = PiMutex::new(());
    drop(mutex.lock().unwrap());
    let child = fork(|| {
        let [monotonic, realtime] = deadlines(Duration::from_secs(60));
        refuse_futex_operations(libc::FUTEX_WAIT_REQUEUE_PI as u32);
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.try_lock_until(monotonic).err(), lacks("FUTEX_LOCK_PI2", "Linux 5.14"));
        assert_eq!(mutex.try_lock_until(realtime).err(), Some(PiError::Deadlock));
        let condvar = PiCondvar::new();
        assert_eq!(condvar.wait(guard).err(), lacks("FUTEX_WAIT_REQUEUE_PI", "Linux 2.6.31"));
        assert!(!mutex.is_locked());
        assert_eq!(condvar.notify_one(), Ok(false));
        refuse_futex_operations(0);
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock().err(), lacks("FUTEX_LOCK_PI", "Linux 2.6.18"));
        drop(guard);
    });
    assert_eq!(reap(child), 0);
    let text = pi::Unsupported { call: "FUTEX_LOCK_PI2", since: "Linux 5.14" }.to_string();
    assert_eq!(text, "this system has no FUTEX_LOCK_PI2, which came with Linux 5.14");
}

/// From now on futex(2) doesn't know the operations from `first` on.
fn refuse_futex_operations(first: u32) {
    let filter = [
        load(NUMBER),
        jump(libc::BPF_JEQ, libc::SYS_futex as u32, 0, 4),
        load(argument(1)),
        mask(0x7f),
        jump(libc::BPF_JGE, first, 0, 1),
        refuse(libc::ENOSYS),
        allow(),
    ];
    live_under(&filter).unwrap();
}
