//! Where the tables and the JSON go; standard output has room for one of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::failure::{Failure, STATUS_FAILED};
use crate::report::model::Page;

pub struct Output<'a> {
    /// The file that `--json` names; `-` is standard output.
    pub json: Option<&'a PathBuf>,
}

impl Output<'_> {
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        if self.json.is_some_and(|path| path == Path::new("-")) {
            anstream::eprint!("{text}");
            return Ok(());
        }
        print(text)
    }

    pub fn json(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        let Some(path) = self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(document).expect("plain data") + "\n";
        if path == Path::new("-") {
            return print(&text);
        }
        std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
    }
}

/// On standard output, which may be a full disk.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| cannot_write(Path::new("standard output"), &error))
}

/// Checks without writing whether a file can be written, before minutes of measuring.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let refused = |error: rustix::io::Errno| cannot_write(path, &error.into());
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(refused(rustix::io::Errno::ISDIR)),
        Ok(_) => access(path, Access::WRITE_OK).map_err(refused),
        Err(_) => {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new("."));
            access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
        }
    }
}

pub fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(STATUS_FAILED, format!("cannot write {}: {error}", path.display()))
}

pub fn write_page(path: &Path, page: &Page) -> Result<(), Failure> {
    std::fs::write(path, crate::report::html(page)).map_err(|error| cannot_write(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_said_before() {
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
