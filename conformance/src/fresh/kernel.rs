//! Rounds of the locks that need the kernel.

use super::round::{Kind, Round, Seat};
use furwock::{PiMutex, RobustError, RobustMutex, RobustMutexGuard, RobustRwLock};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;

pub(super) struct PiMutexes;

impl Kind for PiMutexes {
    type Object = PiMutex<()>;

    const NAME: &'static str = "PI mutex";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(PiMutex::new(()));
    }

    fn meet(mutex: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        for _ in 0..1 + round.choice % 4 {
            let guard = match seat.random.below(8) {
                0 => mutex.try_lock(),
                1 => mutex.try_lock_for(seat.moment()).ok(),
                _ => Some(mutex.lock().unwrap_or_else(|error| round.fail(&error.to_string()))),
            };
            if guard.is_some() {
                round.write(seat);
            }
        }
    }

    fn end(mutex: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        round.check(mutex.try_lock().is_some(), "no thread holds it, and it can't be locked");
        round.check_sums();
    }
}

pub(super) struct RobustMutexes;

impl Kind for RobustMutexes {
    type Object = RobustMutex<()>;

    const NAME: &'static str = "robust mutex";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(RobustMutex::new(()));
    }

    fn meet(mutex: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        for _ in 0..1 + round.choice % 4 {
            let locked = match seat.random.below(8) {
                0 => mutex.try_lock(),
                1 => mutex.try_lock_for(seat.moment()),
                _ => mutex.lock(),
            };
            let guard = match locked {
                Ok(guard) => guard,
                Err(RobustError::OwnerDied(mut guard)) => {
                    RobustMutexGuard::make_consistent(&mut guard);
                    guard
                }
                Err(RobustError::WouldBlock | RobustError::TimedOut) => continue,
                Err(other) => round.fail(&other.to_string()),
            };
            round.write(seat);
            if round.mortal && seat.random.below(4) == 0 {
                // The thread ends as its owner; what it protects is whole.
                return mem::forget(guard);
            }
        }
    }

    fn end(mutex: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        match mutex.try_lock() {
            Ok(_) => {}
            Err(RobustError::OwnerDied(mut guard)) if round.mortal => {
                RobustMutexGuard::make_consistent(&mut guard);
            }
            Err(other) => round.fail(&other.to_string()),
        }
        round.check_sums();
    }
}

pub(super) struct RobustRwLocks;

const READERS: usize = 4;

impl Kind for RobustRwLocks {
    type Object = RobustRwLock<(), READERS>;

    const NAME: &'static str = "robust rwlock";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(RobustRwLock::new(()));
    }

    fn meet(lock: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        for _ in 0..1 + round.choice % 8 {
            if seat.random.below(4) == 0 {
                match lock.write() {
                    Ok(_guard) => round.write(seat),
                    Err(other) => round.fail(&other.to_string()),
                }
            } else {
                match lock.read() {
                    Ok(_guard) => round.read(seat),
                    Err(other) => round.fail(&other.to_string()),
                }
            }
        }
    }

    fn end(lock: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        round.check(lock.try_write().is_ok(), "no thread is inside, and no writer gets in");
        round.check_sums();
    }
}
