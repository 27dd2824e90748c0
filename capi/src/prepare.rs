//! What is better done early.

/// Does what the first wait of a process would do: maps the wait queues, and registers the calling
/// thread. Worth calling before a sandbox forbids the system calls that this needs.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_prepare() {
    engine::lock::prepare();
}

/// Has waiters ordered by their threads' real-time priorities, those of equal ones, and all without, by
/// arrival, as the kernel orders a futex's. A process that already has a real-time policy when the wait
/// queues are mapped has it seen to by itself; call this where threads get one later. From then on each
/// sleep costs one or two system calls more, sched_getscheduler(2) and sched_getparam(2), which a sandbox
/// has to allow.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_mind_priorities() {
    engine::unstable::mind_priorities();
}
