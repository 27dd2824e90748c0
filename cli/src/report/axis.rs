//! Positions of values on a logarithmic axis, and its labels.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::text;
use crate::measuring::number::Unit;

/// What an axis can show. Outside of these bounds its arithmetic would overflow.
const SHOWN: std::ops::RangeInclusive<f64> = 1e-120..=1e120;

/// Whether an axis can show this value.
pub fn has_place(value: f64) -> bool {
    SHOWN.contains(&value)
}

#[derive(Clone)]
pub struct Scale {
    unit: Unit,
    low: f64,
    high: f64,
    ticks: Ticks,
}

/// Values with a label, and those with only a faint line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    pub labelled: Vec<f64>,
    pub faint: Vec<f64>,
}

impl Scale {
    /// An axis around all values that it can show.
    pub fn around(unit: Unit, values: impl Iterator<Item = f64>, most_labels: usize) -> Self {
        let values: Vec<f64> = values.filter(|&value| has_place(value)).collect();
        let least = values.iter().copied().reduce(f64::min).unwrap_or(1.0);
        let greatest = values.iter().copied().reduce(f64::max).unwrap_or(10.0);
        let room = (greatest / least).powf(0.03).max(1.15);
        let (low, high) = (least / room, greatest * room);
        let powers_of_two = unit == Unit::Count && values.iter().all(|&value| is_power(value));
        let base = if powers_of_two { 2.0 } else { 10.0 };
        Self { unit, low, high, ticks: ticks(low, high, base, most_labels) }
    }

    /// The position of a value: 0 at the low end, 1 at the high end, never beyond them.
    pub fn fraction(&self, value: f64) -> f64 {
        fraction(self.low, self.high, value)
    }

    pub fn labels(&self) -> Vec<String> {
        self.ticks.labelled.iter().map(|&value| self.format_ext(&value)).collect()
    }
}

pub fn fraction(low: f64, high: f64, value: f64) -> f64 {
    let fraction = if value > 0.0 { (value / low).ln() / (high / low).ln() } else { 0.0 };
    if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) }
}

fn is_power(value: f64) -> bool {
    value >= 1.0 && value.log2().fract() == 0.0
}

/// Powers of the base if there are enough of them, or 1, 2 and 5 times powers of ten.
pub fn ticks(low: f64, high: f64, base: f64, most_labels: usize) -> Ticks {
    let powers = multiples(low, high, base, &[1.0]);
    if base == 10.0 && powers.len() < 3 {
        let finer = multiples(low, high, base, &[1.0, 2.0, 5.0]);
        if (2..=most_labels).contains(&finer.len()) {
            let faint = multiples(low, high, base, &[3.0, 4.0, 6.0, 7.0, 8.0, 9.0]);
            return Ticks { labelled: finer, faint };
        }
    }
    if powers.len() < 2 {
        return Ticks { labelled: even_steps(low, high, most_labels), faint: Vec::new() };
    }
    let step = powers.len().div_ceil(most_labels.max(1));
    let labelled: Vec<f64> = powers.iter().copied().step_by(step).collect();
    let faint = match step {
        1 if base == 10.0 && powers.len() <= 4 => {
            multiples(low, high, base, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
        }
        1 => Vec::new(),
        _ => powers.into_iter().filter(|power| !labelled.contains(power)).collect(),
    };
    Ticks { labelled, faint }
}

/// All values within the bounds that are a power of the base times one of the factors.
fn multiples(low: f64, high: f64, base: f64, factors: &[f64]) -> Vec<f64> {
    let first = low.log(base).floor() as i32;
    let last = high.log(base).ceil() as i32;
    (first..=last)
        .flat_map(|exponent| factors.iter().map(move |factor| factor * base.powi(exponent)))
        .filter(|value| (low..=high).contains(value))
        .collect()
}

/// For a short axis: multiples of 1, 2 or 5 times a power of ten.
fn even_steps(low: f64, high: f64, most_labels: usize) -> Vec<f64> {
    let least_step = (high - low) / most_labels.max(1) as f64;
    let power = 10_f64.powf(least_step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let suits = |step: &f64| *step >= least_step * 0.999_999;
    let step = steps.into_iter().find(suits).unwrap_or(high - low);
    let first = (low / step).ceil();
    (0..=most_labels)
        .map(|index| (first + index as f64) * step)
        .filter(|value| (low..=high).contains(value))
        .collect()
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        start + (f64::from(end - start) * self.fraction(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            self.ticks.faint.clone()
        } else {
            self.ticks.labelled.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        text::tick(*value, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_round_values() {
        let labels = |unit, values: &[f64]| Scale::around(unit, values.iter().copied(), 6).labels();
        assert_eq!(labels(Unit::Count, &[3.0, 70_000.0]), ["10", "100", "1k", "10k"]);
        assert_eq!(labels(Unit::Count, &[1.0, 2.0, 16.0]), ["1", "2", "4", "8", "16"]);
        assert_eq!(labels(Unit::PerSecond, &[120.0, 900.0]), ["200 /s", "500 /s", "1 k/s"]);
    }

    #[test]
    fn any_values_have_a_scale_with_few_labels() {
        let lists: [&[f64]; 10] = [
            &[],
            &[0.0],
            &[7.0],
            &[7.0, 7.0, 7.0],
            &[-5.0, -5.0],
            &[0.0, 1e-300, 1e300],
            &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
            &[1e-119, 1e119],
            &[1.0, 1.000_000_1],
            &[f64::MAX, f64::MIN],
        ];
        for values in lists {
            for unit in [Unit::Count, Unit::Seconds] {
                let scale = Scale::around(unit, values.iter().copied(), 6);
                assert!(scale.low < scale.high, "{values:?}");
                assert!(scale.labels().len() <= 7, "{values:?} {:?}", scale.labels());
                assert!(scale.ticks.faint.len() <= 2000);
                for &value in values {
                    assert!((0.0..=1.0).contains(&scale.fraction(value)));
                }
            }
        }
    }
}
