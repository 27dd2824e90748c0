//! How many instructions the uncontended paths take: counted, and compared with the counts that
//! docs/instruction-counts.txt states.

pub mod count;
pub mod stated;
pub mod verdict;

pub use count::{Counts, TIMES};
pub use stated::Stated;
pub use verdict::Verdict;
