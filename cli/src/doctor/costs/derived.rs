//! From what was measured to a machine file's fields: the simulator adds up what a measurement
//! contains, so that each part is what is left without the others.

use std::collections::BTreeMap;

use super::fields::{Field, default_of};
use super::processors::DISTANCES;
use super::samples::{Samples, median};
use super::threads::NAP_US;
use super::wakes::{SLEPT_US, idle_name};

/// The least that the simulator takes for a cost that must be there.
const LEAST: f64 = 0.01;

/// What could be measured, by `table.key` or `table.key.part`.
pub struct Derived {
    values: BTreeMap<String, f64>,
    /// What is to be known of a table's values.
    notes: Vec<(&'static str, String)>,
}

pub fn name(field: &Field) -> String {
    let part = field.part.map_or_else(String::new, |part| format!(".{part}"));
    format!("{}.{}{part}", field.table, field.key)
}

impl Derived {
    pub fn of(samples: &Samples) -> Self {
        let mut derived = Derived { values: BTreeMap::new(), notes: Vec::new() };
        derived.instructions(samples);
        derived.calls(samples);
        derived.wakes(samples);
        derived.check(samples);
        derived
    }

    pub fn get(&self, field: &Field) -> Option<f64> {
        self.values.get(&name(field)).copied()
    }

    pub fn notes(&self, table: &str) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(move |(of, _)| *of == table).map(|(_, note)| note.as_str())
    }

    /// A round trip has two stores to a line that both have read, and two reads of it.
    fn check(&mut self, samples: &Samples) {
        for (_, distance) in DISTANCES {
            let median = |what: &str| samples.median(&format!("{what}.{distance}"));
            let Some((read, upgrade)) = median("read").zip(median("upgrade")) else { continue };
            if let Some(trip) = median("trip") {
                let sum = 2.0 * (read + upgrade);
                let agree = if (0.5..=2.0).contains(&(trip / sum)) {
                    "they agree"
                } else {
                    "they differ: take these costs with care"
                };
                let note = format!(
                    "Check, {distance}: two threads that wait for each other's store take {trip:.0} \
                     ns for a round trip, twice `read` and `upgrade` is {sum:.0} ns; {agree}."
                );
                self.notes.push(("line", note));
            }
            if samples.median("rmw").is_some_and(|rmw| upgrade < 2.0 * rmw) {
                let note = format!(
                    "{distance}: a write to a line that both have read takes as long as one to an \
                     own line. These processors share their first cache: they are threads of one \
                     core, whatever the system says."
                );
                self.notes.push(("line", note));
            }
        }
    }

    fn set(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.values.insert(name.into(), value.max(LEAST));
        }
    }

    fn instructions(&mut self, samples: &Samples) {
        for key in ["hit", "store", "rmw", "memory"] {
            self.set(format!("line.{key}"), samples.median(key));
        }
        for key in ["pause", "fence", "clock", "processor", "sibling"] {
            self.set(format!("instruction.{key}"), samples.median(key));
        }
        for (_, distance) in DISTANCES {
            for key in ["read", "write", "upgrade"] {
                let name = format!("{key}.{distance}");
                self.set(format!("line.{name}"), samples.median(&name));
            }
        }
    }

    fn calls(&mut self, samples: &Samples) {
        let bucket = default_of("kernel", "bucket");
        let call = samples.median("call");
        let net = |what: &str, less: f64| Some(samples.median(what)? - call? - less);
        self.set("kernel.call", call);
        self.set("kernel.wait", net("mismatch", bucket));
        if self.values.contains_key("kernel.wait") {
            let note = "`wait` is what was measured less `bucket`, which is an estimate.";
            self.notes.push(("kernel", note.to_owned()));
        }
        self.set("kernel.wake", net("nobody", 0.0));
        self.set("kernel.spawn", samples.median("spawn"));
        let switch = || Some(samples.median("yield_ns")? - samples.median("yields")? * call?);
        self.set("kernel.switch", switch());
        self.set("kernel.slice", samples.median("slice"));
        self.set("kernel.migration", samples.median("migration"));
        let halted = latency(samples, NAP_US).unwrap_or(default_of("wake", "halt"));
        let slack = || Some(samples.median("nap_late")? - samples.median("mismatch")? - halted);
        self.set("kernel.slack", slack());
    }

    fn wakes(&mut self, samples: &Samples) {
        let before = before_a_wake(samples);
        let net = |what: &str| Some(samples.median(what)? - before?);
        self.set("wake.same", net("same"));
        for (_, distance) in DISTANCES {
            let name = format!("waker.{distance}");
            self.set(format!("wake.{name}"), net(&name));
        }
        let latency = |slept_us| Some((slept_us, latency(samples, slept_us)?));
        let latencies: Vec<_> = SLEPT_US.into_iter().filter_map(latency).collect();
        if before.is_some() {
            let note = "All but `interrupt` and the times after which a processor halts are what \
                        was measured less `bucket`, which is an estimate.";
            self.notes.push(("wake", note.to_owned()));
        }
        if latencies.len() < LATENCIES_MIN {
            return;
        }
        let found = states(&latencies).expect("latencies");
        let States { poll, halt, deep, halts_after, deep_after, levels } = found;
        let (from, to) = (latencies[0].0, latencies[latencies.len() - 1].0);
        let note = match levels {
            1 => Some(format!(
                "No step: from {from} to {to} us of sleep a wake takes as long, so that `poll`, \
                 `halt` and `deep` are the same."
            )),
            2 => Some(format!(
                "One step only from {from} to {to} us of sleep: `deep` is the same as `halt`."
            )),
            _ => None,
        };
        self.notes.extend(note.map(|note| ("wake", note)));
        self.set("wake.poll", Some(poll));
        self.set("wake.halt", Some(halt));
        self.set("wake.deep", Some(deep));
        // Zero means at once.
        self.values.insert("wake.halts_after".to_owned(), halts_after);
        self.set("wake.deep_after", Some(deep_after));
        // A processor with another thread isn't interrupted, one that has halted is.
        let halted = SLEPT_US.into_iter().filter(|slept_us| *slept_us as f64 * 1e3 >= halts_after);
        let costs = halted.filter_map(|us| samples.median(&idle_name("cost", us)));
        let interrupted = median(&costs.collect::<Vec<_>>());
        let nearest =
            DISTANCES.iter().find_map(|(_, distance)| samples.median(&format!("waker.{distance}")));
        self.set("wake.interrupt", interrupted.zip(nearest).map(|(with, without)| with - without));
    }
}

