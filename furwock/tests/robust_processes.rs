//! Robust locks between processes: fork, exec, and SIGKILL at random times.
//!
//! It has no libtest: a process that forks should have one thread. `FURWOCK_KILLS` sets how many
//! processes are killed, `FURWOCK_SEED` repeats a run's choices (not its timing).

mod common;
mod process;
mod processes;

use common::Random;
use common::watchdog::{Patience, Subject};
use furwock::lock::robust::{Held, RawRobustMutex, Refused};
use furwock::{
    Deadline, RobustError, RobustMutex, RobustMutexGuard, RobustRwLock, RobustRwLockWriteGuard,
};
use process::{BOUND, fork, kill, map, reap};
use processes::{CHILDREN, Shared, lock_glibcs, reading, with_mutex, writing};
use std::mem::forget;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn main() {
    if !cfg!(target_env = "gnu") {
        println!("skipped: only glibc registers a list of the layout that robust locks use");
        return;
    }
    // `cargo test -- NAME` runs this with the name of another test, too.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let tests: [(&str, fn()); 8] = [
        ("a_forked_child_holds_nothing", a_forked_child_holds_nothing),
        ("every_way_to_end_is_a_death", every_way_to_end_is_a_death),
        ("uncontended_locks_make_no_system_call", uncontended_locks_make_no_system_call),
        ("a_lost_lock_is_lost_in_all_processes", a_lost_lock_is_lost_in_all_processes),
        ("a_lock_serves_at_two_addresses", a_lock_serves_at_two_addresses),
        ("dropping_what_another_thread_holds_aborts", dropping_what_another_thread_holds_aborts),
        ("a_dead_reader_does_not_hide_a_live_one", a_dead_reader_does_not_hide_a_live_one),
        ("kills_at_random_times", kills_at_random_times),
    ];
    for (name, test) in tests {
        if filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())) {
            print!("test {name} ... ");
            test();
            println!("ok");
        }
    }
}

fn in_a_child(work: impl FnOnce()) {
    assert_eq!(reap(fork(work)), 0, "the child failed");
}

fn a_forked_child_holds_nothing() {
    let shared = Shared::new();
    let mutex = shared.mutex().lock().unwrap();
    let reader = shared.lock().read().unwrap();
    in_a_child(|| {
        // These are copies of the guards; the locks are the parent's.
        // SAFETY: each is read once, and the parent's originals are in another process.
        unsafe {
            drop(std::ptr::read(&mutex));
            drop(std::ptr::read(&reader));
        }
        assert!(matches!(shared.mutex().try_lock(), Err(RobustError::WouldBlock)));
        assert!(matches!(shared.lock().try_write(), Err(RobustError::WouldBlock)));
        drop(shared.lock().read().unwrap());
        // What it takes itself is its own.
        let own = Box::pin(RobustMutex::new(0));
        *own.as_ref().lock().unwrap() += 1;
    });
    in_a_child(|| assert!(matches!(shared.mutex().try_lock(), Err(RobustError::WouldBlock))));
    drop((mutex, reader));
    in_a_child(|| {
        drop(shared.mutex().try_lock().unwrap());
        drop(shared.lock().try_write().unwrap());
    });
    // A child's child, when parent and grandparent have used the lock.
    in_a_child(|| {
        drop(shared.mutex().lock().unwrap());
        in_a_child(|| forget(shared.mutex().lock().unwrap()));
        assert!(shared.mutex().lock().unwrap_err().into_guard().is_some());
    });
}

