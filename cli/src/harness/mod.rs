//! What the workloads are built from: their parameters, threads that start together, work of a
//! known length, a watchdog, and the report.

pub mod contest;
mod gate;
mod padded;
mod parameters;
pub mod pinning;
mod random;
mod report;
pub mod sleepers;
pub mod threads;
pub mod usage;
mod waits;
pub mod watchdog;
mod work;

pub use gate::Gate;
pub use padded::Padded;
pub use parameters::{Failed, Parameters};
pub use pinning::stay_on_one_cpu;
pub use random::Random;
pub use report::{Figures, Report, fail_now, figures, file_of};
pub use threads::{join_all, spawn, spawn_all};
pub use usage::Usage;
pub use waits::Waits;
pub use work::{calibrate, floor_s, spin, take_and_release};
