//! Rounds of mutexes, rwlocks and spinlocks.

use super::super::locks::{FORGETTERS, reads};
use super::super::round::{Kind, Round, Seat};
use super::{call, got, ok, shortly, shortly_by_the_time_of_day};
use libc::{CLOCK_MONOTONIC, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set in a round's choice if the object is destroyed. Its memory is used again in any case.
pub(super) const DESTROYS: u64 = 1 << 20;

/// Makes a mutex without attributes, or of one of glibc's types.
pub(super) fn make_mutex(at: *mut pthread_mutex_t, choice: u64, round: &Round) {
    let types = [
        libc::PTHREAD_MUTEX_NORMAL,
        libc::PTHREAD_MUTEX_RECURSIVE,
        libc::PTHREAD_MUTEX_ERRORCHECK,
        libc::PTHREAD_MUTEX_ADAPTIVE_NP,
    ];
    let Some(kind) = (choice as usize % 5).checked_sub(1) else {
        ok!(round, pthread_mutex_init(at, std::ptr::null()));
        return;
    };
    // SAFETY: all zeroes is as good as anything, before init.
    let mut attr = unsafe { std::mem::zeroed() };
    ok!(round, pthread_mutexattr_init(&mut attr));
    ok!(round, pthread_mutexattr_settype(&mut attr, types[kind]));
    ok!(round, pthread_mutex_init(at, &attr));
    ok!(round, pthread_mutexattr_destroy(&mut attr));
}

pub(in super::super) struct Mutexes;

impl Kind for Mutexes {
    type Object = UnsafeCell<pthread_mutex_t>;

    const NAME: &'static str = "mutex";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        let initialisers = [
            libc::PTHREAD_MUTEX_INITIALIZER,
            libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
            libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
            libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
        ];
        match (round.choice as usize % 9).checked_sub(5) {
            Some(which) => _ = at.write(initialisers[which].into()),
            None => make_mutex(at.as_mut_ptr().cast(), round.choice % 9, round),
        }
    }

    fn meet(mutex: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let mutex = mutex.get();
        for _ in 0..=(round.choice >> 8) % 12 {
            let locked = match seat.random.below(8) {
                0 => call!(pthread_mutex_trylock(mutex)),
                1 => call!(pthread_mutex_timedlock(mutex, &shortly_by_the_time_of_day(seat))),
                2 => {
                    let at = shortly(seat, CLOCK_MONOTONIC);
                    call!(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &at))
                }
                _ => call!(pthread_mutex_lock(mutex)),
            };
            if got(round, locked, "an attempt to lock fails") {
                round.write(seat);
                ok!(round, pthread_mutex_unlock(mutex));
            }
        }
    }

    fn end(mutex: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        ok!(round, pthread_mutex_trylock(mutex.get()));
        ok!(round, pthread_mutex_unlock(mutex.get()));
        round.check_sums();
        // It fails (EBUSY) if a holder or a waiter seems to be left.
        if round.choice & DESTROYS != 0 {
            ok!(round, pthread_mutex_destroy(mutex.get()));
        }
    }
}

pub(in super::super) struct RwLocks;

static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

/// Where glibc's rwlock has its kind.
const KIND_AT: usize = 48;

impl Kind for RwLocks {
    type Object = UnsafeCell<pthread_rwlock_t>;

