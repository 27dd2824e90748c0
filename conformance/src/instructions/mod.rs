//! How many instructions the uncontended paths take: counted, and compared with what the changelog
//! says of them.

pub mod count;
pub mod stated;
pub mod verdict;

pub use count::{Counts, TIMES};
pub use stated::Stated;
pub use verdict::Verdict;
