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
pub struct Derived(BTreeMap<String, f64>);

pub fn name(field: &Field) -> String {
    let part = field.part.map_or_else(String::new, |part| format!(".{part}"));
    format!("{}.{}{part}", field.table, field.key)
}

impl Derived {
    pub fn of(samples: &Samples) -> Self {
        let mut derived = Derived(BTreeMap::new());
        derived.instructions(samples);
        derived.calls(samples);
        derived.wakes(samples);
        derived
    }

    pub fn get(&self, field: &Field) -> Option<f64> {
        self.0.get(&name(field)).copied()
    }

    fn set(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.0.insert(name.into(), value.max(LEAST));
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
        let Some(latencies) = SLEPT_US.into_iter().map(latency).collect::<Option<Vec<_>>>() else {
            return;
        };
        let States { poll, halt, deep, halts_after, deep_after } = states(&latencies);
        self.set("wake.poll", Some(poll));
        self.set("wake.halt", Some(halt));
        self.set("wake.deep", Some(deep));
        // Zero means at once.
        self.0.insert("wake.halts_after".to_owned(), halts_after);
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
}

/// Less of a difference is no other state.
const DIFFERS: f64 = 1.3;

/// From latencies by microseconds of sleep: a quarter of the way from the quickest to the slowest
/// is a halt, three quarters are deep sleep.
fn states(latencies: &[(u64, f64)]) -> States {
    let only: Vec<f64> = latencies.iter().map(|(_, latency)| *latency).collect();
    let (first, last) = (only[0], only[only.len() - 1]);
    let all = median(&only).expect("not empty");
    let longest = latencies[latencies.len() - 1].0 as f64 * 1e3;
    if last < first * DIFFERS {
        // It halts at once, or never.
        let halts_after = 0.0;
        return States { poll: all, halt: all, deep: all, halts_after, deep_after: longest };
    }
    let reaches = |part: f64| {
        let slow = |(_, latency): &&(u64, f64)| *latency >= first + (last - first) * part;
        latencies.iter().position(|each| slow(&each)).expect("the last does")
    };
    let (halts, deep) = (reaches(0.25), reaches(0.75));
    let ns = |at: usize| latencies[at].0 as f64 * 1e3;
    let between = median(&only[halts..deep]);
    States {
        poll: median(&only[..halts]).unwrap_or(first),
        // Where there are two states only, the second counts as a halt.
        halt: between.unwrap_or(last),
        deep: last,
        halts_after: ns(halts),
        deep_after: if between.is_some() { ns(deep) } else { longest },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_by_their_latency() {
        let three = [(3, 1.0), (10, 1.2), (30, 4.0), (100, 4.2), (1000, 10.0)];
        let found = states(&three);
        assert_eq!((found.poll, found.halt, found.deep), (1.1, 4.1, 10.0));
        assert_eq!((found.halts_after, found.deep_after), (30e3, 1e6));
        let two = states(&[(3, 1.0), (10, 9.0), (30, 9.5), (100, 9.0)]);
        assert_eq!((two.poll, two.halt, two.deep), (1.0, 9.0, 9.0));
        assert_eq!((two.halts_after, two.deep_after), (10e3, 100e3));
        let one = states(&[(3, 9.0), (10, 9.5), (30, 8.5)]);
        assert_eq!((one.poll, one.deep, one.halts_after), (9.0, 9.0, 0.0));
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
        let value = |name: &str| derived.0.get(name).copied();
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