fn every_way_to_end_is_a_death() {
    let ends: [fn(); 4] = [
        || {},
        // SAFETY: ends the process.
        || unsafe { libc::abort() },
        || kill(std::process::id() as libc::pid_t),
        // SAFETY: two literals and a null that ends the list.
        || unsafe {
            libc::execl(c"/bin/true".as_ptr(), c"true".as_ptr(), std::ptr::null::<i8>());
        },
    ];
    for end in ends {
        let shared = Shared::new();
        let child = fork(|| {
            forget(shared.mutex().lock().unwrap());
            forget(shared.lock().write().unwrap());
            end();
        });
        reap(child);
        let mut guard = shared.mutex().try_lock().unwrap_err().into_guard().unwrap();
        assert!(RobustMutexGuard::make_consistent(&mut guard));
        let mut guard = shared.lock().try_read().unwrap_err().into_guard().unwrap();
        assert!(RobustRwLockWriteGuard::make_consistent(&mut guard));
        drop(guard);
        reap(fork(|| {
            forget(shared.lock().read().unwrap());
            end();
        }));
        drop(shared.lock().try_write().unwrap());
    }
}

/// In strict seccomp mode any system call but read, write and exit kills.
fn uncontended_locks_make_no_system_call() {
    let shared = Shared::new();
    let all = || {
        for _ in 0..100 {
            drop(shared.mutex().lock().unwrap());
            drop(shared.mutex().try_lock().unwrap());
            drop(shared.lock().read().unwrap());
            drop(shared.lock().write().unwrap());
            drop((shared.lock().read().unwrap(), shared.lock().try_read().unwrap()));
        }
    };
    let child = fork(|| {
        all();
        // SAFETY: no memory is involved; ends the only thread.
        unsafe {
            if libc::prctl(libc::PR_SET_SECCOMP, 1) == 0 {
                all();
            }
            libc::syscall(libc::SYS_exit, 0);
        }
    });
    assert_eq!(reap(child), 0, "killed for a system call");
}

