//! `furwock compare`: the same work on glibc's locks and on furwock's, in pairs.

mod builtin;
mod builtin_table;
mod cells;
mod page;
mod program;
mod program_table;
mod runs;
mod side;

use crate::args::CompareArguments;
use crate::failure::Failure;

/// Returns the exit status.
pub fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    if arguments.list {
        cells::all().iter().for_each(|cell| anstream::println!("{}", cell.name));
        Ok(0)
    } else if arguments.command.is_empty() {
        builtin::compare(arguments)
    } else {
        program::compare(arguments)
    }
}
