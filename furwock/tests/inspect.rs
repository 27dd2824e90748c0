//! `furwock::inspect`: what a look finds, names, statistics, and the hook for long waits.

use furwock::inspect::{self, Inspect, Kind, Named, Status, WithName};
use furwock::lock::thread_id;
use furwock::{Barrier, Condvar, Mutex, PiMutex, RobustMutex, RobustRwLock, RwLock, Semaphore};
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(1);

/// Waits for `condition`, as long as a loaded machine may take.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(SHORT);
    }
}

/// Looks at `object` while one thread waits for it in `wait`, and ends that by `end`.
fn while_waited_for<O: Inspect + Sync + ?Sized, H>(
    object: &O,
    wait: impl FnOnce() + Send,
    held: H,
) -> (Status, u32) {
    thread::scope(|scope| {
        let (send, tid) = mpsc::channel();
        scope.spawn(move || {
            send.send(thread_id()).unwrap();
            wait();
        });
        let tid = tid.recv().unwrap();
        eventually("it waits", || object.inspect().waiters == [tid]);
        let status = object.inspect();
        let wait = inspect::wait_of(tid).expect("it waits still");
        assert_eq!((wait.thread, wait.kind), (tid, status.kind));
        assert_eq!((wait.address, wait.holders), (object.address(), status.holders));
        assert!(inspect::waits().contains(&wait));
        drop(held);
        (status, tid)
    })
}

#[test]
fn a_mutex_shows_its_owner_and_its_waiters_in_order() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    let (status, _) = while_waited_for(&mutex, || drop(mutex.lock()), held);
    assert_eq!((status.kind, status.holders.threads()), (Kind::Mutex, &[thread_id()][..]));
    assert_eq!((status.name, status.statistics), (None, None));
    assert!(mutex.inspect().waiters.is_empty() && mutex.inspect().holders.is_empty());

    let held = mutex.lock();
    thread::scope(|scope| {
        let mut order = Vec::new();
        for _ in 0..20 {
            let (send, tid) = mpsc::channel();
            let mutex = &mutex;
            scope.spawn(move || {
                send.send(thread_id()).unwrap();
                drop(mutex.lock());
            });
            order.push(tid.recv().unwrap());
            eventually("they wait", || mutex.inspect().waiters == order);
        }
        drop(held);
    });
}

#[test]
fn a_rwlock_shows_its_writer() {
    let lock = RwLock::new(());
    let held = lock.write();
    let (status, _) = while_waited_for(&lock, || drop(lock.read()), held);
    assert_eq!((status.kind, status.holders.threads()), (Kind::RwLock, &[thread_id()][..]));
    assert_eq!(status.holders.unnamed(), 0);
}

#[test]
fn a_rwlock_counts_readers() {
    let lock = RwLock::new(());
    let held = (lock.read(), lock.read());
    let (status, _) = while_waited_for(&lock, || drop(lock.write()), held);
    assert_eq!((status.holders.threads(), status.holders.unnamed()), (&[][..], 2));
}

/// Readers of a lock that is mostly read use slots, which name them.
#[test]
fn a_rwlock_names_readers_that_use_slots() {
    let lock = RwLock::new(());
    (0..1000).for_each(|_| drop(lock.read()));
    let held = lock.read();
    let holders = lock.inspect().holders;
    assert_eq!((holders.threads(), holders.unnamed()), (&[thread_id()][..], 0));
    thread::scope(|scope| {
        let writer = scope.spawn(|| drop(lock.write()));
        // The first writer waits for the reader's slot, again and again for a short time.
        let is_seen = || {
            inspect::waits().iter().any(|wait| {
                wait.address == lock.address() && wait.holders.threads() == [thread_id()]
            })
        };
        eventually("the writer waits", is_seen);
        drop(held);
        writer.join().unwrap();
    });
    assert!(lock.inspect().holders.is_empty());
}

