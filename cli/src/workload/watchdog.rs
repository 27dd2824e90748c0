//! Bounds every wait of a workload: a hang becomes a result.

use std::time::Duration;

use super::report::{Figures, Report};

/// The exit status of a workload that hung.
pub const STATUS_HANG: i32 = 3;

pub const DEFAULT_SECONDS: f64 = 60.0;

/// After `seconds`, prints a report of a hang with what `progress` says, and ends the process.
/// The watchdog's thread uses none of the locks under test.
pub fn start(seconds: f64, progress: impl Fn() -> Figures + Send + 'static) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        Report::hang(progress()).print();
        // SAFETY: _exit has no preconditions; exit handlers might wait for what hangs.
        unsafe { libc::_exit(STATUS_HANG) }
    });
}
