//! What the scheduler's doings cost: a new thread, another one on a processor, its slice, a timer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, sleep, yield_now};
use std::time::Duration;

use super::bound::{now_ns, on, spawn_on};
use super::patience::Patience;
use super::samples::{Samples, median};

const SPAWNS: usize = 8;
const YIELDS: u32 = 1_000;
const NAPS: usize = 12;
/// How long the naps are that measure how late timers are.
pub const NAP_US: u64 = 200;
/// How long two threads compete for a processor, to see their slices.
const COMPETITION: Duration = Duration::from_millis(50);
/// A shorter time without the processor is an interrupt.
const SLICE_MIN_NS: u64 = 400_000;
/// So few slices have no median that means anything.
const SLICES_MIN: usize = 3;

pub fn measure(samples: &mut Samples, processor: usize, patience: Patience) {
    samples.add("spawn", on(processor, spawn));
    if let Some((yields, switches, took)) = switch(processor, patience) {
        samples.add("yield_ns", Some(took / switches));
        samples.add("yields", Some(yields / switches));
    }
    samples.add("slice", slice(processor, patience));
    samples.add("nap_late", on(processor, nap_late));
}

fn spawn() -> Option<f64> {
    let spawn = |_| {
        let start = now_ns();
        let thread = Builder::new().spawn(|| ()).ok()?;
        let took = (now_ns() - start) as f64;
        thread.join().ok().map(|()| took)
    };
    median(&(0..SPAWNS).filter_map(spawn).collect::<Vec<_>>())
}

/// How often the calling thread has lost or left its processor.
fn switches() -> f64 {
    // SAFETY: all-zero is a valid rusage, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as f64
}

/// Two threads give each other a processor. Returns calls, switches and nanoseconds.
fn switch(processor: usize, patience: Patience) -> Option<(f64, f64, f64)> {
    let (has_begun, ends) = (AtomicBool::new(false), AtomicBool::new(false));
    let other = || {
        let (mut yields, before) = (0.0, switches());
        has_begun.store(true, Ordering::Release);
        while !ends.load(Ordering::Acquire) && !patience.is_over() {
            yield_now();
            yields += 1.0;
        }
        Some((yields, switches() - before))
    };
    std::thread::scope(|scope| {
        let other = spawn_on(scope, processor, other)?;
        let one = on(processor, || {
            patience.nap_until(|| has_begun.load(Ordering::Acquire))?;
            let (before, start) = (switches(), now_ns());
            (0..YIELDS).for_each(|_| yield_now());
            Some(((now_ns() - start) as f64, switches() - before))
        });
        ends.store(true, Ordering::Release);
        let (yields, of_other) = other.join().ok().flatten()?;
        let (took, of_one) = one?;
        let (yields, switches) = (yields + f64::from(YIELDS), of_one + of_other);
        // Where calls hardly ever switch, what they take says nothing of switches.
        (switches * 4.0 > yields).then_some((yields, switches, took))
    })
}

/// For how long a thread doesn't have its processor while another wants it, too.
fn slice(processor: usize, patience: Patience) -> Option<f64> {
    let patience = patience.at_most(COMPETITION);
    let work = || {
        let (mut last, mut gaps) = (now_ns(), Vec::new());
        while !patience.is_over() {
            let now = now_ns();
            gaps.extend((now - last >= SLICE_MIN_NS).then_some((now - last) as f64));
            last = now;
        }
        (gaps.len() >= SLICES_MIN).then(|| median(&gaps)).flatten()
    };
    std::thread::scope(|scope| {
        let other = spawn_on(scope, processor, work)?;
        let one = on(processor, work);
        one.or(other.join().ok().flatten())
    })
}

/// How late a thread runs whose timer is over.
fn nap_late() -> Option<f64> {
    let nap = |_| {
        let start = now_ns();
        sleep(Duration::from_micros(NAP_US));
        (now_ns() - start) as f64 - NAP_US as f64 * 1e3
    };
    median(&(0..NAPS).map(nap).collect::<Vec<_>>())
}
