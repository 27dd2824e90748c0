//! How busy processors have been. Linux looks for an idle processor on a wake only while those that
//! share a cache aren't too busy on average (`SIS_UTIL`, 6.0): with two of them, at less than 61 %.
//! A thread whose last processor is busy then waits there, though the other may be idle.

use crate::description::Time;
use crate::world::World;

/// What a processor did so long ago counts half (Turner 2011, "per-entity load tracking").
const HALF_LIFE: Time = 32_000_000_000;

/// A processor's share of time in which it was busy, which fades.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    share: f64,
    since: Time,
    is_busy: bool,
}

impl Load {
    pub(crate) fn at(&self, now: Time) -> f64 {
        let passed = now.saturating_sub(self.since) as f64 / HALF_LIFE as f64;
        let fades_to = f64::from(u8::from(self.is_busy));
        fades_to + (self.share - fades_to) * (-passed).exp2()
    }

    pub(crate) fn changes(&mut self, now: Time, is_busy: bool) {
        if is_busy != self.is_busy {
            *self = Self { share: self.at(now), since: now, is_busy };
        }
    }
}

impl World {
    /// Whether a wake looks at no other processor than the thread's last one.
    pub(crate) fn is_too_busy_to_search(&self) -> bool {
        let below = self.costs.searches_below;
        let loads = || self.processors.iter().map(|place| place.load.at(self.now)).sum::<f64>();
        below < 1.0 && loads() > below * self.processors.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_rises_while_busy_and_fades_while_idle() {
        let mut load = Load::default();
        load.changes(HALF_LIFE, true);
        assert_eq!(load.at(HALF_LIFE), 0.0);
        assert_eq!(load.at(2 * HALF_LIFE), 0.5);
        load.changes(2 * HALF_LIFE, true);
        assert_eq!(load.at(3 * HALF_LIFE), 0.75);
        load.changes(3 * HALF_LIFE, false);
        assert_eq!(load.at(4 * HALF_LIFE), 0.375);
    }
}
