//! Kernel, C library and processors.

use std::fs::{self, File};
use std::io;
use std::sync::atomic::AtomicU32;

use furwock::lock::robust::unlock_is_one_step;
use furwock::shared::{self, Awaited, Error, NumaWord, Scope};

use super::finding::Finding;
use crate::elf;
use crate::measuring::machine::{cpus, glibc_version};
use crate::run::monitor::Loaded;

pub fn findings() -> Vec<Finding> {
    let mut findings = vec![kernel(), glibc(), architecture(), processors(), futex()];
    findings.extend([waits_on_many(), nodes(), policies(), robust(), rseq()]);
    findings.extend([time_slices(), stacks(), membarrier(), monitor()]);
    findings
}

fn kernel() -> Finding {
    let system = rustix::system::uname();
    let name = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Finding::ok("kernel", format!("{} {}", name(system.sysname()), name(system.release())))
}

fn glibc() -> Finding {
    let own = File::open("/proc/self/exe").ok().and_then(|file| elf::read(&file));
    let loader = own.and_then(|elf| elf.interpreter);
    let version = glibc_version();
    match loader {
        Some(loader) => Finding::ok("glibc", format!("{version}, loader {loader}")),
        None => Finding::note(
            "glibc",
            format!("{version}; the loader is unknown, as /proc/self/exe can't be read"),
            "mount /proc",
        ),
    }
}

fn architecture() -> Finding {
    let built_for = elf::own_platform();
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    match built_for {
        Some(platform) => Finding::ok(
            "architecture",
            format!("{machine}; furwock is built for {platform}, and serves programs for that"),
        ),
        None => Finding::ok("architecture", machine),
    }
}

fn processors() -> Finding {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let online = match online.trim() {
        "" => "unknown".to_owned(),
        online => online.to_owned(),
    };
    match cpus() {
        1 => Finding::note(
            "processors",
            format!("1 allowed, online: {online}. Threads take turns, and never spin for locks"),
            "allow more: taskset, the container's cpuset, the service's CPUAffinity",
        ),
        allowed => Finding::ok("processors", format!("{allowed} allowed, online: {online}")),
    }
}

fn futex() -> Finding {
    let word = AtomicU32::new(0);
    match shared::wake(&Scope::PRIVATE.of(&word), 1) {
        Ok(_) => Finding::ok("futex", "allowed"),
        Err(error) => Finding::problem("futex", error.to_string(), "let seccomp filters allow it"),
    }
}

/// Loads the program, but leaves the scheduler alone.
fn monitor() -> Finding {
    match Loaded::load() {
        Ok(_) => Finding::ok("--monitor", "`furwock run --monitor` may attach its program"),
        Err(why) => Finding::ok("--monitor", format!("not here: {why}")),
    }
}

/// What the crate says of an operation, which does nothing but show that the kernel has it.
fn offered(
    subject: &'static str,
    there: &str,
    without: &str,
    result: Result<(), Error>,
) -> Finding {
    match result {
        Ok(()) => Finding::ok(subject, there),
        Err(Error::Unsupported { call, since }) => {
            let mend = format!("run {since} or newer, and let seccomp filters allow it");
            Finding::note(subject, format!("{call} is missing: {without}"), mend)
        }
        Err(error) => Finding::note(subject, format!("{without}: {error}"), "see above"),
    }
}

fn waits_on_many() -> Finding {
    let word = AtomicU32::new(0);
    // The word doesn't hold 1: the wait ends at once.
    let result = shared::wait_any(&[Awaited::new(&word, 1)], None).map(drop);
    let without = "no waits on several process-shared words";
    offered("futex_waitv", "there: waits on several process-shared words", without, result)
}

fn nodes() -> Finding {
    let result = shared::wake(&NumaWord::new(0), 1).map(drop);
    let without = "process-shared words can't name a memory node";
    offered("FUTEX2_NUMA", "there: process-shared words may name a memory node", without, result)
}

fn policies() -> Finding {
    let word = AtomicU32::new(0);
    let result = shared::wake(&Scope::PRIVATE.by_memory_policy().of(&word), 1).map(drop);
    let without = "process-shared words can't follow memory policies";
    let there = "there: process-shared words may follow memory policies";
    offered("FUTEX2_MPOL", there, without, result)
}

