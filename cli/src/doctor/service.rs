//! What furwock does for programs here, and what it leaves to glibc.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use super::finding::Finding;
use super::probe::Probe;
use crate::failure::Failure;
use crate::measuring::child::{self, Ending, Launch, Outcome, Stdout};
use crate::preload::Preload;

/// How the library begins what it says.
const SAYS: &str = "furwock: ";
const TIMEOUT: Duration = Duration::from_secs(10);

pub fn findings(preload: Result<&Preload, &Failure>) -> Vec<Finding> {
    let mut findings = match preload {
        Ok(preload) => asked(preload),
        Err(failure) => {
            let mend = "build or install furwock whole, or name the library in FURWOCK_PRELOAD";
            vec![Finding::problem("library", failure.to_string(), mend)]
        }
    };
    if env::var_os("FURWOCK_FUTEX").is_some_and(|value| value == "0") {
        findings.push(Finding::note(
            "futex calls",
            "FURWOCK_FUTEX=0: all of programs' own futex calls go to the kernel",
            "unset it: locks built on futex(2) are faster without (docs/preload.md)",
        ));
    }
    findings.push(Finding::ok(
        "to glibc",
        "process-shared, robust and priority-inheriting objects, and named semaphores, stay \
         glibc's: other processes or the kernel know them",
    ));
    findings.push(Finding::ok(
        "refused",
        "static, setuid, musl's and other architectures' programs, too old a glibc, sanitizers, \
         valgrind: `furwock run` says which it is",
    ));
    findings
}

/// Asks the library itself, in a process that has it preloaded.
fn asked(preload: &Preload) -> Vec<Finding> {
    // SAFETY: the command has no other thread so far. (The library is to say why it stands aside.)
    unsafe { env::remove_var("FURWOCK_QUIET") };
    let words: Vec<OsString> = ["furwock", "doctor", "--probe"].map(Into::into).into();
    let outcome = env::current_exe().and_then(|executable| {
        child::run(&Launch {
            program: &executable,
            arguments: &words,
            ld_preload: &preload.environment(true),
            record: None,
            stdout: Stdout::Keep,
            input: None,
            interruptible: true,
            timeout: Some(TIMEOUT),
        })
    });
    match outcome {
        Ok(outcome) => judged(preload, &outcome),
        Err(error) => {
            let text = format!("a program with the library preloaded can't be started: {error}");
            vec![Finding::problem("library", text, "see the limits below")]
        }
    }
}

fn judged(preload: &Preload, outcome: &Outcome) -> Vec<Finding> {
    let library = preload.path().display();
    let said = String::from_utf8_lossy(&outcome.stderr);
    let said: Vec<&str> = said.lines().collect();
    let of_library = said.iter().filter_map(|line| line.strip_prefix(SAYS));
    let mend = "docs/environment.md and docs/tools.md list the reasons";
    let probe = serde_json::from_slice::<Probe>(&outcome.stdout);
    match probe {
        Ok(probe) if probe.is_furwocks && outcome.ending == Ending::Exited(0) => {
            let mut findings = vec![Finding::ok("library", format!("{library} serves programs"))];
            findings.extend(of_library.map(|line| Finding::note("library", line, mend)));
            findings
        }
        // Its own words, or the loader's.
        Ok(probe) => {
            let reasons = of_library.collect::<Vec<_>>().join("; ");
            let text = match (reasons.is_empty(), said.first()) {
                (false, _) => reasons,
                (true, Some(line)) => (*line).to_owned(),
                (true, None) => format!(
                    "programs' mutexes stay those of {}, though {library} is preloaded",
                    probe.locks_from
                ),
            };
            vec![Finding::problem("library", text, mend)]
        }
        Err(_) => {
            let text = format!(
                "a program with {library} preloaded did not answer: {} {}",
                outcome.ending,
                said.join(" ")
            );
            vec![Finding::problem("library", text.trim(), mend)]
        }
    }
}
