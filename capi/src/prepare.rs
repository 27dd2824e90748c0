//! Setup that a program may want to do early.

/// Does what the first wait of a process would do: maps the wait queues, and registers the calling
/// thread. Call it before a sandbox forbids the system calls that this needs.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_prepare() {
    engine::lock::prepare();
}

/// Orders waiters by their threads' real-time priorities, and waiters of equal priority or without
/// one by arrival, as the kernel orders a futex's. A process that already has a real-time policy
/// when the wait queues are mapped needs no call; call this where threads get one later. From then
/// on each sleep costs one or two more system calls, sched_getscheduler(2) and sched_getparam(2),
/// which a sandbox has to allow.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_mind_priorities() {
    engine::lock::mind_priorities();
}

/// Makes no sched_yield(2) from here on, doesn't ask clock_gettime(2) for processor time, and wakes
/// threads one by one, for a program whose sandbox would kill it at one of these calls. Waiters of
/// rwlocks yield before they sleep, so that other threads of their processor run, as do those that
/// a condvar's signal woke while its sender held the mutex, and in programs that are bound to one
/// processor those of mutexes, condvars, semaphores, barriers and parkers, and threads that take a
/// mutex past waiters that were woken. Mutexes whose holders sleep or yield, and rwlocks, ask for
/// the time that the process or the caller has used, a hundred times a second at most; a thread
/// that spins for a lock for some microseconds asks for its holder's, whose clock has a negative
/// number. Two of several threads are woken by one FUTEX_WAKE_OP, which changes nothing. A program
/// whose sandbox refuses them with an error needs no call.
#[unsafe(no_mangle)]
pub extern "C" fn furwock_forgo_yields() {
    engine::lock::forgo_yields();
}
