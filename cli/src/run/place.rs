//! The file of a record: where it is made, and what it begins with.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::mem::offset_of;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use furwock_record as layout;
use furwock_record::{MAGIC, PAGE, PART_SIZE, VERSION};

use super::ticks;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::record;

/// How many processes there is room for. Each has memory only as far as it needs it.
const PARTS: u32 = 4096;
/// A folder in memory that has less room isn't used.
const ROOM: u64 = 64 << 20;

/// A record that is being written.
#[derive(Debug)]
pub struct Place {
    pub path: PathBuf,
    /// The user hasn't asked for the file: it goes when the program has ended.
    is_temporary: bool,
}

impl Place {
    /// Makes the file: a temporary one if no name is given.
    pub fn make(name: &OsStr) -> Result<Self, Failure> {
        if name.is_empty() {
            return Self::temporary();
        }
        let failed = |why: String| {
            Failure::new(STATUS_OWN_FAILURE, format!("--stats={}: {why}", name.display()))
        };
        let path = std::path::absolute(name).map_err(|error| failed(error.to_string()))?;
        remove_record(&path).map_err(failed)?;
        write(&path).map_err(|error| failed(error.to_string()))?;
        Ok(Self { path, is_temporary: false })
    }

    pub fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    fn temporary() -> Result<Self, Failure> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            let path = folder.join(format!("furwock-{}.record", std::process::id()));
            // One that a process of the same id has left.
            let made = remove_record(&path).map_err(io::Error::other).and_then(|()| write(&path));
            match made {
                Ok(()) => return Ok(Self { path, is_temporary: true }),
                Err(error) => last = error,
            }
        }
        let says = format!("--stats: there is no folder for the record ({last}); name a FILE");
        Err(Failure::new(STATUS_OWN_FAILURE, says))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Memory first: what is written to a disk's file costs the program time.
fn folders() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let memory = [Some(PathBuf::from("/dev/shm")), variable("XDG_RUNTIME_DIR")];
    let roomy = |path: &PathBuf| {
        let free = rustix::fs::statvfs(path).map(|stat| stat.f_bavail * stat.f_frsize);
        free.is_ok_and(|free| free >= ROOM)
    };
    let memory = memory.into_iter().flatten().filter(roomy);
    memory.chain([variable("TMPDIR").unwrap_or_else(|| "/tmp".into())]).collect()
}

/// Processes may still write to an old record of that name: it isn't emptied, but replaced. What is
/// no record stays.
fn remove_record(path: &Path) -> Result<(), String> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    let begins_as_one = || {
        let mut start = [0; MAGIC.len()];
        let read = fs::File::open(path).and_then(|mut file| io::Read::read(&mut file, &mut start));
        read.is_ok_and(|read| start[..read] == MAGIC[..read] && (read == 0 || read == start.len()))
    };
    if !metadata.is_file() || !begins_as_one() {
        return Err("exists, and is no record: name another file, or remove it".to_owned());
    }
    fs::remove_file(path).map_err(|error| error.to_string())
}

fn write(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&first_page())
}

fn first_page() -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let boot = record::boot_id();
    let boot = boot.as_bytes();
    put(offset_of!(layout::File, magic), &MAGIC);
    put(offset_of!(layout::File, version), &VERSION.to_ne_bytes());
    put(offset_of!(layout::File, part_size), &PART_SIZE.to_ne_bytes());
    put(offset_of!(layout::File, parts_at_most), &PARTS.to_ne_bytes());
    put(offset_of!(layout::File, ticks_per_second), &ticks::per_second().to_ne_bytes());
    put(offset_of!(layout::File, made_at), &now.to_ne_bytes());
    put(offset_of!(layout::File, boot_id), &boot[..boot.len().min(36)]);
    page
}
