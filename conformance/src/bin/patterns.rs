//! `furwock-patterns [--first SEED] [--patterns N] [--rounds N] [--ms N] [NAME=VALUE]...`: draws
//! patterns of locking (`patterns`), runs each on glibc and on furwock by turns, and prints those
//! in which furwock is behind: for what no benchmark's author has thought of. `NAME=VALUE` changes
//! one number of each pattern (`patterns/draw.c` has the names), to see what matters.

use furwock_conformance::program::stdout_of;
use furwock_conformance::{Artifact, Side, scratch};
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// A pattern is printed if its rate is less than so much of glibc's, or an operation takes so much
/// more of the processors' time.
const BEHIND: f64 = 0.93;
const DEAR: f64 = 1.25;

/// A lost wakeup is a failure after so long.
const LIMIT: Duration = Duration::from_secs(20);

struct Options {
    first: u64,
    patterns: u64,
    rounds: usize,
    ms: u64,
    changes: Vec<String>,
}

/// What one run came to, or the medians of some.
#[derive(Clone, Copy)]
struct Outcome {
    operations_a_second: f64,
    processors: f64,
    jain: f64,
}

fn main() -> ExitCode {
    let Some(options) = parse(env::args().skip(1)) else {
        eprintln!(
            "usage: furwock-patterns [--first SEED] [--patterns N] [--rounds N] [--ms N] \
             [NAME=VALUE]..."
        );
        return ExitCode::from(2);
    };
    let folder = scratch("patterns");
    let program = Artifact::program("patterns/pattern.c", &folder, "pattern")
        .and(&["patterns/draw.c", "patterns/operate.c"])
        .with(&["-lm"])
        .build();
    println!("seed: rate over glibc's, processor time an operation, Jain's index (glibc's)");
    let (mut rates, mut times, mut behind) = (Vec::new(), Vec::new(), 0);
    for seed in options.first..options.first.saturating_add(options.patterns) {
        let [glibc, furwock] = measure(&program, seed, &options);
        // (On glibc, too, nobody gets anything done in that time: all sleep for long.)
        if glibc.operations_a_second == 0.0 {
            continue;
        }
        let rate = furwock.operations_a_second / glibc.operations_a_second;
        let time = furwock.processors / glibc.processors / rate;
        // (Where nobody does on furwock, that is said, and is no part of a mean.)
        if rate > 0.0 && time.is_finite() && time > 0.0 {
            rates.push(rate);
            times.push(time);
        }
        behind += usize::from(rate < BEHIND);
        if rate < BEHIND || time > DEAR {
            let mut says = Command::new(&program);
            says.arg(seed.to_string()).args(&options.changes);
            let (own, glibcs) = (furwock.jain, glibc.jain);
            let what = stdout_of(says, LIMIT);
            print!("{seed}: {rate:.2}, {time:.2}, {own:.2} ({glibcs:.2}): {what}");
        }
    }
    println!(
        "{} patterns: {:.2} of glibc's rate, {:.2} of its processor time (geometric means); \
         {behind} below {BEHIND}",
        rates.len(),
        geometric_mean(&rates),
        geometric_mean(&times)
    );
    ExitCode::SUCCESS
}

fn parse(mut given: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { first: 1, patterns: 100, rounds: 3, ms: 200, changes: Vec::new() };
    while let Some(name) = given.next() {
        if name.contains('=') {
            options.changes.push(name);
            continue;
        }
        let value: u64 = given.next()?.parse().ok()?;
        match name.as_str() {
            "--first" => options.first = value,
            "--patterns" => options.patterns = value,
            "--rounds" if value > 0 => options.rounds = value.try_into().ok()?,
            "--ms" if value > 0 => options.ms = value,
            _ => return None,
        }
    }
    Some(options)
}

/// Runs the pattern on glibc and on furwock, each first in every other round.
fn measure(program: &Path, seed: u64, options: &Options) -> [Outcome; 2] {
    const SIDES: [Side; 2] = [Side::Glibc, Side::Furwock];
    let mut outcomes = [Vec::new(), Vec::new()];
    for round in 0..options.rounds {
        for turn in 0..SIDES.len() {
            let at = (round + turn) % SIDES.len();
            let mut command = SIDES[at].command(program);
            command.args([seed.to_string(), options.ms.to_string()]).args(&options.changes);
            let limit = LIMIT + Duration::from_millis(options.ms);
            outcomes[at].push(outcome(&stdout_of(command, limit)));
        }
    }
    outcomes.map(|outcomes| medians(&outcomes))
}

fn outcome(says: &str) -> Outcome {
    let figures: Vec<f64> = says.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [operations_a_second, processors, jain] = figures[..] else {
        panic!("pattern.c prints three figures, and not {says:?}");
    };
    Outcome { operations_a_second, processors, jain }
}

fn medians(outcomes: &[Outcome]) -> Outcome {
    let of = |figure: fn(&Outcome) -> f64| {
        let mut figures: Vec<_> = outcomes.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Outcome {
        operations_a_second: of(|outcome| outcome.operations_a_second),
        processors: of(|outcome| outcome.processors),
        jain: of(|outcome| outcome.jain),
    }
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (sum / ratios.len() as f64).exp()
}