    const NAME: &'static str = "rwlock";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        const NONRECURSIVE: u8 = 2;
        let kind = (round.choice % 6) as i32;
        let lock = at.as_mut_ptr().cast::<pthread_rwlock_t>();
        match kind {
            0 => ok!(round, pthread_rwlock_init(lock, std::ptr::null())),
            1 => _ = at.write(libc::PTHREAD_RWLOCK_INITIALIZER.into()),
            2 => {
                at.write(libc::PTHREAD_RWLOCK_INITIALIZER.into());
                // SAFETY: within the lock. That is what glibc's initialiser of the kind does.
                unsafe { lock.cast::<u8>().add(KIND_AT).write(NONRECURSIVE) };
            }
            _ => {
                // SAFETY: all zeroes is as good as anything, before init.
                let mut attr = unsafe { std::mem::zeroed() };
                ok!(round, pthread_rwlockattr_init(&mut attr));
                ok!(round, pthread_rwlockattr_setkind_np(&mut attr, kind - 3));
                ok!(round, pthread_rwlock_init(lock, &attr));
                ok!(round, pthread_rwlockattr_destroy(&mut attr));
            }
        }
    }

    fn meet(lock: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let lock = lock.get();
        let shape = round.choice >> 8;
        let reads = reads(shape, round, seat);
        for _ in 0..reads {
            // Some rounds read only, as fast as they can.
            if shape & 8 == 0 {
                ok!(round, pthread_rwlock_rdlock(lock));
                ok!(round, pthread_rwlock_unlock(lock));
            } else {
                read(lock, round, seat);
            }
        }
        if shape & 16 != 0 {
            (0..=seat.random.below(4)).for_each(|_| write(lock, round, seat));
        } else if round.mortal
            && seat.random.below(8) == 0
            && FORGOTTEN.fetch_add(1, Ordering::Relaxed) < FORGETTERS
        {
            ok!(round, pthread_rwlock_rdlock(lock));
            round.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn end(lock: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let lock = lock.get();
        let forgotten = round.count.load(Ordering::Relaxed) != 0;
        let result = call!(pthread_rwlock_trywrlock(lock));
        let wanted = if forgotten { libc::EBUSY } else { 0 };
        round.check(result == wanted, "a writer gets in beside a reader, or not into a free lock");
        if result == 0 {
            ok!(round, pthread_rwlock_unlock(lock));
        }
        round.check_sums();
        if round.choice & DESTROYS != 0 || forgotten {
            ok!(round, pthread_rwlock_destroy(lock));
        }
    }
}

fn read(lock: *mut pthread_rwlock_t, round: &Round, seat: &mut Seat) {
    let result = match seat.random.below(8) {
        0 => call!(pthread_rwlock_tryrdlock(lock)),
        1 => call!(pthread_rwlock_timedrdlock(lock, &shortly_by_the_time_of_day(seat))),
        2 => {
            let at = shortly(seat, CLOCK_MONOTONIC);
            call!(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &at))
        }
        _ => call!(pthread_rwlock_rdlock(lock)),
    };
    if got(round, result, "an attempt to read fails") {
        round.read(seat);
        ok!(round, pthread_rwlock_unlock(lock));
    }
}

fn write(lock: *mut pthread_rwlock_t, round: &Round, seat: &mut Seat) {
    let result = match seat.random.below(8) {
        0 => call!(pthread_rwlock_trywrlock(lock)),
        1 => call!(pthread_rwlock_timedwrlock(lock, &shortly_by_the_time_of_day(seat))),
        2 => {
            let at = shortly(seat, CLOCK_MONOTONIC);
            call!(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &at))
        }
        _ => call!(pthread_rwlock_wrlock(lock)),
    };
    if got(round, result, "an attempt to write fails") {
        round.write(seat);
        ok!(round, pthread_rwlock_unlock(lock));
    }
}

pub(in super::super) struct Spins;

impl Kind for Spins {
    type Object = UnsafeCell<pthread_spinlock_t>;

    const NAME: &'static str = "spin";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        ok!(round, pthread_spin_init(at.as_mut_ptr().cast(), libc::PTHREAD_PROCESS_PRIVATE));
    }

    fn meet(lock: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        for _ in 0..=round.choice % 4 {
            if seat.random.below(4) == 0 {
                if call!(pthread_spin_trylock(lock.get())) != 0 {
                    continue;
                }
            } else {
                ok!(round, pthread_spin_lock(lock.get()));
            }
            round.write(seat);
            ok!(round, pthread_spin_unlock(lock.get()));
        }
    }

    fn end(lock: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        ok!(round, pthread_spin_trylock(lock.get()));
        round.check_sums();
    }
}
