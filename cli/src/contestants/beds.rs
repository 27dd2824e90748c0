//! The ways to sleep and be woken that are measured.

use std::sync::atomic::AtomicU32;

use event_listener::{Event, IntoNotification, Listener};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::words::Words;
use crate::harness::{Padded, fail_now};

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
pub struct FdBed(OwnedFd);

impl Bed for FdBed {
    fn new() -> Self {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC;
        let made = eventfd(0, flags);
        FdBed(made.unwrap_or_else(|error| fail_now(format!("eventfd: {error}"))))
    }

    fn sleep(&self) {
        let mut count = [0; 8];
        // A signal's interruption would count as being woken; there are none.
        let _ = rustix::io::read(&self.0, &mut count);
    }

    fn wake(&self, count: usize) -> usize {
        let written = rustix::io::write(&self.0, &(count as u64).to_ne_bytes());
        if written.is_ok() { count } else { 0 }
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