fn a_lost_lock_is_lost_in_all_processes() {
    let shared = Shared::new();
    in_a_child(|| forget(shared.lock().write().unwrap()));
    let guard = shared.lock().write().unwrap_err().into_guard().unwrap();
    let lost = |error: &RobustError<_>| matches!(error, RobustError::NotRecoverable);
    let sleepers: Vec<_> = (0..4)
        .map(|number| {
            fork(move || match number % 2 {
                0 => assert!(lost(&shared.lock().read().unwrap_err())),
                _ => assert!(lost(&shared.lock().write().unwrap_err())),
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(30));
    drop(guard);
    sleepers.into_iter().for_each(|child| assert_eq!(reap(child), 0));
    assert!(shared.lock().is_not_recoverable());
}

/// The same pages twice in one process, and elsewhere in another.
fn a_lock_serves_at_two_addresses() {
    // SAFETY: the name is a literal; the kernel sizes the file.
    let file = unsafe { libc::memfd_create(c"furwock-test".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0);
    // SAFETY: a descriptor of our own.
    assert_eq!(unsafe { libc::ftruncate(file, 4096) }, 0);
    let at = || {
        // SAFETY: mapped for good, zeroed: a free mutex.
        unsafe { &*map(4096, file).cast::<RawRobustMutex>() }
    };
    let (one, other) = (at(), at());
    // SAFETY: never unmapped.
    unsafe {
        assert_eq!(one.lock(), Ok(Held::Acquired));
        assert_eq!(other.try_lock(), Err(Refused::WouldBlock));
        let child = fork(|| {
            let elsewhere = at();
            let deadline = Deadline::after(BOUND);
            assert_eq!(elsewhere.lock_until(&deadline), Ok(Held::Acquired));
        });
        std::thread::sleep(Duration::from_millis(20));
        one.unlock();
        assert_eq!(reap(child), 0);
        assert_eq!(other.try_lock(), Ok(Held::OwnerDied));
        assert!(one.make_consistent());
        other.unlock();
        assert_eq!(one.try_lock(), Ok(Held::Acquired));
        one.unlock();
        libc::close(file);
    }
}

/// One step of a child: takes a lock in some way, and uses what it protects.
fn step(shared: &Shared, random: &mut Random) {
    let short = Duration::from_micros(random.next() % 300);
    match random.next() % 10 {
        0 | 1 => with_mutex(shared, random, shared.mutex().lock()),
        2 => with_mutex(shared, random, shared.mutex().try_lock()),
        3 => with_mutex(shared, random, shared.mutex().try_lock_for(short)),
        4 => writing(shared, random, shared.lock().write()),
        5 => match random.next() % 2 {
            0 => writing(shared, random, shared.lock().try_write()),
            _ => writing(shared, random, shared.lock().try_write_for(short)),
        },
        6 | 7 => reading(shared, random, shared.lock().read()),
        8 => match random.next() % 2 {
            0 => reading(shared, random, shared.lock().try_read()),
            _ => reading(shared, random, shared.lock().try_read_for(short)),
        },
        // Several at once, with one of glibc's among them.
        _ => {
            let theirs = lock_glibcs(shared);
            with_mutex(shared, random, shared.mutex().lock());
            if theirs && random.next() % 2 == 0 {
                reading(shared, random, shared.lock().read());
            }
            if theirs {
                // SAFETY: this thread holds it.
                assert_eq!(unsafe { libc::pthread_mutex_unlock(shared.pthread()) }, 0);
            }
        }
    }
}

/// The children of a storm, with the last progress of each.
struct Children<'a> {
    shared: &'a Shared,
    ids: [libc::pid_t; CHILDREN],
    seen: [(u64, Patience); CHILDREN],
}

impl Children<'_> {
    fn start(&mut self, place: usize, seed: u64) {
        let shared = self.shared;
        self.ids[place] = fork(|| {
            let mut random = Random(seed | 1);
            loop {
                step(shared, &mut random);
                shared.progress[place].fetch_add(1, Ordering::Relaxed);
            }
        });
        self.seen[place] = (u64::MAX, Patience::new(BOUND));
    }

    /// Kills the children with a bit in `which`, and then waits for them.
    fn kill(&self, which: u64) {
        let chosen = || (0..CHILDREN).filter(|place| which >> place & 1 == 1);
        chosen().for_each(|place| kill(self.ids[place]));
        for place in chosen() {
            let status = reap(self.ids[place]);
            assert!(libc::WIFSIGNALED(status), "child {place} ended by itself: {status}");
        }
    }

    /// Fails if a child has stood still for too long.
    fn watch(&mut self) {
        for place in 0..CHILDREN {
            let now = self.shared.progress[place].load(Ordering::Relaxed);
            if now != self.seen[place].0 {
                self.seen[place] = (now, Patience::new(BOUND));
            } else if let Some(report) = self.seen[place].1.judge(&Subject::Own) {
                let shared = self.shared;
                println!("child {place} stands still: {:?} {:?}", shared.mutex(), shared.lock());
                self.kill((1 << CHILDREN) - 1);
                panic!("a wait without end\n{report}");
            }
        }
    }
}

fn dropping_what_another_thread_holds_aborts() {
    for can_say_so in [true, false] {
        let child = fork(|| {
            let mutex = std::sync::Arc::pin(RobustMutex::new(0));
            let other = mutex.clone();
            stays_alive_after(move || forget(other.as_ref().lock().unwrap()));
            if !can_say_so {
                let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
                drop(reader);
                // SAFETY: two descriptors of this process.
                unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) };
            }
            drop(mutex);
        });
        assert_aborted(reap(child));
    }
    // A lock that the parent's thread holds is no reason to abort: the child has a copy.
    let mutex = Box::pin(RobustMutex::new(0));
    let guard = mutex.as_ref().lock().unwrap();
    // SAFETY: the parent's original is in another process.
    in_a_child(|| unsafe { drop(std::ptr::read(&mutex)) });
    drop(guard);
}

/// Does `work` in a thread that stays alive, and drops what it has captured.
fn stays_alive_after(work: impl FnOnce() + Send + 'static) {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        work();
        tell.send(()).unwrap();
        std::thread::sleep(BOUND);
    });
    told.recv().unwrap();
}

