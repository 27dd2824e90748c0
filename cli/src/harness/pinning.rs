//! Threads that stay on one CPU.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::parameters::{Failed, Parameters};

static PINNED: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The CPUs that the process may use, read before any of its threads is bound: a bound thread sees
/// only its own CPU.
static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();

/// The parameter `pin`, which all workloads have: each of their threads stays on one CPU.
pub fn take(parameters: &mut Parameters) -> Result<(), Failed> {
    allowed();
    PINNED.store(parameters.flag("pin")?, Relaxed);
    Ok(())
}

/// Called by each thread that a workload starts.
pub fn bind_this_thread() {
    if PINNED.load(Relaxed) {
        stay_on_one_cpu(NEXT.fetch_add(1, Relaxed));
    }
}

fn allowed() -> &'static [usize] {
    ALLOWED.get_or_init(|| {
        let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
    })
}

/// Binds the calling thread to one of the CPUs that this process may use, by turns.
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
