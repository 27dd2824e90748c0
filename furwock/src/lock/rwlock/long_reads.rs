//! Whether readers stay inside for long, so that the last to leave gives the lock to a writer.
//!
//! A reader that leaves wakes a writer that sleeps, and enters anew before the writer runs. Where
//! reads are short, that is well: each is worth less than the switch. Where they are longer than a
//! spell of spinning, or readers sleep, the writer is woken by one release after another, for
//! nothing, and while it waits its own thread reads nothing. If the lock is given to it, others are
//! kept out for the time of its wake; readers that find another inside enter as before. It isn't
//! given away past readers that wait, nor while readers may be inside by a slot of their own.

use crate::lock::{busy, spin};
use crate::lot::{self, Key};

#[cfg(all(test, loom))]
std::thread_local! {
    static ARE_LONG: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Explores a model in which they do.
#[cfg(all(test, loom))]
pub(crate) fn with_long_reads(explore: impl FnOnce()) {
    crate::prim::with_flag(&ARE_LONG, explore);
}

/// Whether spells of spinning for the lock at `key` have shown that readers, or writers, stay for
/// long. (Where no processor idles, other threads run while the lock waits for the writer; and one
/// that others keep from a processor may not run for long.)
pub(super) fn are_seen(key: Key) -> bool {
    #[cfg(all(test, loom))]
    if ARE_LONG.get() {
        return true;
    }
    spin::are_holders_off(key) && !lot::seems_single() && !lot::are_there_ranks() && busy::is_idle()
}

#[cfg(all(test, not(any(loom, shuttle, simulated))))]
mod tests {
    use super::*;
    use crate::lock::{How, Options, RawRwLock};
    use std::time::{Duration, Instant};

    /// How a writer gets `lock` when a reader leaves it, if reads have lasted so, and processors
    /// are so busy.
    fn how_a_writer_gets(lock: &RawRwLock, reads_are_long: bool, is_busy: bool) -> How {
        let begun = Instant::now();
        let patient = Options::new().hand_off_after(Duration::from_secs(60));
        lock.lock_shared();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let status = lock.lock_exclusive_with(&patient).unwrap();
                lock.unlock_exclusive();
                status.how
            });
            while lot::seems_empty(lock.key()) {
                // (The writer would keep the scope from ending.)
                if begun.elapsed() > Duration::from_secs(20) {
                    std::process::abort();
                }
                std::thread::yield_now();
            }
            if reads_are_long {
                spin::learn_that_holders_are_off(lock.key());
            }
            busy::SUPPOSED.set(Some(is_busy));
            lock.unlock_shared();
            busy::SUPPOSED.set(None);
            writer.join().unwrap()
        })
    }

    #[test]
    fn the_last_of_long_readers_gives_the_lock_to_a_writer_while_a_processor_idles() {
        // (A bucket remembers the spells of all its locks, those of other tests as well. So each
        // round has a lock of its own, and with it most likely a bucket of its own.)
        let locks: Vec<_> = (0..100).map(|_| RawRwLock::new()).collect();
        let given = |reads_are_long, is_busy| {
            let how = move |lock| how_a_writer_gets(lock, reads_are_long, is_busy);
            locks.iter().filter(move |lock| how(lock) == How::HandedOver)
        };
        assert!(given(false, false).count() < 100);
        assert!(given(true, true).count() < 100);
        let gives = given(true, false).next().is_some();
        assert!(gives || lot::is_single() || lot::are_there_ranks());
    }
}
