//! What the kernel lets a look see, and which setting forbids the rest.

use std::fs;

use crate::failure::{Failure, STATUS_FAILED};

const CAP_SYS_PTRACE: u32 = 19;

/// /proc/PID/status, or why there is none.
pub fn status(pid: i32) -> Result<String, Failure> {
    fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| {
        let says = match error.kind() {
            std::io::ErrorKind::NotFound if !fs::exists("/proc/self").unwrap_or(false) => {
                "/proc isn't mounted: furwock who reads it".to_owned()
            }
            std::io::ErrorKind::NotFound => format!("no process {pid}{}", in_a_container(pid)),
            _ => format!("process {pid}: {error}"),
        };
        Failure::new(STATUS_FAILED, says)
    })
}

/// A process of a container that has this id in there.
fn in_a_container(pid: i32) -> String {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let outer = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let found = outer.into_iter().find(|outer| {
        let status = fs::read_to_string(format!("/proc/{outer}/status")).unwrap_or_default();
        ids(&status).nth(1) == Some(pid)
    });
    found.map_or(String::new(), |outer| {
        format!(" here; a container's process {pid} is {outer} outside it")
    })
}

/// A field of /proc/PID/status.
pub fn text<'s>(status: &'s str, field: &str) -> Option<&'s str> {
    let value = |line: &'s str| line.strip_prefix(field)?.strip_prefix(':').map(str::trim);
    status.lines().find_map(value)
}

/// The first number of a field.
pub fn number(status: &str, field: &str) -> Option<i32> {
    text(status, field)?.split_whitespace().next()?.parse().ok()
}

/// A process's or thread's ids, in this namespace first and in its own last.
pub fn ids(status: &str) -> impl DoubleEndedIterator<Item = i32> {
    let ids = text(status, "NSpid").unwrap_or("");
    ids.split_ascii_whitespace().flat_map(str::parse)
}

/// Whether the program has handlers for signals that others may send it. Faults don't count, nor
/// do the C library's own.
pub fn catches_signals(status: &str) -> bool {
    const FAULTS: [i32; 7] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
        libc::SIGABRT,
    ];
    const OF_THE_C_LIBRARY: [i32; 3] = [32, 33, 34];
    let caught = text(status, "SigCgt").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let mask = FAULTS.iter().chain(&OF_THE_C_LIBRARY).fold(0, |mask, at| mask | 1_u64 << (at - 1));
    caught.is_none_or(|caught| caught & !mask != 0)
}

/// Whether its program's file is for a machine of 32 bits.
pub fn is_of_32_bits(pid: i32) -> bool {
    let mut start = [0; 5];
    let file = fs::File::open(format!("/proc/{pid}/exe"));
    let read = file.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == *b"\x7fELF\x01"
}

/// Which setting keeps this process from reading another's memory.
pub fn why_denied(pid: i32, status: &str) -> String {
    let own = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let name = text(status, "Name").unwrap_or("?");
    let says = |why: String| format!("not permitted to look into process {pid} ({name}): {why}");
    let capable = text(&own, "CapEff")
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .is_some_and(|mask| mask & 1 << CAP_SYS_PTRACE != 0);
    let ids = |status: &str, field| text(status, field).map(str::to_owned);
    if !capable && ids(status, "Uid") != ids(&own, "Uid") {
        let theirs = number(status, "Uid").unwrap_or(-1);
        return says(format!("user {theirs} owns it; ask as that user, or with CAP_SYS_PTRACE"));
    }
    if !capable && ids(status, "Gid") != ids(&own, "Gid") {
        return says("its groups differ; CAP_SYS_PTRACE is needed".to_owned());
    }
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).ok();
    let theirs = namespace(&pid.to_string());
    if capable && theirs.is_some_and(|theirs| namespace("self") != Some(theirs)) {
        return says("its user namespace is another, in which CAP_SYS_PTRACE is needed".to_owned());
    }
    let capabilities = |status: &str| {
        text(status, "CapPrm").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
    };
    if !capable && capabilities(status) & !capabilities(&own) != 0 {
        return says(
            "it has capabilities that this process lacks: CAP_SYS_PTRACE is needed".into(),
        );
    }
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match yama.trim() {
        "1" if !capable => says(
            "kernel.yama.ptrace_scope is 1, which lets parents look only: use `furwock who -- \
             PROGRAM`, CAP_SYS_PTRACE, or set it to 0"
                .to_owned(),
        ),
        "2" if !capable => {
            says("kernel.yama.ptrace_scope is 2: CAP_SYS_PTRACE is needed".to_owned())
        }
        "3" => says("kernel.yama.ptrace_scope is 3, which forbids it to all".to_owned()),
        _ if !capable => says(
            "it isn't dumpable (PR_SET_DUMPABLE, setuid or file capabilities), or a sandbox \
             forbids it: CAP_SYS_PTRACE is needed"
                .to_owned(),
        ),
        _ => says("a sandbox (seccomp or a security module) forbids it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_and_the_c_librarys_signals_dont_count_as_handlers() {
        let caught = |mask: u64| catches_signals(&format!("Name:\tx\nSigCgt:\t{mask:016x}\n"));
        assert!(!caught(0) && !caught(1 << (libc::SIGSEGV - 1)) && !caught(1 << 32));
        assert!(caught(1 << (libc::SIGTERM - 1)));
        assert!(catches_signals("Name:\tx\n"), "unknown");
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "Name:\tcat\nNSpid:\t12\t1\nPid:\t12\n";
        assert_eq!(text(status, "Pid"), Some("12"));
        assert_eq!(number(status, "NSpid"), Some(12));
        assert_eq!(text(status, "NS"), None);
    }
}
