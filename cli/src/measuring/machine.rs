//! The machine that the figures come from.

use std::ffi::CStr;
use std::fmt;
use std::fs;
use std::thread::available_parallelism;

use serde::Serialize;

#[derive(Serialize)]
pub struct Machine {
    cpu: String,
    cpus: u32,
    kernel: String,
    glibc: String,
    /// UTC, in ISO 8601.
    date: String,
}

impl Machine {
    pub fn this() -> Self {
        let system = rustix::system::uname();
        Machine {
            cpu: cpu_model(),
            cpus: cpus(),
            kernel: system.release().to_string_lossy().into_owned(),
            glibc: glibc_version(),
            date: date(),
        }
    }

    /// The processor's model.
    pub fn cpu(&self) -> &str {
        &self.cpu
    }

    /// Where a page's figures come from: the machine, the command, the version.
    pub fn provenance(&self) -> Vec<String> {
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let version = env!("CARGO_PKG_VERSION");
        vec![self.to_string(), format!("furwock {command}"), format!("furwock {version}")]
    }
}

/// The CPUs that this process may use.
pub fn cpus() -> u32 {
    available_parallelism().map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX))
}

fn cpu_model() -> String {
    let table = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = table.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or("unknown", |(_, name)| name.trim()).to_owned()
}

pub fn glibc_version() -> String {
    // SAFETY: the function returns a string that lives as long as the process.
    unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy().into_owned()
}

fn date() -> String {
    // SAFETY: time allows a null pointer, and then only returns the time.
    let now = unsafe { libc::time(std::ptr::null_mut()) };
    // SAFETY: all-zero is a valid tm.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of ours.
    unsafe { libc::gmtime_r(&now, &mut parts) };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} CPUs, Linux {}, glibc {}, {}",
            self.cpu, self.cpus, self.kernel, self.glibc, self.date
        )
    }
}
