//! `furwock bench memory`: bytes of a lock, a waiter, a thread and a process, and how long a
//! program takes to start.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use super::roster::Roster;
use crate::contestants::Contestant;
use crate::failure::Failure;
use crate::measuring::child::{self, Ending, Launch, Stdout};
use crate::measuring::document::Document;
use crate::measuring::layout::{self, Columns};
use crate::measuring::machine::Machine;
use crate::measuring::number::{self, with_unit};
use crate::measuring::output::Outputs;
use crate::measuring::width::width;
use crate::measuring::workload_run::{Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::program;
use crate::report::model::{Block, Cell, Finding, Page, Section, Table, Tone};
use crate::statistics::{Gain, median};
use crate::values::threads;

/// Bytes of locks, waiters, threads and processes, and the time to start a program
///
/// About 10 seconds. Programs are started without and with furwock's library, in turn.
#[derive(Args)]
pub struct MemoryArguments {
    /// How often a program is started on each side
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(5..))]
    pub starts: u32,

    /// How many threads wait while their bytes are counted
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = threads)]
    pub threads: u32,

    #[command(flatten)]
    pub outputs: Outputs,
}

/// The project's goals, on 2 CPUs.
const START_MAX_S: f64 = 2e-3;
const OWN_BYTES_MAX: f64 = 1024.0 * 1024.0;
/// How often a process's memory is measured.
const LOOKS: usize = 7;
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Size {
    object: &'static str,
    bytes: Vec<(&'static str, usize)>,
}

#[derive(Serialize)]
struct Process {
    what: &'static str,
    #[serde(skip)]
    seconds: bool,
    without: f64,
    with: f64,
    /// How much more it is with the library.
    more: f64,
    differs: bool,
    most: Option<f64>,
}

#[derive(Serialize)]
struct Measured {
    interrupted: bool,
    sizes: Vec<Size>,
    processes: Vec<Process>,
}

pub fn run(arguments: &MemoryArguments) -> Result<i32, Failure> {
    arguments.outputs.check()?;
    let workloads = Workloads::new(TIMEOUT)?;
    let roster = Roster::of(&[Contestant::FurwockPreload], &workloads, false)?;
    interrupt::watch();
    let (processes, interrupted) = match processes(arguments, &workloads, &roster) {
        Ok(processes) => (processes, false),
        Err(Stop::Interrupted) => (Vec::new(), true),
        Err(Stop::Failed(failure)) => return Err(failure),
    };
    let measured = Measured { interrupted, sizes: sizes(), processes };
    let machine = Machine::this();
    let heading = layout::wrapped(width(), &machine.to_string());
    let text = format!("{heading}\n{}", measured.text());
    let document = Document::new(&machine, roster.preload_path(), &measured);
    let page = || measured.page(&machine);
    arguments.outputs.write(&text, |path| measured.write_csv(path), page, &document)?;
    Ok(if interrupted { STATUS_INTERRUPTED } else { 0 })
}

/// The sizes of the objects themselves, without their waiters.
fn sizes() -> Vec<Size> {
    use std::mem::size_of;
    macro_rules! sizes {
        ($($object:literal: $($name:literal $type:ty),+;)+) => {
            vec![$(Size { object: $object, bytes: vec![$(($name, size_of::<$type>())),+] }),+]
        };
    }
    sizes! {
        "mutex": "furwock" furwock::Mutex<()>, "glibc" libc::pthread_mutex_t,
            "std" std::sync::Mutex<()>, "parking_lot" parking_lot::Mutex<()>,
            "usync" usync::Mutex<()>;
        "rwlock": "furwock" furwock::RwLock<()>, "glibc" libc::pthread_rwlock_t,
            "std" std::sync::RwLock<()>, "parking_lot" parking_lot::RwLock<()>,
            "usync" usync::RwLock<()>;
        "condition variable": "furwock" furwock::Condvar, "glibc" libc::pthread_cond_t,
            "std" std::sync::Condvar, "parking_lot" parking_lot::Condvar,
            "usync" usync::Condvar;
        "semaphore": "furwock" furwock::Semaphore, "glibc" libc::sem_t;
        "barrier": "furwock" furwock::Barrier, "glibc" libc::pthread_barrier_t,
            "std" std::sync::Barrier, "usync" usync::Barrier;
    }
}

/// Measures without the library and with it, in turn, this many times.
fn in_turn(
    times: usize,
    bar: &ProgressBar,
    mut make: impl FnMut(Contestant) -> Result<f64, Stop>,
) -> Result<[Vec<f64>; 2], Stop> {
    let sides = [Contestant::Glibc, Contestant::FurwockPreload];
    let mut measured = [Vec::new(), Vec::new()];
    for turn in 0..times {
        for side in [turn % 2, (turn + 1) % 2] {
            measured[side].push(make(sides[side])?);
            bar.inc(1);
        }
    }
    Ok(measured)
}

fn processes(
    arguments: &MemoryArguments,
    workloads: &Workloads,
    roster: &Roster,
) -> Result<Vec<Process>, Stop> {
    let program = program::find("true".as_ref()).map_err(Stop::Failed)?;
    let count = arguments.starts as usize;
    let bar = progress_bar(2 * (count + LOOKS));
    let starts = in_turn(count, &bar, |side| start(&program, &roster.ld_preload(side)))?;
    let mut thread = [Vec::new(), Vec::new()];
    let own = in_turn(LOOKS, &bar, |side| {
        let parameters = [format!("threads={}", arguments.threads)];
        let run = workloads.run("footprint", parameters, &roster.ld_preload(side), None)?;
        let figure = |name: &str| run.report.figures.get(name).copied().unwrap_or(f64::NAN);
        thread[usize::from(side.is_ours())].push(figure("bytes_per_thread"));
        Ok(figure("own_bytes"))
    })?;
    bar.finish_and_clear();
    const START: &str = "starting a program (/bin/true), from fork to end";
    const OWN: &str = "a process's own memory, after one lock";
    const THREAD: &str = "a thread that waits at a condition variable, with its stack";
    Ok(vec![
        Process::new(START, true, &starts, Some(START_MAX_S)),
        Process::new(OWN, false, &own, Some(OWN_BYTES_MAX)),
        Process::new(THREAD, false, &thread, None),
    ])
}

fn start(program: &Path, ld_preload: &OsString) -> Result<f64, Stop> {
    if interrupt::asked() {
        return Err(Stop::Interrupted);
    }
    let outcome = child::run(&Launch {
        program,
        arguments: &[OsString::from("true")],
        ld_preload,
        record: None,
        input: None,
        stdout: Stdout::Discard,
        timeout: Some(TIMEOUT),
        interruptible: true,
    });
    let outcome = outcome.map_err(|error| Stop::failed(format!("true: {error}")))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(outcome.sample.wall_s),
        Ending::Interrupted => Err(Stop::Interrupted),
        ending => Err(Stop::failed(format!("true: {ending}"))),
    }
}

