//! Events that can be waited for many at a time, as the ways to do so have them: each event counts how
//! often it was signalled, and who waits takes one.

use std::ops::Range;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, SeqCst},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;

use super::locks::{Condvar, Monitor, Monitors};
use super::report::fail_now;
use super::words::ManyWords;

pub trait Events: Send + Sync + Sized + 'static {
    /// Waits for the same events again and again.
    type Waiter<'e>;

    /// So many events; or why there can't be as many.
    fn new(events: usize) -> Result<Self, String>;

    /// One who waits for any of these.
    fn waiter(&self, events: Range<usize>) -> Self::Waiter<'_>;

    fn signal(&self, event: usize);

    /// Waits until one of the waiter's events is signalled, and takes one signal; says whose.
    fn take(&self, waiter: &mut Self::Waiter<'_>) -> usize;
}

/// A word each, which counts; nobody waits while it isn't zero.
pub struct WordEvents<W> {
    words: Box<[AtomicU32]>,
    of: std::marker::PhantomData<fn(W)>,
}

fn take_from(word: &AtomicU32) -> bool {
    word.fetch_update(Acquire, Relaxed, |count| count.checked_sub(1)).is_ok()
}

impl<W: ManyWords> Events for WordEvents<W> {
    type Waiter<'e> = (Range<usize>, W::Waiter<'e>);

    fn new(events: usize) -> Result<Self, String> {
        W::too_many(events).map_or_else(
            || {
                let words = (0..events).map(|_| AtomicU32::new(0)).collect();
                Ok(WordEvents { words, of: std::marker::PhantomData })
            },
            Err,
        )
    }

    fn waiter(&self, events: Range<usize>) -> Self::Waiter<'_> {
        (events.clone(), W::waiter(&self.words[events]))
    }

    #[inline]
    fn signal(&self, event: usize) {
        self.words[event].fetch_add(1, SeqCst);
        W::wake(&self.words[event], 1);
    }

    #[inline]
    fn take(&self, (events, waiter): &mut Self::Waiter<'_>) -> usize {
        loop {
            let at = match W::wait_any(waiter) {
                Some(at) => take_from(&self.words[events.start + at]).then_some(events.start + at),
                // It doesn't say which.
                None => events
                    .clone()
                    .find(|at| self.words[*at].load(Relaxed) != 0 && take_from(&self.words[*at])),
            };
            if let Some(at) = at {
                return at;
            }
        }
    }
}

/// An eventfd each, which counts as a semaphore does, waited for by poll(2).
pub struct FdEvents(Vec<OwnedFd>);

impl Events for FdEvents {
    type Waiter<'e> = (Range<usize>, Vec<PollFd<'e>>);

    fn new(events: usize) -> Result<Self, String> {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let fds = (0..events).map(|_| eventfd(0, flags)).collect::<Result<_, _>>();
        fds.map(FdEvents).map_err(|error| format!("{events} eventfds: {error}"))
    }

    fn waiter(&self, events: Range<usize>) -> Self::Waiter<'_> {
        let entry = |fd| PollFd::new(fd, PollFlags::IN);
        (events.clone(), self.0[events].iter().map(entry).collect())
    }

    #[inline]
    fn signal(&self, event: usize) {
        if let Err(error) = rustix::io::write(&self.0[event], &1u64.to_ne_bytes()) {
            fail_now(format!("write to an eventfd: {error}"));
        }
    }

    #[inline]
    fn take(&self, (events, entries): &mut Self::Waiter<'_>) -> usize {
        loop {
            let _ = poll(entries, None);
            let mut count = [0; 8];
            let ready = entries.iter().position(|entry| {
                entry.revents().contains(PollFlags::IN)
                    && rustix::io::read(entry, &mut count).is_ok()
            });
            if let Some(at) = ready {
                return events.start + at;
            }
        }
    }
}

/// The whole list under one mutex, with one condition variable that all wait on.
pub struct MonitorEvents<F: Monitors> {
    counts: F::Monitor<Vec<u32>>,
    signalled: F::Condvar,
}

impl<F: Monitors> Events for MonitorEvents<F> {
    type Waiter<'e> = Range<usize>;

    fn new(events: usize) -> Result<Self, String> {
        Ok(MonitorEvents { counts: F::Monitor::new(vec![0; events]), signalled: F::Condvar::new() })
    }

    fn waiter(&self, events: Range<usize>) -> Range<usize> {
        events
    }

    fn signal(&self, event: usize) {
        self.counts.lock()[event] += 1;
        // Who waits for this one isn't known.
        self.signalled.broadcast();
    }

    fn take(&self, events: &mut Range<usize>) -> usize {
        let mut counts = self.counts.lock();
        loop {
            if let Some(at) = events.clone().find(|at| counts[*at] > 0) {
                counts[at] -= 1;
                return at;
            }
            counts = F::Monitor::wait(counts, &self.signalled);
        }
    }
}