#[test]
fn condvars_waiters_wait_for_the_mutex_once_they_are_moved() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        // (One alone is woken.)
        for _ in 0..2 {
            scope.spawn(|| condvar.wait_while(&mut mutex.lock(), |ready| !*ready));
        }
        eventually("they wait", || condvar.inspect().waiters.len() == 2);
        let waiters = condvar.inspect().waiters;
        assert!(condvar.inspect().holders.is_empty());
        for &waiter in &waiters {
            let wait = inspect::wait_of(waiter).unwrap();
            assert_eq!((wait.kind, wait.mutex), (Kind::Condvar, Some(mutex.address())));
        }

        let mut ready = mutex.lock();
        *ready = true;
        assert_eq!(condvar.notify_all(), 2);
        assert_eq!(mutex.inspect().waiters, waiters);
        for waiter in waiters {
            let wait = inspect::wait_of(waiter).unwrap();
            assert_eq!((wait.kind, wait.mutex), (Kind::Mutex, None));
            assert_eq!(wait.holders.threads(), [thread_id()]);
        }
    });
}

#[test]
fn semaphores_and_barriers_show_their_waiters() {
    let semaphore = Semaphore::new(0);
    struct Release<'s>(&'s Semaphore);
    impl Drop for Release<'_> {
        fn drop(&mut self) {
            self.0.release().unwrap();
        }
    }
    let (status, _) = while_waited_for(&semaphore, || semaphore.acquire(), Release(&semaphore));
    assert_eq!(status.kind, Kind::Semaphore);
    assert!(status.holders.is_empty());

    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| barrier.wait());
        eventually("it waits", || barrier.inspect().waiters.len() == 1);
        barrier.wait();
    });
    assert!(barrier.inspect().waiters.is_empty());
}

#[test]
#[cfg_attr(target_env = "musl", ignore = "musl has no robust list that furwock could share")]
fn locks_in_the_kernel_show_their_owner() {
    let (pi, robust) = (PiMutex::new(()), pin!(RobustMutex::new(())));
    let rwlock = pin!(RobustRwLock::<_, 64>::new(()));
    let robust = robust.as_ref();
    let rwlock = rwlock.as_ref();
    let check = |status: Status, kind, holders: &[u32], others| {
        assert_eq!((status.kind, status.holders.threads()), (kind, holders));
        assert_eq!((status.waiters, status.may_have_others), (vec![], others));
    };
    check(pi.inspect(), Kind::PiMutex, &[], false);
    check(robust.inspect(), Kind::RobustMutex, &[], false);
    check(rwlock.inspect(), Kind::RobustRwLock, &[], false);
    let me = [thread_id()];
    let held = (pi.lock().unwrap(), robust.lock().unwrap(), rwlock.read().unwrap());
    check(pi.inspect(), Kind::PiMutex, &me, false);
    check(robust.inspect(), Kind::RobustMutex, &me, false);
    check(rwlock.inspect(), Kind::RobustRwLock, &me, false);
    thread::scope(|scope| {
        scope.spawn(|| drop(pi.lock().unwrap()));
        scope.spawn(|| drop(robust.lock().unwrap()));
        eventually("they wait", || pi.inspect().may_have_others);
        eventually("they wait", || robust.inspect().may_have_others);
        drop(held);
    });
    check(robust.inspect(), Kind::RobustMutex, &[], false);
    let written = rwlock.write().unwrap();
    check(rwlock.inspect(), Kind::RobustRwLock, &me, false);
    drop(written);
}

#[test]
fn two_threads_that_wait_for_each_other_are_a_circle() {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    let (started, has_started) = mpsc::channel();
    thread::scope(|scope| {
        let threads = [(&first, &second), (&second, &first)].map(|(one, other)| {
            let started = started.clone();
            let (go, may_go) = mpsc::channel();
            scope.spawn(move || {
                let _held = one.lock();
                started.send(thread_id()).unwrap();
                may_go.recv().unwrap();
                // Not for ever: the test has to end.
                while other.try_lock_for(Duration::from_millis(300)).is_none() {
                    if may_go.try_recv().is_ok() {
                        return;
                    }
                }
            });
            (has_started.recv().unwrap(), go)
        });
        threads.iter().for_each(|(_, go)| go.send(()).unwrap());
        let [(one, _), (other, _)] = threads;
        eventually("the chain has both, and leads back", || {
            let chain: Vec<_> = inspect::chain(one).collect();
            let threads: Vec<_> = chain.iter().map(|wait| wait.thread).collect();
            threads == [one, other] && chain[1].holders.threads() == [one]
        });
        threads.iter().for_each(|(_, go)| go.send(()).unwrap());
    });
}

