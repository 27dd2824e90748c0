//! A child tries what its thread owns, and what no other thread does.

use super::ffi as c;
use super::kind::{Kind, Made, Rules};
use super::legal::is_glibc;
use super::state::{Answer, State};
use super::step::OBJECTS;
use libc::{EBUSY, ETIMEDOUT, c_int, timespec};
use std::process;
use std::ptr;

/// What a child does with each object.
pub(super) type Plan = [Option<Trial>; OBJECTS];

/// An object, and what holds of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    at: *mut u8,
    kind: Kind,
    held: Held,
    /// Whether threads that the child lacks are in calls on it, and it may know them.
    used: bool,
    /// A semaphore's permits, or how often a rwlock is read.
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    No,
    /// By the thread that forks, alone.
    Own,
    /// By it and others, or by others.
    Others,
}

/// Seconds after which a child counts as hanging.
const LIMIT_SECONDS: u32 = 10;
/// A child's exit status is this, and the number of the object that fails.
const FAILED: c_int = 100;
/// The answer for a child that a signal ended.
const SIGNALLED: Answer = 3000;

const PAST: timespec = timespec { tv_sec: 1, tv_nsec: 0 };

/// What a child of `thread` will do.
pub(super) fn plan(state: &State, thread: u8, place: impl Fn(u8) -> *mut u8) -> Plan {
    std::array::from_fn(|index| {
        let number = index as u8;
        let object = state.object(number);
        let owners = object.owner.iter().copied();
        let readers = (0..).zip(object.reads).filter(|(_, reads)| *reads > 0);
        let mut holders = owners.chain(readers.map(|(reader, _)| reader));
        let held = match (holders.next(), holders.next()) {
            (None, _) => Held::No,
            (Some(holder), None) if holder == thread => Held::Own,
            _ => Held::Others,
        };
        // glibc counts writers that only the parent has.
        let used = is_glibc() && state.users(number).next().is_some();
        let count = if object.is_read() {
            object.reads.iter().map(|r| u32::from(*r)).sum()
        } else {
            object.count
        };
        object.kind.map(|kind| Trial { at: place(number), kind, held, used, count })
    })
}

/// Forks. Returns 0 if all is well in the child.
///
/// # Safety
/// The plan fits the objects.
pub(super) unsafe fn fork(plan: &Plan) -> Answer {
    // SAFETY: the child calls only functions that both sides allow there, and `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(LIMIT_SECONDS);
            let failed = plan.iter().position(|trial| trial.is_some_and(|trial| !trial.holds()));
            libc::_exit(failed.map_or(0, |object| FAILED + object as c_int));
        }
        let mut status = 0;
        while libc::waitpid(child, &mut status, 0) != child {
            if child < 0 {
                process::abort();
            }
        }
        if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status).into()
        } else {
            SIGNALLED + Answer::from(libc::WTERMSIG(status))
        }
    }
}

extern "C-unwind" fn nothing() {}

impl Trial {
    /// # Safety
    /// In a child, with the objects that the plan was made for.
    unsafe fn holds(&self) -> bool {
        // SAFETY: by this function's contract.
        unsafe {
            match self.kind {
                Kind::Mutex(rules, made) => self.mutex_holds(rules, made),
                Kind::RwLock(_, Made::Shared) => true,
                Kind::RwLock(..) => self.rwlock_holds(),
                Kind::Semaphore(..) => self.semaphore_holds(),
                Kind::Cond(..) => {
                    libc::pthread_cond_signal(self.at.cast()) == 0
                        && libc::pthread_cond_broadcast(self.at.cast()) == 0
                }
                Kind::Once => c::pthread_once(self.at.cast(), nothing) == 0,
                Kind::Barrier(..) | Kind::Spin => true,
            }
        }
    }

    unsafe fn mutex_holds(&self, rules: Rules, made: Made) -> bool {
        let at = self.at.cast();
        let checks = matches!(rules, Rules::Recursive | Rules::ErrorCheck);
        // Those are held by a thread id, which a child doesn't inherit; shared ones are the
        // parent's still.
        if matches!(made, Made::Shared | Made::Robust | Made::Inheriting) {
            return true;
        }
        // SAFETY: as `holds`.
        unsafe {
            match self.held {
                Held::Own if checks => return true,
                Held::Own if libc::pthread_mutex_unlock(at) != 0 => return false,
                Held::Others => {
                    return libc::pthread_mutex_trylock(at) == EBUSY
                        && libc::pthread_mutex_timedlock(at, &PAST) == ETIMEDOUT;
                }
                _ => {}
            }
            let mut taken = libc::pthread_mutex_lock(at) == 0;
            if !checks {
                taken &= libc::pthread_mutex_trylock(at) == EBUSY;
                taken &= libc::pthread_mutex_timedlock(at, &PAST) == ETIMEDOUT;
            }
            taken && libc::pthread_mutex_unlock(at) == 0 && self.waits_with_it(at)
        }
    }

    /// A new condvar serves the mutex.
    unsafe fn waits_with_it(&self, mutex: *mut libc::pthread_mutex_t) -> bool {
        let mut cond = libc::PTHREAD_COND_INITIALIZER;
        // SAFETY: as `holds`.
        unsafe {
            libc::pthread_mutex_trylock(mutex) == 0
                && c::pthread_cond_timedwait(&mut cond, mutex, &PAST) == ETIMEDOUT
                && libc::pthread_mutex_unlock(mutex) == 0
        }
    }

    unsafe fn rwlock_holds(&self) -> bool {
        let at = self.at.cast();
        // SAFETY: as `holds`.
        unsafe {
            if self.held == Held::Others {
                // A lock may know that the child lacks its readers.
                return self.count == 0 || self.used || libc::pthread_rwlock_tryrdlock(at) == 0;
            }
            if self.held == Held::Own {
                // glibc's writer is known by its thread id, which the child's isn't.
                if self.count == 0 {
                    return libc::pthread_rwlock_trywrlock(at) == EBUSY;
                }
                for _ in 0..self.count {
                    if libc::pthread_rwlock_unlock(at) != 0 {
                        return false;
                    }
                }
            }
            self.used
                || (libc::pthread_rwlock_wrlock(at) == 0
                    && libc::pthread_rwlock_tryrdlock(at) == EBUSY
                    && libc::pthread_rwlock_unlock(at) == 0
                    && libc::pthread_rwlock_rdlock(at) == 0
                    && libc::pthread_rwlock_trywrlock(at) == EBUSY
                    && c::pthread_rwlock_timedwrlock(at, &PAST) == ETIMEDOUT
                    && libc::pthread_rwlock_unlock(at) == 0)
        }
    }

    unsafe fn semaphore_holds(&self) -> bool {
        if self.kind.made() == Made::Shared {
            return true;
        }
        let at = self.at.cast();
        let mut value = 0;
        // SAFETY: as `holds`.
        unsafe {
            for _ in 0..self.count.min(3) {
                if c::sem_wait(at) != 0 {
                    return false;
                }
            }
            libc::sem_post(at) == 0
                && c::sem_getvalue(at, ptr::from_mut(&mut value)) == 0
                && value as u32 == self.count - self.count.min(3) + 1
                && libc::sem_trywait(at) == 0
                && (self.count > 3 || c::sem_timedwait(at, &PAST) == -1)
        }
    }
}
