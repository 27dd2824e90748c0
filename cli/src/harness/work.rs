//! Work that takes a known time, and touches nothing but registers.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::{Duration, Instant};

/// Computes for `loops` iterations. Each depends on the one before, so that neither compiler nor
/// CPU can take a short cut.
#[inline(never)]
pub fn spin(loops: u64) {
    let mut state: u64 = black_box(0x9E37_79B9_7F4A_7C15);
    for _ in 0..loops {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Iterations of `spin` in a microsecond, from the fastest of many short trials: the slower ones
/// were disturbed.
pub fn calibrate() -> f64 {
    const LOOPS: u64 = 200_000;
    const TRIALS: usize = 40;
    let trial = || {
        let start = Instant::now();
        spin(LOOPS);
        start.elapsed()
    };
    let fastest = (0..TRIALS).map(|_| trial()).min().unwrap_or_default();
    LOOPS as f64 / (fastest.max(Duration::from_nanos(1)).as_secs_f64() * 1e6)
}

/// The least time of any lock and unlock, in seconds: a compare-and-exchange and an exchange on a
/// word that is in this processor's cache. Measured once, as above.
pub fn floor_s() -> f64 {
    static FLOOR: OnceLock<f64> = OnceLock::new();
    *FLOOR.get_or_init(|| {
        const PAIRS: u64 = 10_000;
        const TRIALS: usize = 40;
        let word = AtomicU32::new(0);
        let trial = || {
            let start = Instant::now();
            take_and_release(&word, PAIRS);
            start.elapsed()
        };
        let fastest = (0..TRIALS).map(|_| trial()).min().unwrap_or_default();
        fastest.as_secs_f64() / PAIRS as f64
    })
}

/// The two instructions, `pairs` times.
pub fn take_and_release(word: &AtomicU32, pairs: u64) {
    for _ in 0..pairs {
        assert!(word.compare_exchange(0, 1, Acquire, Relaxed).is_ok());
        // The result is used, as in an unlock: a compiler may turn an unused one into a store.
        assert!(word.swap(0, Release) == 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibrated_work_takes_its_time() {
        let loops = (calibrate() * 1000.0) as u64;
        let start = Instant::now();
        spin(loops);
        // A disturbed machine may take longer, but nothing makes the work shorter.
        assert!(start.elapsed() > Duration::from_micros(600), "{:?}", start.elapsed());
    }
}