fn assert_aborted(status: i32) {
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT, "{status}");
}

/// The kernel gave up before it came to a dead reader's slot. That slot, whatever its id, says
/// nothing about the other readers.
fn a_dead_reader_does_not_hide_a_live_one() {
    for live_first in [true, false] {
        let child = fork(|| {
            let lock = std::sync::Arc::pin(RobustRwLock::<u32>::new(0));
            let live = || {
                let other = lock.clone();
                stays_alive_after(move || forget(other.as_ref().read().unwrap()));
            };
            let dead = || {
                let other = lock.clone();
                let work = move || {
                    forget(other.as_ref().read().unwrap());
                    drop(other);
                    hold_more_than_the_kernel_looks_at();
                };
                std::thread::spawn(work).join().unwrap();
            };
            if live_first {
                live();
                dead();
            } else {
                dead();
                live();
            }
            drop(lock);
        });
        assert_aborted(reap(child));
    }
}

fn hold_more_than_the_kernel_looks_at() {
    for _ in 0..2100 {
        forget(Box::leak(Box::new(Box::pin(RobustMutex::new(())))).as_ref().lock().unwrap());
    }
}

fn kills_at_random_times() {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let kills: u64 = number("FURWOCK_KILLS").unwrap_or(2000);
    let seed = number("FURWOCK_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    println!("seed {seed}");
    let mut random = Random(seed | 1);
    let shared = Shared::new();
    let mut children = Children {
        shared,
        ids: [0; CHILDREN],
        seen: [(); CHILDREN].map(|()| (0, Patience::new(BOUND))),
    };
    (0..CHILDREN).for_each(|place| children.start(place, random.next()));
    let mut killed = 0;
    while killed < kills {
        std::thread::sleep(Duration::from_micros(random.next() % 2000));
        // It kills mostly one, sometimes several, now and then all but one.
        let which = match random.next() % 8 {
            0 => random.next() % (1 << CHILDREN),
            1 => !(1 << (random.next() % CHILDREN as u64)) & ((1 << CHILDREN) - 1),
            _ => 1 << (random.next() % CHILDREN as u64),
        };
        children.kill(which);
        for place in (0..CHILDREN).filter(|place| which >> place & 1 == 1) {
            killed += 1;
            children.start(place, random.next());
        }
        children.watch();
        assert_eq!(shared.violations.load(Ordering::SeqCst), 0, "seed {seed}");
    }
    // All children that are left still make progress.
    let reached: Vec<_> =
        shared.progress.iter().map(|count| count.load(Ordering::Relaxed) + 10).collect();
    while (0..CHILDREN).any(|at| shared.progress[at].load(Ordering::Relaxed) < reached[at]) {
        children.watch();
        std::thread::sleep(Duration::from_millis(1));
    }
    children.kill((1 << CHILDREN) - 1);

    // All are dead: nothing may stay locked.
    with_mutex(shared, &mut random, shared.mutex().try_lock());
    reading(shared, &mut random, shared.lock().try_read());
    writing(shared, &mut random, shared.lock().try_write());
    assert!(shared.mutex().try_lock().unwrap().is_whole());
    assert!(shared.lock().try_write().unwrap().is_whole());
    assert!(lock_glibcs(shared), "glibc's mutex stayed locked");
    assert_eq!(shared.violations.load(Ordering::SeqCst), 0, "seed {seed}");
    let told = shared.told.each_ref().map(|count| count.load(Ordering::Relaxed));
    let done = shared.done.each_ref().map(|count| count.load(Ordering::Relaxed));
    println!("{killed} killed; deaths told by mutex, to readers, to writers, by glibc: {told:?}");
    println!("reads, writes, mutex holds: {done:?}");
    assert!(told.iter().all(|&count| count > 0) || kills < 1000, "the kills hit nothing");
}
