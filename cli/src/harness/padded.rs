//! A place of its own in memory.

/// Alone on its cache lines: a neighbour would blur what is measured.
#[repr(align(128))]
pub struct Padded<T>(pub T);