#[test]
fn a_name_costs_an_unnamed_lock_nothing() {
    assert_eq!(size_of::<Mutex<u32>>(), 8);
    assert_eq!(size_of::<RwLock<u64>>(), 16);
    assert_eq!(size_of::<Condvar>(), 4);
}

#[test]
fn names_go_with_their_objects() {
    let address = {
        let named = Mutex::named("goes", 1);
        assert_eq!(named.name().unwrap().as_str(), "goes");
        assert_eq!(
            format!("{named:?}"),
            "Named { name: Some(\"goes\"), object: Mutex { data: 1 } }"
        );
        named.address()
    };
    // Whatever lies there now has no name.
    // SAFETY: not looked at; addresses of boxes are aligned.
    let raw = unsafe { &*std::ptr::with_exposed_provenance::<furwock::lock::RawMutex>(address) };
    assert_eq!(raw.address(), address);
    assert!(!inspect::waits().iter().any(|wait| wait.name.is_some_and(|name| &*name == "goes")));

    let kept = Named::new("kept", RwLock::new(3));
    let inner = kept.into_inner();
    assert!(inner.inspect().name.is_none());
    assert_eq!(inner.into_inner(), 3);
}

#[test]
fn waits_for_named_locks_are_counted() {
    let cache = Mutex::named("counted", 0);
    let none = cache.inspect().statistics.unwrap();
    assert_eq!((none.waits, none.waited, none.longest), (0, Duration::ZERO, Duration::ZERO));
    drop(cache.lock());
    assert_eq!(cache.inspect().statistics.unwrap().waits, 0, "it was free");
    for waits in 1..=3 {
        let held = cache.lock();
        thread::scope(|scope| {
            scope.spawn(|| drop(cache.lock()));
            eventually("it waits", || cache.inspect().waiters.len() == 1);
            thread::sleep(Duration::from_millis(20));
            drop(held);
        });
        let counted = cache.inspect().statistics.unwrap();
        assert!(counted.waits >= waits, "{counted:?}");
        assert!(counted.longest >= Duration::from_millis(20), "{counted:?}");
        assert!(counted.waited >= counted.longest, "{counted:?}");
    }
}

