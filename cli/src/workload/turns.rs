//! The lightest ways in which one thread can wake another, each as a place where two pass a turn.

use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Release},
};
use std::thread::{self, Thread};

use event_listener::{Event, Listener};

use super::locks::{Condvar, Monitor, Monitors};
use super::padded::Padded;
use super::semaphores::{FdSemaphore, PosixSemaphore, Semaphore};
use super::words::Words;

/// Of players 0 and 1.
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

/// glibc's or the preload's.
pub type PosixTurns = SemaphoreTurns<PosixSemaphore>;
/// eventfds, read.
pub type FdTurns = SemaphoreTurns<FdSemaphore>;

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
        // Whoever isn't there yet will find its turn.
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

/// Calls a function that is generic over turns, with an implementation's.
macro_rules! for_turns {
    ($implementation:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{implementation::Implementation, locks, turns, words};
        match $implementation {
            Implementation::Furwock => $function::<turns::WordTurns<words::Furwock>>($($argument),*),
            Implementation::Kernel => $function::<turns::WordTurns<words::Kernel>>($($argument),*),
            Implementation::ParkingLot => {
                $function::<turns::WordTurns<words::ParkingLot>>($($argument),*)
            }
            Implementation::Pthread => $function::<turns::PosixTurns>($($argument),*),
            Implementation::Eventfd => $function::<turns::FdTurns>($($argument),*),
            Implementation::Std => $function::<turns::ParkTurns>($($argument),*),
            Implementation::EventListener => $function::<turns::EventTurns>($($argument),*),
            Implementation::Usync => $function::<turns::MonitorTurns<locks::Usync>>($($argument),*),
            Implementation::Nsync => $function::<turns::MonitorTurns<locks::Nsync>>($($argument),*),
            Implementation::Absl => $function::<turns::MonitorTurns<locks::Absl>>($($argument),*),
            other => Err(other.lacks("way for one thread to wake another")),
        }
    }};
}
pub(super) use for_turns;
