//! What is better done early.

/// Does what the first wait of a process would do: maps the wait queues, and registers the calling
/// thread. Worth calling before a sandbox forbids the system calls that this needs.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_prepare() {
    engine::lock::prepare();
}
