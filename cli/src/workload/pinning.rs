//! Threads that stay on one CPU.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::parameters::{BadParameter, Parameters};

static DEALT_OUT: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The parameter that all workloads have: whether the threads that they start stay on one CPU each.
pub fn take(parameters: &mut Parameters) -> Result<(), BadParameter> {
    DEALT_OUT.store(parameters.take("pin", 0u32)? != 0, Relaxed);
    Ok(())
}

/// Called by each thread that a workload starts.
pub fn settle() {
    if DEALT_OUT.load(Relaxed) {
        stay_on_one_cpu(NEXT.fetch_add(1, Relaxed));
    }
}

/// A CPU that this process may use, another for each index as far as they go.
pub fn stay_on_one_cpu(index: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let mut only = CpuSet::new();
    only.set(cpus[index % cpus.len()]);
    // A CPU that went offline in between leaves the thread where it was.
    let _ = sched_setaffinity(None, &only);
}
