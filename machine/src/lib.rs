//! Described machines of up to 256 processors, simulated with virtual time on one host thread.
//!
//! Code that takes its atomics, pauses, clock and kernel calls from here runs in two ways. Outside
//! of a simulation they act as `core`'s and the kernel's. Inside one ([`Simulation::run`]) threads
//! are coroutines, each access costs virtual time by the machine's model of cache lines, and is a
//! point where another processor may run. The effect of an access takes place when it completes,
//! and accesses of all processors happen in the order of virtual time. One seed gives one trace.
//!
//! The simulation is sequentially consistent: it says what accesses cost, and finds schedules that
//! lose a wakeup, but no missing ordering. That is loom's part.
//!
//! ```
//! use machine::atomic::{AtomicU32, Ordering};
//! use machine::{Machine, Simulation};
//!
//! let machine = Machine::named("sixteen").unwrap();
//! let count = AtomicU32::new(0);
//! let run = Simulation::new(&machine, 1).run(|scope| {
//!     for _ in 0..16 {
//!         scope.spawn(|| count.fetch_add(1, Ordering::Relaxed));
//!     }
//! });
//! println!("{} ns", run.unwrap().now_ns);
//! assert_eq!(count.load(Ordering::Relaxed), 16);
//! ```

pub mod atomic;
mod calls;
mod description;
mod disturbance;
mod events;
mod failure;
mod futex;
mod heap;
pub mod hint;
mod ids;
mod interruption;
mod isolate;
mod lines;
mod load;
mod local;
mod locals;
mod memory;
mod random;
mod run;
mod scheduler;
mod skips;
mod spinning;
mod statistics;
mod topology;
mod trace;
mod words;
mod world;

pub use calls::{
    accesses_made, current_cpu, current_node, is_simulated, kernel_wait, kernel_wake, last_access,
    nap_ns, no_preemption, nodes, now_ns, processors, statistics, thread_exists, thread_id,
    virtual_ns, work_ns, yield_now,
};
pub use description::{BadMachine, Costs, Machine, NAMES};
pub use disturbance::{At, Disturbance};
pub use failure::{Doing, Failure, Report, ThreadReport};
pub use futex::Sleep;
pub use heap::Heap;
pub use isolate::{Crash, isolated, isolated_all, same_addresses};
pub use local::LocalKey;

pub use run::{Finished, JoinHandle, Scope, Simulation, Thread, stop};
pub use statistics::{Statistics, ThreadStatistics};
pub use topology::{Distance, ProcessorSet, Topology};
