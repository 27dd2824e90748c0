//! `furwock compare --lost-wakeup`: the wakeup that glibc's condition variables lose, on glibc and
//! on furwock, in less than half a minute.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::document::Document;
use crate::measuring::layout::wrapped;
use crate::measuring::machine::{Machine, glibc_version};
use crate::measuring::number::compact;
use crate::measuring::output::Outputs;
use crate::measuring::tally::counted;
use crate::measuring::width::width;
use crate::measuring::workload_run::{Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, interrupt};
use crate::preload::Preload;
use crate::report::model::{Finding, Page, Tone};

/// On glibc the search ends with the fifth, or after so long.
const ENOUGH: u64 = 5;
const GLIBC_S: f64 = 12.0;
const FURWOCK_S: f64 = 10.0;
/// A search that has ended by then hangs.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The versions of glibc that have the bug: 2.25 to 2.40.
const WITH_THE_BUG: std::ops::RangeInclusive<u32> = 25..=40;

#[derive(Serialize, Clone, Copy)]
struct Searched {
    lost: f64,
    /// How often one more signal got the threads going again.
    mended: f64,
    seconds: f64,
    signals: f64,
}

#[derive(Serialize)]
struct Results {
    glibc: Option<Searched>,
    furwock: Option<Searched>,
}

pub fn show(outputs: &Outputs) -> Result<i32, Failure> {
    outputs.check()?;
    let preload = Preload::find()?;
    let workloads = Workloads::new(TIMEOUT)?;
    interrupt::watch();
    anstream::eprintln!(
        "furwock: on glibc until {ENOUGH} wakeups are lost (at most {GLIBC_S} seconds), then on \
         furwock for {FURWOCK_S} seconds"
    );
    let search = |is_furwock: bool, seconds: f64| -> Result<Searched, Stop> {
        let parameters = [format!("seconds={seconds}"), format!("losses={ENOUGH}")];
        let ld_preload = preload.environment(is_furwock);
        let run = workloads.run("lost-wakeup", parameters, &ld_preload, None)?;
        let from = Path::new(&run.report.locks_from);
        if (from == preload.path()) != is_furwock {
            let side = if is_furwock { "furwock" } else { "glibc" };
            return Err(Stop::failed(format!("{side}'s locks came from {}", from.display())));
        }
        let figure = |name: &str| run.report.figures.get(name).copied().unwrap_or(f64::NAN);
        let [lost, mended] = ["lost", "mended"].map(figure);
        let [seconds, signals] = ["seconds", "signals"].map(figure);
        Ok(Searched { lost, mended, seconds, signals })
    };
    let mut results = Results { glibc: None, furwock: None };
    let stopped = search(false, GLIBC_S).and_then(|glibc| {
        results.glibc = Some(glibc);
        results.furwock = Some(search(true, FURWOCK_S)?);
        Ok(())
    });
    let machine = Machine::this();
    let said = said(&glibc_version(), &results);
    let text = format!("{machine}\n\n{}", said.join("\n"));
    let document = Document::new(&machine, Some(preload.path()), &results);
    let findings = said.into_iter().map(|text| Finding { tone: Tone::Neutral, text });
    let page = || Page {
        title: "furwock compare --lost-wakeup".to_owned(),
        provenance: machine.provenance(),
        summary: findings.collect(),
        ..Page::default()
    };
    let no_csv = |_: &Path| -> io::Result<()> { Ok(()) };
    outputs.write(&wrapped(width(), &text), no_csv, page, &document)?;
    match stopped {
        Err(Stop::Interrupted) => Ok(STATUS_INTERRUPTED),
        Err(Stop::Failed(failure)) => Err(failure),
        Ok(()) if results.furwock.is_some_and(|furwock| furwock.lost > 0.0) => Ok(STATUS_FAILED),
        Ok(()) => Ok(0),
    }
}

