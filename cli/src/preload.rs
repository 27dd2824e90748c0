//! Finding furwock's library, and naming it in LD_PRELOAD.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::brought;
use crate::failure::{Failure, STATUS_OWN_FAILURE};

const FILE_NAME: &str = "libfurwock_preload.so";
/// The one that counts what locks cost.
const RECORDING_NAME: &str = "libfurwock_preload_recording.so";

/// What the dynamic loader takes for the end of a path in LD_PRELOAD.
const SEPARATORS: [u8; 2] = [b' ', b':'];

/// The library's absolute path, which LD_PRELOAD is able to name.
#[derive(Debug)]
pub struct Preload(PathBuf);

impl Preload {
    /// FURWOCK_PRELOAD alone if it is set; else beside the executable, then where packages put it,
    /// then the one that the command has brought.
    pub fn find() -> Result<Self, Failure> {
        match named() {
            Some(path) => Self::find_among(vec![path]),
            None => Self::find_installed(FILE_NAME),
        }
    }

    /// The library that records: in the folder of the one that FURWOCK_PRELOAD names.
    pub fn find_recording() -> Result<Self, Failure> {
        match named() {
            Some(path) => Self::find_among(vec![path.with_file_name(RECORDING_NAME)]),
            None => Self::find_installed(RECORDING_NAME),
        }
    }

    fn find_installed(name: &str) -> Result<Self, Failure> {
        let installed = Self::find_among(beside_the_executable(name));
        installed.or_else(|missing| match brought::library(name) {
            Some(Ok(path)) => Self::at(path),
            Some(Err(why)) => Err(Failure::new(STATUS_OWN_FAILURE, why)),
            None => Err(missing),
        })
    }

    fn find_among(tried: Vec<PathBuf>) -> Result<Self, Failure> {
        match tried.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok()) {
            Some(path) if !is_elf(&path) => {
                let message = format!("{}: not furwock's library: no ELF file", path.display());
                Err(Failure::new(STATUS_OWN_FAILURE, message))
            }
            Some(path) => Preload::at(path),
            None => {
                let tried: Vec<String> =
                    tried.iter().map(|path| path.display().to_string()).collect();
                let message = format!(
                    "furwock's library is missing; looked for {} (FURWOCK_PRELOAD names another \
                     place; `cargo install` brings it with --features bundled)",
                    tried.join(" and ")
                );
                Err(Failure::new(STATUS_OWN_FAILURE, message))
            }
        }
    }

    fn at(path: PathBuf) -> Result<Self, Failure> {
        if path.as_os_str().as_bytes().iter().any(|byte| SEPARATORS.contains(byte)) {
            let message = format!(
                "{}: LD_PRELOAD cannot name a path with a space or a colon; move the library",
                path.display()
            );
            return Err(Failure::new(STATUS_OWN_FAILURE, message));
        }
        Ok(Preload(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// LD_PRELOAD for a child, with this library or without. Other libraries in it are kept.
    pub fn environment(&self, loaded: bool) -> OsString {
        let inherited = env::var_os("LD_PRELOAD").unwrap_or_default();
        match loaded {
            true => self.prepended_to(Some(&inherited)),
            false => self.removed_from(&inherited),
        }
    }

    /// LD_PRELOAD with this library first.
    pub fn prepended_to(&self, ld_preload: Option<&OsStr>) -> OsString {
        let mut value = self.0.clone().into_os_string();
        if let Some(rest) = ld_preload.filter(|rest| !rest.is_empty()) {
            value.push(":");
            value.push(rest);
        }
        value
    }

    /// LD_PRELOAD without this library, for runs on glibc's own locks.
    fn removed_from(&self, ld_preload: &OsStr) -> OsString {
        let kept: Vec<&[u8]> = ld_preload
            .as_bytes()
            .split(|byte| SEPARATORS.contains(byte))
            .filter(|entry| !entry.is_empty() && !self.is(Path::new(OsStr::from_bytes(entry))))
            .collect();
        OsString::from_vec(kept.join(&b':'))
    }

    fn is(&self, entry: &Path) -> bool {
        entry == self.0 || entry.canonicalize().is_ok_and(|path| path == self.0)
    }
}

fn named() -> Option<PathBuf> {
    env::var_os("FURWOCK_PRELOAD").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn beside_the_executable(name: &str) -> Vec<PathBuf> {
    let executable = env::current_exe().and_then(|path| path.canonicalize());
    let Some(folder) = executable.ok().and_then(|path| path.parent().map(Path::to_owned)) else {
        return Vec::new();
    };
    vec![folder.join(name), folder.join("../lib/furwock").join(name)]
}

/// The dynamic loader would say so and go on without it.
fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preload() -> Preload {
        Preload(PathBuf::from("/lib/fur.so"))
    }

    #[test]
    fn prepends() {
        assert_eq!(preload().prepended_to(None), "/lib/fur.so");
        assert_eq!(preload().prepended_to(Some(OsStr::new(""))), "/lib/fur.so");
        assert_eq!(preload().prepended_to(Some(OsStr::new("a.so b.so"))), "/lib/fur.so:a.so b.so");
    }

    #[test]
    fn removes_only_itself() {
        let without = |value: &str| preload().removed_from(OsStr::new(value));
        assert_eq!(without("a.so:/lib/fur.so b.so"), "a.so:b.so");
        assert_eq!(without("/lib/fur.so"), "");
    }

    #[test]
    fn refuses_what_the_loader_would_split() {
        assert!(Preload::at("/a b/f.so".into()).is_err());
        assert!(Preload::at("/a:b/f.so".into()).is_err());
        assert!(Preload::at("/ab/f.so".into()).is_ok());
    }
}
