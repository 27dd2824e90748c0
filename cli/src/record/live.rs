//! Records of running processes.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::file::File;
use crate::failure::{Failure, STATUS_FAILED};
use crate::who::process::{access, maps};

/// Whether a process runs that writes to this record.
pub(super) fn is_running(file: &File, pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    if pid == 0 || !is_of_this_boot(file) {
        return false;
    }
    // Where maps can't be read, the process's existence has to do.
    match maps::read(pid) {
        Ok(maps) => maps.iter().any(|map| map.is_shared && map.file.1 == file.identity.1),
        Err(_) => fs::exists(format!("/proc/{pid}")).unwrap_or(false),
    }
}

pub(super) fn is_of_this_boot(file: &File) -> bool {
    boot_id() == file.boot_id
}

/// The machine's; empty if it can't be read.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The record that a process writes to.
pub fn of_process(pid: i32) -> Result<File, Failure> {
    let status = access::status(pid)?;
    let name = access::text(&status, "Name").unwrap_or("?");
    let refused = |says: String| Failure::new(STATUS_FAILED, says);
    let maps = maps::read(pid).map_err(|_| refused(access::why_denied(pid, &status)))?;
    let mut found = None;
    for map in maps.iter().filter(|map| map.is_shared && map.path.starts_with('/')) {
        let plain = map.path.strip_suffix(" (deleted)").unwrap_or(&map.path);
        let places = [
            PathBuf::from(plain),
            PathBuf::from(format!("/proc/{pid}/root{plain}")),
            PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", map.start, map.end)),
        ];
        let is_it = |path: &&PathBuf| path.metadata().is_ok_and(|file| file.ino() == map.file.1);
        found = places.iter().find(is_it).and_then(|path| File::open(path).ok());
        if found.is_some() {
            break;
        }
    }
    found.ok_or_else(|| {
        refused(format!(
            "process {pid} ({name}) isn't recorded: start it with `furwock run --stats -- PROGRAM`"
        ))
    })
}
