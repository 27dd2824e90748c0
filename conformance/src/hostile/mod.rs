//! Single calls of futex(2) and futex_waitv(2) with operands that no sane caller gives, on the
//! kernel and on another implementation: both must return and store the same, and not crash. Cases
//! run in a forked child, so that a crash doesn't end the test.

mod case;
mod child;
mod ground;

pub use case::{Case, grid, random};
pub use child::{Failure, What, check};