impl Process {
    fn new(
        what: &'static str,
        seconds: bool,
        [without, with]: &[Vec<f64>; 2],
        most: Option<f64>,
    ) -> Self {
        let differs = Gain::of_rounds(with, without).differs();
        let (without, with) = (median(without), median(with));
        Process { what, seconds, without, with, more: with - without, differs, most }
    }

    fn shown(&self, value: f64) -> String {
        if self.seconds {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", with_unit(value.abs(), number::Unit::Seconds))
        } else if value.abs() >= 10.0 * 1024.0 {
            format!("{:.0} KiB", value / 1024.0)
        } else {
            format!("{value:.0} B")
        }
    }

    fn verdict(&self) -> Cell {
        match self.most {
            // The goal is judged first.
            Some(most) if self.more > most => {
                Cell::new(format!("MORE than {}", self.shown(most)), Tone::Loss)
            }
            _ if !self.differs => Cell::plain("not noticeable"),
            Some(most) => Cell::new(format!("within {}", self.shown(most)), Tone::Win),
            None => Cell::plain(""),
        }
    }

    fn finding(&self) -> Finding {
        let [without, with, more] = [self.without, self.with, self.more].map(|of| self.shown(of));
        let text = format!(
            "{}: {more} more under furwock run ({without} without, {with} with).",
            self.what
        );
        // Reaching a goal is not a win.
        let kept = self.verdict().tone != Tone::Loss;
        Finding { tone: if kept { Tone::Neutral } else { Tone::Loss }, text }
    }
}

impl Measured {
    fn process_table(&self) -> Table {
        let row = |process: &Process| {
            let figures = [process.without, process.with, process.more];
            let figures = figures.map(|value| Cell::plain(process.shown(value)));
            let what = Cell::plain(process.what);
            std::iter::once(what).chain(figures).chain([process.verdict()]).collect()
        };
        let header = ["under furwock run", "without", "with", "more", "verdict"];
        Table::new("Under furwock run", header, self.processes.iter().map(row))
    }

    fn size_table(&self) -> Table {
        const NAMES: [&str; 5] = ["furwock", "glibc", "std", "parking_lot", "usync"];
        let row = |size: &Size| {
            let bytes = NAMES.map(|name| {
                let found = size.bytes.iter().find(|(known, _)| *known == name);
                Cell::plain(found.map_or_else(|| "-".to_owned(), |(_, bytes)| bytes.to_string()))
            });
            std::iter::once(Cell::plain(size.object)).chain(bytes).collect()
        };
        let header = ["bytes of a"].into_iter().chain(NAMES);
        Table::new("Bytes of an object", header, self.sizes.iter().map(row))
            .with_note("A waiter has a node of its own for as long as it waits.")
    }

    fn text(&self) -> String {
        let interruption =
            if self.interrupted { "Interrupted: these are the results until then.\n" } else { "" };
        let width = width();
        let columns = |words| Columns { names: 1, words, ..Columns::default() };
        format!(
            "{}\n{}{}{interruption}\n{}",
            layout::fitted(columns(0), width, &self.size_table()),
            layout::fitted(columns(1), width, &self.process_table()),
            layout::wrapped(
                width,
                "Medians. What waiters take in the crate: `furwock bench scaling`."
            ),
            layout::wrapped(width, &self.conclusion())
        )
    }

    fn conclusion(&self) -> String {
        let [start, own, ..] = self.processes.as_slice() else { return String::new() };
        format!(
            "Under furwock run a program starts {} later and takes {} more memory.",
            start.shown(start.more),
            own.shown(own.more)
        )
    }

    fn write_csv(&self, path: &Path) -> std::io::Result<()> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(["what", "side", "value"])?;
        for size in &self.sizes {
            for (side, bytes) in &size.bytes {
                writer.write_record([size.object, side, &bytes.to_string()])?;
            }
        }
        for process in &self.processes {
            writer.write_record([process.what, "without", &process.without.to_string()])?;
            writer.write_record([process.what, "with", &process.with.to_string()])?;
        }
        writer.flush()
    }

    fn page(&self, machine: &Machine) -> Page {
        const TEXT: &str = "Programs were started without and with furwock's library, in turn.";
        let blocks = [self.process_table(), self.size_table()].map(Block::Table).into();
        Page {
            title: "furwock bench memory".to_owned(),
            provenance: machine.provenance(),
            summary: self.processes.iter().map(Process::finding).collect(),
            sections: vec![Section::new("Memory and start", vec![TEXT.to_owned()], blocks)],
            ..Page::default()
        }
    }
}
