//! What was run: pairs of a program's, and of a built-in workload's.

use serde::Serialize;

use super::cells::Cell;
use super::side::{Both, Side};
use crate::measuring::child::Sample;
use crate::measuring::workload_run::Run;

/// Of a program.
#[derive(Serialize)]
pub struct ProgramPair {
    pub order: [Side; 2],
    #[serde(flatten)]
    pub samples: Both<Sample>,
}

/// All that is known of a cell.
#[derive(Serialize)]
pub struct Series {
    #[serde(flatten)]
    pub cell: Cell,
    pub pairs: Vec<Pair>,
    /// A side that failed is not run again.
    pub failure: Option<CellFailure>,
    /// Pairs that may still be dropped as noisy.
    #[serde(skip)]
    pub retries_left: usize,
}

#[derive(Serialize)]
pub struct Pair {
    pub order: [Side; 2],
    #[serde(flatten)]
    pub runs: Both<Run>,
}

#[derive(Serialize)]
pub struct CellFailure {
    pub side: Side,
    pub reason: String,
}
