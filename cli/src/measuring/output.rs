//! Where the tables and the JSON go; standard output has room for one of them.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, STATUS_FAILED};
use crate::report::model::Page;

pub struct Output<'a> {
    /// The file that `--json` names; `-` is standard output.
    pub json: Option<&'a PathBuf>,
}

impl Output<'_> {
    pub fn text(&self, text: &str) {
        if self.json.is_some_and(|path| path == Path::new("-")) {
            anstream::eprint!("{text}");
        } else {
            anstream::print!("{text}");
        }
    }

    pub fn json(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        let Some(path) = self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(document).expect("plain data") + "\n";
        if path == Path::new("-") {
            anstream::print!("{text}");
            return Ok(());
        }
        std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
    }
}

pub fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(STATUS_FAILED, format!("cannot write {}: {error}", path.display()))
}

pub fn write_page(path: &Path, page: &Page) -> Result<(), Failure> {
    std::fs::write(path, crate::report::html(page)).map_err(|error| cannot_write(path, &error))
}
