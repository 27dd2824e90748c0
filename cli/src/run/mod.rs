//! `furwock run`: become the program, with furwock's library loaded first; or, to record or monitor
//! it, start it and stay as its parent.

mod holders;
pub mod monitor;
mod parent;
pub mod place;
mod recorded;
mod ticks;

use std::env;
use std::ffi::OsStr;

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::obstacle;
use crate::preload::Preload;
use crate::program;
use crate::streams::say;
use furwock::unstable::monitor::VARIABLE;
use monitor::Monitor;
use recorded::Wants;

pub fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    let wants = Wants::of(arguments)?;
    let preload = match wants {
        Some(_) => Preload::find_recording()?,
        None => Preload::find()?,
    };
    let program = program::find(&arguments.command[0])?;
    if !arguments.force {
        obstacle::check(&program, &arguments.command, &preload)?;
    }
    let ld_preload = preload.prepended_to(env::var_os("LD_PRELOAD").as_deref());
    let mut changes = vec![("LD_PRELOAD", ld_preload.as_os_str())];
    if arguments.no_children {
        // The library removes itself: only it sees what the program starts.
        changes.push(("FURWOCK_CHILDREN", OsStr::new("0")));
    }
    let monitor = if arguments.monitor { started_monitor() } else { None };
    let descriptor = monitor.as_ref().map(|monitor| monitor.descriptor().to_string());
    // (One of a `furwock run` further up is only replaced.)
    changes.extend(descriptor.as_deref().map(|number| (VARIABLE, OsStr::new(number))));
    let command = &arguments.command;
    match (&wants, monitor) {
        (Some(wants), monitor) => recorded::run(&program, command, &changes, wants, monitor),
        (None, Some(monitor)) => {
            let ended = parent::run(&program, command, &changes, Some(&monitor), &mut ())?;
            // Before this process may be killed.
            drop(monitor);
            Ok(ended.status())
        }
        (None, None) => Err(program::become_program(&program, command, &changes)),
    }
}

/// Where it can't be, the program runs all the same.
fn started_monitor() -> Option<Monitor> {
    match monitor::Loaded::load().and_then(monitor::Loaded::attach) {
        Ok(monitor) => Some(monitor),
        Err(why) => {
            say(&format!("furwock: --monitor: {why}; the program runs without it\n"));
            None
        }
    }
}
