//! `furwock run --monitor`: a BPF program notes which threads have a processor, in a map that the
//! program's processes read (docs/monitor.md).

mod bpf;
mod btf;
mod program;

use std::fs;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use furwock::unstable::monitor::{Header, MAGIC, ON, SWITCHES};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

/// Descriptors that the processes get begin here: below, shells and programs have theirs.
const LEAST_DESCRIPTOR: i32 = 100;
/// The most threads' bytes: older kernels allow a value no more than 4 MiB, which is as many as
/// there are thread ids.
const MOST: u32 = (4 << 20) - size_of::<Header>() as u32;

/// The inode of the initial PID namespace, which the kernel never gives to another.
const INITIAL_NAMESPACE: u64 = 0xeffffffc;

/// The capabilities, as bits of a status file's CapEff.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// A map and the program that fills it, not attached yet.
pub struct Loaded {
    map: OwnedFd,
    program: OwnedFd,
    size: u32,
}

/// A program that is attached as long as this lives.
pub struct Monitor {
    map: OwnedFd,
    header: NonNull<Header>,
    size: u32,
    _attached: OwnedFd,
}

/// What keeps this process from it, if anything: as far as that is known without trying it.
pub fn obstacle() -> Option<String> {
    if fs::metadata("/proc/self/ns/pid").is_ok_and(|it| it.ino() != INITIAL_NAMESPACE) {
        return Some("processes have other ids here than the kernel's (a PID namespace)".into());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = u64::from_str_radix(capabilities.unwrap_or("0").trim(), 16).unwrap_or(0);
    let has = |capability: u32| capabilities >> capability & 1 == 1;
    let may = has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON));
    (!may).then(|| "it needs the capabilities CAP_BPF and CAP_PERFMON, which root has".into())
}

impl Loaded {
    /// Loads the program. Says in one sentence why that is impossible.
    pub fn load() -> Result<Self, String> {
        if let Some(obstacle) = obstacle() {
            return Err(obstacle);
        }
        let found = btf::find()?;
        let size = most_threads();
        let map = bpf::create_map(&unfilled(size)).map_err(refused)?;
        let instructions = program::of(found, map.as_raw_fd(), size);
        let program = bpf::load(&instructions, program::LICENSE, found.switch).map_err(refused)?;
        Ok(Self { map, program, size })
    }

    /// Attaches it, and finds out whether it notes this process's threads.
    pub fn attach(self) -> Result<Monitor, String> {
        let map = fcntl_dupfd_cloexec(self.map, LEAST_DESCRIPTOR)
            .map_err(|error| format!("there is no descriptor for the map: {error}"))?;
        let header = mapped(&map, size_of::<Header>() + self.size as usize)
            .map_err(|error| format!("the map can't be mapped: {error}"))?;
        let attached = bpf::attach(&self.program).map_err(refused)?;
        let monitor = Monitor { map, header, size: self.size, _attached: attached };
        if !monitor.notes_this_thread() {
            return Err("the kernel's program notes nothing of this process".into());
        }
        Ok(monitor)
    }
}

impl Monitor {
    /// The descriptor that this process's children get.
    pub fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }

    /// In a child that is about to become a program: leaves the descriptor to it.
    pub fn hand_over(&self) -> io::Result<()> {
        Ok(fcntl_setfd(&self.map, FdFlags::empty())?)
    }

    /// Whether it knows that the calling thread runs, after a few switches at the latest.
    fn notes_this_thread(&self) -> bool {
        (0..SWITCHES).any(|_| {
            // Comes back by a switch to this thread.
            std::thread::sleep(Duration::from_millis(1));
            self.state(own_thread()) == Some(ON)
        })
    }

    fn state(&self, thread: u32) -> Option<u8> {
        (thread < self.size).then(|| {
            // SAFETY: so many bytes follow the header, mapped as long as this lives.
            let state = unsafe { self.header.add(1).cast::<AtomicU8>().add(thread as usize) };
            // SAFETY: as above.
            unsafe { state.as_ref() }.load(Ordering::Relaxed)
        })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let size = size_of::<Header>() + self.size as usize;
        // SAFETY: it isn't used any more.
        unsafe { libc::munmap(self.header.as_ptr().cast(), size) };
    }
}

/// A map's value before any switch.
fn unfilled(size: u32) -> Vec<u8> {
    let mut value = vec![0; size_of::<Header>() + size as usize];
    let mut put = |at: usize, bytes: &[u8]| value[at..at + bytes.len()].copy_from_slice(bytes);
    put(offset_of!(Header, magic), &MAGIC);
    put(offset_of!(Header, size), &size.to_ne_bytes());
    value
}

/// The calling thread's id.
fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// As many as there are ids for now. (Threads with higher ones are unknown.)
fn most_threads() -> u32 {
    let most = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    most.trim().parse().unwrap_or(MOST).min(MOST)
}

fn mapped(map: &OwnedFd, size: usize) -> io::Result<NonNull<Header>> {
    let (none, read) = (ptr::null_mut(), libc::PROT_READ);
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe { libc::mmap(none, size, read, libc::MAP_SHARED, map.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(start.cast()).expect("the kernel gives no mapping at 0"))
}

/// Why bpf(2) failed.
fn refused(error: io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no bpf(2)".into(),
        Some(libc::EPERM | libc::EACCES) => {
            "bpf(2) is forbidden here, by a sandbox or by the kernel's lockdown".into()
        }
        _ => format!("bpf(2) failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alone it needs capabilities: `run`'s test says so if they are missing.
    #[test]
    fn knows_threads_that_run_and_threads_that_sleep() {
        let monitor = match Loaded::load().and_then(Loaded::attach) {
            Ok(monitor) => monitor,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(own_thread()).unwrap();
            let _ = ended.recv();
        });
        let sleeping = told.recv().unwrap();
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(10));
            if monitor.state(sleeping) == Some(furwock::unstable::monitor::OFF) {
                break;
            }
        }
        assert_eq!(monitor.state(sleeping), Some(furwock::unstable::monitor::OFF));
        assert!(monitor.notes_this_thread());
        assert_eq!(monitor.state(u32::MAX), None);
        drop(end);
        sleeper.join().unwrap();
        assert_cannot_be_written(&monitor);
    }

    /// Neither by its processes, through what they have mapped and what they inherit.
    fn assert_cannot_be_written(monitor: &Monitor) {
        let (size, both) = (size_of::<Header>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: if it succeeded, the mapping would stay as it is but for that.
        unsafe {
            assert_eq!(libc::mprotect(monitor.header.as_ptr().cast(), size, both), -1);
            let (none, shared) = (ptr::null_mut(), libc::MAP_SHARED);
            let again = libc::mmap(none, size, both, shared, monitor.descriptor(), 0);
            assert_eq!(again, libc::MAP_FAILED);
        }
    }
}
