//! The CPUs that this process may use, and threads that stay on one of them.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Those that the calling thread may use: if it is bound, only its own.
pub fn allowed() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
}

/// Binds a thread, or the calling one, to a CPU. Nothing if there is none of this number, or it
/// went offline.
pub fn bind(thread: Option<Pid>, cpu: usize) -> Option<()> {
    let mut only = CpuSet::new();
    (cpu < CpuSet::MAX_CPU).then(|| only.set(cpu))?;
    sched_setaffinity(thread, &only).ok()
}
