//! `furwock run`: become the program, with furwock's library loaded first.

use std::convert::Infallible;
use std::env;

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::obstacle;
use crate::preload::Preload;
use crate::program;

pub fn run(arguments: &RunArguments) -> Result<Infallible, Failure> {
    let preload = Preload::find()?;
    let program = program::find(&arguments.command[0])?;
    if !arguments.force {
        obstacle::check(&program)?;
    }
    let ld_preload = preload.prepended_to(env::var_os("LD_PRELOAD").as_deref());
    Err(program::become_program(&program, &arguments.command, &ld_preload).into())
}
