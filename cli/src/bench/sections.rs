//! Work inside and outside of a lock.

use std::fmt;

use crate::harness::floor_s;
use crate::measuring::machine::cpus;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sections {
    pub critical_us: f64,
    pub other_us: f64,
}

/// A length of work, up to a second.
pub fn microseconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(amount) if (0.0..=1e6).contains(&amount) => Ok(amount),
        _ => Err("not microseconds from 0 to 1000000".to_owned()),
    }
}

impl Sections {
    pub const fn new(critical_us: f64, other_us: f64) -> Self {
        Sections { critical_us, other_us }
    }

    /// `CS/NCS`; `CS` alone has nothing outside.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (critical, other) = text.split_once('/').unwrap_or((text, "0"));
        let amount = |text| {
            microseconds(text)
                .map_err(|_| "not microseconds inside/outside of the lock, as in 0.1/1".to_owned())
        };
        Ok(Sections::new(amount(critical)?, amount(other)?))
    }

    /// One lock call in `sample` is timed: reading the clock takes longer than a short section.
    fn sample(self) -> f64 {
        match self.critical_us + self.other_us {
            0.0 => 64.0,
            short if short < 1.0 => 16.0,
            _ => 1.0,
        }
    }

    /// Operations a second that no lock can exceed. Sections inside follow each other, each with at
    /// least the two instructions that take and release a lock, and no more threads work than there
    /// are processors. `holders` may be inside at the same time.
    pub fn bound(self, threads: u32, holders: u32) -> f64 {
        let (critical, other, handing_over) =
            (self.critical_us / 1e6, self.other_us / 1e6, floor_s());
        let at_work = f64::from(cpus().min(threads));
        let inside = f64::from(holders).min(at_work) / (critical + handing_over);
        inside.min(at_work / (critical + other + handing_over))
    }

    /// The workload's parameters.
    pub fn parameters(self) -> [(&'static str, f64); 3] {
        [("cs", self.critical_us), ("ncs", self.other_us), ("sample", self.sample())]
    }
}

impl fmt::Display for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.critical_us, self.other_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_one_or_two_lengths() {
        assert_eq!(Sections::parse("0.1/5"), Ok(Sections::new(0.1, 5.0)));
        assert_eq!(Sections::parse("2"), Ok(Sections::new(2.0, 0.0)));
        for bad in ["", "/", "1/", "-1/1", "1/1/1", "NaN", "inf"] {
            assert!(Sections::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn short_sections_are_sampled() {
        let sample = |critical, other| Sections::new(critical, other).sample();
        assert_eq!((sample(0.0, 0.0), sample(0.1, 0.1), sample(1.0, 0.0)), (64.0, 16.0, 1.0));
    }

    #[test]
    fn bounds_of_one_and_of_many() {
        let near = |bound: f64, expected: f64| (bound / expected - 1.0).abs() < 0.05;
        // Alone, work outside of the lock counts; with others, it is done meanwhile.
        assert!(near(Sections::new(10.0, 10.0).bound(1, 1), 50e3));
        if cpus() >= 2 {
            assert!(near(Sections::new(10.0, 10.0).bound(4, 1), 100e3));
            assert!(near(Sections::new(10.0, 0.0).bound(4, 2), 200e3));
        }
    }
}
