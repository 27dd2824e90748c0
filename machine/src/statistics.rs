//! What a simulation counts.

use crate::topology::Distance;
use std::ops::{AddAssign, Sub};

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        /// Counts of one thread, or of all.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Statistics {
            $($(#[$meta])* pub $name: u64,)*
            /// Lines that came from another core, by its distance ([`Distance`] as an index).
            pub transfers_from: [u64; 4],
        }

        impl AddAssign for Statistics {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
                for (count, other) in self.transfers_from.iter_mut().zip(other.transfers_from) {
                    *count += other;
                }
            }
        }

        impl Sub for Statistics {
            type Output = Self;

            fn sub(mut self, other: Self) -> Self {
                $(self.$name -= other.$name;)*
                for (count, other) in self.transfers_from.iter_mut().zip(other.transfers_from) {
                    *count -= other;
                }
                self
            }
        }
    };
}

counters! {
    /// Accesses to atomics.
    accesses,
    /// Lines taken from the caches of others that shared them.
    upgrades,
    /// Lines that came from memory.
    from_memory,
    /// Pauses.
    pauses,
    /// Sleeps in the kernel.
    sleeps,
    /// Calls that may wake.
    wake_calls,
    /// Threads woken.
    woken,
    /// Times that the thread gave up its processor by itself.
    voluntary_switches,
    /// Times that it was taken off its processor.
    preemptions,
    /// Times that it went on on another processor than before.
    migrations,
    /// Virtual nanoseconds for which it had a processor.
    ran_ns,
    /// Of these, nanoseconds of `work_ns`.
    worked_ns,
    /// Nanoseconds for which it was runnable and had no processor.
    queued_ns,
}

impl Statistics {
    /// Lines that came from another core.
    pub fn transfers(&self) -> u64 {
        self.transfers_from.iter().sum()
    }

    /// Lines that came from another core at that distance.
    pub fn transfers_at(&self, distance: Distance) -> u64 {
        self.transfers_from[distance as usize]
    }
}

/// Counts of one thread.
#[derive(Clone, Debug)]
pub struct ThreadStatistics {
    /// Its id.
    pub thread: u32,
    /// Its name, if it has one.
    pub name: String,
    /// Its counts.
    pub statistics: Statistics,
}
