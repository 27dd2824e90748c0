//! Values that share no cache line.

/// Alone on its cache lines: false sharing would distort the measurement.
#[repr(align(128))]
pub struct Padded<T>(pub T);