/// Fewer say nothing of steps.
const LATENCIES_MIN: usize = 4;

/// What a call takes until it wakes the first thread.
fn before_a_wake(samples: &Samples) -> Option<f64> {
    Some(samples.median("nobody")? + default_of("kernel", "bucket"))
}

/// From the wake to the thread's first instruction: half of the waker's cost comes before, and half
/// a call after.
fn latency(samples: &Samples, slept_us: u64) -> Option<f64> {
    let before = before_a_wake(samples)?;
    let cost = samples.median(&idle_name("cost", slept_us))? - before;
    let seen = samples.median(&idle_name("latency", slept_us))?;
    Some((seen - before - cost / 2.0 - samples.median("call")? / 2.0).max(LEAST))
}

/// An idle processor's states, in nanoseconds.
#[derive(Debug, PartialEq)]
struct States {
    poll: f64,
    halt: f64,
    deep: f64,
    halts_after: f64,
    deep_after: f64,
    /// How many of them differ.
    levels: usize,
}

/// A state is so much slower than the one before.
const DIFFERS: f64 = 1.3;
/// How much nearer, in sum, all latencies have to be to the levels for one more of them: else a
/// latency that varies is a state.
const STEP_GAINS: f64 = 0.5;

/// The steps at those places: the levels between, and how far the latencies are from these.
fn fit(latencies: &[(u64, f64)], steps: &[usize]) -> Option<(Vec<f64>, f64)> {
    let ends = steps.iter().copied().chain([latencies.len()]);
    let (mut from, mut levels, mut error) = (0, Vec::new(), 0.0);
    for end in ends {
        let part: Vec<f64> = latencies[from..end].iter().map(|(_, latency)| *latency).collect();
        let level = median(&part)?;
        if levels.last().is_some_and(|last| level < last * DIFFERS) {
            return None;
        }
        error += part.iter().map(|latency| (latency / level).ln().abs()).sum::<f64>();
        levels.push(level);
        from = end;
    }
    Some((levels, error + steps.len() as f64 * STEP_GAINS))
}

