//! Whether readers stay inside for long, so that the last to leave gives the lock to a writer.
//!
//! A reader that leaves wakes a writer that sleeps, and enters anew before the writer runs. Where
//! reads are short, that is well: each is worth less than the switch. Where they are longer than a
//! spell of spinning, or readers sleep, the writer is woken by one release after another, for
//! nothing, and while it waits its own thread reads nothing. If the lock is given to it, others are
//! kept out for the time of its wake; readers that find another inside enter as before.

use crate::lock::{busy, spin};
use crate::lot::{self, Key};

#[cfg(all(test, loom))]
std::thread_local! {
    static ARE_LONG: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Explores a model in which they do.
#[cfg(all(test, loom))]
pub(crate) fn with_long_reads(explore: impl FnOnce()) {
    /// (Also if the model fails.)
    struct Without;

    impl Drop for Without {
        fn drop(&mut self) {
            ARE_LONG.set(false);
        }
    }

    let _without = Without;
    ARE_LONG.set(true);
    explore();
}

/// Whether spells of spinning for the lock at `key` have shown that readers, or writers, stay for
/// long. (Where no processor idles, other threads run while the lock waits for the writer; and one
/// that others keep from a processor may not run for long.)
pub(super) fn are_seen(key: Key) -> bool {
    #[cfg(all(test, loom))]
    if ARE_LONG.get() {
        return true;
    }
    spin::are_holders_off(key)
        && !lot::seems_single()
        && !lot::are_there_ranks()
        && !busy::is_busy()
}
