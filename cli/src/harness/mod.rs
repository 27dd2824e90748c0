//! What the workloads are built from: their parameters, threads that start together, work of a
//! known length, a watchdog, and the report.

pub mod contest;
pub mod crowd;
pub mod die;
pub mod gate;
pub mod padded;
pub mod parameters;
pub mod pinning;
pub mod report;
pub mod threads;
pub mod usage;
pub mod waits;
pub mod watchdog;
pub mod work;
