//! The commands around the runs: set up, prepare, conclude, clean up.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::measuring::child::{self, Ending, Launch, Stdout};
use crate::measuring::workload_run::Stop;

const SHELL: &str = "/bin/sh";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Setup,
    Prepare,
    Conclude,
    Cleanup,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Setup => "setup",
            Step::Prepare => "prepare",
            Step::Conclude => "conclude",
            Step::Cleanup => "cleanup",
        }
    }
}

/// Has the shell run `line`, on glibc's locks; `option` asked for it.
pub fn run(option: Step, line: &str, ld_preload: &OsStr, shown: bool) -> Result<(), Stop> {
    let outcome = child::run(&Launch {
        program: Path::new(SHELL),
        arguments: &["sh", "-c", line].map(OsString::from),
        ld_preload,
        record: None,
        input: None,
        stdout: if shown { Stdout::Show } else { Stdout::Discard },
        timeout: None,
        // What was made is removed after an interrupt too.
        interruptible: option != Step::Cleanup,
    });
    let failed = |why: String| Stop::failed(format!("--{} {line}: {why}", option.name()));
    let outcome = outcome.map_err(|error| failed(error.to_string()))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(()),
        Ending::Interrupted => Err(Stop::Interrupted),
        ending => {
            let stderr = String::from_utf8_lossy(&outcome.stderr);
            Err(failed(format!("{ending}; {}", stderr.trim()).trim_end_matches("; ").to_owned()))
        }
    }
}
