//! Threads that stay on one CPU.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::parameters::{Failed, Parameters};
use crate::affinity;

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
    ALLOWED.get_or_init(affinity::allowed)
}

/// Binds the calling thread to one of the CPUs that this process may use, by turns.
pub fn stay_on_one_cpu(index: usize) {
    let cpus = allowed();
    if cpus.is_empty() {
        return;
    }
    // A CPU that went offline in between leaves the thread where it was.
    let _ = affinity::bind(None, cpus[index % cpus.len()]);
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
            stay_on_one_cpu(0);
            let first = affinity::allowed();
            stay_on_one_cpu(1);
            let second = affinity::allowed();
            assert_eq!((first.len(), second.len()), (1, 1));
            assert_ne!(first, second);
        })
        .join()
        .unwrap();
    }
}
