//! The rwlock of Rust's standard library on Linux (Bos 2022): a word with a count of readers and
//! two bits for waiters, and a second word that writers sleep on. Readers queue up behind writers
//! that wait.

use machine::atomic::{AtomicU32, Ordering};
use machine::hint::spin_loop;
use machine::{kernel_wait, kernel_wake};

use super::ReadWriteLock;

const MASK: u32 = (1 << 30) - 1;
const WRITTEN: u32 = MASK;
const READERS_WAIT: u32 = 1 << 30;
const WRITERS_WAIT: u32 = 1 << 31;

#[derive(Default)]
pub struct StdReadWriteLock {
    state: AtomicU32,
    writer_notify: AtomicU32,
}

fn is_free(state: u32) -> bool {
    state & MASK == 0
}

fn is_readable(state: u32) -> bool {
    state & MASK < MASK - 1 && state & (READERS_WAIT | WRITERS_WAIT) == 0
}

impl ReadWriteLock for StdReadWriteLock {
    fn new(_threads: usize) -> Self {
        Self::default()
    }

    fn read(&self) {
        let seen = self.state.load(Ordering::Relaxed);
        if !is_readable(seen) || self.exchange(seen, seen + 1).is_err() {
            self.read_contended();
        }
    }

    fn end_read(&self) {
        let left = self.state.fetch_sub(1, Ordering::Release) - 1;
        if is_free(left) && left & WRITERS_WAIT != 0 {
            self.wake_writer_or_readers(left);
        }
    }

    fn write(&self) {
        if self.exchange(0, WRITTEN).is_err() {
            self.write_contended();
        }
    }

    fn end_write(&self) {
        let left = self.state.fetch_sub(WRITTEN, Ordering::Release) - WRITTEN;
        if left != 0 {
            self.wake_writer_or_readers(left);
        }
    }
}

impl StdReadWriteLock {
    fn exchange(&self, seen: u32, new: u32) -> Result<u32, u32> {
        self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed)
    }

    fn spin_until(&self, done: impl Fn(u32) -> bool) -> u32 {
        let mut looks = 100;
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if done(seen) || looks == 0 {
                return seen;
            }
            spin_loop();
            looks -= 1;
        }
    }

    fn spin_to_read(&self) -> u32 {
        self.spin_until(|state| {
            state & MASK != WRITTEN || state & (READERS_WAIT | WRITERS_WAIT) != 0
        })
    }

    fn spin_to_write(&self) -> u32 {
        self.spin_until(|state| is_free(state) || state & WRITERS_WAIT != 0)
    }

    fn read_contended(&self) {
        let mut seen = self.spin_to_read();
        loop {
            if is_readable(seen) {
                match self.exchange(seen, seen + 1) {
                    Ok(_) => return,
                    Err(now) => seen = now,
                }
                continue;
            }
            if seen & READERS_WAIT == 0
                && let Err(now) = self.exchange(seen, seen | READERS_WAIT)
            {
                seen = now;
                continue;
            }
            kernel_wait(&self.state, seen | READERS_WAIT, None);
            seen = self.spin_to_read();
        }
    }

    fn write_contended(&self) {
        let mut seen = self.spin_to_write();
        let mut others_wait = 0;
        loop {
            if is_free(seen) {
                match self.exchange(seen, seen | WRITTEN | others_wait) {
                    Ok(_) => return,
                    Err(now) => seen = now,
                }
                continue;
            }
            if seen & WRITERS_WAIT == 0
                && let Err(now) = self.exchange(seen, seen | WRITERS_WAIT)
            {
                seen = now;
                continue;
            }
            others_wait = WRITERS_WAIT;
            let notified = self.writer_notify.load(Ordering::Acquire);
            seen = self.state.load(Ordering::Relaxed);
            if is_free(seen) || seen & WRITERS_WAIT == 0 {
                continue;
            }
            kernel_wait(&self.writer_notify, notified, None);
            seen = self.spin_to_write();
        }
    }

    fn wake_writer_or_readers(&self, mut seen: u32) {
        if seen == WRITERS_WAIT {
            match self.exchange(seen, 0) {
                Ok(_) => {
                    self.wake_writer();
                    return;
                }
                Err(now) => seen = now,
            }
        }
        if seen == READERS_WAIT | WRITERS_WAIT {
            if self.exchange(seen, READERS_WAIT).is_err() {
                return;
            }
            if self.wake_writer() {
                return;
            }
            seen = READERS_WAIT;
        }
        if seen == READERS_WAIT && self.exchange(seen, 0).is_ok() {
            kernel_wake(&self.state, usize::MAX);
        }
    }

    /// True if a writer slept.
    fn wake_writer(&self) -> bool {
        self.writer_notify.fetch_add(1, Ordering::Release);
        kernel_wake(&self.writer_notify, 1) > 0
    }
}