fn robust() -> Finding {
    match unlock_is_one_step() {
        true => Finding::ok("robust", "the crate's robust locks are released in one step"),
        false => Finding::note(
            "robust",
            "the memory of a destroyed robust lock isn't safe from the death of the thread that \
             released it last",
            "keep such memory, or run Linux 7.2 or newer (x86-64)",
        ),
    }
}

fn rseq() -> Finding {
    // SAFETY: a C string. glibc 2.35 and later define the symbol, a number that never changes: 0 if
    // the kernel doesn't have rseq, or the user has turned it off.
    let size = unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
        symbol.cast::<u32>().as_ref().copied()
    };
    match size {
        Some(0) => Finding::note(
            "rseq",
            "not registered: a thread asks the kernel on which processor it runs",
            "unset glibc.pthread.rseq in GLIBC_TUNABLES, and run Linux 4.18 or newer",
        ),
        Some(_) => Finding::ok("rseq", "registered: a thread reads on which processor it runs"),
        None => Finding::note(
            "rseq",
            "this glibc doesn't register it: asking for the processor is a call",
            "run glibc 2.35 or newer",
        ),
    }
}

fn time_slices() -> Finding {
    const SLICE_EXTENSION: libc::c_int = 79;
    const GET: libc::c_ulong = 1;
    // SAFETY: only asks.
    let enabled = unsafe { libc::prctl(SLICE_EXTENSION, GET, 0, 0, 0) };
    Finding::ok("rseq_slice", time_slices_by(enabled, io::Error::last_os_error()))
}

/// What the kernel's answer says of longer time slices for critical sections.
fn time_slices_by(enabled: libc::c_int, error: io::Error) -> &'static str {
    /// The kernel's own error for what it was built or started without.
    const ENOTSUPP: i32 = 524;
    match (enabled, error.raw_os_error()) {
        (1.., _) => "enabled for this thread; furwock doesn't ask for longer time slices",
        (0, _) => "available, and not enabled; furwock doesn't ask for longer time slices",
        (_, Some(ENOTSUPP)) => "this kernel is built without it; furwock does without it",
        _ => "missing; furwock does without it",
    }
}

fn stacks() -> Finding {
    // SAFETY: a C string.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    match find.is_null() {
        false => Finding::ok("stacks", "--stats and --lock-order have those of all files"),
        true => Finding::ok(
            "stacks",
            "--stats and --lock-order read the loader's list for debuggers: this glibc can't tell \
             the file of an address without a lock",
        ),
    }
}

fn membarrier() -> Finding {
    const QUERY: libc::c_long = 0;
    const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;
    // SAFETY: only asks.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    let has = |wanted| commands >= 0 && commands & wanted != 0;
    match has(PRIVATE_EXPEDITED) {
        true => Finding::ok("membarrier", "there; furwock does without it"),
        false => Finding::ok("membarrier", "missing; furwock does without it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn a_missing_call_is_a_note_with_the_kernel_that_has_it() {
        let missing = Error::Unsupported { call: "futex_waitv", since: "Linux 5.16" };
        let found = offered("futex_waitv", "there", "no waits", Err(missing));
        assert_eq!(
            (found.state, found.text.as_str()),
            (State::Note, "futex_waitv is missing: no waits")
        );
        assert!(found.mend.unwrap().contains("Linux 5.16"));
        assert_eq!(offered("x", "there", "", Ok(())).state, State::Ok);
    }

    #[test]
    fn what_a_kernel_says_of_longer_time_slices() {
        let said = |enabled, errno| time_slices_by(enabled, io::Error::from_raw_os_error(errno));
        assert!(said(1, 0).starts_with("enabled"));
        assert!(said(0, 0).starts_with("available"));
        assert!(said(-1, 524).starts_with("this kernel is built without it"));
        assert!(said(-1, libc::EINVAL).starts_with("missing"));
        assert!(said(-1, libc::EPERM).starts_with("missing"));
    }
}
