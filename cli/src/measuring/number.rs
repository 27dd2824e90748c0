//! Numbers as people read them.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    PerSecond,
    Kibibytes,
    /// How many.
    Count,
}

pub fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value >= 1.0 => format!("{} s", digits(value)),
        Unit::Seconds if value >= 1e-3 => format!("{} ms", digits(value * 1e3)),
        Unit::Seconds if value >= 1e-6 => format!("{} us", digits(value * 1e6)),
        Unit::Seconds => format!("{} ns", digits(value * 1e9)),
        Unit::PerSecond if value >= 1e6 => format!("{} M/s", digits(value / 1e6)),
        Unit::PerSecond if value >= 1e3 => format!("{} k/s", digits(value / 1e3)),
        Unit::PerSecond => format!("{} /s", digits(value)),
        Unit::Kibibytes if value >= 1024.0 => format!("{} MiB", digits(value / 1024.0)),
        Unit::Kibibytes => format!("{value:.0} KiB"),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => digits(value),
    }
}

/// `92.1k`: as short as can be.
pub fn compact(value: f64) -> String {
    match value {
        above if above >= 999.5e6 => format!("{}G", digits(above / 1e9)),
        above if above >= 999.5e3 => format!("{}M", digits(above / 1e6)),
        above if above >= 999.5 => format!("{}k", digits(above / 1e3)),
        _ => digits(value),
    }
}

/// Three digits that matter.
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
