//! A section's entries, of which most may be empty: holes in the file aren't read.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};

use super::bytes::Bytes;
use super::entries::Entry;

/// How much is read at once.
const BLOCK: usize = 1 << 20;

/// Where a section lies in the file.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub start: u64,
    pub count: u32,
}

/// All entries that are there, with their keys: their places, counted from 1.
pub fn entries<E: Entry>(file: &File, extent: Extent) -> Vec<(u32, E)> {
    let mut found = Vec::new();
    let per_block = (BLOCK / E::SIZE).max(1);
    let mut next = 0_usize;
    let count = extent.count as usize;
    let mut block = Vec::new();
    while next < count {
        let offset = extent.start + (next * E::SIZE) as u64;
        let Some(data) = data_from(file, offset) else { break };
        next += usize::try_from((data - offset) / E::SIZE as u64).unwrap_or(usize::MAX);
        if next >= count {
            break;
        }
        let here = per_block.min(count - next);
        block.resize(here * E::SIZE, 0);
        let offset = extent.start + (next * E::SIZE) as u64;
        let read = read_at_most(file, &mut block, offset);
        block.truncate(read);
        let again = E::IS_REUSED.then(|| {
            let mut again = vec![0; block.len()];
            let read = read_at_most(file, &mut again, offset);
            again.truncate(read);
            again
        });
        for (at, bytes) in block.chunks_exact(E::SIZE).enumerate() {
            let is_whole = again.as_ref().is_none_or(|again| {
                again.get(at * E::SIZE..(at + 1) * E::SIZE).is_some_and(|copy| copy == bytes)
            });
            let entry = if is_whole { E::read(Bytes(bytes)) } else { None };
            found.extend(entry.map(|entry| ((next + at + 1) as u32, entry)));
        }
        next += here;
    }
    found
}

/// How many bytes there were.
pub fn read_at_most(file: &File, into: &mut [u8], offset: u64) -> usize {
    let mut read = 0;
    while read < into.len() {
        match file.read_at(&mut into[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    read
}

/// The first place at or behind `offset` that isn't in a hole; none if only holes follow.
fn data_from(file: &File, offset: u64) -> Option<u64> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Some(data.max(offset)),
        Err(rustix::io::Errno::NXIO) => None,
        // A file system that knows no holes.
        Err(_) => Some(offset),
    }
}
