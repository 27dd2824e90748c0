//! `furwock report`: what a record says, in sentences, as a page, and for other tools.

mod folded;
mod page;
mod text;
mod timeline;
mod trace;

use std::fs;
use std::path::Path;

use crate::args::ReportArguments;
use crate::contention::code::Images;
use crate::failure::{Failure, STATUS_FAILED};
use crate::order::{self, Options};
use crate::record::{File, Record};
use crate::stats;
use crate::streams::{print, width_of};

pub fn report(arguments: &ReportArguments) -> Result<i32, Failure> {
    let file = File::open(&arguments.record)?;
    let record = stats::whole(&file)?;
    let options = order::options(arguments.suppressions.as_deref(), arguments.by_place)?;
    if arguments.lock_order {
        return lock_order(arguments, &record, &options);
    }
    let mut images = Images::default();
    let mut all = stats::contentions(&record, &mut images);
    if let Some(path) = &arguments.html {
        save(path, &page::html(&mut all))?;
    }
    if let Some(path) = &arguments.folded {
        save(path, &folded::text(&mut all))?;
    }
    if let Some(path) = &arguments.trace {
        save(path, &trace::text(&mut all))?;
    }
    if [&arguments.html, &arguments.folded, &arguments.trace].iter().all(|path| path.is_none()) {
        print(&text::text(&mut all, width_of(std::io::stdout())))?;
        let (order, _) = order::report(&record, &options, width_of(std::io::stdout()));
        if !order.is_empty() {
            print(&format!("\n{order}"))?;
        }
    }
    Ok(stats::warn(&record, &arguments.record.display().to_string()))
}

/// All that a report can consist of.
#[cfg(test)]
pub fn everything(record: &crate::record::Record) -> [String; 4] {
    use crate::lines::WIDTH;
    let mut images = Images::default();
    let all = &mut stats::contentions(record, &mut images);
    [text::text(all, WIDTH), page::html(all), folded::text(all), trace::text(all)]
}

/// The order of locks alone. A possible deadlock is a status.
fn lock_order(
    arguments: &ReportArguments,
    record: &Record,
    options: &Options,
) -> Result<i32, Failure> {
    if !record.parts.iter().any(|part| part.has_order) {
        let says = format!(
            "{}: recorded without --lock-order, which `run` needs for that",
            arguments.record.display()
        );
        return Err(Failure::new(STATUS_FAILED, says));
    }
    let (text, may_deadlock) = order::report(record, options, width_of(std::io::stdout()));
    if arguments.json {
        print(&format!("{:#}\n", order::report_document(record, options)))?;
    } else {
        print(&text)?;
    }
    let status = stats::warn(record, &arguments.record.display().to_string());
    Ok(if may_deadlock { order::STATUS_FOUND } else { status })
}

/// `-` is standard output.
fn save(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print(text);
    }
    fs::write(path, text)
        .map_err(|error| Failure::new(STATUS_FAILED, format!("{}: {error}", path.display())))
}
