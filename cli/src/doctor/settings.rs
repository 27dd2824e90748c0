//! Settings of the system, the service or the shell that hurt.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::finding::Finding;
use crate::measuring::limits::{self, ThreadLimit, control_groups, number};

/// Fewer are soon too few for a server.
const THREADS_MIN: u64 = 1_000;
const DESCRIPTORS_MIN: u64 = 1_024;
/// Linux's default.
const MAPPINGS: u64 = 65_530;
/// Less memory is soon too little for threads' stacks.
const MEMORY_MIN_MIB: u64 = 256;

pub fn findings() -> Vec<Finding> {
    let space = getrlimit(Resource::As).current;
    vec![
        ptrace(number("/proc/sys/kernel/yama/ptrace_scope")),
        seccomp(&fs::read_to_string("/proc/self/status").unwrap_or_default()),
        address_space(space),
        memory(lowest_memory()),
        threads(limits::threads()),
        mappings(number("/proc/sys/vm/max_map_count")),
        descriptors(getrlimit(Resource::Nofile).current),
    ]
}

fn ptrace(scope: Option<u64>) -> Finding {
    let mend = "sysctl kernel.yama.ptrace_scope=0, or attach as root";
    match scope {
        None | Some(0) => Finding::ok("ptrace_scope", "debuggers may attach to one's own programs"),
        Some(1) => {
            Finding::note("ptrace_scope", "1: debuggers attach to their children only", mend)
        }
        Some(2) => Finding::note("ptrace_scope", "2: only administrators may attach", mend),
        Some(scope) => Finding::note(
            "ptrace_scope",
            format!("{scope}: no debugger may attach"),
            "start the system with kernel.yama.ptrace_scope=0",
        ),
    }
}

fn seccomp(status: &str) -> Finding {
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    match mode {
        Some("0") | None => Finding::ok("seccomp", "no filter"),
        Some(mode) => Finding::note(
            "seccomp",
            format!("a filter is active (mode {mode}); calls that it refuses are named above"),
            "let it allow the calls of docs/sandboxes.md",
        ),
    }
}

fn address_space(bytes: Option<u64>) -> Finding {
    match bytes {
        None => Finding::ok("ulimit -v", "unlimited"),
        Some(bytes) => Finding::note(
            "ulimit -v",
            format!("{} KiB: it bounds stacks and the wait queues' table", bytes >> 10),
            "ulimit -v unlimited; for a service, LimitAS=infinity",
        ),
    }
}

/// The lowest limit of this process's groups, in bytes.
fn lowest_memory() -> Option<u64> {
    let of = |group: &std::path::PathBuf| {
        number(group.join("memory.max")).or_else(|| number(group.join("memory.limit_in_bytes")))
    };
    // Version 1 writes a limit that is none as a great number.
    control_groups("memory").iter().filter_map(of).min().filter(|bytes| *bytes < 1 << 60)
}

fn memory(bytes: Option<u64>) -> Finding {
    match bytes.map(|bytes| bytes >> 20) {
        None => Finding::ok("memory", "no limit of a control group"),
        Some(mib) if mib >= MEMORY_MIN_MIB => {
            Finding::ok("memory", format!("the control group allows {mib} MiB"))
        }
        Some(mib) => Finding::note(
            "memory",
            format!("the control group allows {mib} MiB only"),
            "raise memory.max (MemoryMax= of the service, --memory of the container)",
        ),
    }
}

fn threads(limit: Option<ThreadLimit>) -> Finding {
    match limit {
        None => Finding::ok("threads", "no limit is known"),
        Some(ThreadLimit { threads, limit }) if threads >= THREADS_MIN => {
            Finding::ok("threads", format!("{threads} more ({limit})"))
        }
        Some(ThreadLimit { threads, limit }) => Finding::note(
            "threads",
            format!("only {threads} more ({limit})"),
            "raise that limit (TasksMax= of the service, --pids-limit of the container)",
        ),
    }
}

fn mappings(most: Option<u64>) -> Finding {
    match most {
        Some(most) if most < MAPPINGS => Finding::note(
            "mappings",
            format!("vm.max_map_count is {most}: a thread takes two"),
            format!("sysctl vm.max_map_count={MAPPINGS}"),
        ),
        Some(most) => Finding::ok("mappings", format!("vm.max_map_count is {most}")),
        None => Finding::ok("mappings", "vm.max_map_count is unknown"),
    }
}

fn descriptors(most: Option<u64>) -> Finding {
    match most {
        None => Finding::ok("descriptors", "unlimited"),
        Some(most) if most >= DESCRIPTORS_MIN => {
            Finding::ok("descriptors", format!("ulimit -n is {most}"))
        }
        Some(most) => Finding::note(
            "descriptors",
            format!("ulimit -n is {most}: too few for most servers"),
            format!("ulimit -n {DESCRIPTORS_MIN}; for a service, LimitNOFILE="),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn settings_that_hurt_are_notes_with_a_remedy() {
        let limit = |threads| Some(ThreadLimit { threads, limit: "pids.max is 9".to_owned() });
        let found = [
            (ptrace(Some(1)), ptrace(None)),
            (ptrace(Some(3)), ptrace(Some(0))),
            (seccomp("Name:\tx\nSeccomp:\t2\n"), seccomp("Seccomp:\t0\nSeccomp_filters:\t0\n")),
            (address_space(Some(1 << 30)), address_space(None)),
            (memory(Some(64 << 20)), memory(Some(1 << 30))),
            (threads(limit(8)), threads(limit(5_000))),
            (mappings(Some(1_000)), mappings(Some(65_530))),
            (descriptors(Some(64)), descriptors(Some(1_024))),
        ];
        for (bad, good) in found {
            assert_eq!((bad.state, good.state), (State::Note, State::Ok), "{bad:?} {good:?}");
            assert!(bad.mend.is_some_and(|mend| !mend.is_empty()));
        }
    }
}
