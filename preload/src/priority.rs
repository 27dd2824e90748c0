//! Calls that may give a thread a real-time priority: from then on waiters are ordered by theirs.

use crate::glibc;
use core::ffi::c_int;
use furwock::lock::mind_priorities;
use libc::{pid_t, pthread_t, sched_param};

/// POSIX `pthread_setschedparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    mind_priorities();
    // SAFETY: the program's own call.
    unsafe { glibc::pthread_setschedparam(thread, policy, parameters) }
}

/// POSIX `pthread_setschedprio`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int {
    mind_priorities();
    // SAFETY: the program's own call.
    unsafe { glibc::pthread_setschedprio(thread, priority) }
}

/// POSIX `sched_setscheduler`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setscheduler(
    thread: pid_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    mind_priorities();
    // SAFETY: the program's own call.
    unsafe { glibc::sched_setscheduler(thread, policy, parameters) }
}

/// POSIX `sched_setparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setparam(thread: pid_t, parameters: *const sched_param) -> c_int {
    mind_priorities();
    // SAFETY: the program's own call.
    unsafe { glibc::sched_setparam(thread, parameters) }
}