/// What it showed, and what that means: a sentence or two in each line.
fn said(version: &str, results: &Results) -> Vec<String> {
    let has_the_bug = {
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let (major, minor) = (numbers.next(), numbers.next());
        matches!((major, minor), (Some(Ok(2)), Some(Ok(minor))) if WITH_THE_BUG.contains(&minor))
    };
    let mut said = Vec::new();
    let Some(glibc) = results.glibc else {
        return vec![
            "Nothing was found out: the search on glibc didn't come to its end.".to_owned(),
        ];
    };
    let signals = |searched: Searched| format!("{} signals", compact(searched.signals));
    let lost = glibc.lost as usize;
    said.push(match lost {
        0 if has_the_bug => format!(
            "glibc {version} lost no wakeup in {:.1} seconds and {}. Its version has the bug \
             (25847, in 2.25 to 2.40), unless the distribution has mended it; it needs luck to \
             show. Try again.",
            glibc.seconds,
            signals(glibc)
        ),
        0 => format!(
            "glibc {version} lost no wakeup in {:.1} seconds and {}: it is a version without the \
             bug (25847, in 2.25 to 2.40).",
            glibc.seconds,
            signals(glibc)
        ),
        _ => format!(
            "glibc {version} lost {} in {:.1} seconds and {}: {} all five threads slept in \
             pthread_cond_wait, though there was work for them and pthread_cond_signal had been \
             called for it.{}",
            counted(lost, "wakeup"),
            glibc.seconds,
            signals(glibc),
            if lost == 1 { "once".to_owned() } else { format!("{lost} times") },
            if glibc.mended == glibc.lost {
                " Each time one more signal got them going again: the program has no fault."
            } else {
                ""
            }
        ),
    });
    let Some(furwock) = results.furwock else {
        said.push("The search on furwock didn't come to its end.".to_owned());
        return said;
    };
    if furwock.lost > 0.0 {
        said.push(format!(
            "FURWOCK LOST {} in {:.1} seconds: that is a bug of furwock's. Please report it.",
            counted(furwock.lost as usize, "wakeup"),
            furwock.seconds
        ));
        return said;
    }
    said.push(format!(
        "furwock lost none in {:.1} seconds and {}, running the same program.",
        furwock.seconds,
        signals(furwock)
    ));
    said.push(match lost {
        0 if has_the_bug => "So this run shows nothing of either.".to_owned(),
        0 => "So both are right here; on glibc 2.25 to 2.40 the same program hangs.".to_owned(),
        _ => "That means: on this glibc a program that waits on a condition variable can hang \
              without a fault of its own, rarely, and for good. Under `furwock run` its waits are \
              furwock's, which don't have the bug. (Here pauses are placed so that it shows within \
              seconds.)"
            .to_owned(),
    });
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(lost: f64, signals: f64) -> Option<Searched> {
        Some(Searched { lost, mended: lost, seconds: 8.0, signals })
    }

    fn text(version: &str, glibc: Option<Searched>, furwock: Option<Searched>) -> String {
        said(version, &Results { glibc, furwock }).join(" ")
    }

    #[test]
    fn says_what_was_shown_and_what_it_means() {
        let both = text("2.36", searched(5.0, 2e5), searched(0.0, 3e5));
        assert!(both.starts_with("glibc 2.36 lost 5 wakeups in 8.0 seconds"), "{both}");
        assert!(both.contains("furwock lost none") && both.contains("That means:"), "{both}");
        let once = text("2.31", searched(1.0, 2e5), searched(0.0, 3e5));
        assert!(once.contains("lost 1 wakeup in") && once.contains("once all five"), "{once}");
        let mended = text("2.41", searched(0.0, 2e5), searched(0.0, 3e5));
        assert!(mended.contains("a version without the bug") && mended.contains("both are right"));
        let unlucky = text("2.40", searched(0.0, 2e5), searched(0.0, 3e5));
        assert!(unlucky.contains("Try again") && unlucky.contains("shows nothing of either"));
        let ours = text("2.36", searched(0.0, 2e5), searched(1.0, 3e5));
        assert!(ours.contains("FURWOCK LOST 1 wakeup"), "{ours}");
        assert!(text("2.36", None, None).contains("Nothing was found out"));
        assert!(text("2.36", searched(5.0, 2e5), None).contains("didn't come to its end"));
    }
}
