//! The rwlock among hostile callers: what once broke it, or would.

mod common;

use common::rwlocks::{POLICIES, READS_THAT_BIAS, assert_free, bias, in_ms, kept_lock, nap, pass};
use common::{asleep, bounded, elsewhere, eventually, is_asleep, join_all, kept};
use furwock::RwLock;
use furwock::lock::{How, Options, Policy, RawMutex, RawRwLock, thread_id};
use furwock::unstable::rwlock::is_full;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The policies under which no reader may wait for ever for a writer that only waits.
const POLICIES_FOR_RECURSION: [Policy; 3] =
    [Policy::Recursive, Policy::PreferReaders, Policy::PreferWritersRecursive];

fn sleeping_writer(lock: &'static RawRwLock, options: Options) -> JoinHandle<()> {
    asleep(move || {
        lock.lock_exclusive_with(&options);
        lock.unlock_exclusive();
    })
}

fn sleeping_reader(lock: &'static RawRwLock) -> JoinHandle<()> {
    asleep(|| pass(lock, false))
}

/// A writer hands over to an upgradable reader, which then waits for a reader that waits behind a
/// writer.
#[test]
fn a_reader_behind_a_writer_gets_in_beside_an_upgradable_reader() {
    bounded(|| {
        for policy in POLICIES_FOR_RECURSION {
            let (lock, reader_was_in) = (kept_lock(policy), kept(AtomicBool::new(false)));
            lock.lock_exclusive();
            let upgradable = asleep(|| {
                lock.lock_upgradable();
                eventually("the reader is in", || reader_was_in.load(Ordering::SeqCst));
                lock.unlock_upgradable();
            });
            let writer = sleeping_writer(lock, Options::new());
            let reader = sleeping_reader(lock);
            lock.ask_for_hand_off();
            lock.unlock_exclusive();
            eventually("the reader gets in", || reader.is_finished());
            reader_was_in.store(true, Ordering::SeqCst);
            join_all([upgradable, writer, reader]);
            assert_free(lock, "after all");
        }
    });
}

/// Whether a thread is held in its signal handler, and whether it may go on.
static IS_HELD: AtomicBool = AtomicBool::new(false);
static MAY_GO: AtomicBool = AtomicBool::new(false);

/// A thread that waits for the lock as a reader, and is held in a signal handler meanwhile.
fn held_reader(lock: &'static RawRwLock, was_in: &'static AtomicBool) -> JoinHandle<()> {
    extern "C" fn hold(_: libc::c_int) {
        IS_HELD.store(true, Ordering::SeqCst);
        while !MAY_GO.load(Ordering::SeqCst) {
            nap(1);
        }
    }
    // SAFETY: all zeroes but for the handler are an action; the handler only sleeps.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = hold as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    IS_HELD.store(false, Ordering::SeqCst);
    MAY_GO.store(false, Ordering::SeqCst);
    let reader = asleep(|| {
        lock.lock_shared_with(&Options::new().hand_off_after(Duration::from_secs(60)));
        was_in.store(true, Ordering::SeqCst);
        lock.unlock_shared();
    });
    // SAFETY: the thread hasn't been joined.
    assert_eq!(unsafe { libc::pthread_kill(reader.as_pthread_t(), libc::SIGUSR1) }, 0);
    eventually("the reader is held", || IS_HELD.load(Ordering::SeqCst));
    reader
}

/// A thread that is inside waits for a reader that slept behind the same writer, or behind itself
/// as the writer, and that doesn't run at once. Another writer asks for the lock meanwhile.
#[test]
fn a_reader_that_slept_behind_a_writer_meets_those_that_did_or_were_it() {
    bounded(|| {
        for policy in [Policy::PhaseFair, Policy::Recursive, Policy::PreferReaders] {
            for downgrades in [false, true] {
                let (lock, was_in) = (kept_lock(policy), kept(AtomicBool::new(false)));
                lock.lock_exclusive();
                let reader = held_reader(lock, was_in);
                let other = (!downgrades).then(|| {
                    asleep(|| {
                        lock.lock_shared();
                        eventually("the reader comes in", || was_in.load(Ordering::SeqCst));
                        lock.unlock_shared();
                    })
                });
                let writer = sleeping_writer(lock, Options::new());
                if downgrades {
                    lock.downgrade();
                } else {
                    lock.unlock_exclusive();
                }
                // The writer asks for the hand-off meanwhile, more than once.
                nap(30);
                MAY_GO.store(true, Ordering::SeqCst);
                if downgrades {
                    eventually("the reader comes in", || was_in.load(Ordering::SeqCst));
                    lock.unlock_shared();
                }
                join_all([reader, writer].into_iter().chain(other));
                assert_free(lock, "after all");
            }
        }
    });
}

