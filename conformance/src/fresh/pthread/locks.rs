//! Rounds of mutexes, rwlocks and spinlocks.

use super::super::locks::{FORGETTERS, reads};
use super::super::round::{Kind, Round, Seat};
use super::{call, got, ok, shortly, shortly_by_the_time_of_day};
use libc::{CLOCK_MONOTONIC, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t};
use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set in a round's choice if the object is destroyed; its memory goes to another use in any case.
pub(super) const DESTROYS: u64 = 1 << 20;

/// Makes a mutex of one of glibc's types, of which the first is that of no attributes.
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
    fn name(&self) -> &'static str {
        "mutex"
    }

    fn layout(&self) -> Layout {
        Layout::new::<pthread_mutex_t>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        let initialisers = [
            libc::PTHREAD_MUTEX_INITIALIZER,
            libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
            libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
            libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
        ];
        let at = at.cast::<pthread_mutex_t>();
        match (round.choice as usize % 9).checked_sub(5) {
            // SAFETY: by the caller's promise.
            Some(which) => unsafe { at.write(initialisers[which]) },
            None => make_mutex(at, round.choice % 9, round),
        }
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        let mutex = at.cast();
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        ok!(round, pthread_mutex_trylock(at.cast()));
        ok!(round, pthread_mutex_unlock(at.cast()));
        round.check_sums();
        // EBUSY if somebody is thought to hold it, or to wait.
        if round.choice & DESTROYS != 0 {
            ok!(round, pthread_mutex_destroy(at.cast()));
        }
        false
    }
}

pub(in super::super) struct RwLocks;

static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

/// Where glibc's rwlock has its kind.
const KIND_AT: usize = 48;

impl Kind for RwLocks {
    fn name(&self) -> &'static str {
        "rwlock"
    }

    fn layout(&self) -> Layout {
        Layout::new::<pthread_rwlock_t>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        const NONRECURSIVE: u8 = 2;
        let kind = (round.choice % 6) as i32;
        let lock = at.cast::<pthread_rwlock_t>();
        match kind {
            0 => ok!(round, pthread_rwlock_init(lock, std::ptr::null())),
            // SAFETY: by the caller's promise. The second is the initialiser of that kind.
            1 | 2 => unsafe {
                lock.write(libc::PTHREAD_RWLOCK_INITIALIZER);
                at.add(KIND_AT).write(if kind == 1 { 0 } else { NONRECURSIVE });
            },
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

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        let lock = at.cast();
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        let lock = at.cast();
        let forgotten = round.count.load(Ordering::Relaxed) != 0;
        let result = call!(pthread_rwlock_trywrlock(lock));
        let wanted = if forgotten { libc::EBUSY } else { 0 };
        round.check(result == wanted, "a writer gets in beside a reader, or beside nobody doesn't");
        if result == 0 {
            ok!(round, pthread_rwlock_unlock(lock));
        }
        round.check_sums();
        if round.choice & DESTROYS != 0 || forgotten {
            ok!(round, pthread_rwlock_destroy(lock));
        }
        false
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
    fn name(&self) -> &'static str {
        "spin"
    }

    fn layout(&self) -> Layout {
        Layout::new::<pthread_spinlock_t>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        ok!(round, pthread_spin_init(at.cast(), libc::PTHREAD_PROCESS_PRIVATE));
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        for _ in 0..=round.choice % 4 {
            if seat.random.below(4) == 0 {
                if call!(pthread_spin_trylock(at.cast())) != 0 {
                    continue;
                }
            } else {
                ok!(round, pthread_spin_lock(at.cast()));
            }
            round.write(seat);
            ok!(round, pthread_spin_unlock(at.cast()));
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        ok!(round, pthread_spin_trylock(at.cast()));
        round.check_sums();
        false
    }
}
