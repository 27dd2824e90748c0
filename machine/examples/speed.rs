//! How many simulated accesses a second this host manages: `cargo run --release --example speed`.

use machine::atomic::{AtomicU64, Ordering};
use machine::{Machine, Simulation, hint, work_ns};
use std::time::Instant;

/// A word on a line of its own.
#[repr(align(64))]
#[derive(Default)]
struct Word(AtomicU64);

/// Runs `threads` threads that call `step` again and again.
fn measure(what: &str, name: &str, threads: usize, step: impl Fn(usize, u64) + Copy) {
    const ACCESSES: u64 = 3_000_000;
    let machine = Machine::named(name).unwrap_or_else(|bad| panic!("{bad}"));
    let before = Instant::now();
    let run = Simulation::new(&machine, 1).limit_ns(1 << 50).run(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                // Until all have been spawned.
                work_ns(10_000_000);
                (0..ACCESSES / threads as u64).for_each(|index| step(thread, index));
            });
        }
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    let seconds = before.elapsed().as_secs_f64();
    let events = run.total.accesses + run.total.pauses;
    println!(
        "{what:<40} {name:<12} {threads:>4} threads {:>7.2} M/s {:>8.3} ms virtual",
        events as f64 / seconds / 1e6,
        run.now_ns as f64 / 1e6
    );
}

fn main() {
    let words: Vec<Word> = (0..512).map(|_| Word::default()).collect();
    let words = &words;
    for (name, threads) in [("xeon-kvm-2", 2), ("epyc-2x64", 16), ("epyc-2x64", 128)] {
        measure("adds to words of their own", name, threads, |thread, _| {
            words[thread].0.fetch_add(1, Ordering::Relaxed);
        });
        measure("adds to one word", name, threads, |_, _| {
            words[0].0.fetch_add(1, Ordering::Relaxed);
        });
        measure("reads of a word that one writes", name, threads, |thread, index| {
            if thread == 0 && index % 64 == 0 {
                words[0].0.store(index, Ordering::Relaxed);
            } else {
                words[0].0.load(Ordering::Relaxed);
            }
        });
        measure("spins: a pause and a read", name, threads, |_, _| {
            hint::spin_loop();
            words[0].0.load(Ordering::Relaxed);
        });
    }
    measure("adds to words of their own, in turns", "epyc-2x64", 512, |thread, _| {
        words[thread].0.fetch_add(1, Ordering::Relaxed);
    });
    for skips in [false, true] {
        wait_in_line(skips);
    }
}

/// A ticket lock with 256 threads on 16 processors, for 200 ms: all but one wait.
fn wait_in_line(skips: bool) {
    let machine = Machine::named("sixteen").unwrap_or_else(|bad| panic!("{bad}"));
    let turn = Word::default();
    let before = Instant::now();
    let run = Simulation::new(&machine, 1).ends_at_ns(200_000_000).run(|scope| {
        for thread in 0..256 {
            let turn = &turn.0;
            scope.spawn(move || {
                // Until all have been spawned.
                work_ns(10_000_000);
                if skips {
                    turn.spin_until(Ordering::Acquire, |turn| turn == thread);
                } else {
                    while turn.load(Ordering::Acquire) != thread {
                        hint::spin_loop();
                    }
                }
                work_ns(1_000);
                turn.store(thread + 1, Ordering::Release);
            });
        }
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    println!(
        "{:<40} {:>8.3} ms virtual, {} looks, {:.3} s on the host",
        if skips { "256 spin in line, skipped ahead" } else { "256 spin in line" },
        run.now_ns as f64 / 1e6,
        run.total.accesses,
        before.elapsed().as_secs_f64()
    );
}
