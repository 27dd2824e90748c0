//! Bounds every wait of a workload: a hang becomes a result.

use std::time::Duration;

use super::report::{Figures, Report, fail_now};

/// The exit status of a workload that hung.
pub const STATUS_HANG: i32 = 3;

pub const DEFAULT_SECONDS: f64 = 60.0;

/// After `seconds`, prints a report of a hang with what `progress` says, and ends the process.
/// The watchdog's thread uses none of the locks under test.
pub fn start(seconds: f64, progress: impl Fn() -> Figures + Send + 'static) {
    let watch = move || {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        Report::hang(progress()).print();
        // SAFETY: _exit has no preconditions; exit handlers might wait for what hangs.
        unsafe { libc::_exit(STATUS_HANG) }
    };
    if let Err(error) = std::thread::Builder::new().spawn(watch) {
        fail_now(format!("no thread for the watchdog: {error}"));
    }
}