/// One test, since a process has one hook.
#[test]
fn the_hook_is_called_once_for_each_long_wait() {
    let (report, reported) = mpsc::channel();
    let limit = Duration::from_millis(60);
    let first = Mutex::named("hook first", ());
    let second = Mutex::named("hook second", ());
    inspect::on_long_wait(limit, move |long| {
        let names: Vec<_> =
            long.chain().filter_map(|wait| wait.name.map(|name| name.to_string())).collect();
        if names.iter().any(|name| name.starts_with("hook")) {
            report.send((long.wait, long.waited, names)).unwrap();
        }
    })
    .unwrap();

    // A chain: the caller holds `first`; one thread holds `second` and waits for `first`.
    let held = first.lock();
    thread::scope(|scope| {
        let (first, second) = (&first, &second);
        scope.spawn(move || {
            let _held = second.lock();
            drop(first.lock());
        });
        eventually("one waits", || first.inspect().waiters.len() == 1);
        scope.spawn(move || drop(second.lock()));
        let mut lines: Vec<_> = (0..2).map(|_| reported.recv().unwrap()).collect();
        lines.sort_by_key(|(.., names)| names.len());
        assert_eq!(lines[0].2, ["hook first"]);
        assert_eq!(lines[0].0.holders.threads(), [thread_id()]);
        assert_eq!(lines[1].2, ["hook second", "hook first"]);
        assert!(lines.iter().all(|(_, waited, _)| *waited >= limit && *waited < 100 * limit));
        thread::sleep(5 * limit);
        assert!(reported.try_recv().is_err(), "once for each wait");
        drop(held);
    });

    // A timed wait that is shorter than the limit, and one that is longer.
    let held = first.lock();
    thread::scope(|scope| {
        let first = &first;
        let timed = |time| scope.spawn(move || first.try_lock_for(time).is_none()).join().unwrap();
        assert!(timed(limit / 2));
        assert!(reported.try_recv().is_err());
        let start = Instant::now();
        assert!(timed(3 * limit));
        assert!(start.elapsed() >= 3 * limit, "the deadline stays what it was");
        assert!(reported.try_recv().is_ok());
    });
    drop(held);

    // A rwlock's writer, which wakes by itself now and then, and one that waits for slots.
    let lock = RwLock::named("hook rwlock", ());
    (0..1000).for_each(|_| drop(lock.read()));
    let held = lock.read();
    thread::scope(|scope| {
        let writer = scope.spawn(|| drop(lock.write()));
        let (wait, ..) = reported.recv().unwrap();
        assert_eq!((wait.kind, wait.address), (Kind::RwLock, lock.address()));
        assert_eq!(wait.holders.threads(), [thread_id()]);
        // A second one queues.
        scope.spawn(|| drop(lock.write()));
        assert_eq!(reported.recv().unwrap().0.address, lock.address());
        drop(held);
        writer.join().unwrap();
    });

    // A condvar's waiter is reported as such, and again once it has been moved and waits on.
    let (mutex, condvar) = (Mutex::named("hook moved", false), Condvar::named("hook condvar"));
    thread::scope(|scope| {
        scope.spawn(|| condvar.wait_while(&mut mutex.lock(), |ready| !*ready));
        assert_eq!(reported.recv().unwrap().2, ["hook condvar"]);
        let mut ready = mutex.lock();
        *ready = true;
        condvar.notify_all();
        let start = Instant::now();
        let (wait, _, names) = reported.recv().unwrap();
        assert_eq!((wait.kind, &*names[0]), (Kind::Mutex, "hook moved"));
        assert!(start.elapsed() >= limit, "it has waited for the mutex that long");
    });

    inspect::no_long_waits();
    let held = first.lock();
    assert!(first.try_lock_for(2 * limit).is_none());
    drop(held);
    assert!(reported.try_recv().is_err());
    assert!(inspect::on_long_wait(Duration::ZERO, |_| ()).is_err());
}

const PANICS: &str = "INSPECT_TEST_PANICS";

#[test]
fn a_hook_that_panics_ends_the_process() {
    if std::env::var_os(PANICS).is_some() {
        inspect::on_long_wait(SHORT, |_| panic!("the program hangs")).unwrap();
        let mutex = Mutex::new(());
        let _held = mutex.lock();
        mutex.try_lock_for(Duration::from_secs(60));
        std::process::exit(0);
    }
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "a_hook_that_panics_ends_the_process", "--nocapture"]);
    let run = test.env(PANICS, "1").output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && run.status.code().is_none(), "{:?}: {said}", run.status);
    assert!(said.contains("the program hangs"), "{said}");
}

/// A look takes no lock that a waiter or waker could miss it by.
#[test]
fn looks_disturb_no_waits() {
    const LOOKS: usize = 1_000;
    const LEAST_ROUNDS: usize = 20_000;
    let (mutex, lock, over) = (Mutex::named("busy", 0), RwLock::new(0), AtomicBool::new(false));
    let rounds = thread::scope(|scope| {
        let workers = [(); 4].map(|()| {
            scope.spawn(|| {
                let mut rounds = 0;
                while rounds < LEAST_ROUNDS || !over.load(Ordering::Relaxed) {
                    *mutex.lock() += 1;
                    *lock.write() += 1;
                    rounds += 1;
                }
                rounds
            })
        });
        for _ in 0..LOOKS {
            for wait in inspect::waits() {
                inspect::chain(wait.thread).for_each(drop);
            }
            _ = (mutex.inspect(), lock.inspect());
        }
        over.store(true, Ordering::Relaxed);
        workers.map(|worker| worker.join().unwrap()).iter().sum::<usize>()
    });
    assert_eq!((*mutex.lock(), *lock.read()), (rounds, rounds));
}
