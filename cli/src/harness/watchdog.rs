//! Limits how long a workload may run: a hang becomes a result.

use std::sync::OnceLock;
use std::time::Duration;

use super::report::{Figures, Report, fail_now};

/// The exit status of a workload that hung.
pub const STATUS_HANG: i32 = 3;

pub const DEFAULT_SECONDS: f64 = 60.0;

type Progress = Box<dyn Fn() -> Figures + Send + Sync>;

static PROGRESS: OnceLock<Progress> = OnceLock::new();

/// Sets what the watchdog reports of a workload that hangs: how far it got.
pub fn report(progress: impl Fn() -> Figures + Send + Sync + 'static) {
    // A process runs one workload; only unit tests run more, and they have no watchdog.
    let _ = PROGRESS.set(Box::new(progress));
}

/// After `seconds`, prints a report of a hang and ends the process. The watchdog's thread uses none
/// of the locks under test.
pub fn start(seconds: f64) {
    let watch = move || {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        Report::hang(PROGRESS.get().map_or_else(Figures::new, |progress| progress())).print();
        // SAFETY: _exit has no preconditions; exit handlers might wait for what hangs.
        unsafe { libc::_exit(STATUS_HANG) }
    };
    if let Err(error) = std::thread::Builder::new().spawn(watch) {
        fail_now(format!("no thread for the watchdog: {error}"));
    }
}
