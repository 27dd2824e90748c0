//! `furwock stats`, and what `furwock run --stats` prints: a table of the locks that were
//! contended, and stacks of the worst.

mod document;
mod table;

use std::cmp::Reverse;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::args::StatsArguments;
use crate::contention::Contention;
use crate::contention::code::Images;
use crate::failure::{Failure, STATUS_FAILED};
use crate::lines::Lines;
use crate::record::{self, File, Part, Record};
use crate::streams::{print, say, width_of};
use crate::who::process::access;

pub fn stats(arguments: &StatsArguments) -> Result<i32, Failure> {
    let (record, source) = look(&arguments.source)?;
    let output = if arguments.json {
        format!("{:#}\n", document(&record))
    } else {
        text(&record, width_of(io::stdout()))
    };
    print(&output)?;
    Ok(warn(&record, &source))
}

/// The record of a process or in a file, and what it is called.
fn look(source: &str) -> Result<(Record, String), Failure> {
    let Ok(pid) = source.parse::<i32>() else {
        return Ok((whole(&File::open(Path::new(source))?)?, source.to_owned()));
    };
    Ok((of_process(&record::of_process(pid)?, pid)?, format!("process {pid}")))
}

/// All of a record, in which at least one process has to be.
pub fn whole(file: &File) -> Result<Record, Failure> {
    let record = file.look()?;
    if record.parts.is_empty() {
        let why = record.damages.first().map_or("no process has recorded anything", |why| why);
        let says = format!("{}: {why}", file.path().display());
        return Err(Failure::new(STATUS_FAILED, says));
    }
    Ok(record)
}

/// What a running process has recorded, since its last exec.
pub fn of_process(file: &File, pid: i32) -> Result<Record, Failure> {
    let inner = inner(pid);
    let mut record = file.look_for(|other| other == inner)?;
    let last = record.parts.iter().map(|part| part.began).max();
    record.parts.retain(|part| Some(part.began) == last);
    if record.parts.is_empty() {
        let says = format!("process {pid} has no room in its record, {}", file.path().display());
        return Err(Failure::new(STATUS_FAILED, says));
    }
    Ok(record)
}

/// The process's id as it knows it: another than `pid` in a namespace of its own.
fn inner(pid: i32) -> u32 {
    let status = access::status(pid).unwrap_or_default();
    access::ids(&status).next_back().unwrap_or(pid) as u32
}

/// What couldn't be read is said on stderr; the status to end with.
pub fn warn(record: &Record, source: &str) -> i32 {
    for damage in &record.damages {
        say(&format!("furwock: {source}: {damage}\n"));
    }
    if record.damages.is_empty() { 0 } else { STATUS_FAILED }
}

/// Tables of the processes that had contention, worst first; of all, if there is none. In lines of
/// at most `width` letters, which are `NARROWEST` or more.
pub fn text(record: &Record, width: usize) -> String {
    let mut images = Images::default();
    let mut all = contentions(record, &mut images);
    let quiet = all.iter().filter(|of| is_quiet(of)).count();
    let count = all.len();
    let mut text = String::new();
    for of in all.iter_mut().take((count - quiet).max(1)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &table::text(of, width);
    }
    let unseen = count - (count - quiet).max(1).min(count);
    if unseen > 0 {
        let plural = if unseen == 1 { "process" } else { "processes" };
        let mut lines = Lines::within(width);
        lines.plain(&format!("{unseen} more {plural}, in which no thread waited"));
        text += &format!("\n{}", lines.into_text());
    }
    text
}

/// Those that cost threads most time first.
pub fn contentions<'r>(record: &'r Record, images: &mut Images) -> Vec<Contention<'r>> {
    let of = |part: &'r Part| Contention::of(part, images);
    let mut all: Vec<Contention<'r>> = record.parts.iter().map(of).collect();
    let cost = |of: &Contention<'_>| (of.waited(), of.waited_for_events());
    all.sort_by_key(|one| Reverse(cost(one)));
    all
}

fn is_quiet(of: &Contention<'_>) -> bool {
    of.locks.is_empty() && of.events.is_empty()
}

fn document(record: &Record) -> Value {
    let mut all = contentions(record, &mut Images::default());
    let processes: Vec<Value> = all.iter_mut().map(document::process).collect();
    json!({ "format": 1, "processes": processes, "not_read": record.damages })
}
