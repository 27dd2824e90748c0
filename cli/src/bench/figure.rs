//! A figure of a workload's report: its name, which direction is better, how it is written.

use crate::measuring::number::{self, compact, digits, with_unit};
use crate::statistics::{Spread, ratio};

/// A figure of a workload's report that becomes a table.
#[derive(Clone, Copy)]
pub struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// Is it left out of the text?
    pub detail: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown with the spread of the rounds.
    PerSecond,
    /// In seconds, shown with the spread of the rounds.
    Time,
    /// In seconds.
    Wait,
    Nanoseconds,
    /// A plain number.
    Index,
}

/// The rate, which ranks contestants.
pub const OPERATIONS: Figure = Figure::rate("ops_per_second", "operations a second");
pub const CPU: Figure = Figure::nanoseconds("cpu_ns_per_op", "processor time an operation");
pub const SWITCHES: Figure =
    Figure::index("voluntary_per_1000", "voluntary context switches in 1000 operations");
pub const PREEMPTIONS: Figure =
    Figure::index("involuntary_per_1000", "involuntary context switches in 1000 operations");
/// For workloads in which nearly every operation sleeps.
pub const SWITCHES_EACH: Figure =
    Figure::index("voluntary_per_op", "voluntary context switches an operation");
pub const PREEMPTIONS_EACH: Figure =
    Figure::index("involuntary_per_op", "involuntary context switches an operation");
pub const JAIN: Figure = Figure {
    better: Better::More,
    detail: false,
    ..Figure::index("jain", "Jain's fairness over the threads (1: all did as many)")
};
pub const LEAST_SHARE: Figure = Figure {
    better: Better::More,
    ..Figure::index("min_over_mean", "the slowest thread's operations, divided by the mean")
};

/// The figures of threads that contend for something.
pub const CONTENTION: [Figure; 10] = [
    OPERATIONS,
    Figure::wait("wait_p50_s", "wait, median").detail(),
    Figure::wait("wait_p99_s", "wait, 99th percentile").detail(),
    Figure::wait("wait_p999_s", "wait, 99.9th percentile"),
    Figure::wait("wait_max_s", "longest wait of a round"),
    CPU,
    SWITCHES,
    PREEMPTIONS,
    JAIN,
    LEAST_SHARE,
];

impl Figure {
    const fn new(name: &'static str, title: &'static str, unit: Unit, better: Better) -> Self {
        Figure { name, title, unit, better, detail: false }
    }

    pub const fn rate(name: &'static str, title: &'static str) -> Self {
        Figure::new(name, title, Unit::PerSecond, Better::More)
    }

    pub const fn time(name: &'static str, title: &'static str) -> Self {
        Figure::new(name, title, Unit::Time, Better::Less)
    }

    pub const fn wait(name: &'static str, title: &'static str) -> Self {
        Figure::new(name, title, Unit::Wait, Better::Less)
    }

    pub const fn nanoseconds(name: &'static str, title: &'static str) -> Self {
        Figure::new(name, title, Unit::Nanoseconds, Better::Less)
    }

    /// A number that only the page, JSON and CSV have.
    pub const fn index(name: &'static str, title: &'static str) -> Self {
        Figure::new(name, title, Unit::Index, Better::Less).detail()
    }

    /// The tables of text leave it out.
    pub const fn detail(self) -> Self {
        Figure { detail: true, ..self }
    }
}

impl Figure {
    /// The title without what it adds in brackets.
    pub fn short_title(&self) -> &'static str {
        self.title.split(" (").next().unwrap_or_default()
    }

    /// The title of a table.
    pub fn heading(&self) -> String {
        match self.unit {
            Unit::PerSecond | Unit::Time => {
                format!("{} (±: half the range of the rounds, in percent)", self.title)
            }
            _ => self.title.to_owned(),
        }
    }

    /// How many times as good `new` is as `old`: more than 1 is better.
    pub fn gain(&self, new: f64, old: f64) -> f64 {
        match self.better {
            Better::More => ratio(new, old),
            Better::Less => ratio(old, new),
        }
    }

    /// The figure, or its inverse: the more the better.
    pub fn speed(&self, value: f64) -> f64 {
        match self.better {
            Better::More => value,
            Better::Less => 1.0 / value,
        }
    }

    /// The figure, or its inverse: the less the better. Its own inverse.
    pub fn cost(&self, value: f64) -> f64 {
        match self.better {
            Better::More => 1.0 / value,
            Better::Less => value,
        }
    }

    /// A median, as people read it.
    pub fn text(&self, value: f64) -> String {
        match self.unit {
            Unit::PerSecond => compact(value),
            Unit::Time | Unit::Wait => with_unit(value, number::Unit::Seconds),
            Unit::Nanoseconds => with_unit(value / 1e9, number::Unit::Seconds),
            Unit::Index => digits(value),
        }
    }

    /// A median, and the spread of the rounds.
    pub fn text_of(&self, spread: Spread, rounds: usize) -> String {
        let text = self.text(spread.median);
        match self.unit {
            // One round has no range.
            Unit::PerSecond | Unit::Time if rounds > 1 => {
                format!("{text} ±{:.0}", spread.percent())
            }
            _ => text,
        }
    }
}
