//! Linux: one typed function a call, one file a subject. Nothing here knows of queues or locks.

#[cfg(all(test, not(any(loom, shuttle, miri))))]
pub(crate) mod binding;
pub mod clock;
pub(crate) mod eventfd;
pub(crate) mod fork;
pub(crate) mod futex;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod futex2;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod kernel_table;
pub(crate) mod memory;
pub(crate) mod monitor;
pub(crate) mod pi;
#[cfg(all(test, any(loom, shuttle)))]
pub(crate) mod pretend;
pub(crate) mod priority;
pub(crate) mod processor_time;
pub(crate) mod robust_list;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod robust_unlock;
pub(crate) mod sched_yield;
#[cfg(not(any(loom, shuttle)))]
pub(crate) mod signals;
mod slot;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod symbol;
pub(crate) mod syscall;
pub(crate) mod thread;
pub(crate) mod topology;
pub(crate) mod unsupported;
#[cfg(not(any(loom, shuttle)))]
mod vdso;
