//! The file, and what is wrong with it.

use std::fs;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use furwock_record as layout;
use furwock_record::{MAGIC, PAGE, VERSION};

use super::bytes::Bytes;
use super::part::{self, Part};
use super::section;
use crate::failure::{Failure, STATUS_FAILED};

/// More than any record has: a damaged header may claim any number.
const MOST_PARTS: u32 = 1 << 20;

/// An open record, which can be read again and again.
pub struct File {
    path: PathBuf,
    pub(super) file: fs::File,
    pub(super) part_size: u64,
    pub(super) parts_at_most: u32,
    pub(super) ticks_per_second: u64,
    pub(super) boot_id: String,
    pub(super) identity: (u64, u64),
}

/// One look at a record.
#[derive(Debug)]
pub struct Record {
    pub parts: Vec<Part>,
    /// What couldn't be read, a line each.
    pub damages: Vec<String>,
}

impl File {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let refused =
            |why: String| Failure::new(STATUS_FAILED, format!("{}: {why}", path.display()));
        let failed = |error: io::Error| {
            refused(match error.kind() {
                io::ErrorKind::NotFound => "no such file".to_owned(),
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            })
        };
        // Devices and pipes aren't even opened.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(refused("not a file".to_owned()));
        }
        let file = fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let size = metadata.len();
        if size == 0 {
            return Err(refused("empty: nothing has been recorded in it".to_owned()));
        }
        let mut page = vec![0; PAGE];
        let read = section::read_at_most(&file, &mut page, 0);
        if !page[..read].starts_with(&MAGIC[..read.min(MAGIC.len())]) || read < MAGIC.len() {
            return Err(refused(
                "not a record of furwock, as `run --stats=FILE` writes it".to_owned(),
            ));
        }
        let bytes = Bytes(&page);
        let version = bytes.u32(offset_of!(layout::File, version));
        if version != VERSION && read >= 20 {
            return Err(refused(format!(
                "a record of version {version}; this furwock reads version {VERSION}"
            )));
        }
        if read < PAGE {
            return Err(refused(format!("cut off after {size} bytes, within its first page")));
        }
        let part_size = u64::from(bytes.u32(offset_of!(layout::File, part_size)));
        let ticks_per_second = bytes.u64(offset_of!(layout::File, ticks_per_second));
        let is_sound = part_size.is_multiple_of(PAGE as u64)
            && part_size >= size_of::<layout::Part>() as u64
            && ticks_per_second > 0;
        if !is_sound {
            return Err(refused("damaged: its first page makes no sense".to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            part_size,
            parts_at_most: bytes.u32(offset_of!(layout::File, parts_at_most)).min(MOST_PARTS),
            ticks_per_second,
            boot_id: super::entries::printable(bytes.text(
                offset_of!(layout::File, boot_id),
                36,
                36,
            )),
            identity: (metadata.dev(), metadata.ino()),
            file,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All processes that are in it now.
    pub fn look(&self) -> Result<Record, Failure> {
        self.look_for(|_| true)
    }

    /// Those processes whose ids are `wanted`.
    pub fn look_for(&self, wanted: impl Fn(u32) -> bool) -> Result<Record, Failure> {
        let mut claimed = [0; 4];
        let at = offset_of!(layout::File, parts) as u64;
        let failed = |error: io::Error| {
            Failure::new(STATUS_FAILED, format!("{}: {error}", self.path.display()))
        };
        self.file.read_exact_at(&mut claimed, at).map_err(failed)?;
        let size = self.file.metadata().map_err(failed)?.len();
        let all = u32::from_ne_bytes(claimed);
        let there = all.min(self.parts_at_most);
        let (mut parts, mut damages) = (Vec::new(), Vec::new());
        for number in 0..there {
            let start = PAGE as u64 + u64::from(number) * self.part_size;
            if start + size_of::<layout::Part>() as u64 > size {
                // One that is claimed may have no memory yet.
                let missing = there - number;
                if missing > 1 || !self.is_written() {
                    damages.push(format!("cut off: {missing} of {there} processes are missing"));
                }
                break;
            }
            match part::read(self, start, self.part_size, &wanted) {
                Ok(Some(part)) => {
                    if !part.may_end_at(size - start, self.part_size) {
                        damages.push(format!("cut off: process {} isn't whole", part.pid));
                    }
                    parts.push(part);
                }
                Ok(None) => {}
                Err(why) => damages.push(format!("damaged: {why}")),
            }
        }
        if all > there {
            let more = all - there;
            damages.push(format!("full: {more} more processes had no room in it"));
        }
        part::settle(self, &mut parts);
        Ok(Record { parts, damages })
    }
}

impl File {
    /// Whether a process still writes to it, as far as can be known cheaply.
    fn is_written(&self) -> bool {
        super::live::is_of_this_boot(self)
    }
}
