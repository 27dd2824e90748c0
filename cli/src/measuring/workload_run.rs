//! Runs one of furwock's own workloads in a process of its own, and judges what it reported.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::child::{self, Ending, Launch, Outcome, Sample, Stdout};
use super::interrupt;
use crate::failure::{Failure, STATUS_FAILED};
use crate::harness::{Report, calibrate};
use crate::run::place::Place;

/// How long a workload's own watchdog may take to report a hang before the workload is killed.
const REPORTING: Duration = Duration::from_secs(5);

/// A run whose check succeeded.
#[derive(Serialize, Clone)]
pub struct Run {
    pub report: Report,
    process: Sample,
}

/// Why there is no run.
pub enum Stop {
    Interrupted,
    /// It could not be started, ended otherwise than it should, or its own check failed.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

impl Stop {
    pub fn failed(reason: impl Into<String>) -> Self {
        Stop::Failed(Failure::new(STATUS_FAILED, reason))
    }
}

pub struct Workloads {
    executable: PathBuf,
    timeout: Duration,
    /// The same for all runs, so that equal lengths of work are equal work.
    pub loops_per_us: f64,
}

impl Workloads {
    pub fn new(timeout: Duration) -> Result<Self, Failure> {
        let executable = std::env::current_exe().map_err(|error| {
            let message = format!("cannot find furwock's own executable: {error}");
            Failure::new(STATUS_FAILED, message)
        })?;
        Ok(Workloads { executable, timeout, loops_per_us: calibrate() })
    }

    pub fn executable(&self) -> &PathBuf {
        &self.executable
    }

    /// Runs `workload` with `parameters`, each `key=value`. It leaves a record in `record` if its
    /// library records.
    pub fn run(
        &self,
        workload: &str,
        parameters: impl IntoIterator<Item = String>,
        ld_preload: &OsStr,
        record: Option<&Place>,
    ) -> Result<Run, Stop> {
        if interrupt::asked() {
            return Err(Stop::Interrupted);
        }
        let mut words: Vec<OsString> = ["furwock", "workload", workload].map(Into::into).into();
        words.extend(parameters.into_iter().map(OsString::from));
        words.push(format!("watchdog={}", self.timeout.as_secs_f64()).into());
        let outcome = child::run(&Launch {
            program: &self.executable,
            arguments: &words,
            ld_preload,
            record: record.map(|place| place.path.as_path()),
            input: None,
            stdout: Stdout::Keep,
            timeout: Some(self.timeout + REPORTING),
            interruptible: true,
        });
        let outcome = outcome.map_err(|error| Stop::failed(format!("{workload}: {error}")))?;
        if outcome.ending == Ending::Interrupted {
            return Err(Stop::Interrupted);
        }
        judge(&outcome).map_err(Stop::failed)
    }
}

/// The run's report, or why there is none that counts.
fn judge(outcome: &Outcome) -> Result<Run, String> {
    let Ok(report) = serde_json::from_slice::<Report>(&outcome.stdout) else {
        let stderr = String::from_utf8_lossy(&outcome.stderr);
        return Err(format!("{} {}", outcome.ending, stderr.trim()).trim_end().to_owned());
    };
    match report {
        Report { ok: true, .. } if outcome.ending == Ending::Exited(0) => {
            Ok(Run { report, process: outcome.sample })
        }
        Report { ok: true, .. } => Err(format!("{} after its report", outcome.ending)),
        Report { reason, figures, .. } => {
            let mut reason = reason.unwrap_or_default();
            figures.iter().for_each(|(name, value)| reason += &format!(", {name} {value}"));
            Err(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ending: Ending, stdout: &str) -> Result<Run, String> {
        let sample = Sample::default();
        judge(&Outcome { sample, ending, stdout: stdout.into(), stderr: b"oh\n".to_vec() })
    }

    #[test]
    fn only_a_clean_end_after_a_good_report_counts() {
        let good = r#"{"ok":true,"reason":null,"locks_from":"","figures":{}}"#;
        let hang = r#"{"ok":false,"reason":"hang","locks_from":"","figures":{"turns":3.0}}"#;
        assert!(judged(Ending::Exited(0), good).is_ok());
        let reason = |ending, stdout| judged(ending, stdout).err().unwrap();
        assert_eq!(reason(Ending::Killed(6), good), "killed by signal 6 after its report");
        assert_eq!(reason(Ending::Exited(3), hang), "hang, turns 3");
        assert_eq!(reason(Ending::Killed(11), ""), "killed by signal 11 oh");
    }
}
