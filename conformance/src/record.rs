//! Files for the library that records, and C programs on it: `CONFORMANCE_RECORDED=1` has `run`
//! load it in the preload's place, with a file of each test's own.

use crate::{Test, built, scratch};
use furwock_record as layout;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::{env, fs};

/// Whether the C programs run on the library that records.
pub fn is_asked() -> bool {
    env::var_os("CONFORMANCE_RECORDED").is_some_and(|value| !value.is_empty())
}

/// The library that records.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built("furwock-preload-recording", "libfurwock_preload_recording.so"))
}

/// Tests of what the library does otherwise when it records (docs/recording.md): how they begin,
/// and why they don't hold.
const OTHERWISE: [(&str, &str); 1] =
    [("_leave_no_memory", "an ended thread's entry stays until all are taken")];

/// Why `test` doesn't hold on it, if so.
pub fn excuse(test: &Test) -> Option<&'static str> {
    let is = |part: &str| test.name.starts_with(part) || test.name.contains(part);
    OTHERWISE.iter().find(|(part, _)| is(part)).map(|(_, why)| *why)
}

/// A file that a program may record in. It goes when this does.
#[derive(Debug)]
pub struct Record(PathBuf);

impl Record {
    /// Makes one in the test's folder.
    pub fn new(name: &str, parts_at_most: u32) -> Self {
        let path = scratch("recording").join(format!("{name}.record"));
        let mut page = vec![0_u8; layout::PAGE];
        // SAFETY: zero is a valid header.
        let mut header: layout::File = unsafe { core::mem::zeroed() };
        header.magic = layout::MAGIC;
        header.version = layout::VERSION;
        header.part_size = layout::PART_SIZE;
        header.parts_at_most = parts_at_most;
        header.ticks_per_second = 1_000_000_000;
        // SAFETY: a page has room for it.
        unsafe { page.as_mut_ptr().cast::<layout::File>().write_unaligned(header) };
        fs::write(&path, page).expect("the target folder is writable");
        Self(path)
    }

    /// One with a name that no other has.
    pub fn of_a_run() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        Self::new(&format!("furwock-{}-{number}", std::process::id()), 256)
    }

    /// A path where no record is.
    pub fn missing(name: &str) -> Self {
        Self(scratch("recording").join(name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Has `command` record in it.
    pub fn take(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env(layout::VARIABLE, &self.0);
    }

    /// How many processes have begun to record in it.
    pub fn processes(&self) -> u32 {
        let mut bytes = [0; size_of::<layout::File>()];
        let read = fs::File::open(&self.0).and_then(|mut file| file.read_exact(&mut bytes));
        read.expect("the file has its first page");
        // SAFETY: within the bytes; a header consists of integers.
        let header = unsafe { bytes.as_ptr().cast::<layout::File>().read_unaligned() };
        header.parts.load(Relaxed)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}
