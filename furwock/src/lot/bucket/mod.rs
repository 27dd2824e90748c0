//! The table: buckets of nodes, found by key and changed under a lock.

pub(in crate::lot) mod hash;
pub(in crate::lot) mod locked;
pub(in crate::lot) mod queue;
pub(in crate::lot) mod table;
pub(in crate::lot) mod wake_list;
