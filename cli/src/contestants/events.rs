//! Events of which a thread can wait for many at once. Each event counts its signals, and a waiter
//! takes one.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, SeqCst},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;

use super::locks::{Condvar, Monitor, Monitors, Mutex};
use super::words::ManyWords;
use crate::harness::fail_now;

pub trait Events: Send + Sync + Sized + 'static {
    /// Waits for the same events again and again.
    type Waiter<'e>;

    /// `shared` events that many threads wait for, then `own` events that one thread each waits
    /// for; or why there can't be so many.
    fn new(shared: usize, own: usize) -> Result<Self, String>;

    /// A waiter for any of the shared events.
    fn waiter(&self) -> Self::Waiter<'_>;

    fn signal(&self, event: usize);

    /// Waits until one of the shared events is signalled, takes one signal and returns the event.
    fn take(&self, waiter: &mut Self::Waiter<'_>) -> usize;

    /// Waits for one event that is the thread's own.
    fn take_own(&self, event: usize);
}

/// Each event is a word that counts signals; threads wait only while it is zero.
pub struct WordEvents<W> {
    words: Box<[AtomicU32]>,
    shared: usize,
    of: std::marker::PhantomData<fn(W)>,
}

fn take_from(word: &AtomicU32) -> bool {
    word.fetch_update(Acquire, Relaxed, |count| count.checked_sub(1)).is_ok()
}

impl<W: ManyWords> Events for WordEvents<W> {
    type Waiter<'e> = W::Waiter<'e>;

    fn new(shared: usize, own: usize) -> Result<Self, String> {
        W::too_many(shared).map_or_else(
            || {
                let words = (0..shared + own).map(|_| AtomicU32::new(0)).collect();
                Ok(WordEvents { words, shared, of: std::marker::PhantomData })
            },
            Err,
        )
    }

    fn waiter(&self) -> Self::Waiter<'_> {
        W::waiter(&self.words[..self.shared])
    }

    #[inline]
    fn signal(&self, event: usize) {
        self.words[event].fetch_add(1, SeqCst);
        W::wake(&self.words[event], 1);
    }

    #[inline]
    fn take(&self, waiter: &mut Self::Waiter<'_>) -> usize {
        loop {
            let at = match W::wait_any(waiter) {
                Some(at) => take_from(&self.words[at]).then_some(at),
                // It doesn't say which.
                None => (0..self.shared)
                    .find(|at| self.words[*at].load(Relaxed) != 0 && take_from(&self.words[*at])),
            };
            if let Some(at) = at {
                return at;
            }
        }
    }

    #[inline]
    fn take_own(&self, event: usize) {
        while !take_from(&self.words[event]) {
            W::wait(&self.words[event], 0);
        }
    }
}

/// Each event is an eventfd in semaphore mode. Threads wait for many by poll(2), for one by
/// read(2).
pub struct FdEvents {
    fds: Vec<OwnedFd>,
    shared: usize,
}

impl Events for FdEvents {
    type Waiter<'e> = Vec<PollFd<'e>>;

    fn new(shared: usize, own: usize) -> Result<Self, String> {
        let flags = EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC;
        let of = |at| if at < shared { flags | EventfdFlags::NONBLOCK } else { flags };
        let fds = (0..shared + own).map(|at| eventfd(0, of(at))).collect::<Result<_, _>>();
        fds.map(|fds| FdEvents { fds, shared })
            .map_err(|error| format!("{} eventfds: {error}", shared + own))
    }

    fn waiter(&self) -> Self::Waiter<'_> {
        let entry = |fd| PollFd::new(fd, PollFlags::IN);
        self.fds[..self.shared].iter().map(entry).collect()
    }

    #[inline]
    fn signal(&self, event: usize) {
        if let Err(error) = rustix::io::write(&self.fds[event], &1u64.to_ne_bytes()) {
            fail_now(format!("write to an eventfd: {error}"));
        }
    }

    #[inline]
    fn take(&self, entries: &mut Self::Waiter<'_>) -> usize {
        loop {
            let _ = poll(entries, None);
            let mut count = [0; 8];
            let ready = entries.iter().position(|entry| {
                entry.revents().contains(PollFlags::IN)
                    && rustix::io::read(entry, &mut count).is_ok()
            });
            if let Some(at) = ready {
                return at;
            }
        }
    }

    #[inline]
    fn take_own(&self, event: usize) {
        let mut count = [0; 8];
        while rustix::io::read(&self.fds[event], &mut count).is_err() {}
    }
}

/// All counts under one mutex, with one condition variable for the shared events, and one for each
/// event that only one thread waits for.
pub struct MonitorEvents<F: Monitors> {
    counts: F::Monitor<Vec<u32>>,
    shared: usize,
    signalled: F::Condvar,
    own_signalled: Vec<F::Condvar>,
}

impl<F: Monitors> Events for MonitorEvents<F> {
    type Waiter<'e> = ();

    fn new(shared: usize, own: usize) -> Result<Self, String> {
        Ok(MonitorEvents {
            counts: F::Monitor::new(vec![0; shared + own]),
            shared,
            signalled: F::Condvar::new(),
            own_signalled: (0..own).map(|_| F::Condvar::new()).collect(),
        })
    }

    fn waiter(&self) {}

    fn signal(&self, event: usize) {
        self.counts.lock()[event] += 1;
        match event.checked_sub(self.shared) {
            Some(own) => self.own_signalled[own].signal(),
            // Any of the waiters may take it.
            None => self.signalled.broadcast(),
        }
    }

    fn take(&self, (): &mut ()) -> usize {
        let mut counts = self.counts.lock();
        loop {
            if let Some(at) = (0..self.shared).find(|at| counts[*at] > 0) {
                counts[at] -= 1;
                return at;
            }
            counts = F::Monitor::wait(counts, &self.signalled);
        }
    }

    fn take_own(&self, event: usize) {
        let mut counts = self.counts.lock();
        while counts[event] == 0 {
            counts = F::Monitor::wait(counts, &self.own_signalled[event - self.shared]);
        }
        counts[event] -= 1;
    }
}
