//! How many threads a process can have on this system, and which limit says so.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// A stack and its guard page are a mapping each.
const MAPPINGS_A_THREAD: u64 = 2;
/// Mappings of a process other than its threads' stacks.
const MAPPINGS_BESIDE: u64 = 500;
/// The watchdog, the main thread, and what the command itself has.
const THREADS_BESIDE: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLimit {
    pub threads: u64,
    pub limit: String,
}

impl fmt::Display for ThreadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this system allows {} more threads ({})", self.threads, self.limit)
    }
}

/// The lowest of the limits, if there is any.
pub fn threads() -> Option<ThreadLimit> {
    let known =
        [of_mappings(), of_kernel(), of_pids(), of_user(), of_control_group(), of_address_space()];
    let lowest = known.into_iter().flatten().min_by_key(|limit| limit.threads)?;
    let threads = lowest.threads.saturating_sub(THREADS_BESIDE);
    Some(ThreadLimit { threads, ..lowest })
}

/// The number that a file of the kernel's holds.
pub fn number(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn of_mappings() -> Option<ThreadLimit> {
    let most = number("/proc/sys/vm/max_map_count")?;
    let threads = most.saturating_sub(MAPPINGS_BESIDE) / MAPPINGS_A_THREAD;
    Some(ThreadLimit {
        threads,
        limit: format!("vm.max_map_count is {most}, {MAPPINGS_A_THREAD} a thread"),
    })
}

/// Threads of the whole system. (The number of those that run now is approximate.)
fn of_kernel() -> Option<ThreadLimit> {
    let most = number("/proc/sys/kernel/threads-max")?;
    let threads = most.saturating_sub(running());
    Some(ThreadLimit { threads, limit: format!("kernel.threads-max is {most}") })
}

fn of_pids() -> Option<ThreadLimit> {
    let most = number("/proc/sys/kernel/pid_max")?;
    let threads = most.saturating_sub(running());
    Some(ThreadLimit { threads, limit: format!("kernel.pid_max is {most}") })
}

/// How many tasks there are, from the load averages' fourth field.
fn running() -> u64 {
    let averages = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = averages.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    tasks.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// Room for stacks, where the address space has a limit.
fn of_address_space() -> Option<ThreadLimit> {
    /// glibc's, where a stack has no limit of its own.
    const STACK_BYTES: u64 = 2 << 20;
    let most = getrlimit(Resource::As).current?;
    let stack = getrlimit(Resource::Stack).current.unwrap_or(STACK_BYTES).max(1);
    let threads = most / stack;
    let limit = format!("ulimit -v is {} KiB, a stack {} KiB", most >> 10, stack >> 10);
    Some(ThreadLimit { threads, limit })
}

/// This limit doesn't apply to root.
fn of_user() -> Option<ThreadLimit> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let threads = getrlimit(Resource::Nproc).current?;
    Some(ThreadLimit { threads, limit: format!("ulimit -u is {threads}") })
}

/// The lowest of all groups'.
fn of_control_group() -> Option<ThreadLimit> {
    control_groups("pids").iter().filter_map(|group| of_group(group)).min_by_key(|l| l.threads)
}

/// The folders of this process's group and of those above it, in version 2's one tree and in
/// version 1's for `kind`.
pub fn control_groups(kind: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let root = match fields.next()? {
            "" => Path::new("/sys/fs/cgroup").to_owned(),
            kinds if kinds.split(',').any(|other| other == kind) => {
                Path::new("/sys/fs/cgroup").join(kind)
            }
            _ => return None,
        };
        let group = root.join(fields.next()?.trim_start_matches('/'));
        let above = group.ancestors().take_while(|folder| folder.starts_with(&root));
        Some(above.map(Path::to_owned).collect::<Vec<_>>())
    });
    folders.flatten().collect()
}

fn of_group(group: &Path) -> Option<ThreadLimit> {
    let most = number(group.join("pids.max"))?;
    let current = number(group.join("pids.current")).unwrap_or(0);
    let limit = format!("pids.max of {} is {most}", group.display());
    Some(ThreadLimit { threads: most.saturating_sub(current), limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_limit_and_it_has_a_name() {
        let limit = threads().expect("Linux has kernel.threads-max at least");
        assert!(limit.threads > 1 && limit.limit.contains(" is "), "{limit}");
        assert!(of_mappings().unwrap().threads > 100);
        assert_eq!(of_group(Path::new("/no/such/group")), None);
    }
}
