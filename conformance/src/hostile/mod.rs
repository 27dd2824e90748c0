//! Single calls of futex(2) and futex_waitv(2) with operands that no sane caller gives, on the
//! kernel and on another implementation: what is returned and what is stored must be the same, and
//! nothing may crash. Every case runs in a forked child, so that a crash can be told from the case.

mod case;
mod child;
mod ground;

pub use case::{Case, grid, random};
pub use child::{Failure, What, check};
