//! Numbers as people read them.

use crate::statistics::Interval;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    PerSecond,
    Kibibytes,
    /// How many.
    Count,
}

impl Unit {
    /// The multiples in which values are written, the greatest first, with their names.
    const fn multiples(self) -> &'static [(f64, &'static str)] {
        match self {
            Unit::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")],
            Unit::PerSecond => &[(1e9, " G/s"), (1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")],
            Unit::Kibibytes => &[(1024.0, " MiB"), (1.0, " KiB")],
            Unit::Count => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        }
    }

    /// The name of the unit itself.
    pub fn name(self) -> &'static str {
        let itself = self.multiples().iter().find(|(size, _)| *size == 1.0);
        itself.map_or("", |(_, name)| name)
    }

    /// The value in the multiple that suits it, and the multiple's name.
    pub fn scaled(self, value: f64) -> (f64, &'static str) {
        // 999.5 is written as a thousand.
        let suits = |(size, _): &&(f64, &str)| value >= size * 0.9995;
        let multiples = self.multiples();
        let (size, name) = multiples.iter().find(suits).unwrap_or(&multiples[multiples.len() - 1]);
        (value / size, name)
    }
}

/// `1.23 ms`; counts in full.
pub fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => digits(value),
        Unit::Kibibytes if value < 1024.0 => format!("{value:.0} KiB"),
        _ => in_multiples(value, unit),
    }
}

/// `92.1k`: as short as can be.
pub fn compact(value: f64) -> String {
    in_multiples(value, Unit::Count)
}

fn in_multiples(value: f64, unit: Unit) -> String {
    let (value, name) = unit.scaled(value);
    format!("{}{name}", digits(value))
}

/// Three significant digits.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        above if above >= 99.95 => 0,
        above if above >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// `1.61x`; a gain over nothing has no number.
pub fn times(ratio: f64) -> String {
    format!("{}x", multiple(ratio))
}

pub fn multiple(ratio: f64) -> String {
    if ratio.is_finite() { digits(ratio) } else { "∞".to_owned() }
}

/// `0.97 to 1.08`
pub fn interval(Interval { low, high }: Interval) -> String {
    format!("{} to {}", multiple(low), multiple(high))
}

/// `0.97–1.08`, where there is less room.
pub fn range(Interval { low, high }: Interval) -> String {
    format!("{}–{}", multiple(low), multiple(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_to_three_digits() {
        assert_eq!(with_unit(1.2345, Unit::Seconds), "1.23 s");
        assert_eq!(with_unit(0.02345, Unit::Seconds), "23.4 ms");
        assert_eq!(with_unit(0.0000005, Unit::Seconds), "500 ns");
        assert_eq!(with_unit(26_300_000.0, Unit::PerSecond), "26.3 M/s");
        assert_eq!(with_unit(2048.0, Unit::Kibibytes), "2.00 MiB");
        assert_eq!(with_unit(12345.0, Unit::Count), "12345");
        assert_eq!(digits(99.96), "100");
        assert_eq!(compact(92_123.0), "92.1k");
        assert_eq!(compact(999_700.0), "1.00M");
        assert_eq!(compact(12.0), "12.0");
        assert_eq!(times(f64::INFINITY), "∞x");
        assert_eq!(times(0.624), "0.62x");
    }
}
