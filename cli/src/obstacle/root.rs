//! Where a program's paths begin.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use crate::program;

/// This process's root, or a folder in its place.
pub struct Root(Option<OwnedFd>);

impl Root {
    pub const OWN: Self = Self(None);

    pub fn of(folder: &Path) -> Option<Self> {
        open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .ok()
            .map(|folder| Self(Some(folder)))
    }

    /// The path, from this process's root, of a file that has this one in the program's; the error
    /// may also be that the kernel can't look from another root (before Linux 5.6).
    pub fn outside(&self, path: &Path) -> Result<PathBuf, Errno> {
        let Some(root) = &self.0 else { return Ok(path.to_owned()) };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
        fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|_| Errno::NOENT)
    }

    /// The program of that name, as `outside` has it.
    pub fn program(&self, name: &OsStr) -> Option<PathBuf> {
        if self.0.is_none() {
            return program::find(name).ok();
        }
        let is_path = name.as_encoded_bytes().contains(&b'/');
        let folders = std::env::var_os("PATH").unwrap_or_else(|| program::DEFAULT_PATH.into());
        let named = |folder: PathBuf| self.outside(&folder.join(name)).ok();
        match is_path {
            true => self.outside(Path::new(name)).ok(),
            false => std::env::split_paths(&folders).find_map(named),
        }
    }
}
