//! `furwock compare`: the same work on glibc's locks and on furwock's, in pairs.

mod builtin;
mod builtin_table;
mod cells;
mod interrupt;
mod json;
mod machine;
mod measure;
mod noise;
mod number;
mod program;
mod program_table;
mod side;
mod table;

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::CompareArguments;
use crate::failure::{Failure, STATUS_FAILED};

const STATUS_INTERRUPTED: i32 = 130;

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

/// Where the table and the JSON go; standard output has room for one of them.
struct Output<'a> {
    json: Option<&'a PathBuf>,
}

impl Output<'_> {
    fn text(&self, text: &str) {
        if self.json.is_some_and(|path| path == Path::new("-")) {
            anstream::eprint!("{text}");
        } else {
            anstream::print!("{text}");
        }
    }

    fn json(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        let Some(path) = self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(document).expect("plain data") + "\n";
        if path == Path::new("-") {
            anstream::print!("{text}");
            return Ok(());
        }
        std::fs::write(path, text).map_err(|error| {
            Failure::new(STATUS_FAILED, format!("cannot write {}: {error}", path.display()))
        })
    }
}

/// On standard error, and hidden if that is no terminal.
fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (about {eta} left)");
    ProgressBar::new(steps as u64).with_style(style.expect("a valid template"))
}

fn system_failure(what: &str, error: std::io::Error) -> Failure {
    Failure::new(STATUS_FAILED, format!("{what}: {error}"))
}
