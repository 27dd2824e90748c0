//! Queues in which threads sleep until they are woken by count.

use std::sync::atomic::AtomicU32;

use event_listener::{Event, IntoNotification, Listener};

use super::semaphores::{FdSemaphore, Semaphore};
use super::words::Words;
use crate::harness::Padded;

/// A queue of sleeping threads.
pub trait WaitQueue: Send + Sync + 'static {
    fn new() -> Self;

    /// Sleeps until woken.
    fn sleep(&self);

    /// Wakes up to `count` sleepers, and returns how many.
    fn wake(&self, count: usize) -> usize;
}

/// A word that threads sleep on, and a second to which they can be moved.
pub struct WordQueue<W> {
    words: [Padded<AtomicU32>; 2],
    of: std::marker::PhantomData<fn(W)>,
}

impl<W: Words> WordQueue<W> {
    /// Moves up to `count` sleepers to the other word.
    pub fn requeue(&self, count: usize) -> usize {
        W::requeue(&self.words[0].0, &self.words[1].0, count)
    }

    pub fn wake_moved(&self) -> usize {
        W::wake(&self.words[1].0, usize::MAX)
    }
}

impl<W: Words> WaitQueue for WordQueue<W> {
    fn new() -> Self {
        let word = || Padded(AtomicU32::new(0));
        WordQueue { words: [word(), word()], of: std::marker::PhantomData }
    }

    fn sleep(&self) {
        W::wait(&self.words[0].0, 0);
    }

    fn wake(&self, count: usize) -> usize {
        W::wake(&self.words[0].0, count)
    }
}

/// The crate event-listener.
pub struct EventQueue(Event);

impl WaitQueue for EventQueue {
    fn new() -> Self {
        EventQueue(Event::new())
    }

    fn sleep(&self) {
        self.0.listen().wait();
    }

    fn wake(&self, count: usize) -> usize {
        self.0.notify(count.additional())
    }
}

/// An eventfd that counts as a semaphore does; the sleepers read it.
pub struct FdQueue(FdSemaphore);

impl WaitQueue for FdQueue {
    fn new() -> Self {
        FdQueue(FdSemaphore::new(0))
    }

    fn sleep(&self) {
        self.0.acquire();
    }

    fn wake(&self, count: usize) -> usize {
        self.0.add(count as u64);
        count
    }
}

/// The table of a function that is generic over wait_queues.
macro_rules! wait_queues {
    ($function:ident) => {{
        use $crate::contestants::{wait_queues, table, words};
        table!($function:
            Furwock => wait_queues::WordQueue<words::Furwock>,
            FurwockPreload => wait_queues::WordQueue<words::LibcCall>,
            Kernel => wait_queues::WordQueue<words::Kernel>,
            ParkingLot => wait_queues::WordQueue<words::ParkingLot>,
            EventListener => wait_queues::EventQueue,
            Eventfd => wait_queues::FdQueue,
        )
    }};
}
pub(crate) use wait_queues;

/// The same on process-shared words.
macro_rules! shared_wait_queues {
    ($function:ident) => {{
        use $crate::contestants::{wait_queues, table, words};
        table!($function:
            Furwock => wait_queues::WordQueue<words::FurwockShared>,
            FurwockPreload => wait_queues::WordQueue<words::LibcWords<true>>,
            Kernel => wait_queues::WordQueue<words::KernelWords<true>>,
        )
    }};
}
pub(crate) use shared_wait_queues;
