//! A workload's report: one line of JSON.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::Write;

use serde::{Deserialize, Serialize};

/// Measured figures by name; a name ends in its unit.
pub type Figures = BTreeMap<String, f64>;

#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Report {
    /// Did the workload's own check of its result succeed?
    pub ok: bool,
    pub reason: Option<String>,
    /// The library that provides pthread_mutex_lock (for rwlocks pthread_rwlock_wrlock) here.
    pub locks_from: String,
    pub figures: Figures,
}

impl Report {
    pub fn new(result: Result<Figures, String>) -> Self {
        let (figures, reason) = match result {
            // A division by zero: JSON can't write it, and it is no figure.
            Ok(figures) => match figures.iter().find(|(_, value)| !value.is_finite()) {
                Some((name, value)) => {
                    let reason = format!("{name} is {value}: too little was done in the time");
                    (Figures::new(), Some(reason))
                }
                None => (figures, None),
            },
            Err(reason) => (Figures::new(), Some(reason)),
        };
        // This shows whether a preload replaced it.
        let lock = libc::pthread_mutex_lock as *const () as *const libc::c_void;
        Report { ok: reason.is_none(), reason, locks_from: file_of(lock), figures }
    }

    /// Of a workload that uses rwlocks, not mutexes.
    pub fn of_rwlocks(result: Result<Figures, String>) -> Self {
        let wrlock = libc::pthread_rwlock_wrlock as *const () as *const libc::c_void;
        Report { locks_from: file_of(wrlock), ..Report::new(result) }
    }

    pub fn hang(progress: Figures) -> Self {
        Report { figures: progress, ..Report::new(Err("hang".to_owned())) }
    }

    /// Prints the report in a single write, so that two threads cannot mix theirs.
    pub fn print(&self) {
        let line = serde_json::to_string(self).expect("numbers and strings") + "\n";
        // If standard output is closed, there is no reader.
        let _ = std::io::stdout().write_all(line.as_bytes());
    }
}

/// Prints a report of failure and ends the process at once, whatever its threads are doing.
pub fn fail_now(reason: String) -> ! {
    Report::new(Err(reason)).print();
    // SAFETY: _exit has no preconditions; skipping exit handlers is the point, other threads run.
    unsafe { libc::_exit(crate::failure::STATUS_FAILED) }
}

pub fn figures<const N: usize>(named: [(&str, f64); N]) -> Figures {
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The file that a function is in.
pub fn file_of(function: *const libc::c_void) -> String {
    // SAFETY: an all-zero Dl_info (null pointers) is a valid value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr takes any address, and `found` is ours to write.
    if unsafe { libc::dladdr(function, &mut found) } == 0 || found.dli_fname.is_null() {
        return String::new();
    }
    // SAFETY: on success dli_fname is a string that lives as long as the library stays loaded.
    unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_a_failure_with_a_reason() {
        let report = Report::new(Ok(figures([("a", 1.0), ("seconds_per_op", 1.0 / 0.0)])));
        assert!(!report.ok);
        assert!(report.reason.unwrap().contains("seconds_per_op"));
        let text = serde_json::to_string(&Report::new(Ok(figures([("a", 1.0)])))).unwrap();
        assert!(serde_json::from_str::<Report>(&text).unwrap().ok);
    }
}
