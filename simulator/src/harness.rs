//! Random draws and waits: the command's own code, as are its statistics.

#[path = "../../cli/src/harness/random.rs"]
pub mod random;
#[path = "../../cli/src/harness/waits.rs"]
pub mod waits;

pub use random::Random;

/// What `waits` makes.
pub mod report {
    pub use crate::figures::Figures;
}