/// The writer that waits has even been promised the lock.
#[test]
fn a_reader_behind_a_writer_gets_in_beside_a_downgraded_writer() {
    bounded(|| {
        for policy in POLICIES_FOR_RECURSION {
            for to_upgradable in [false, true] {
                let lock = kept_lock(policy);
                lock.lock_exclusive();
                let writer = sleeping_writer(lock, Options::new().hand_off_after(Duration::ZERO));
                // It asks for the lock meanwhile.
                nap(20);
                let reader = sleeping_reader(lock);
                if to_upgradable {
                    lock.downgrade_to_upgradable();
                } else {
                    lock.downgrade();
                }
                eventually("the reader gets in", || reader.is_finished());
                assert!(!writer.is_finished());
                if to_upgradable {
                    lock.unlock_upgradable();
                } else {
                    lock.unlock_shared();
                }
                writer.join().unwrap();
                reader.join().unwrap();
                assert_free(lock, "after all");
            }
        }
    });
}

/// The writer that waits has been woken, and another thread has stolen the lock.
#[test]
fn a_reader_behind_a_woken_writer_gets_in_beside_a_downgraded_writer() {
    bounded(|| {
        for round in 0..30 {
            let lock = kept_lock(POLICIES_FOR_RECURSION[round % 3]);
            lock.lock_exclusive();
            // It never asks for the lock.
            let options = Options::new().hand_off_after(Duration::from_secs(3600));
            let writer = sleeping_writer(lock, options);
            lock.unlock_exclusive();
            let stolen = lock.try_lock_exclusive();
            if stolen {
                let reader = sleeping_reader(lock);
                lock.downgrade_to_upgradable();
                eventually("the reader gets in", || reader.is_finished());
                reader.join().unwrap();
                lock.unlock_upgradable();
            }
            writer.join().unwrap();
            assert_free(lock, "after all");
        }
    });
}

/// Whether a writer gets a lock that `others` read in turns, without ever leaving it empty.
fn writer_gets_in(
    lock: &'static RawRwLock,
    threads: u64,
    others: impl Fn(u64) + Copy + Send + 'static,
) -> bool {
    let stop = kept(AtomicBool::new(false));
    let work = move |number| {
        while !stop.load(Ordering::Relaxed) {
            others(number);
        }
    };
    let workers: Vec<_> = (0..threads).map(|number| thread::spawn(move || work(number))).collect();
    nap(60);
    let gets_in = elsewhere(|| {
        (0..3).all(|_| {
            let wrote = lock.lock_exclusive_with(&in_ms(5000)).is_some();
            if wrote {
                lock.unlock_exclusive();
            }
            wrote
        })
    });
    stop.store(true, Ordering::Relaxed);
    join_all(workers);
    gets_in
}

#[test]
fn a_writer_gets_in_though_upgradable_readers_keep_stepping_down() {
    bounded(|| {
        for policy in [Policy::PhaseFair, Policy::PreferWriters] {
            let lock = kept_lock(policy);
            let others = |_| {
                lock.lock_upgradable();
                lock.downgrade_upgradable();
                nap(5);
                lock.unlock_shared();
            };
            assert!(writer_gets_in(lock, 3, others), "{policy:?}: a writer starves");
            assert_free(lock, "after all");
        }
    });
}

/// A thread that has just slept has a whole turn before it. Readers that come from another lock's
/// queue each time have one each time.
#[test]
fn a_writer_gets_in_though_every_reader_has_just_slept() {
    bounded(|| {
        for policy in [Policy::PhaseFair, Policy::PreferWriters] {
            let (lock, stop) = (kept_lock(policy), kept(AtomicBool::new(false)));
            let gates = kept([(); 10].map(|()| RawMutex::new()));
            let keep = |gate: &RawMutex| {
                while !stop.load(Ordering::Relaxed) {
                    gate.lock();
                    nap(2);
                    gate.unlock_fair();
                }
            };
            let keepers = gates.each_ref().map(|gate| thread::spawn(move || keep(gate)));
            let others = |number: u64| {
                gates[number as usize].lock();
                gates[number as usize].unlock_fair();
                lock.lock_shared();
                nap(7 + number);
                lock.unlock_shared();
            };
            let gets_in = writer_gets_in(lock, 10, others);
            stop.store(true, Ordering::Relaxed);
            join_all(keepers);
            assert!(gets_in, "{policy:?}: a writer starves");
            assert_free(lock, "after all");
        }
    });
}

