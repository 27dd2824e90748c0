//! `furwock bench memory`: bytes of a lock, a waiter, a thread and a process, and how long a
//! program takes to start.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::common::Outputs;
use super::roster::Roster;
use crate::contestants::Contestant;
use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::child::{self, Ending, Launch, Stdout};
use crate::measuring::document::Document;
use crate::measuring::interrupt;
use crate::measuring::machine::Machine;
use crate::measuring::number::{self, with_unit};
use crate::measuring::output::{Output, cannot_write, write_page};
use crate::measuring::table;
use crate::measuring::workload_run::{Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, system_failure};
use crate::program;
use crate::report::model::{Block, Cell, Finding, Page, Section, Table, Tone};
use crate::statistics::{differ, median};
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

    /// How many threads wait where their bytes are counted
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = threads)]
    pub threads: u32,

    #[command(flatten)]
    pub outputs: Outputs,
}

/// What the project promises, on 2 CPUs.
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
    /// With the library, more than without.
    more: f64,
    differs: bool,
    most: Option<f64>,
}

pub fn run(arguments: &MemoryArguments) -> Result<i32, Failure> {
    arguments.outputs.check();
    let workloads = Workloads::new(TIMEOUT)?;
    let roster = Roster::of(&[Contestant::FurwockPreload], &workloads, false)?;
    interrupt::watch();
    let measured = processes(arguments, &workloads, &roster);
    let (processes, interrupted) = match measured {
        Ok(processes) => (processes, false),
        Err(Stop::Interrupted) => (Vec::new(), true),
        Err(Stop::System(failure)) => return Err(failure),
        Err(Stop::Failed(reason)) => return Err(Failure::new(STATUS_FAILED, reason)),
    };
    let sizes = sizes();
    let machine = Machine::this();
    let output = Output { json: arguments.outputs.json.as_ref() };
    let interruption =
        if interrupted { "Interrupted: this is what had been measured.\n" } else { "" };
    // If one can't be written, the others still are.
    let told = output.text(&format!("{machine}\n\n{}{interruption}", text(&sizes, &processes)));
    let csv = arguments.outputs.csv.as_ref().map_or(Ok(()), |path| {
        write_csv(path, &sizes, &processes).map_err(|error| cannot_write(path, &error))
    });
    let page = arguments
        .outputs
        .report
        .as_ref()
        .map_or(Ok(()), |path| write_page(path, &page(&machine, &sizes, &processes)));
    #[derive(Serialize)]
    struct Results<'a> {
        interrupted: bool,
        sizes: &'a [Size],
        processes: &'a [Process],
    }
    let results = Results { interrupted, sizes: &sizes, processes: &processes };
    let json = output.json(&Document::new(&machine, roster.preload_path(), results));
    told.and(csv).and(page).and(json)?;
    Ok(if interrupted { STATUS_INTERRUPTED } else { 0 })
}

/// Of the objects themselves, without their waiters.
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

/// What `make` measures without the library and with it, in turn, so often.
fn in_turn(
    times: usize,
    mut make: impl FnMut(Contestant) -> Result<f64, Stop>,
) -> Result<[Vec<f64>; 2], Stop> {
    let sides = [Contestant::Glibc, Contestant::FurwockPreload];
    let mut measured = [Vec::new(), Vec::new()];
    for turn in 0..times {
        for side in [turn % 2, (turn + 1) % 2] {
            measured[side].push(make(sides[side])?);
        }
    }
    Ok(measured)
}

fn processes(
    arguments: &MemoryArguments,
    workloads: &Workloads,
    roster: &Roster,
) -> Result<Vec<Process>, Stop> {
    let program = program::find("true".as_ref())
        .map_err(|error| Stop::Failed(format!("to measure a start: {error}")))?;
    let starts =
        in_turn(arguments.starts as usize, |side| start(&program, &roster.ld_preload(side)))?;
    let mut thread = [Vec::new(), Vec::new()];
    let own = in_turn(LOOKS, |side| {
        let parameters = [format!("threads={}", arguments.threads)];
        let run = workloads.run("footprint", parameters, &roster.ld_preload(side))?;
        let figure = |name: &str| run.report.figures.get(name).copied().unwrap_or(f64::NAN);
        thread[usize::from(side.is_ours())].push(figure("bytes_per_thread"));
        Ok(figure("own_bytes"))
    })?;
    Ok(vec![
        process(
            "starting a program (/bin/true), from fork to end",
            true,
            &starts,
            Some(START_MAX_S),
        ),
        process("a process's own memory, after one lock", false, &own, Some(OWN_BYTES_MAX)),
        process(
            "a thread that waits at a condition variable, with its stack",
            false,
            &thread,
            None,
        ),
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
        stdout: Stdout::Discard,
        timeout: Some(TIMEOUT),
    });
    let outcome = outcome.map_err(|error| Stop::System(system_failure("true", error)))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(outcome.sample.wall_s),
        Ending::Interrupted => Err(Stop::Interrupted),
        ending => Err(Stop::Failed(format!("true: {ending}"))),
    }
}

