//! Where tables, JSON, CSV and page go. Standard output has room for the tables or the JSON.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{Access, access};
use serde::Serialize;

use crate::failure::{Failure, STATUS_FAILED};
use crate::report;
use crate::report::model::Page;
use crate::streams::say;

// No doc comment: clap would take it for the help of the command that these options are part of.
#[derive(Args, Default)]
pub struct Outputs {
    /// Write the machine, every round and the summary as JSON to FILE, or to stdout with `-`
    #[arg(long, value_name = "FILE", visible_alias = "export-json")]
    pub json: Option<PathBuf>,

    /// Write each figure of each implementation in each case as a line of CSV to FILE
    #[arg(long, value_name = "FILE", visible_alias = "export-csv")]
    pub csv: Option<PathBuf>,

    /// Write a page with charts to FILE: one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl Outputs {
    /// Refuses files that can't be written before anything is measured. (They may fail at the end
    /// all the same: then the tables are printed.)
    pub fn check(&self) -> Result<(), Failure> {
        let json = self.json.as_ref().filter(|path| *path != Path::new("-"));
        let mut files = json.into_iter().chain(&self.csv).chain(&self.report);
        files.try_for_each(|path| check_writable(path))
    }

    /// Writes all that was asked for, `text` in any case. If one can't be written, the others still
    /// are.
    pub fn write(
        &self,
        text: &str,
        csv: impl FnOnce(&Path) -> io::Result<()>,
        page: impl FnOnce() -> Page,
        document: &impl Serialize,
    ) -> Result<(), Failure> {
        let json_is_printed = self.json.as_deref() == Some(Path::new("-"));
        let text = if json_is_printed { print_error(text) } else { print(text) };
        let csv = write_to(self.csv.as_deref(), csv);
        let page = write_to(self.report.as_deref(), |path| fs::write(path, report::html(&page())));
        let json = || serde_json::to_string_pretty(document).expect("plain data") + "\n";
        let json = if json_is_printed {
            print(&json())
        } else {
            write_to(self.json.as_deref(), |path| fs::write(path, json()))
        };
        text.and(csv).and(page).and(json)
    }
}

fn print_error(text: &str) -> Result<(), Failure> {
    say(text);
    Ok(())
}

/// On standard output, which may be a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| cannot_write(Path::new("standard output"), &error))
}

/// Nothing if there is no path.
pub fn write_to(
    path: Option<&Path>,
    write: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| write(path).map_err(|error| cannot_write(path, &error)))
}

/// Warns if a file can't be written as things are now.
pub fn warn_of(path: &Path) {
    if let Err(failure) = check_writable(path) {
        say(&format!("furwock: warning: {failure}\n"));
    }
}

/// Without writing.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let refused = |error: rustix::io::Errno| cannot_write(path, &error.into());
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(rustix::io::Errno::ISDIR)),
        Ok(_) => access(path, Access::WRITE_OK).map_err(refused),
        Err(_) => {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new("."));
            access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(STATUS_FAILED, format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwritable_path_is_found_without_writing() {
        let said =
            |path: &str| check_writable(Path::new(path)).err().map(|error| error.to_string());
        assert!(said("/no/such/folder/x.json").unwrap().contains("No such file"));
        assert!(said("/proc").unwrap().contains("Is a directory"));
        assert_eq!(said("/dev/null"), None);
        let beside = std::env::temp_dir().join("furwock-is-not-made-by-looking");
        assert_eq!(said(beside.to_str().unwrap()), None);
        assert!(!beside.exists());
    }
}
