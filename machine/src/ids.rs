//! Ids of simulated threads.

/// The first thread's id. Ids are unlike other numbers, so that a word that names a thread is seen
/// to, and fit into the 22 bits that Linux's do.
pub(crate) const FIRST_ID: u32 = 0x20_0001;
