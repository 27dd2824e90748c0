//! Who waits for whom, across threads and processes, and which of them can't go on.

mod verdict;
mod world;

pub use verdict::{Deadlock, Verdict};
pub use world::{Asleep, Holder, ThreadId, Waiting, World};
