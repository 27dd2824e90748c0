//! Rounds of the locks that only the kernel can help with.

use super::round::{Kind, Round, Seat};
use furwock::{PiMutex, RobustError, RobustMutex, RobustMutexGuard, RobustRwLock};
use std::alloc::Layout;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::Ordering;

pub(super) struct PiMutexes;

impl Kind for PiMutexes {
    fn name(&self) -> &'static str {
        "PI mutex"
    }

    fn layout(&self) -> Layout {
        Layout::new::<PiMutex<()>>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<PiMutex<()>>().write(PiMutex::new(())) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { &*at.cast::<PiMutex<()>>() };
        for _ in 0..1 + round.choice % 4 {
            let guard = match seat.random.below(8) {
                0 => mutex.try_lock(),
                1 => mutex.lock_for(seat.moment()).ok(),
                _ => Some(mutex.lock().unwrap_or_else(|error| round.fail(&error.to_string()))),
            };
            if guard.is_some() {
                round.write(seat);
            }
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { &*at.cast::<PiMutex<()>>() };
        round.check(mutex.try_lock().is_some(), "nobody is inside, and it can't be locked");
        round.check_sums();
        false
    }
}

pub(super) struct RobustMutexes;

/// # Safety
/// There is one, which stays where it is.
unsafe fn pinned<'a, T>(at: *mut u8) -> Pin<&'a T> {
    // SAFETY: by the caller's promise.
    unsafe { Pin::new_unchecked(&*at.cast()) }
}

impl Kind for RobustMutexes {
    fn name(&self) -> &'static str {
        "robust mutex"
    }

    fn layout(&self) -> Layout {
        Layout::new::<RobustMutex<()>>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<RobustMutex<()>>().write(RobustMutex::new(())) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { pinned::<RobustMutex<()>>(at) };
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
                // Ends with it, whole.
                return mem::forget(guard);
            }
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let mutex = unsafe { pinned::<RobustMutex<()>>(at) };
        match mutex.try_lock() {
            Ok(_) => {}
            Err(RobustError::OwnerDied(mut guard)) if round.mortal => {
                RobustMutexGuard::make_consistent(&mut guard);
            }
            Err(other) => round.fail(&other.to_string()),
        }
        round.check_sums();
        // SAFETY: nobody uses it any more.
        unsafe { at.cast::<RobustMutex<()>>().drop_in_place() };
        false
    }
}

pub(super) struct RobustRwLocks;

const READERS: usize = 4;

impl Kind for RobustRwLocks {
    fn name(&self) -> &'static str {
        "robust rwlock"
    }

    fn layout(&self) -> Layout {
        Layout::new::<RobustRwLock<(), READERS>>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        round.count.store(0, Ordering::Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<RobustRwLock<(), READERS>>().write(RobustRwLock::new(())) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let lock = unsafe { pinned::<RobustRwLock<(), READERS>>(at) };
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

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let lock = unsafe { pinned::<RobustRwLock<(), READERS>>(at) };
        round.check(lock.try_write().is_ok(), "nobody is inside, and no writer gets in");
        round.check_sums();
        // SAFETY: nobody uses it any more.
        unsafe { at.cast::<RobustRwLock<(), READERS>>().drop_in_place() };
        false
    }
}
