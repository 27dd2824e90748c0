//! What the workloads are built from: their parameters, threads that start together, work of a
//! known length, a watchdog, and the report.

pub mod contest;
pub mod crowd;
mod die;
mod gate;
mod padded;
mod parameters;
pub mod pinning;
mod report;
pub mod threads;
pub mod usage;
mod waits;
pub mod watchdog;
mod work;

pub use die::Die;
pub use gate::Gate;
pub use padded::Padded;
pub use parameters::{Failed, Parameters};
pub use pinning::stay_on_one_cpu;
pub use report::{Figures, Report, fail_now, figures};
pub use threads::{join_all, spawn, spawn_all};
pub use usage::Usage;
pub use waits::Waits;
pub use work::{calibrate, floor_s, spin, take_and_release};
