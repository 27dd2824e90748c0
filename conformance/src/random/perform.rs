//! Makes the calls.

use super::ffi as c;
use super::fork;
use super::kind::{Kind, MOST_PERMITS, Made};
use super::make::{destroy, make};
use super::state::{Answer, THRD_ERROR};
use super::step::{Call, Clock, Step};
use super::worker::This;
use super::wrong;
use libc::{c_int, clockid_t, timespec};
use std::io;

/// A call with its operands in place.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) step: Step,
    /// What lies there now.
    pub(super) kind: Kind,
    pub(super) at: *mut u8,
    pub(super) with: *mut u8,
    pub(super) deadline: timespec,
    pub(super) target: libc::pthread_t,
    /// Whether the thread holds the object.
    pub(super) owns: bool,
    /// What a child does.
    pub(super) child: fork::Plan,
}

/// How often `Call::Many` takes an object, so that a rwlock's readers have its bias.
const MANY: usize = 150;

const PROCESSOR_TIME: clockid_t = libc::CLOCK_PROCESS_CPUTIME_ID;

/// Makes the call, and returns its answer. May unwind: then the thread is cancelled, and this frame
/// has nothing to drop.
///
/// # Safety
/// The operands are right, and the program is legal.
pub(super) unsafe fn perform(job: &Job, this: &This) -> Answer {
    let Some(call) = wrong::call(job) else { return 0 };
    let mut made = *job;
    made.step.call = call;
    // SAFETY: by this function's contract; a wrong call takes fewer operands.
    wrong::answer(job, unsafe { make_call(&made, this) })
}

unsafe fn make_call(job: &Job, this: &This) -> Answer {
    let Job { step, kind, at, with, deadline, .. } = *job;
    let until = &raw const deadline;
    let clock = match step.clock {
        Clock::Own => None,
        Clock::Realtime => Some(libc::CLOCK_REALTIME),
        Clock::Monotonic => Some(libc::CLOCK_MONOTONIC),
        Clock::Wrong => Some(PROCESSOR_TIME),
    };
    // SAFETY: by this function's contract.
    unsafe {
        let returned = match step.call {
            Call::Make => make(at, step.kind),
            Call::Destroy => destroy(at, kind),
            Call::Lock | Call::TryLock | Call::TimedLock | Call::Unlock => {
                return mutex(job, clock);
            }
            Call::Wait | Call::TimedWait | Call::Signal | Call::Broadcast => {
                return cond(job, clock);
            }
            Call::Read => libc::pthread_rwlock_rdlock(at.cast()),
            Call::TryRead => libc::pthread_rwlock_tryrdlock(at.cast()),
            Call::TimedRead => match clock {
                None => c::pthread_rwlock_timedrdlock(at.cast(), until),
                Some(clock) => c::pthread_rwlock_clockrdlock(at.cast(), clock, until),
            },
            Call::Write => libc::pthread_rwlock_wrlock(at.cast()),
            Call::TryWrite => libc::pthread_rwlock_trywrlock(at.cast()),
            Call::TimedWrite => match clock {
                None => c::pthread_rwlock_timedwrlock(at.cast(), until),
                Some(clock) => c::pthread_rwlock_clockwrlock(at.cast(), clock, until),
            },
            Call::Leave => libc::pthread_rwlock_unlock(at.cast()),
            Call::SemWait => errno(c::sem_wait(at.cast())),
            Call::SemTry => errno(libc::sem_trywait(at.cast())),
            Call::SemTimed => match clock {
                None => errno(c::sem_timedwait(at.cast(), until)),
                Some(clock) => errno(c::sem_clockwait(at.cast(), clock, until)),
            },
            Call::Post => errno(libc::sem_post(at.cast())),
            Call::Value => value(at),
            Call::Meet => libc::pthread_barrier_wait(at.cast()),
            Call::Once => c::pthread_once(at.cast(), nothing),
            Call::OnceSem => {
                this.set_semaphore(with);
                c::pthread_once(at.cast(), wait_for_permit)
            }
            Call::LockSignal => return lock_and_notify(at, with, libc::pthread_cond_signal),
            Call::LockBroadcast => return lock_and_notify(at, with, libc::pthread_cond_broadcast),
            Call::LockOften => {
                often(at.cast(), libc::pthread_mutex_lock, libc::pthread_mutex_unlock)
            }
            Call::ReadOften => {
                often(at.cast(), libc::pthread_rwlock_rdlock, libc::pthread_rwlock_unlock)
            }
            Call::WriteOften => {
                often(at.cast(), libc::pthread_rwlock_wrlock, libc::pthread_rwlock_unlock)
            }
            Call::Spin => libc::pthread_spin_lock(at.cast()),
            Call::SpinTry => libc::pthread_spin_trylock(at.cast()),
            Call::SpinUnlock => libc::pthread_spin_unlock(at.cast()),
            Call::Cancel => c::pthread_cancel(job.target),
            Call::Kill | Call::KillPost => libc::pthread_kill(job.target, libc::SIGUSR1),
            Call::KillRestart => libc::pthread_kill(job.target, libc::SIGUSR2),
            Call::Disable => c::pthread_setcancelstate(1, &mut 0),
            Call::Enable => c::pthread_setcancelstate(0, &mut 0),
            Call::TestCancel => {
                c::pthread_testcancel();
                0
            }
            Call::Fork => return fork::fork(&job.child),
            Call::Many => return many(job),
            Call::Pause => 0,
        };
        returned.into()
    }
}

