//! A process's memory, read without stopping it.

use std::io;

use super::maps::Map;

#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pid: i32,
}

impl Memory {
    pub fn new(pid: i32) -> Self {
        Self { pid }
    }

    /// Reads what can be read from `address` on. How many bytes those are.
    pub fn read(self, address: u64, into: &mut [u8]) -> io::Result<usize> {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
        // SAFETY: `local` is the caller's buffer; the kernel checks the other process's addresses.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    pub fn bytes<const N: usize>(self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.read(address, &mut bytes).ok()? == N).then_some(bytes)
    }

    pub fn u32(self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_ne_bytes)
    }

    pub fn u64(self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_ne_bytes)
    }

    /// Whole ranges, of which all must be readable.
    pub fn range(self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        (self.read(address, &mut bytes).ok()? == length).then_some(bytes)
    }

    /// Whether memory may be read at all.
    pub fn probe(self, maps: &[Map]) -> io::Result<()> {
        let Some(map) = maps.iter().find(|map| map.path.starts_with('/')) else { return Ok(()) };
        match self.read(map.start, &mut [0]) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
            _ => Ok(()),
        }
    }
}