fn process(
    what: &'static str,
    seconds: bool,
    [without, with]: &[Vec<f64>; 2],
    most: Option<f64>,
) -> Process {
    let (one, other) = (median(without), median(with));
    Process {
        what,
        seconds,
        without: one,
        with: other,
        more: other - one,
        differs: differ(with, without),
        most,
    }
}

fn shown(process: &Process, value: f64) -> String {
    if process.seconds {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", with_unit(value.abs(), number::Unit::Seconds))
    } else if value.abs() >= 10.0 * 1024.0 {
        format!("{:.0} KiB", value / 1024.0)
    } else {
        format!("{value:.0} B")
    }
}

fn verdict(process: &Process) -> String {
    match process.most {
        // The promise is judged first.
        Some(most) if process.more > most => format!("MORE than {}", shown(process, most)),
        _ if !process.differs => "no difference".to_owned(),
        Some(most) => format!("within {}", shown(process, most)),
        None => String::new(),
    }
}

fn words(process: &Process) -> [String; 5] {
    let said = |value| shown(process, value);
    let [without, with, more] = [process.without, process.with, process.more].map(said);
    [process.what.to_owned(), without, with, more, verdict(process)]
}

fn text(sizes: &[Size], processes: &[Process]) -> String {
    let mut rows = vec![vec!["bytes of a".to_owned()]];
    let names = ["furwock", "glibc", "std", "parking_lot", "usync"];
    rows[0].extend(names.map(str::to_owned));
    rows.extend(sizes.iter().map(|size| {
        let bytes = |name: &&str| {
            let found = size.bytes.iter().find(|(known, _)| known == name);
            found.map_or_else(|| "-".to_owned(), |(_, bytes)| bytes.to_string())
        };
        std::iter::once(size.object.to_owned()).chain(names.iter().map(bytes)).collect()
    }));
    let mut text = format!("{}\n", table::render(1, 0, &rows));
    let header = ["under furwock run", "without", "with", "more", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(processes.iter().map(|process| words(process).to_vec()));
    text += &table::render(1, 1, &rows);
    text + "Medians. What waiters take in the crate: `furwock bench scaling`.\n"
}

fn write_csv(path: &Path, sizes: &[Size], processes: &[Process]) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["what", "side", "value"])?;
    for size in sizes {
        for (side, bytes) in &size.bytes {
            writer.write_record([size.object, side, &bytes.to_string()])?;
        }
    }
    for process in processes {
        writer.write_record([process.what, "without", &process.without.to_string()])?;
        writer.write_record([process.what, "with", &process.with.to_string()])?;
    }
    writer.flush()
}

fn page(machine: &Machine, sizes: &[Size], processes: &[Process]) -> Page {
    let plain = |text: String| Cell { text, tone: Tone::Neutral };
    let size_rows = sizes.iter().map(|size| {
        let all: Vec<String> =
            size.bytes.iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
        vec![plain(size.object.to_owned()), plain(all.join(", "))]
    });
    let tone = |process: &Process| match process.most {
        Some(most) if process.more <= most => Tone::Win,
        Some(_) => Tone::Loss,
        None => Tone::Neutral,
    };
    let process_rows = processes.iter().map(|process| {
        let mut cells = words(process).map(plain);
        cells[4].tone = tone(process);
        cells.into()
    });
    // Keeping a promise is not a win.
    let finding = |process: &Process| Finding {
        tone: if tone(process) == Tone::Loss { Tone::Loss } else { Tone::Neutral },
        text: format!(
            "{}: {} more under furwock run ({} without, {} with).",
            process.what,
            shown(process, process.more),
            shown(process, process.without),
            shown(process, process.with)
        ),
    };
    Page {
        title: "furwock bench memory".to_owned(),
        provenance: vec![machine.to_string(), "furwock bench memory".to_owned()],
        summary: processes.iter().map(finding).collect(),
        sections: vec![Section {
            heading: "Memory and start".to_owned(),
            text: vec![
                "Programs were started without and with furwock's library, in turn.".to_owned(),
            ],
            blocks: vec![
                Block::Table(Table {
                    caption: "Under furwock run".to_owned(),
                    header: ["what", "without", "with", "more", "verdict"]
                        .map(str::to_owned)
                        .to_vec(),
                    rows: process_rows.collect(),
                    notes: Vec::new(),
                }),
                Block::Table(Table {
                    caption: "Bytes of an object".to_owned(),
                    header: ["object", "bytes"].map(str::to_owned).to_vec(),
                    rows: size_rows.collect(),
                    notes: vec![
                        "What waits has a node of its own for as long as it waits.".to_owned(),
                    ],
                }),
            ],
        }],
    }
}
