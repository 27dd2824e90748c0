//! Is the machine disturbed? A virtual machine loses its CPUs to the host and reports nothing;
//! other programs take them too. A thread on each CPU reads the clock for a while, and sees a gap
//! where the CPU was away.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::affinity;

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
}

impl NoiseFilter {
    pub fn new() -> Self {
        NoiseFilter { quiet_before: quiet(), dropped: 0, kept: 0 }
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
        true
    }

    /// A line for people, if there is anything to say; `what` is counted.
    pub fn summary(&self, what: &str) -> Option<String> {
        (self.dropped + self.kept > 0).then(|| {
            format!(
                "noise: a CPU was away for more than {GAP_MAX:?} around {} {what}; {} were dropped \
                 and run again, {} kept because no retries were left",
                self.dropped + self.kept,
                self.dropped,
                self.kept
            )
        })
    }
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
        let mut filter = NoiseFilter { quiet_before: true, dropped: 0, kept: 0 };
        let mut retries = 1;
        assert!(filter.judge(true, &mut retries));
        assert!(!filter.judge(false, &mut retries));
        // Noisy because of the probe before it, and no retry is left.
        assert!(filter.judge(true, &mut retries));
        assert!(filter.judge(true, &mut retries));
        assert_eq!((filter.dropped, filter.kept), (1, 1));
    }
}
