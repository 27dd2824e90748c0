//! A case: one workload at one size.

use serde::{Serialize, Serializer};

/// Work inside and outside of the lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sections {
    pub critical_us: f64,
    pub other_us: f64,
}

impl Sections {
    pub const fn new(critical_us: f64, other_us: f64) -> Self {
        Sections { critical_us, other_us }
    }

    /// `CS/NCS`; `CS` alone has nothing outside.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (critical, other) = text.split_once('/').unwrap_or((text, "0"));
        let microseconds = |text: &str| match text.trim().parse::<f64>() {
            Ok(amount) if (0.0..=1e6).contains(&amount) => Ok(amount),
            _ => Err("not microseconds inside/outside of the lock, as in 0.1/1".to_owned()),
        };
        Ok(Sections::new(microseconds(critical)?, microseconds(other)?))
    }

    /// One lock call in so many is timed: where sections are shorter than the reading of a clock, it
    /// is the clock that would be measured.
    pub fn sample(self) -> f64 {
        match self.critical_us + self.other_us {
            0.0 => 64.0,
            short if short < 1.0 => 16.0,
            _ => 1.0,
        }
    }
}

#[derive(Serialize)]
pub struct Case {
    pub name: String,
    #[serde(serialize_with = "as_map")]
    pub parameters: Vec<(&'static str, f64)>,
}

fn as_map<S: Serializer>(pairs: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// The list that was given, or the grid's.
pub fn or_default<T: Copy>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
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
}
