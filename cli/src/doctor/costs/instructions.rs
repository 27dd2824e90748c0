//! What instructions cost on one processor, and a line that no cache has.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::bound::{each_ns, now_ns, on};
use super::lines::Lines;
use super::samples::{Samples, median};
use crate::harness::{calibrate, spin};

const CALLS: u32 = 2_000;
/// How often memory is read.
const READS: usize = 24;

pub fn measure(processor: usize) -> Samples {
    on(processor, || Some(here())).unwrap_or_else(here)
}

fn here() -> Samples {
    let mut samples = Samples::default();
    let word = AtomicU32::new(0);
    let lines = Lines::new();
    lines.read();
    let hit = each_ns(CALLS / Lines::COUNT as u32, || lines.read()) / Lines::COUNT as f64;
    let store = each_ns(CALLS, || word.store(black_box(1), Ordering::Relaxed));
    let fenced = each_ns(CALLS, || {
        word.store(black_box(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    });
    samples.add("hit", Some(hit));
    samples.add("store", Some(store));
    samples.add("fence", Some((fenced - store).max(0.0)));
    let rmw = || _ = black_box(word.fetch_add(black_box(1), Ordering::AcqRel));
    samples.add("rmw", Some(each_ns(CALLS, rmw)));
    samples.add("pause", Some(each_ns(CALLS, spin_loop)));
    samples.add("clock", Some(each_ns(CALLS, || _ = black_box(now_ns()))));
    // SAFETY: no arguments.
    let processor = || _ = black_box(unsafe { libc::sched_getcpu() });
    samples.add("processor", Some(each_ns(CALLS, processor)));
    samples.add("memory", memory(&lines));
    samples
}

/// Reads lines that were taken out of all caches.
fn memory(lines: &Lines) -> Option<f64> {
    let read = |_| {
        lines.flush()?;
        let start = now_ns();
        lines.read();
        Some((now_ns() - start) as f64 / Lines::COUNT as f64)
    };
    median(&(0..READS).filter_map(read).collect::<Vec<_>>())
}

/// The speed of work while the core's other thread works, as a part of its speed alone.
pub fn sibling(one: usize, other: usize) -> Option<f64> {
    const WORK_US: f64 = 500.0;
    let loops = on(one, || Some((calibrate() * WORK_US) as u64))?;
    let time = move || {
        let start = now_ns();
        spin(loops);
        (now_ns() - start) as f64
    };
    let alone = on(one, || Some(time()))?;
    let together = std::thread::scope(|scope| {
        // The other works for four times as long, so that it is there all the time.
        let busy = super::bound::spawn_on(scope, other, move || {
            spin(loops * 4);
            Some(())
        })?;
        let times = on(one, || {
            spin(loops / 2);
            Some(time())
        });
        busy.join().ok().flatten()?;
        times
    })?;
    Some((alone / together).clamp(0.0, 1.0))
}
