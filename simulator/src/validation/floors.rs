//! What `--validate=short` holds the model to: cells that it predicts well today. It is what CI has
//! time for, and fails when a change of the machines or of the yardsticks makes the model worse.
//!
//! The cells are those that reached 0.88 and more on 2026-11-22 with seed 1. Their floor is what
//! the validation asks, 0.8: two locks that are as good as equal may change places. The sections
//! are those that the fit at one node chose, so that nothing has to be fitted here. The gains'
//! bounds are between half and twice the published one. When more cells reach 0.88, add them.

use super::litl::{Floor, Sections};
use crate::case::Shape;

const fn mutex(
    program: &'static str,
    nodes: usize,
    (critical_ns, lines, other_ns): (f64, usize, f64),
    least: f64,
) -> Floor {
    Floor {
        program,
        nodes,
        sections: Sections { shape: Shape::Mutex, critical_ns, other_ns, lines },
        least,
    }
}

pub const LITL: [Floor; 4] = [
    mutex("s_raytrace_ll", 8, (50.0, 2, 16_000.0), 0.8),
    mutex("radiosity_ll", 8, (150.0, 0, 12_000.0), 0.8),
    mutex("upscaledb", 4, (5_000.0, 0, 515.0), 0.8),
    Floor {
        program: "streamcluster_ll",
        nodes: 8,
        sections: Sections {
            shape: Shape::Barrier,
            critical_ns: 0.0,
            other_ns: 160_000.0,
            lines: 0,
        },
        least: 0.8,
    },
];

/// The place in the table of gains, and between what the simulated gain must be.
pub const PAPERS: [(usize, f64, f64); 2] = [(2, 0.89, 3.56), (3, 4.5, 18.0)];