static LEFT_LATE: RawRwLock = RawRwLock::new();
static LATE_KEY: AtomicU32 = AtomicU32::new(0);

/// Unlocks in the third round of a thread's destructors, when all others have run.
unsafe extern "C" fn leave_late(round: *mut libc::c_void) {
    if round.addr() == 3 {
        LEFT_LATE.unlock_shared();
        return;
    }
    let next = std::ptr::without_provenance::<libc::c_void>(round.addr() + 1);
    // SAFETY: the key is this destructor's; the pointer is never followed.
    unsafe { libc::pthread_setspecific(LATE_KEY.load(Ordering::Relaxed), next) };
}

/// A thread's destructor may release a read lock after all others have run.
#[test]
fn a_thread_may_unlock_while_it_ends() {
    bounded(|| {
        let mut key = 0;
        // SAFETY: writes one key; the destructor may run in any thread.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(leave_late)) }, 0);
        LATE_KEY.store(key, Ordering::Relaxed);
        for biased in [false, true] {
            if biased {
                bias(&LEFT_LATE);
            }
            thread::spawn(move || {
                let first = std::ptr::without_provenance::<libc::c_void>(1);
                // SAFETY: the key was made above; the pointer is never followed.
                assert_eq!(unsafe { libc::pthread_setspecific(key, first) }, 0);
                if biased {
                    // A thread's first read goes by the word; the one below doesn't.
                    bias(&LEFT_LATE);
                }
                LEFT_LATE.lock_shared();
            })
            .join()
            .unwrap();
            assert_free(&LEFT_LATE, "after the thread");
        }
    });
}

#[cfg(target_arch = "x86_64")]
mod between_instructions {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Every instruction; without optimization there are too many.
    const STRIDE: u64 = if cfg!(debug_assertions) { 9 } else { 1 };

    static LOCK: RawRwLock = RawRwLock::new();
    /// The instructions before which the thread has been stopped.
    static STEPS: AtomicU64 = AtomicU64::new(0);
    /// The one at which the handler uses the lock.
    static AT: AtomicU64 = AtomicU64::new(0);
    static ENTERED: AtomicU64 = AtomicU64::new(0);

    extern "C" fn trapped(_: libc::c_int) {
        if STEPS.fetch_add(1, Ordering::Relaxed) == AT.load(Ordering::Relaxed)
            && LOCK.try_lock_shared()
        {
            ENTERED.fetch_add(1, Ordering::Relaxed);
            LOCK.unlock_shared();
        }
    }

    /// A thread that reads is interrupted at one instruction after the other by a handler that
    /// reads and leaves what it found.
    #[test]
    fn a_signal_handler_may_read_between_any_two_instructions_of_a_reader() {
        bounded(|| {
            // SAFETY: all zeroes is an action; the handler calls nothing but the lock, which allows
            // it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = trapped as extern "C" fn(libc::c_int) as usize;
                assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
            }
            for biased in [true, false] {
                ENTERED.store(0, Ordering::Relaxed);
                let (mut at, mut rounds) = (0, 0);
                loop {
                    if biased {
                        bias(&LOCK);
                    } else {
                        assert_free(&LOCK, "before");
                    }
                    AT.store(at, Ordering::Relaxed);
                    STEPS.store(0, Ordering::Relaxed);
                    // SAFETY: sets the trap flag: a signal after each instruction, handled above.
                    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
                    LOCK.lock_shared();
                    LOCK.unlock_shared();
                    // SAFETY: clears it.
                    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
                    assert!(!LOCK.is_locked(), "biased {biased}, instruction {at}: {LOCK:?}");
                    let steps = STEPS.load(Ordering::Relaxed);
                    assert!(steps > 5, "single-stepping is forbidden here");
                    rounds += 1;
                    at += STRIDE;
                    if at >= steps {
                        break;
                    }
                }
                println!("biased {biased}: {rounds} of {at} instructions");
                assert_eq!(ENTERED.load(Ordering::Relaxed), rounds, "the handler was kept out");
                assert_free(&LOCK, "after all");
            }
        });
    }
}

