//! Waiting that ends: a processor may be taken away, or a thread never run.

use std::hint::spin_loop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a spinning thread looks at the word before it looks at the clock.
const LOOKS: u32 = 64;
const NAP: Duration = Duration::from_micros(30);

/// A time at which all waits end.
#[derive(Clone, Copy)]
pub struct Patience(Instant);

impl Patience {
    pub fn lasting(time: Duration) -> Self {
        Patience(Instant::now() + time)
    }

    /// The same, but not longer than `time` from now.
    pub fn at_most(self, time: Duration) -> Self {
        Patience(self.0.min(Instant::now() + time))
    }

    pub fn is_over(self) -> bool {
        Instant::now() >= self.0
    }

    /// Spins until `is_so`; nothing if that doesn't come in time.
    pub fn spin_until(self, is_so: impl Fn() -> bool) -> Option<()> {
        loop {
            for _ in 0..LOOKS {
                if is_so() {
                    return Some(());
                }
                spin_loop();
            }
            if self.is_over() {
                return None;
            }
        }
    }

    /// The same for a thread that has to leave its processor to the other.
    pub fn nap_until(self, is_so: impl Fn() -> bool) -> Option<()> {
        while !is_so() {
            if self.is_over() {
                return None;
            }
            sleep(NAP);
        }
        Some(())
    }
}

/// Spins for `time`.
pub fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end() {
        let patience = Patience::lasting(Duration::from_millis(2));
        assert_eq!(patience.spin_until(|| true), Some(()));
        assert_eq!(patience.spin_until(|| false), None);
        assert_eq!(patience.nap_until(|| false), None);
        assert!(Patience::lasting(Duration::from_secs(9)).at_most(Duration::ZERO).is_over());
    }
}
