//! Runs cases, each in a process of its own: furwock has statics, and what one case leaves in them
//! must not change the next. As many run at once as the host has processors.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::case::Case;
use crate::outcome::Outcome;

/// The hidden command with which a child is started.
pub const CHILD: &str = "cell";

/// In the cases' order.
pub fn run(cases: &[Case], jobs: usize) -> Vec<Outcome> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes: Vec<Mutex<Option<Outcome>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
            let outcome = run_in_child(case);
            let index = cases.iter().position(|each| std::ptr::eq(each, case));
            let index = index.expect("it is one of them");
            *outcomes[index].lock().expect("no panic") = Some(outcome);
            progress(done.fetch_add(1, Relaxed) + 1, cases.len());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            scope.spawn(work);
        }
    });
    let taken = |outcome: Mutex<Option<Outcome>>| outcome.into_inner().expect("no panic");
    outcomes.into_iter().map(|outcome| taken(outcome).expect("all were run")).collect()
}

fn progress(done: usize, all: usize) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let end = if done == all { "\r\x1b[K" } else { "" };
        let _ = write!(stderr, "\r{done}/{all} cells{end}");
    }
}

fn run_in_child(case: &Case) -> Outcome {
    run_child(case).unwrap_or_else(|failure| Outcome::failed(case, failure))
}

fn run_child(case: &Case) -> Result<Outcome, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let words = serde_json::to_string(case).expect("plain data");
    let output = Command::new(executable)
        .args([CHILD, &words])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("can't start a process: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{}: {}", output.status, said.trim())
    })
}
