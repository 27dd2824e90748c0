//! The ways to sleep and be woken that are measured.

use std::sync::atomic::AtomicU32;

use event_listener::{Event, IntoNotification, Listener};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::crowd::Bed;
use super::padded::Padded;
use super::words::Words;

/// Sleepers on one word; the second is where they can be moved to.
pub struct WordBed<W> {
    words: [Padded<AtomicU32>; 2],
    of: std::marker::PhantomData<fn(W)>,
}

impl<W: Words> WordBed<W> {
    /// Moves as many sleepers to the other word.
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
        FdBed(made.unwrap_or_else(|error| super::report::fail_now(format!("eventfd: {error}"))))
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

/// Calls a function that is generic over beds, with an implementation's, of one process or shared.
macro_rules! for_beds {
    ($implementation:expr, $shared:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::workload::{beds, implementation::Implementation, words};
        match $implementation {
            Implementation::Pthread if $shared => {
                $function::<beds::WordBed<words::LibcCallShared>>($($argument),*)
            }
            Implementation::Furwock if $shared => {
                $function::<beds::WordBed<words::FurwockShared>>($($argument),*)
            }
            Implementation::Kernel if $shared => {
                $function::<beds::WordBed<words::KernelShared>>($($argument),*)
            }
            other if $shared => Err(other.lacks("waits on words that processes share")),
            Implementation::Pthread => {
                $function::<beds::WordBed<words::LibcCall>>($($argument),*)
            }
            Implementation::Furwock => $function::<beds::WordBed<words::Furwock>>($($argument),*),
            Implementation::Kernel => $function::<beds::WordBed<words::Kernel>>($($argument),*),
            Implementation::ParkingLot => {
                $function::<beds::WordBed<words::ParkingLot>>($($argument),*)
            }
            Implementation::EventListener => $function::<beds::EventBed>($($argument),*),
            Implementation::Eventfd => $function::<beds::FdBed>($($argument),*),
            other => Err(other.lacks("sleepers that can be counted out")),
        }
    }};
}
pub(super) use for_beds;
