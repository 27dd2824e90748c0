//! Reads a file whose headers are not trusted.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::{ReadCache, ReadRef};

/// More than the headers of any program need, and little enough to keep in memory.
pub const MOST_BYTES: u64 = 64 << 20;

/// What a string counts for that is read by itself.
const STRING: u64 = 4096;

/// A file of which no more than a budget is read and kept. Every read counts, even of bytes that
/// were read before.
#[derive(Clone, Copy)]
pub struct Limited<'a> {
    pub file: &'a ReadCache<&'a File>,
    pub budget: &'a Cell<u64>,
}

impl Limited<'_> {
    fn spend(self, bytes: u64) -> Result<(), ()> {
        self.budget.set(self.budget.get().checked_sub(bytes).ok_or(())?);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for Limited<'a> {
    fn len(self) -> Result<u64, ()> {
        self.file.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.spend(size)?;
        self.file.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.spend(STRING)?;
        self.file.read_bytes_at_until(range, delimiter)
    }
}
