//! A figure of a workload's report: what it is called, which way it points, how it is written.

use crate::measuring::number::{self, compact, digits, with_unit};
use crate::statistics::Spread;

/// A figure of a workload's report that becomes a table.
pub struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// Left to the page, JSON and CSV?
    pub detail: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Less,
    More,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// With how far the rounds lie apart.
    PerSecond,
    /// In seconds, shown in what fits, with how far the rounds lie apart.
    Time,
    /// In seconds, shown in what fits.
    Wait,
    Nanoseconds,
    /// A plain number.
    Index,
}

/// The rate, by which contestants are ranked.
pub const OPERATIONS: Figure = Figure {
    name: "ops_per_second",
    title: "operations a second (±: half the range of the rounds, in percent)",
    unit: Unit::PerSecond,
    better: Better::More,
    detail: false,
};

pub const CPU: Figure = Figure {
    name: "cpu_ns_per_op",
    title: "processor time an operation",
    unit: Unit::Nanoseconds,
    better: Better::Less,
    detail: false,
};

pub const SWITCHES: Figure = Figure {
    name: "voluntary_per_1000",
    title: "voluntary context switches in 1000 operations",
    unit: Unit::Index,
    better: Better::Less,
    detail: true,
};

pub const PREEMPTIONS: Figure = Figure {
    name: "involuntary_per_1000",
    title: "involuntary context switches in 1000 operations",
    unit: Unit::Index,
    better: Better::Less,
    detail: true,
};

/// Of workloads whose every operation sleeps, about.
pub const SWITCHES_EACH: Figure = Figure {
    name: "voluntary_per_op",
    title: "voluntary context switches an operation",
    unit: Unit::Index,
    better: Better::Less,
    detail: true,
};

pub const PREEMPTIONS_EACH: Figure = Figure {
    name: "involuntary_per_op",
    title: "involuntary context switches an operation",
    unit: Unit::Index,
    better: Better::Less,
    detail: true,
};

pub const JAIN: Figure = Figure {
    name: "jain",
    title: "Jain's fairness over the threads (1: all got the same)",
    unit: Unit::Index,
    better: Better::More,
    detail: true,
};

pub const LEAST_SHARE: Figure = Figure {
    name: "min_over_mean",
    title: "the slowest thread's operations over the mean",
    unit: Unit::Index,
    better: Better::More,
    detail: true,
};

pub const fn wait(name: &'static str, title: &'static str) -> Figure {
    Figure { name, title, unit: Unit::Wait, better: Better::Less, detail: false }
}

/// A figure that the tables of text leave out.
pub const fn detail(figure: Figure) -> Figure {
    Figure { detail: true, ..figure }
}

impl Figure {
    /// The title without what it says of how it is written.
    pub fn short_title(&self) -> &'static str {
        self.title.split(" (").next().unwrap_or_default()
    }

    /// The figure, or its inverse: the more the better.
    pub fn speed(&self, value: f64) -> f64 {
        match self.better {
            Better::More => value,
            Better::Less => 1.0 / value,
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

    /// A median with what the rounds say of it.
    pub fn text_of(&self, spread: Spread, rounds: usize) -> String {
        let text = self.text(spread.median);
        match self.unit {
            // One round says nothing of how far rounds lie apart.
            Unit::PerSecond | Unit::Time if rounds > 1 => {
                format!("{text} ±{:.0}", spread.percent())
            }
            _ => text,
        }
    }
}
