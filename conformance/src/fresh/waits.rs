//! Rounds of condvars, barriers and semaphores.

use super::round::{Kind, Round, Seat};
use furwock::{Barrier, Condvar, Mutex, Semaphore};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::Ordering;

pub(super) struct Condvars;

pub(super) struct Monitor {
    changed: Condvar,
    turn: Mutex<usize>,
}

impl Kind for Condvars {
    type Object = Monitor;

    const NAME: &'static str = "condvar";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(Monitor { changed: Condvar::new(), turn: Mutex::new(0) });
    }

    /// Either the first thread notifies all others, or each the next one.
    fn meet(monitor: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let Monitor { changed, turn } = &*monitor;
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
            // A signal for each; a waiter that times out meanwhile looks before it waits again.
            (false, 0) if round.choice & 4 == 0 => {
                (1..round.seats).for_each(|_| _ = changed.notify_one());
            }
            (false, 0) | (true, _) => _ = changed.notify_all(),
            (false, _) => {}
        }
    }

    fn end(monitor: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        let Monitor { changed, turn } = &*monitor;
        let all = turn.try_lock().map(|turn| *turn);
        round.check(all == Some(round.seats), "the mutex isn't free, or a thread is missing");
        round.check(!changed.notify_one(), "a waiter is left");
        round.check_sums();
    }
}

pub(super) struct Barriers;

impl Kind for Barriers {
    type Object = Barrier;

    const NAME: &'static str = "barrier";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        at.write(Barrier::new(round.seats));
    }

    fn meet(barrier: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        pass_phases(round, seat, || barrier.wait().is_leader());
    }

    fn end(_barrier: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        check_leaders(round);
    }
}

/// Passes a barrier one to three times. `wait` returns whether the thread leads the phase.
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
    type Object = Semaphore;

    const NAME: &'static str = "semaphore";

    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round) {
        at.write(Semaphore::new(permits(round)));
    }

    /// A semaphore with a permit serves as a mutex. Without, one thread makes permits for the
    /// others.
    fn meet(semaphore: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        if permits(round) == 0 {
            if seat.number != 0 {
                acquire(&semaphore, seat);
            } else if round.choice & 2 == 0 {
                semaphore.release_many(round.seats as u32 - 1).expect("few");
            } else {
                (1..round.seats).for_each(|_| semaphore.release().expect("few"));
            }
            return;
        }
        for _ in 0..1 + round.choice % 8 {
            acquire(&semaphore, seat);
            round.write(seat);
            semaphore.release().expect("one");
        }
    }

    fn end(semaphore: Pin<&Self::Object>, round: &Round, _seat: &mut Seat) {
        round.check(semaphore.available() == permits(round), "permits were lost or made");
        round.check_sums();
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