/// From latencies by microseconds of sleep: the ascending steps that fit them best, at most two.
fn states(latencies: &[(u64, f64)]) -> Option<States> {
    let count = latencies.len();
    let one = (1..count).map(|at| vec![at]);
    let two = (1..count).flat_map(|at| (at + 1..count).map(move |then| vec![at, then]));
    let fits = std::iter::once(Vec::new())
        .chain(one)
        .chain(two)
        .filter_map(|steps| fit(latencies, &steps).map(|(levels, error)| (steps, levels, error)));
    let (steps, levels, _) = fits.min_by(|one, other| one.2.total_cmp(&other.2))?;
    let ns = |at: usize| latencies[at].0 as f64 * 1e3;
    let longest = ns(count - 1);
    Some(match (levels.as_slice(), steps.as_slice()) {
        (&[poll, halt, deep], &[halts, sleeps]) => {
            States { poll, halt, deep, halts_after: ns(halts), deep_after: ns(sleeps), levels: 3 }
        }
        (&[poll, halt], &[halts]) => States {
            poll,
            halt,
            deep: halt,
            halts_after: ns(halts),
            deep_after: longest,
            levels: 2,
        },
        // It halts at once, or never.
        _ => States {
            poll: levels[0],
            halt: levels[0],
            deep: levels[0],
            halts_after: 0.0,
            deep_after: longest,
            levels: 1,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_by_their_latency() {
        let three =
            [(3, 1.0), (6, 1.2), (10, 1.1), (30, 4.0), (100, 4.2), (1000, 10.0), (3000, 10.0)];
        let found = states(&three).unwrap();
        assert_eq!((found.poll, found.halt, found.deep), (1.1, 4.1, 10.0));
        assert_eq!((found.halts_after, found.deep_after, found.levels), (30e3, 1e6, 3));
        let two = states(&[(3, 1.0), (10, 9.0), (30, 9.5), (100, 9.0)]).unwrap();
        assert_eq!((two.poll, two.halt, two.deep, two.levels), (1.0, 9.0, 9.0, 2));
        assert_eq!((two.halts_after, two.deep_after), (10e3, 100e3));
        let one = states(&[(3, 9.0), (10, 9.5), (30, 8.5)]).unwrap();
        assert_eq!((one.poll, one.deep, one.halts_after, one.levels), (9.0, 9.0, 0.0, 1));
    }

    /// One latency that the host disturbed, in the middle or before the end, is no state.
    #[test]
    fn a_latency_that_varies_is_no_state() {
        let mut latencies: Vec<(u64, f64)> =
            SLEPT_US.into_iter().map(|us| (us, if us < 50 { 14.0 } else { 20.0 })).collect();
        let plain = states(&latencies).unwrap();
        assert_eq!((plain.poll, plain.halt, plain.halts_after), (14.0, 20.0, 50e3));
        latencies[7].1 = 90.0;
        latencies[1].1 = 17.0;
        assert_eq!(states(&latencies).unwrap(), plain);
    }

    #[test]
    fn a_round_trip_checks_the_costs_of_lines() {
        let said = |trip: f64, upgrade: f64| {
            let mut samples = Samples::default();
            let measured = [("trip", trip), ("read", 25.0), ("upgrade", upgrade)];
            measured
                .into_iter()
                .for_each(|(what, ns)| samples.add(format!("{what}.cluster"), Some(ns)));
            samples.add("rmw", Some(5.0));
            Derived::of(&samples).notes("line").collect::<Vec<_>>().join(" ")
        };
        assert!(said(100.0, 25.0).contains("they agree"));
        assert!(said(350.0, 25.0).contains("they differ"));
        assert!(said(20.0, 25.0).contains("they differ"));
        assert!(said(60.0, 7.0).contains("threads of one core"));
        assert!(!said(100.0, 25.0).contains("threads of one core"));
    }

    #[test]
    fn each_part_is_what_the_others_leave() {
        let mut samples = Samples::default();
        let measured = [("call", 100.0), ("mismatch", 260.0), ("nobody", 130.0), ("same", 890.0)];
        measured.into_iter().for_each(|(name, value)| samples.add(name, Some(value)));
        samples.add("yield_ns", Some(1_200.0));
        samples.add("yields", Some(2.0));
        for us in SLEPT_US {
            samples.add(idle_name("cost", us), Some(4_190.0));
            samples.add(idle_name("latency", us), Some(12_240.0));
        }
        samples.add("waker.socket", Some(1_190.0));
        let derived = Derived::of(&samples);
        let value = |name: &str| derived.values.get(name).copied();
        assert_eq!(value("kernel.wait"), Some(100.0));
        assert_eq!(value("kernel.wake"), Some(30.0));
        assert_eq!(value("kernel.switch"), Some(1_000.0));
        assert_eq!(value("wake.same"), Some(700.0));
        assert_eq!(value("wake.waker.socket"), Some(1_000.0));
        assert_eq!(value("wake.interrupt"), Some(3_000.0));
        // 12,240 less 190 before the wake, 2,000 of the waker's 4,000, and 50 of the call.
        assert_eq!(value("wake.halt"), Some(10_000.0));
        assert_eq!(value("line.hit"), None);
    }
}