/// The error number of a call that failed.
fn errno(returned: c_int) -> c_int {
    if returned == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(-1) }
}

unsafe fn value(at: *mut u8) -> c_int {
    let mut value = -1;
    // SAFETY: as `perform`.
    if unsafe { c::sem_getvalue(at.cast(), &mut value) } == 0 { value } else { -1 }
}

fn of_c11(returned: c_int) -> Answer {
    match returned {
        0 => 0,
        1 => libc::EBUSY.into(),
        4 => libc::ETIMEDOUT.into(),
        2 => THRD_ERROR,
        other => Answer::from(other) + 2000,
    }
}

unsafe fn mutex(job: &Job, clock: Option<clockid_t>) -> Answer {
    let (at, until) = (job.at.cast(), &raw const job.deadline);
    // SAFETY: as `perform`.
    unsafe {
        if job.kind.made() == Made::C11 {
            return of_c11(match job.step.call {
                Call::Lock => c::mtx_lock(at),
                Call::TryLock => c::mtx_trylock(at),
                Call::TimedLock => c::mtx_timedlock(at, until),
                _ => c::mtx_unlock(at),
            });
        }
        let returned = match (job.step.call, clock) {
            (Call::Lock, _) => libc::pthread_mutex_lock(at),
            (Call::TryLock, _) => libc::pthread_mutex_trylock(at),
            (Call::TimedLock, None) => libc::pthread_mutex_timedlock(at, until),
            (Call::TimedLock, Some(clock)) => c::pthread_mutex_clocklock(at, clock, until),
            _ => libc::pthread_mutex_unlock(at),
        };
        returned.into()
    }
}

unsafe fn cond(job: &Job, clock: Option<clockid_t>) -> Answer {
    let (at, with, until) = (job.at.cast(), job.with.cast(), &raw const job.deadline);
    // SAFETY: as `perform`.
    unsafe {
        if job.kind.made() == Made::C11 {
            return of_c11(match job.step.call {
                Call::Wait => c::cnd_wait(at, with),
                Call::TimedWait => c::cnd_timedwait(at, with, until),
                Call::Signal => c::cnd_signal(at),
                _ => c::cnd_broadcast(at),
            });
        }
        let returned = match (job.step.call, clock) {
            (Call::Wait, _) => c::pthread_cond_wait(at, with),
            (Call::TimedWait, None) => c::pthread_cond_timedwait(at, with, until),
            (Call::TimedWait, Some(clock)) => c::pthread_cond_clockwait(at, with, clock, until),
            (Call::Signal, _) => libc::pthread_cond_signal(at),
            _ => libc::pthread_cond_broadcast(at),
        };
        returned.into()
    }
}

unsafe fn lock_and_notify(
    mutex: *mut u8,
    cond: *mut u8,
    notify: unsafe extern "C" fn(*mut libc::pthread_cond_t) -> c_int,
) -> Answer {
    // SAFETY: as `perform`.
    let returned = unsafe {
        libc::pthread_mutex_lock(mutex.cast())
            + notify(cond.cast())
            + libc::pthread_mutex_unlock(mutex.cast())
    };
    returned.into()
}

/// How often a call takes an object that others may take, too.
const OFTEN: usize = 25;

unsafe fn often<T>(
    at: *mut T,
    take: unsafe extern "C" fn(*mut T) -> c_int,
    give: unsafe extern "C" fn(*mut T) -> c_int,
) -> c_int {
    // SAFETY: as `perform`.
    (0..OFTEN).map(|_| unsafe { take(at) + give(at) }).sum()
}

/// Takes an object that is free and gives it back, again and again.
unsafe fn many(job: &Job) -> Answer {
    let at = job.at;
    for _ in 0..MANY {
        // SAFETY: as `perform`.
        let returned = unsafe {
            match job.kind {
                Kind::Mutex(..) => {
                    libc::pthread_mutex_lock(at.cast()) + libc::pthread_mutex_unlock(at.cast())
                }
                Kind::RwLock(..) => {
                    libc::pthread_rwlock_rdlock(at.cast()) + libc::pthread_rwlock_unlock(at.cast())
                }
                _ => errno(libc::sem_post(at.cast())) + errno(libc::sem_trywait(at.cast())),
            }
        };
        if returned != 0 {
            return returned.into();
        }
    }
    0
}

extern "C-unwind" fn nothing() {}

/// A once's routine.
extern "C-unwind" fn wait_for_permit() {
    let semaphore = This::of_this_thread().semaphore();
    // SAFETY: the program's semaphore. A handler may interrupt the wait.
    while unsafe { c::sem_wait(semaphore.cast()) } != 0 {}
}

const _: () = assert!(MOST_PERMITS == libc::c_int::MAX as u32);
