//! Bar lengths, as fractions of the available room.

use super::axis::{self, Ticks};
use super::model::{AxisUnit, Bars};

pub struct BarScale {
    logarithmic: bool,
    low: f64,
    high: f64,
    /// Where bars begin: at 1 or at 0.
    origin: f64,
}

impl BarScale {
    pub fn of(bars: &Bars) -> Self {
        let logarithmic = bars.logarithmic;
        let values = bars
            .groups
            .iter()
            .flat_map(|group| &group.values)
            .filter_map(|value| *value)
            .chain([bars.neutral])
            .filter(|value| value.abs() <= 1e120 && (!logarithmic || *value >= 1e-120));
        let origin = if logarithmic { 1.0 } else { 0.0 };
        let (mut low, mut high) = values.fold((origin, origin), |(low, high), value| {
            (f64::min(low, value), f64::max(high, value))
        });
        if low == high {
            high = if logarithmic { 10.0 } else { 1.0 };
        }
        if logarithmic && low < origin {
            // Makes the end of the shortest bar visible, beside its tick.
            low /= (high / low).powf(0.02);
        }
        Self { logarithmic, low, high, origin }
    }

    pub fn fraction(&self, value: f64) -> f64 {
        axis::fraction(self.logarithmic, self.low, self.high, value)
    }

    /// A bar's two ends, the lower first.
    pub fn span(&self, value: f64) -> (f64, f64) {
        let (begin, end) = (self.fraction(self.origin), self.fraction(value));
        (begin.min(end), begin.max(end))
    }

    pub fn ticks(&self, most_labels: usize) -> Vec<f64> {
        let Ticks { labelled, .. } = if self.logarithmic {
            axis::logarithmic_ticks(self.low, self.high, 10.0, most_labels)
        } else {
            axis::linear_ticks(self.low, self.high, AxisUnit::Count, most_labels)
        };
        labelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::BarGroup;

    fn scale(logarithmic: bool, values: &[f64]) -> BarScale {
        let values = values.iter().copied().map(Some).collect();
        BarScale::of(&Bars {
            caption: String::new(),
            axis: String::new(),
            kinds: Vec::new(),
            groups: vec![BarGroup { name: String::new(), values }],
            logarithmic,
            neutral: 1.0,
            notes: Vec::new(),
        })
    }

    #[test]
    fn bars_begin_where_nothing_is_gained() {
        let logarithmic = scale(true, &[10.0, 100.0]);
        assert_eq!(logarithmic.span(10.0), (0.0, 0.5));
        assert_eq!(logarithmic.span(100.0), (0.0, 1.0));
        let losing = scale(true, &[0.5, 100.0]);
        let (begin, end) = losing.span(0.5);
        assert!(0.0 < begin && begin < end && end == losing.fraction(1.0));
        assert_eq!(scale(false, &[2.0, 4.0]).span(2.0), (0.0, 0.5));
    }

    #[test]
    fn any_values_have_bars_within_the_room() {
        let strange = [0.0, -1.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 1.0];
        for logarithmic in [false, true] {
            for values in [&strange[..], &[], &[1.0], &[0.0]] {
                let scale = scale(logarithmic, values);
                for value in strange {
                    let (begin, end) = scale.span(value);
                    assert!(0.0 <= begin && begin <= end && end <= 1.0);
                }
                assert!(scale.ticks(6).len() <= 7);
            }
        }
    }
}
