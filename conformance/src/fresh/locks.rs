//! Rounds of rwlocks and mutexes.

use super::round::{Kind, Round, Seat};
use furwock::lock::{Options, Policy, RawRwLock};
use furwock::{Mutex, MutexGuard, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::alloc::Layout;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct RwLocks;

/// A lock gets hot by so many reads.
const HOT: u64 = 128;

/// A thread that ends with a read guard forgotten keeps its row of reader slots for ever: no more
/// than that, of 512.
pub(super) const FORGETTERS: usize = 64;

static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

impl Kind for RwLocks {
    fn name(&self) -> &'static str {
        "rwlock"
    }

    fn layout(&self) -> Layout {
        Layout::new::<RwLock<()>>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        let policies = [
            Policy::PhaseFair,
            Policy::PhaseFair,
            Policy::Recursive,
            Policy::PreferReaders,
            Policy::PreferWriters,
        ];
        let policy = policies[round.choice as usize % policies.len()];
        let lock = RwLock::from_raw(RawRwLock::with_policy(policy), ());
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<RwLock<()>>().write(lock) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let lock = unsafe { &*at.cast::<RwLock<()>>() };
        let shape = round.choice >> 8;
        let reads = reads(shape, round, seat);
        // Some rounds read only, as fast as they can.
        if shape & 8 == 0 {
            (0..reads).for_each(|_| drop(lock.read()));
        } else {
            for _ in 0..reads {
                read(lock, round, seat);
            }
        }
        if shape & 16 == 0 {
            for _ in 0..=seat.random.below(4) {
                write(lock, round, seat);
            }
        }
        // (Not where others still wait to write.)
        let forgets = round.mortal && shape & 16 != 0 && seat.random.below(8) == 0;
        if forgets && FORGOTTEN.fetch_add(1, Ordering::Relaxed) < FORGETTERS {
            mem::forget(lock.read());
            round.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let lock = unsafe { &*at.cast::<RwLock<()>>() };
        let forgotten = round.count.load(Ordering::Relaxed) != 0;
        round.check(lock.is_locked() == forgotten, "it is or isn't locked, as it shouldn't");
        match lock.try_write() {
            Some(_) => round.check(!forgotten, "a writer beside a reader that was forgotten"),
            None => round.check(forgotten, "nobody is inside, and no writer gets in"),
        }
        round.check_sums();
        match seat.random.below(16) {
            // Its memory goes to another lock, without it being dropped: that one's first bias
            // forgets the reader.
            0 => {
                mem::forget(lock.read());
                return true;
            }
            1 => mem::forget(lock.read()),
            _ => {}
        }
        // SAFETY: nobody uses it any more.
        unsafe { at.cast::<RwLock<()>>().drop_in_place() };
        false
    }
}

/// How often a thread reads in a round of this shape. Some end as the lock gets hot, and write
/// while others still read.
pub(super) fn reads(shape: u64, round: &Round, seat: &mut Seat) -> u64 {
    if shape & 32 != 0 {
        HOT / round.seats as u64 + seat.random.below(12) - 2
    } else {
        [1, 40, 64, 70, 100, 130, 150, 200][shape as usize % 8]
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
    fn name(&self) -> &'static str {
        "mutex"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Mutex<()>>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<Mutex<()>>().write(Mutex::new(())) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { &*at.cast::<Mutex<()>>() };
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { &*at.cast::<Mutex<()>>() };
        round.check(mutex.try_lock().is_some(), "nobody is inside, and it can't be locked");
        round.check_sums();
        false
    }
}
