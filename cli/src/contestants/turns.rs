//! The cheapest ways in which one thread can wake another: two players pass a turn.

use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Release},
};
use std::thread::{self, Thread};

use event_listener::{Event, Listener};

use super::locks::{Condvar, Monitor, Monitors, Mutex};
use super::semaphores::Semaphore;
use super::words::Words;
use crate::harness::Padded;

/// A turn that players 0 and 1 pass to each other.
pub trait Turns: Send + Sync + 'static {
    fn new() -> Self;

    /// Called by each player's own thread before anything else.
    fn enter(&self, _player: usize) {}

    fn give_to(&self, player: usize);

    fn wait_for(&self, player: usize);
}

/// A word each, 1 while it's that player's turn.
pub struct WordTurns<W> {
    words: [Padded<AtomicU32>; 2],
    of: std::marker::PhantomData<fn(W)>,
}

impl<W: Words> Turns for WordTurns<W> {
    fn new() -> Self {
        let word = || Padded(AtomicU32::new(0));
        WordTurns { words: [word(), word()], of: std::marker::PhantomData }
    }

    #[inline]
    fn give_to(&self, player: usize) {
        self.words[player].0.store(1, Release);
        W::wake(&self.words[player].0, 1);
    }

    #[inline]
    fn wait_for(&self, player: usize) {
        while self.words[player].0.swap(0, Acquire) == 0 {
            W::wait(&self.words[player].0, 0);
        }
    }
}

/// A semaphore each.
pub struct SemaphoreTurns<S>([S; 2]);

impl<S: Semaphore> Turns for SemaphoreTurns<S> {
    fn new() -> Self {
        SemaphoreTurns([S::new(0), S::new(0)])
    }

    #[inline]
    fn give_to(&self, player: usize) {
        self.0[player].release();
    }

    #[inline]
    fn wait_for(&self, player: usize) {
        self.0[player].acquire();
    }
}

/// Rust's park and unpark.
pub struct ParkTurns([Padded<Parked>; 2]);

#[derive(Default)]
struct Parked {
    thread: OnceLock<Thread>,
    turn: AtomicBool,
}

impl Turns for ParkTurns {
    fn new() -> Self {
        ParkTurns([Padded(Parked::default()), Padded(Parked::default())])
    }

    fn enter(&self, player: usize) {
        self.0[player].0.thread.get_or_init(thread::current);
    }

    #[inline]
    fn give_to(&self, player: usize) {
        let parked = &self.0[player].0;
        parked.turn.store(true, Release);
        // A player that hasn't come yet will find its turn.
        if let Some(thread) = parked.thread.get() {
            thread.unpark();
        }
    }

    #[inline]
    fn wait_for(&self, player: usize) {
        while !self.0[player].0.turn.swap(false, Acquire) {
            thread::park();
        }
    }
}

/// The crate event-listener, used as its documentation shows: look, listen, look again, wait.
pub struct EventTurns([Padded<(Event, AtomicBool)>; 2]);

impl Turns for EventTurns {
    fn new() -> Self {
        let place = || Padded((Event::new(), AtomicBool::new(false)));
        EventTurns([place(), place()])
    }

    #[inline]
    fn give_to(&self, player: usize) {
        let (event, turn) = &self.0[player].0;
        turn.store(true, Release);
        event.notify(1);
    }

    #[inline]
    fn wait_for(&self, player: usize) {
        let (event, turn) = &self.0[player].0;
        while !turn.swap(false, Acquire) {
            let listener = event.listen();
            if turn.swap(false, Acquire) {
                return;
            }
            listener.wait();
        }
    }
}

/// A mutex and a condition variable.
pub struct MonitorTurns<F: Monitors> {
    turn: F::Monitor<[bool; 2]>,
    passed: [F::Condvar; 2],
}

impl<F: Monitors> Turns for MonitorTurns<F> {
    fn new() -> Self {
        let passed = [F::Condvar::new(), F::Condvar::new()];
        MonitorTurns { turn: F::Monitor::new([false; 2]), passed }
    }

    fn give_to(&self, player: usize) {
        self.turn.lock()[player] = true;
        self.passed[player].signal();
    }

    fn wait_for(&self, player: usize) {
        let mut turn = self.turn.lock();
        while !turn[player] {
            turn = F::Monitor::wait(turn, &self.passed[player]);
        }
        turn[player] = false;
    }
}

/// The table of a function that is generic over turns.
macro_rules! turns {
    ($function:ident) => {{
        use $crate::contestants::{locks, semaphores, table, turns, words};
        table!($function:
            Furwock => turns::WordTurns<words::Furwock>,
            FurwockPreload | Glibc => turns::SemaphoreTurns<semaphores::PosixSemaphore>,
            Kernel => turns::WordTurns<words::Kernel>,
            Std => turns::ParkTurns,
            ParkingLot => turns::WordTurns<words::ParkingLot>,
            Usync => turns::MonitorTurns<locks::Usync>,
            Nsync => turns::MonitorTurns<locks::Nsync>,
            Absl => turns::MonitorTurns<locks::Absl>,
            EventListener => turns::EventTurns,
            Eventfd => turns::SemaphoreTurns<semaphores::FdSemaphore>,
        )
    }};
}
pub(crate) use turns;
