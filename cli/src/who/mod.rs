//! `furwock who`: which thread waits for which, and for how long, in any running process.
//!
//! It reads /proc and the process's memory, and stops a thread only where its registers can't be
//! had otherwise. `process` has what the kernel says, `stacks` the functions, `locks` what a wait
//! is for, `chains` which threads can't go on, `picture` the output, `program` the watching of a
//! new process.

mod chains;
pub mod locks;
mod picture;
pub mod process;
mod program;
mod stacks;

use std::io::Write;

use serde_json::{Value, json};

use crate::args::WhoArguments;
use crate::failure::{Failure, STATUS_FAILED};
use crate::streams::width_of;
use chains::{Verdict, World};
use stacks::Symbols;

/// A deadlock was found.
pub const STATUS_DEADLOCK: i32 = 3;

pub fn who(arguments: &WhoArguments) -> Result<i32, Failure> {
    if !arguments.command.is_empty() {
        return program::watch(arguments);
    }
    match arguments.pid {
        Some(pid) => one(pid, arguments.json),
        None => all(arguments.json),
    }
}

fn one(pid: i32, as_json: bool) -> Result<i32, Failure> {
    let mut symbols = Symbols::default();
    let world = World::look(pid, &mut symbols)?;
    let verdict = Verdict::of(&world);
    if as_json {
        print(&format!("{:#}\n", picture::document(&world, &verdict, &mut symbols)));
    } else {
        print(&picture::text(&world, &verdict, pid, &mut symbols, width_of(std::io::stdout())));
    }
    if let Some(denied) = &world.processes[&pid].denied {
        return Err(Failure::new(STATUS_FAILED, denied.clone()));
    }
    Ok(if verdict.is_deadlock() { STATUS_DEADLOCK } else { 0 })
}

/// Those of the user's processes in which threads wait for each other, and how many others.
fn all(as_json: bool) -> Result<i32, Failure> {
    let mut symbols = Symbols::default();
    let (mut quiet, mut denied, mut found) = (0, 0, false);
    let mut documents: Vec<Value> = Vec::new();
    for pid in process::of_the_user() {
        // One that has ended meanwhile.
        let Ok(world) = World::look(pid, &mut symbols) else { continue };
        let verdict = Verdict::of(&world);
        let waits = world.threads.values().any(|waiting| !waiting.holders.is_empty());
        denied += usize::from(world.processes[&pid].denied.is_some());
        found |= verdict.is_deadlock();
        if as_json {
            documents.push(picture::document(&world, &verdict, &mut symbols));
        } else if waits || verdict.is_deadlock() {
            print(&picture::text(&world, &verdict, pid, &mut symbols, width_of(std::io::stdout())));
            print("\n");
        } else {
            quiet += 1;
        }
    }
    if as_json {
        print(&format!("{:#}\n", json!({ "format": 1, "looks": documents })));
    } else {
        let plural = if quiet == 1 { "process" } else { "processes" };
        print(&format!("{quiet} {plural} in which no thread waits for another\n"));
        if denied > 0 {
            print(&format!("{denied} of them can't be looked into: `furwock who PID` says why\n"));
        }
    }
    Ok(if found { STATUS_DEADLOCK } else { 0 })
}

/// A reader that has gone is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
