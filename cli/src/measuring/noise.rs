//! Is the machine disturbed? A virtual machine loses its CPUs to the host and reports nothing;
//! other programs take them too. A thread on each CPU reads the clock for a while, and sees a gap
//! where the CPU was away.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::tally::counted;
use crate::affinity;
use crate::report::model::{Noise, NoiseLevel};

const PROBE: Duration = Duration::from_millis(20);
const GAP_MAX: Duration = Duration::from_millis(1);

/// Decides which pairs (or single runs) count. A noisy one is dropped, to be run again, while
/// retries are left.
#[derive(Serialize)]
pub struct NoiseFilter {
    #[serde(skip)]
    quiet_before: bool,
    pub dropped: usize,
    pub kept: usize,
    /// All that count, noisy or not.
    pub counted: usize,
}

/// From this share of noisy ones among those that count, the machine was too busy to measure.
const BUSY: f64 = 0.2;

impl NoiseFilter {
    pub fn new() -> Self {
        NoiseFilter { quiet_before: quiet(), dropped: 0, kept: 0, counted: 0 }
    }

    /// Probes again after a pair or run: the probe before it was the one after the last.
    pub fn accepts(&mut self, retries_left: &mut usize) -> bool {
        self.judge(quiet(), retries_left)
    }

    fn judge(&mut self, quiet_after: bool, retries_left: &mut usize) -> bool {
        let noisy = !(self.quiet_before && quiet_after);
        self.quiet_before = quiet_after;
        if noisy && *retries_left > 0 {
            *retries_left -= 1;
            self.dropped += 1;
            return false;
        }
        self.kept += usize::from(noisy);
        self.counted += 1;
        true
    }

    /// Was the machine too busy for the figures to be relied on?
    pub fn is_busy(&self) -> bool {
        self.kept as f64 > BUSY * self.counted as f64
    }

    /// What stands before all figures of a machine that was too busy; `what` is counted.
    pub fn alarm(&self, what: &str) -> Option<String> {
        self.is_busy().then(|| {
            format!(
                "THE MACHINE WAS TOO BUSY: a CPU was away for more than {} ms around {}. Don't \
                 rely on these figures: end other programs, and measure again.",
                GAP_MAX.as_millis(),
                match self.counted {
                    1 => format!("the one {what} that counts"),
                    all => format!("{} of {all} {what}s that count", self.kept),
                }
            )
        })
    }

    /// A sentence for people, if there is anything to say; `what` is counted.
    pub fn summary(&self, what: &str) -> Option<String> {
        let was = |count, done| match count {
            0 => None,
            1 => Some(format!("1 was {done}")),
            count => Some(format!("{count} were {done}")),
        };
        let dropped = was(self.dropped, "dropped and run again");
        let kept = was(self.kept, "kept because no retries were left");
        let done: Vec<String> = dropped.into_iter().chain(kept).collect();
        (!done.is_empty()).then(|| {
            format!(
                "Noise: a CPU was away for more than {} ms around {}; {}.",
                GAP_MAX.as_millis(),
                counted(self.dropped + self.kept, what),
                done.join(", ")
            )
        })
    }
}

impl NoiseFilter {
    /// For a page.
    pub fn badge(&self, what: &str) -> Noise {
        let (level, text) = match (self.dropped, self.kept) {
            (0, 0) => (NoiseLevel::Quiet, "none: no CPU was away while it counted".to_owned()),
            (dropped, 0) => {
                (NoiseLevel::Repeated, format!("some: {} measured again", were(dropped, what)))
            }
            (_, kept) => {
                (NoiseLevel::Kept, format!("much: {} kept though a CPU was away", were(kept, what)))
            }
        };
        Noise { level, text }
    }
}

/// `1 pair was`, `2 pairs were`.
fn were(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { " was" } else { "s were" })
}

fn quiet() -> bool {
    let worst_gap = std::thread::scope(|scope| {
        // A CPU for which no thread can be started isn't probed.
        let probe =
            |cpu| std::thread::Builder::new().spawn_scoped(scope, move || worst_gap_on(cpu)).ok();
        let probes: Vec<_> = affinity::allowed().into_iter().filter_map(probe).collect();
        probes.into_iter().filter_map(|probe| probe.join().ok()).max()
    });
    worst_gap.unwrap_or_default() <= GAP_MAX
}

fn worst_gap_on(cpu: usize) -> Duration {
    // A CPU that went offline in between cannot be probed; what is measured instead does no harm.
    let _ = affinity::bind(None, cpu);
    let start = Instant::now();
    let (mut last, mut worst) = (start, Duration::ZERO);
    while last - start < PROBE {
        let now = Instant::now();
        worst = worst.max(now - last);
        last = now;
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_noisy_pairs_while_retries_last() {
        let mut filter = NoiseFilter { quiet_before: true, dropped: 0, kept: 0, counted: 0 };
        let mut retries = 1;
        assert!(filter.judge(true, &mut retries));
        assert!(!filter.judge(false, &mut retries));
        // Noisy because of the probe before it, and no retry is left.
        assert!(filter.judge(true, &mut retries));
        assert!(filter.judge(true, &mut retries));
        assert_eq!((filter.dropped, filter.kept, filter.counted), (1, 1, 3));
        let said = filter.summary("pair").unwrap();
        assert!(said.contains("around 2 pairs; 1 was dropped and run again, 1 was kept"), "{said}");
    }

    #[test]
    fn a_busy_machine_raises_an_alarm() {
        let mut filter = NoiseFilter { quiet_before: true, dropped: 0, kept: 0, counted: 0 };
        for quiet in [true, true, true, true, true, true, true, true, false] {
            assert!(filter.judge(quiet, &mut 0));
        }
        // (The pair after a noisy probe would be noisy too.)
        filter.quiet_before = true;
        assert!(filter.judge(true, &mut 0));
        assert!(!filter.is_busy() && filter.alarm("pair").is_none());
        assert!(filter.judge(false, &mut 0) && filter.judge(false, &mut 0));
        let alarm = filter.alarm("pair").unwrap();
        assert!(alarm.contains("TOO BUSY") && alarm.contains("3 of 12 pairs"), "{alarm}");
    }
}
