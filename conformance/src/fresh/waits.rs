//! Rounds of condvars, barriers and semaphores.

use super::round::{Kind, Round, Seat};
use furwock::{Barrier, Condvar, Mutex, Semaphore};
use std::alloc::Layout;
use std::sync::atomic::Ordering;

pub(super) struct Condvars;

struct Monitor {
    changed: Condvar,
    turn: Mutex<usize>,
}

impl Kind for Condvars {
    fn name(&self) -> &'static str {
        "condvar"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Monitor>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        let monitor = Monitor { changed: Condvar::new(), turn: Mutex::new(0) };
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<Monitor>().write(monitor) };
    }

    /// Either one lets all others go on, or each the next.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let Monitor { changed, turn } = unsafe { &*at.cast::<Monitor>() };
        let in_turn = round.choice & 1 == 0;
        let mut turn = turn.lock();
        let number = seat.number;
        let waits = |turn: &mut usize| if in_turn { *turn != number } else { *turn == 0 };
        if in_turn || seat.number != 0 {
            while waits(&mut turn) {
                if seat.random.below(4) == 0 {
                    changed.wait_for(&mut turn, seat.moment());
                } else {
                    changed.wait(&mut turn);
                }
            }
        }
        *turn += 1;
        round.write(seat);
        let outside = round.choice & 2 == 0;
        if outside {
            drop(turn);
        }
        match (in_turn, seat.number) {
            // One signal each; those that time out meanwhile look before they wait again.
            (false, 0) if round.choice & 4 == 0 => {
                (1..round.seats).for_each(|_| _ = changed.notify_one());
            }
            (false, 0) | (true, _) => _ = changed.notify_all(),
            (false, _) => {}
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let Monitor { changed, turn } = unsafe { &*at.cast::<Monitor>() };
        let all = turn.try_lock().map(|turn| *turn);
        round.check(all == Some(round.seats), "the mutex isn't free, or not all have come");
        round.check(!changed.notify_one(), "somebody still waits");
        round.check_sums();
        false
    }
}

pub(super) struct Barriers;

impl Kind for Barriers {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Barrier>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<Barrier>().write(Barrier::new(round.seats as u32)) };
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let barrier = unsafe { &*at.cast::<Barrier>() };
        pass_phases(round, seat, || barrier.wait().is_leader());
    }

    unsafe fn end(&self, _at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        check_leaders(round);
        false
    }
}

/// Passes a barrier some times. `wait` returns whether the thread leads the phase.
pub(super) fn pass_phases(round: &Round, seat: &mut Seat, wait: impl Fn() -> bool) {
    for phase in 1..=phases(round) {
        round.count.fetch_add(1, Ordering::Relaxed);
        if wait() {
            round.phase.fetch_add(1, Ordering::Relaxed);
        }
        let arrived = round.count.load(Ordering::Relaxed);
        round.check(arrived >= phase * round.seats, "a thread was let through too early");
        seat.dawdle();
    }
}

pub(super) fn check_leaders(round: &Round) {
    let led = round.phase.load(Ordering::Relaxed);
    round.check(led == phases(round), "not one leader a phase");
}

fn phases(round: &Round) -> usize {
    1 + round.choice as usize % 3
}

pub(super) struct Semaphores;

impl Kind for Semaphores {
    fn name(&self) -> &'static str {
        "semaphore"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Semaphore>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        let semaphore = Semaphore::new(permits(round)).expect("few");
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<Semaphore>().write(semaphore) };
    }

    /// With a permit it serves as a mutex; without, one thread makes permits for the others.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let semaphore = unsafe { &*at.cast::<Semaphore>() };
        if permits(round) == 0 {
            if seat.number != 0 {
                acquire(semaphore, seat);
            } else if round.choice & 2 == 0 {
                semaphore.release_many(round.seats as u32 - 1).expect("few");
            } else {
                (1..round.seats).for_each(|_| semaphore.release().expect("few"));
            }
            return;
        }
        for _ in 0..1 + round.choice % 8 {
            acquire(semaphore, seat);
            round.write(seat);
            semaphore.release().expect("one");
        }
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, _seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let semaphore = unsafe { &*at.cast::<Semaphore>() };
        round.check(semaphore.available() == permits(round), "permits were lost or made");
        round.check_sums();
        false
    }
}

fn permits(round: &Round) -> u32 {
    round.choice as u32 & 1
}

fn acquire(semaphore: &Semaphore, seat: &mut Seat) {
    loop {
        match seat.random.below(4) {
            0 if semaphore.try_acquire() => return,
            1 if semaphore.try_acquire_for(seat.moment()) => return,
            0 | 1 => {}
            _ => return semaphore.acquire(),
        }
    }
}
