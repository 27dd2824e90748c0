//! The ways to sleep and be woken that are measured.

use std::sync::atomic::AtomicU32;

use event_listener::{Event, IntoNotification, Listener};

use super::semaphores::{FdSemaphore, Semaphore};
use super::words::Words;
use crate::harness::Padded;

/// How threads fall asleep and are woken.
pub trait Bed: Send + Sync + 'static {
    fn new() -> Self;

    /// Sleeps until woken.
    fn sleep(&self);

    /// Wakes up to `count` sleepers, and returns how many.
    fn wake(&self, count: usize) -> usize;
}

/// Sleepers on one word; the second is where they can be moved to.
pub struct WordBed<W> {
    words: [Padded<AtomicU32>; 2],
    of: std::marker::PhantomData<fn(W)>,
}

impl<W: Words> WordBed<W> {
    /// Moves up to `count` sleepers to the other word.
    pub fn requeue(&self, count: usize) -> usize {
        W::requeue(&self.words[0].0, &self.words[1].0, count)
    }

    pub fn wake_moved(&self) -> usize {
        W::wake(&self.words[1].0, usize::MAX)
    }
}

impl<W: Words> Bed for WordBed<W> {
    fn new() -> Self {
        let word = || Padded(AtomicU32::new(0));
        WordBed { words: [word(), word()], of: std::marker::PhantomData }
    }

    fn sleep(&self) {
        W::wait(&self.words[0].0, 0);
    }

    fn wake(&self, count: usize) -> usize {
        W::wake(&self.words[0].0, count)
    }
}

/// The crate event-listener.
pub struct EventBed(Event);

impl Bed for EventBed {
    fn new() -> Self {
        EventBed(Event::new())
    }

    fn sleep(&self) {
        self.0.listen().wait();
    }

    fn wake(&self, count: usize) -> usize {
        self.0.notify(count.additional())
    }
}

/// An eventfd that counts as a semaphore does; the sleepers read it.
pub struct FdBed(FdSemaphore);

impl Bed for FdBed {
    fn new() -> Self {
        FdBed(FdSemaphore::new(0))
    }

    fn sleep(&self) {
        self.0.acquire();
    }

    fn wake(&self, count: usize) -> usize {
        self.0.add(count as u64);
        count
    }
}

/// The table of a function that is generic over beds.
macro_rules! beds {
    ($function:ident) => {{
        use $crate::contestants::{beds, table, words};
        table!($function:
            Furwock => beds::WordBed<words::Furwock>,
            FurwockPreload => beds::WordBed<words::LibcCall>,
            Kernel => beds::WordBed<words::Kernel>,
            ParkingLot => beds::WordBed<words::ParkingLot>,
            EventListener => beds::EventBed,
            Eventfd => beds::FdBed,
        )
    }};
}
pub(crate) use beds;

/// The same on process-shared words.
macro_rules! shared_beds {
    ($function:ident) => {{
        use $crate::contestants::{beds, table, words};
        table!($function:
            Furwock => beds::WordBed<words::FurwockShared>,
            FurwockPreload => beds::WordBed<words::LibcWords<true>>,
            Kernel => beds::WordBed<words::KernelWords<true>>,
        )
    }};
}
pub(crate) use shared_beds;
