//! Calls that may give a thread a real-time priority: from then on waiters are ordered by priority.
//!
//! In a program that makes none of them, no lock call asks the kernel for priorities: a sandbox may
//! forbid that. (So a priority that another process sets isn't noticed.)

use crate::glibc;
use core::ffi::{c_int, c_uint};
use furwock::lock::mind_priorities;
use libc::{c_long, pid_t, pthread_attr_t, pthread_t, sched_param};

fn is_realtime(policy: c_int) -> bool {
    let policy = policy & !libc::SCHED_RESET_ON_FORK;
    matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

/// Passes on the `result` of a call that has set a real-time policy or priority if `realtime`
/// holds.
fn noted<R: PartialEq + Default>(result: R, realtime: impl FnOnce() -> bool) -> R {
    if result == R::default() && realtime() {
        mind_priorities();
    }
    result
}

/// Only threads with a real-time policy have another priority than 0.
///
/// # Safety
/// A successful call has read `parameters`.
unsafe fn is_priority(parameters: *const sched_param) -> bool {
    // SAFETY: by this function's contract.
    unsafe { (*parameters).sched_priority != 0 }
}

/// POSIX `pthread_setschedparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { glibc::pthread_setschedparam(thread, policy, parameters) };
    noted(result, || is_realtime(policy))
}

/// POSIX `pthread_setschedprio`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { glibc::pthread_setschedprio(thread, priority) };
    noted(result, || priority != 0)
}

/// POSIX `pthread_attr_setschedpolicy`: threads may be created with a policy of their own.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_attr_setschedpolicy(
    attr: *mut pthread_attr_t,
    policy: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { glibc::pthread_attr_setschedpolicy(attr, policy) };
    noted(result, || is_realtime(policy))
}

/// POSIX `sched_setscheduler`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setscheduler(
    thread: pid_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { glibc::sched_setscheduler(thread, policy, parameters) };
    noted(result, || is_realtime(policy))
}

/// POSIX `sched_setparam`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setparam(
    thread: pid_t,
    parameters: *const sched_param,
) -> c_int {
    // SAFETY: the program's own call, which has read the parameters if it succeeded.
    unsafe {
        let result = glibc::sched_setparam(thread, parameters);
        noted(result, || is_priority(parameters))
    }
}

/// The head of the kernel's `struct sched_attr`.
#[repr(C)]
pub struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
}

/// Keeps the policy, whatever the structure names, so that any policy may result.
const KEEP_POLICY: u64 = 1 << 3;

/// # Safety
/// A successful call has read `attr`.
unsafe fn may_be_realtime(attr: *const SchedAttr) -> bool {
    // SAFETY: by this function's contract.
    let SchedAttr { policy, flags, .. } = unsafe { attr.read() };
    flags & KEEP_POLICY != 0 || is_realtime(policy as c_int)
}

/// `sched_setattr`, which glibc has since 2.41.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_setattr(
    thread: pid_t,
    attr: *mut SchedAttr,
    flags: c_uint,
) -> c_int {
    // SAFETY: the program's own call, which has read the attributes if it succeeded.
    unsafe {
        // Not with glibc's function: where glibc has none, the failing look-up allocates from a
        // malloc that may not be set up. glibc's own does the same system call.
        let (thread, address) = (thread as usize, attr.expose_provenance());
        let number = libc::SYS_sched_setattr;
        let result = glibc::system_call(number, thread, address, flags as usize, 0, 0, 0) as c_int;
        noted(result, || may_be_realtime(attr))
    }
}

/// Notes what a system call has done, by its number, its second argument and its result.
///
/// # Safety
/// As for the system call.
pub(crate) unsafe fn note_call(number: c_long, second: usize, result: c_long) {
    noted(result, || match number {
        libc::SYS_sched_setscheduler => is_realtime(second as c_int),
        // SAFETY: the call has succeeded, and read what the argument points to.
        libc::SYS_sched_setparam => unsafe { is_priority(second as *const sched_param) },
        // SAFETY: as above.
        libc::SYS_sched_setattr => unsafe { may_be_realtime(second as *const SchedAttr) },
        _ => false,
    });
}
