//! `furwock run`: become the program, with furwock's library loaded first; or, to record it, start
//! it and stay as its parent.

mod holders;
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
    match &wants {
        Some(wants) => recorded::run(&program, &arguments.command, &changes, wants),
        None => Err(program::become_program(&program, &arguments.command, &changes)),
    }
}
