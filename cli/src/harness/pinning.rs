//! Threads that stay on one CPU.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::parameters::{Failed, Parameters};

static DEALT_OUT: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The CPUs that the process may use, read before any of its threads is bound to one: a thread
/// that is bound could not find out.
static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();

/// The parameter of all workloads that keeps each of their threads on one CPU.
pub fn take(parameters: &mut Parameters) -> Result<(), Failed> {
    allowed();
    DEALT_OUT.store(parameters.flag("pin")?, Relaxed);
    Ok(())
}

/// Called by each thread that a workload starts.
pub fn settle() {
    if DEALT_OUT.load(Relaxed) {
        stay_on_one_cpu(NEXT.fetch_add(1, Relaxed));
    }
}

fn allowed() -> &'static [usize] {
    ALLOWED.get_or_init(|| {
        let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
    })
}

/// A CPU that this process may use, another for each index as far as they go.
pub fn stay_on_one_cpu(index: usize) {
    let cpus = allowed();
    if cpus.is_empty() {
        return;
    }
    let mut only = CpuSet::new();
    only.set(cpus[index % cpus.len()]);
    // A CPU that went offline in between leaves the thread where it was.
    let _ = sched_setaffinity(None, &only);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_can_be_bound_elsewhere() {
        if allowed().len() < 2 {
            return;
        }
        std::thread::spawn(|| {
            let bound_to = || {
                let bound = sched_getaffinity(None).unwrap();
                (0..CpuSet::MAX_CPU).filter(|cpu| bound.is_set(*cpu)).collect::<Vec<_>>()
            };
            stay_on_one_cpu(0);
            let first = bound_to();
            stay_on_one_cpu(1);
            let second = bound_to();
            assert_eq!((first.len(), second.len()), (1, 1));
            assert_ne!(first, second);
        })
        .join()
        .unwrap();
    }
}
