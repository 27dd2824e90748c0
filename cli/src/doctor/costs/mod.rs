//! `furwock doctor --costs`: measures what a machine file of the simulator needs.
//!
//! Rounds of all measurements follow one another, so that a slow time of the machine is in one
//! round of each; a value is the median of its rounds. Rounds in which a CPU was away are repeated,
//! as those of the benchmarks are. Every wait ends by itself: what could not be measured in time is
//! an estimate.

mod bound;
mod calls;
mod derived;
mod fields;
mod file;
mod instructions;
mod lines;
mod patience;
mod processors;
mod samples;
mod threads;
mod wakes;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::output::{check_writable, write_to};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use derived::Derived;
use file::Origin;
use patience::Patience;
use processors::{DISTANCES, Distance, Processors};
use samples::Samples;

const ROUNDS: usize = 9;
/// Rounds that may be repeated.
const RETRIES: usize = 6;
/// No round begins later than this.
const LAST_ROUND: Duration = Duration::from_secs(13);
/// All waits end after this: with what takes no waiting, a run takes 20 seconds at most.
const ALL: Duration = Duration::from_secs(17);

/// What all rounds measured, how many there were, and how noisy.
type Rounds = (Samples, usize, NoiseFilter);

/// Returns the exit status.
pub fn run(output: Option<&Path>) -> Result<i32, Failure> {
    run_by(output, rounds)
}

fn run_by(
    output: Option<&Path>,
    rounds: impl FnOnce(&Processors) -> Option<Rounds>,
) -> Result<i32, Failure> {
    output.map_or(Ok(()), check_writable)?;
    interrupt::watch();
    let (machine, processors) = (Machine::this(), Processors::allowed());
    let Some((samples, rounds, noise)) = rounds(&processors) else {
        return Ok(STATUS_INTERRUPTED);
    };
    let derived = Derived::of(&samples);
    let binds = processors.first().is_some_and(|first| bound::on(first, || Some(())).is_some());
    let origin = Origin {
        machine: &machine,
        processors: &processors,
        binds,
        rounds,
        noise: noise.summary("rounds"),
    };
    let text = file::text(&origin, &derived);
    match output {
        Some(path) => {
            write_to(Some(path), |path| std::fs::write(path, &text))?;
            let estimates = file::estimates(&derived).len();
            anstream::eprintln!(
                "{} values measured in {rounds} rounds, {estimates} estimates: {}",
                fields::FIELDS.len() - estimates,
                path.display()
            );
        }
        None => write_to(Some(Path::new("standard output")), |_| {
            let mut stdout = std::io::stdout();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        })?,
    }
    Ok(0)
}

/// Nothing if it was interrupted.
fn rounds(processors: &Processors) -> Option<Rounds> {
    let (all, last_round) = (Patience::lasting(ALL), Patience::lasting(LAST_ROUND));
    let (mut samples, mut rounds, mut retries) = (Samples::default(), 0, RETRIES);
    let progress = progress_bar(ROUNDS);
    let mut noise = NoiseFilter::new();
    while rounds < ROUNDS && (rounds == 0 || !last_round.is_over()) {
        let round = round(processors, all);
        if interrupt::asked() {
            progress.finish_and_clear();
            return None;
        }
        // Towards the end a noisy round is better than none.
        if last_round.is_over() {
            retries = 0;
        }
        if noise.accepts(&mut retries) {
            samples.merge(round);
            rounds += 1;
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Some((samples, rounds, noise))
}

fn round(processors: &Processors, patience: Patience) -> Samples {
    let first = processors.first().unwrap_or(0);
    let mut samples = instructions::measure(first);
    samples.merge(calls::measure(first));
    if let Some((one, other)) = processors.pair(Distance::Sibling) {
        samples.add("sibling", instructions::sibling(one, other));
    }
    let nearest = processors.nearest_pair().map(|(distance, ..)| distance);
    for (distance, name) in DISTANCES {
        let Some(pair) = processors.pair(distance) else { continue };
        lines::add(&mut samples, name, lines::measure(pair.0, pair.1, patience));
        samples.add(format!("trip.{name}"), lines::round_trip(pair.0, pair.1, patience));
        let is_nearest = nearest == Some(distance);
        wakes::measure_pair(&mut samples, name, is_nearest, pair, patience);
    }
    wakes::measure_same(&mut samples, first, patience);
    threads::measure(&mut samples, first, patience);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwritable_file_is_refused_before_anything_is_measured() {
        let path = Path::new("/no/such/folder/machine.toml");
        let refused = run_by(Some(path), |_| panic!("measured")).unwrap_err().to_string();
        assert!(refused.contains("cannot write /no/such/folder/machine.toml"), "{refused}");
    }

    #[test]
    fn an_interrupted_measurement_writes_nothing() {
        let path = std::env::temp_dir().join(format!("furwock-costs-{}", std::process::id()));
        assert_eq!(run_by(Some(&path), |_| None).ok(), Some(STATUS_INTERRUPTED));
        assert!(!path.exists());
    }
}
