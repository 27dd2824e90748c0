//! furwock's operations on words beside the kernel's, in one run, interleaved; medians.
//!
//! `cargo bench -p furwock --bench futex [-- SECTION...]`, the sections being `calls`, `hash`,
//! `wake` and `any`.

mod any;
mod calls;
mod hash;
mod kernel;
mod wake;

/// A section of this program: its name, and what it prints.
const SECTIONS: [(&str, fn()); 4] =
    [("calls", calls::run), ("hash", hash::run), ("wake", wake::run), ("any", any::run)];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if let Some(unknown) = asked.iter().find(|arg| SECTIONS.iter().all(|(name, _)| name != arg)) {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        eprintln!("no section is called {unknown}: there are {names}");
        std::process::exit(2);
    }
    for (name, run) in SECTIONS {
        if asked.is_empty() || asked.iter().any(|arg| arg == name) {
            run();
            println!();
        }
    }
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Runs each of `ways` once in each of `rounds` rounds. Returns the median of each.
fn interleaved<W: Copy>(rounds: usize, ways: &[W], mut sample: impl FnMut(W) -> f64) -> Vec<f64> {
    let mut samples = vec![Vec::with_capacity(rounds); ways.len()];
    for _ in 0..rounds {
        for (&way, samples) in ways.iter().zip(&mut samples) {
            samples.push(sample(way));
        }
    }
    samples.iter_mut().map(|samples| median(samples)).collect()
}
