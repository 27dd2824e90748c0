//! Rounds of rwlocks and mutexes.

use super::round::{Kind, Round, Seat};
use furwock::lock::{Options, Policy, RawRwLock};
use furwock::{Mutex, MutexGuard, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct RwLocks;

/// So many reads make a lock hot.
const HOT: u64 = 32;

/// How many threads may forget a read guard: each keeps its row of reader slots for ever, of 512.
pub(super) const FORGETTERS: usize = 64;

static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

impl Kind for RwLocks {
    type Object = RwLock<()>;

    const NAME: &'static str = "rwlock";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        let policies = [
            Policy::PhaseFair,
            Policy::PhaseFair,
            Policy::Recursive,
            Policy::PreferReaders,
            Policy::PreferWriters,
        ];
        let policy = policies[round.choice as usize % policies.len()];
        at.write(RwLock::from_raw(RawRwLock::with_policy(policy), ()));
    }

    fn meet(lock: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let shape = round.choice >> 8;
        let reads = reads(shape, round, seat);
        // Some rounds read only, as fast as they can.
        if shape & 8 == 0 {
            (0..reads).for_each(|_| drop(lock.read()));
        } else {
            for _ in 0..reads {
                read(&lock, round, seat);
            }
        }
        if shape & 16 == 0 {
            for _ in 0..=seat.random.below(4) {
                write(&lock, round, seat);
            }
        }
        // (Not where others still wait to write.)
        let forgets = round.mortal && shape & 16 != 0 && seat.random.below(8) == 0;
        if forgets && FORGOTTEN.fetch_add(1, Ordering::Relaxed) < FORGETTERS {
            mem::forget(lock.read());
            round.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn end(lock: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let forgotten = round.count.load(Ordering::Relaxed) != 0;
        round.check(lock.is_locked() == forgotten, "is_locked() is wrong");
        match lock.try_write() {
            Some(_) => round.check(!forgotten, "a writer beside a reader that was forgotten"),
            None => round.check(forgotten, "no thread is inside, and no writer gets in"),
        }
        round.check_sums();
    }

    /// The memory of a lock that is never dropped goes to another lock, whose first bias forgets
    /// the reader.
    fn stays(lock: Pin<&Self::Object>, seat: &mut Seat) -> bool {
        let choice = seat.random.below(16);
        if choice < 2 {
            mem::forget(lock.read());
        }
        choice == 0
    }
}

/// How often a thread reads in a round of this shape. Some threads stop as the lock gets hot, and
/// write while others still read.
pub(super) fn reads(shape: u64, round: &Round, seat: &mut Seat) -> u64 {
    if shape & 32 != 0 {
        HOT / round.seats as u64 + seat.random.below(8) - 2
    } else {
        [1, 8, 12, 16, 20, 32, 40, 100][shape as usize % 8]
    }
}

fn read(lock: &RwLock<()>, round: &Round, seat: &mut Seat) {
    let guard = match seat.random.below(8) {
        0 => lock.try_read(),
        1 => lock.try_read_for(seat.moment()),
        2 => {
            let guard = lock.read();
            // SAFETY: what is locked here is unlocked here.
            let raw = unsafe { lock.raw() };
            raw.lock_shared_with(&Options::new().recursive(true));
            round.read(seat);
            raw.unlock_shared();
            Some(guard)
        }
        _ => Some(lock.read()),
    };
    if guard.is_some() {
        round.read(seat);
    }
}

fn write(lock: &RwLock<()>, round: &Round, seat: &mut Seat) {
    let guard = match seat.random.below(8) {
        0 => lock.try_write(),
        1 => lock.try_write_for(seat.moment()),
        2 => {
            let upgradable = lock.upgradable_read();
            round.read(seat);
            Some(RwLockUpgradableReadGuard::upgrade(upgradable))
        }
        3 => lock.try_upgradable_read().and_then(|upgradable| {
            RwLockUpgradableReadGuard::try_upgrade(upgradable).map_err(drop).ok()
        }),
        _ => Some(lock.write()),
    };
    let Some(guard) = guard else { return };
    round.write(seat);
    match seat.random.below(4) {
        0 => {
            let _reads = RwLockWriteGuard::downgrade(guard);
            round.read(seat);
        }
        1 => RwLockWriteGuard::unlock_fair(guard),
        _ => drop(guard),
    }
}

pub(super) struct Mutexes;

impl Kind for Mutexes {
    type Object = Mutex<()>;

    const NAME: &'static str = "mutex";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(Mutex::new(()));
    }

    fn meet(mutex: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        for _ in 0..1 + round.choice % 12 {
            let guard = match seat.random.below(8) {
                0 => mutex.try_lock(),
                1 => mutex.try_lock_for(seat.moment()),
                _ => Some(mutex.lock()),
            };
            let Some(guard) = guard else { continue };
            round.write(seat);
            if seat.random.below(8) == 0 {
                MutexGuard::unlock_fair(guard);
            }
        }
    }

    fn end(mutex: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        round.check(mutex.try_lock().is_some(), "no thread holds it, and it can't be locked");
        round.check_sums();
    }
}