/// A writer that sleeps for a reader in a slot isn't in the lock's own queue, and has slept all the
/// same.
#[test]
fn a_writer_that_waited_for_a_reader_in_a_slot_says_that_it_slept() {
    bounded(|| {
        let (lock, inside) = kept((RawRwLock::new(), Barrier::new(2)));
        bias(lock);
        let writer = thread_id();
        let reader = thread::spawn(move || {
            // So that the thread has its slots.
            bias(lock);
            lock.lock_shared();
            inside.wait();
            eventually("the writer sleeps", || is_asleep(writer));
            lock.unlock_shared();
        });
        inside.wait();
        let status = lock.lock_exclusive_with(&Options::new()).unwrap();
        lock.unlock_exclusive();
        assert!(matches!(status.how, How::Slept | How::HandedOver), "{status:?}");
        assert!(status.sleeps >= 1, "{status:?}");
        reader.join().unwrap();
    });
}

/// A lock is moved while a forgotten guard names its old address: that doesn't concern the lock
/// that comes there.
#[test]
fn a_forgotten_guard_of_a_moved_lock_holds_no_other_lock() {
    bounded(|| {
        let mut place = Box::new(Some(RwLock::new(0)));
        for round in 1..50 {
            let lock = place.as_ref().as_ref().unwrap();
            (0..READS_THAT_BIAS).for_each(|_| drop(lock.read()));
            std::mem::forget(lock.read());
            let value = place.take().unwrap().into_inner();
            *place = Some(RwLock::new(value));
            let lock = place.as_ref().as_ref().unwrap();
            drop(lock.read());
            *lock.try_write().expect("no thread reads it") += 1;
            // Once it is biased, too.
            (0..READS_THAT_BIAS).for_each(|_| drop(lock.read()));
            assert_eq!(*lock.try_write().expect("no thread reads it"), round);
        }
    });
}

/// How many readers the word can count.
const MOST_READERS: u32 = 1 << 18;

/// A reader that comes when no more can be counted waits. A thread that is inside already may still
/// become a reader.
#[test]
fn more_readers_than_can_be_counted_wait() {
    bounded(|| {
        for policy in POLICIES {
            let lock = kept_lock(policy);
            lock.lock_upgradable();
            let mut entered = 0;
            while !is_full(lock) {
                lock.lock_shared();
                entered += 1;
            }
            // A few more may be in slots.
            assert!((MOST_READERS..MOST_READERS + 100).contains(&entered), "{entered}");
            // This closes the slots.
            assert!(!lock.try_upgrade());
            let no_thread_gets_in = || {
                for _ in 0..10 {
                    assert!(!lock.try_lock_shared() && !lock.try_lock_shared_recursive());
                    assert!(!lock.try_lock_exclusive() && !lock.try_lock_upgradable());
                    assert!(lock.lock_shared_with(&in_ms(2)).is_none());
                    assert!(lock.lock_shared_with(&in_ms(2).recursive(true)).is_none());
                    assert!(lock.lock_exclusive_with(&in_ms(2)).is_none());
                    assert!(lock.lock_upgradable_with(&in_ms(2)).is_none());
                    assert!(is_full(lock) && lock.policy() == policy);
                }
            };
            elsewhere(no_thread_gets_in);
            lock.downgrade_upgradable();
            entered += 1;
            elsewhere(no_thread_gets_in);
            assert_eq!(lock.owner(), 0);
            // A reader that waits gets in as soon as there is room.
            let reader = thread::spawn(|| lock.lock_shared());
            nap(5);
            assert!(!reader.is_finished());
            while !reader.is_finished() && entered != 0 {
                lock.unlock_shared();
                entered -= 1;
                if !is_full(lock) {
                    reader.join().unwrap();
                    entered += 1;
                    break;
                }
            }
            (0..entered).for_each(|_| _ = lock.unlock_shared());
            assert!(!is_full(lock) && lock.policy() == policy);
            assert_free(lock, "after all");
        }
    });
}
