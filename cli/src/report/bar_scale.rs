//! Bar lengths, as fractions of the available room.

use super::axis::{self, has_place};
use super::model::Bars;

/// Where bars begin: no gain and no loss.
const ORIGIN: f64 = 1.0;

pub struct BarScale {
    low: f64,
    high: f64,
}

impl BarScale {
    pub fn of(bars: &Bars) -> Self {
        let values = bars.groups.iter().flat_map(|group| &group.values).flatten();
        let shown = values.copied().filter(|value| has_place(*value));
        let (mut low, mut high) = shown.fold((ORIGIN, ORIGIN), |(low, high), value| {
            (f64::min(low, value), f64::max(high, value))
        });
        if low == high {
            high = 10.0;
        }
        if low < ORIGIN {
            // Makes the end of the shortest bar visible, beside its tick.
            low /= (high / low).powf(0.02);
        }
        Self { low, high }
    }

    pub fn fraction(&self, value: f64) -> f64 {
        axis::fraction(self.low, self.high, value)
    }

    pub fn origin(&self) -> f64 {
        self.fraction(ORIGIN)
    }

    /// A bar's two ends, the lower first.
    pub fn span(&self, value: f64) -> (f64, f64) {
        let (begin, end) = (self.origin(), self.fraction(value));
        (begin.min(end), begin.max(end))
    }

    pub fn ticks(&self, most_labels: usize) -> Vec<f64> {
        axis::ticks(self.low, self.high, 10.0, most_labels).labelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::BarGroup;

    fn scale(values: &[f64]) -> BarScale {
        let values = values.iter().copied().map(Some).collect();
        BarScale::of(&Bars {
            caption: String::new(),
            axis: String::new(),
            kinds: Vec::new(),
            groups: vec![BarGroup { name: String::new(), values, outcome: None }],
            notes: Vec::new(),
        })
    }

    #[test]
    fn bars_begin_where_nothing_is_gained() {
        let gains = scale(&[10.0, 100.0]);
        assert_eq!(gains.span(10.0), (0.0, 0.5));
        assert_eq!(gains.span(100.0), (0.0, 1.0));
        let losing = scale(&[0.5, 100.0]);
        let (begin, end) = losing.span(0.5);
        assert!(0.0 < begin && begin < end && end == losing.origin());
    }

    #[test]
    fn any_values_have_bars_within_the_room() {
        let strange = [0.0, -1.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 1.0];
        for values in [&strange[..], &[], &[1.0], &[0.0]] {
            let scale = scale(values);
            for value in strange {
                let (begin, end) = scale.span(value);
                assert!(0.0 <= begin && begin <= end && end <= 1.0);
            }
            assert!(scale.ticks(6).len() <= 7);
        }
    }
}
