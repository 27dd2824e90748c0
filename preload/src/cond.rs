//! `pthread_cond_*`.

use crate::layout::{Cond, Mutex, MutexKind};
use crate::recording::{self, Ended, Kind, Wait};
use crate::{cancel, glibc, named, probes, shared_cond, time};
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use furwock::Deadline;
use furwock::lock::Outcome;
use furwock::unstable::condvar::{CondvarWait, may_have_waiters, wait_released};
use furwock::unstable::end_waits;
use furwock::unstable::signals::closed;
use libc::{EINVAL, EPERM, ETIMEDOUT};
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

/// POSIX `pthread_cond_init`: glibc's, of the version whose format is used here. A library that was
/// linked without libc names no version; the loader would give it the oldest, which clears a
/// pointer's worth of the condvar, and the functions below would meet what lay behind that.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_init(
    cond: *mut pthread_cond_t,
    attr: *const libc::pthread_condattr_t,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let result = if attr.is_null() && !glibc::are_looked_up() {
            // As by `PTHREAD_COND_INITIALIZER`. A look-up allocates in glibc 2.31, and jemalloc
            // makes a condvar as it begins.
            cond.write_bytes(0, 1);
            0
        } else {
            glibc::pthread_cond_init(cond, attr)
        };
        if result == 0 {
            recording::made(cond, Kind::Condvar, || Cond::from_ptr(cond).is_ours());
        }
        result
    }
}

/// POSIX `pthread_cond_wait`. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        if Cond::from_ptr(cond).is_ours() {
            return wait(cond, mutex, None);
        }
        recording::left_to_glibc();
        shared_cond::wait(cond, mutex, |mutex| glibc::pthread_cond_wait(cond, mutex))
    }
}

/// POSIX `pthread_cond_timedwait`: a deadline on the clock of the condvar's attributes. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        let own = Cond::from_ptr(cond);
        if own.is_ours() {
            return wait_until(cond, mutex, own.clock(), at);
        }
        recording::left_to_glibc();
        shared_cond::wait(cond, mutex, |mutex| glibc::pthread_cond_timedwait(cond, mutex, at))
    }
}

/// POSIX.1-2024 `pthread_cond_clockwait`. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's objects.
    unsafe {
        if Cond::from_ptr(cond).is_ours() {
            return wait_until(cond, mutex, clock, at);
        }
        recording::left_to_glibc();
        shared_cond::wait(cond, mutex, |mutex| {
            glibc::pthread_cond_clockwait(cond, mutex, clock, at)
        })
    }
}

/// POSIX `pthread_cond_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condvar.
    let own = unsafe { Cond::from_ptr(cond) };
    if !own.is_ours() {
        // SAFETY: the program's condvar.
        return shared_cond::notify(cond, || unsafe { glibc::pthread_cond_signal(cond) });
    }
    probes::cond_signal(cond);
    recording::count(cond, Kind::Condvar);
    if recording::orders() {
        recording::wakes(cond, Kind::Condvar);
    }
    if may_have_waiters(&own.raw) { signal_slow(own) } else { 0 }
}

/// POSIX `pthread_cond_broadcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condvar.
    let own = unsafe { Cond::from_ptr(cond) };
    if !own.is_ours() {
        // SAFETY: the program's condvar.
        return shared_cond::notify(cond, || unsafe { glibc::pthread_cond_broadcast(cond) });
    }
    probes::cond_broadcast(cond);
    recording::count(cond, Kind::Condvar);
    if recording::orders() {
        recording::wakes(cond, Kind::Condvar);
    }
    if may_have_waiters(&own.raw) { broadcast_slow(own) } else { 0 }
}

#[cold]
#[inline(never)]
fn signal_slow(cond: &Cond) -> c_int {
    closed(|| cond.raw.notify_one());
    0
}

#[cold]
#[inline(never)]
fn broadcast_slow(cond: &Cond) -> c_int {
    closed(|| cond.raw.notify_all());
    0
}

/// POSIX `pthread_cond_destroy`. A waiter that has been notified doesn't touch the condvar again,
/// so that there is nothing to wait for.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_destroy(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: the program's condvar.
    unsafe {
        if !Cond::from_ptr(cond).is_ours() {
            return glibc::pthread_cond_destroy(cond);
        }
    }
    probes::cond_destroy(cond);
    named::forget(cond);
    recording::destroyed(cond, Kind::Condvar);
    0
}

/// # Safety
/// The program's objects.
#[inline(always)]
unsafe fn wait_until(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe {
        let Some(clock) = time::clock(clock) else { return EINVAL };
        let Some(deadline) = time::deadline(clock, at) else { return EINVAL };
        wait(cond, mutex, Some(&deadline))
    }
}

/// Waits on one of furwock's condvars with a mutex of any kind.
///
/// The thread acts on a cancellation before or after the wait, in both cases with the mutex held,
/// and in a call whose frames have nothing to clean up. In between the thread is interrupted, not
/// unwound: a thread that was signalled first stays signalled.
///
/// # Safety
/// The program's objects.
#[inline(always)]
unsafe fn wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    deadline: Option<&Deadline>,
) -> c_int {
    probes::cond_wait(cond, mutex);
    // SAFETY: by this function's contract.
    let (cond, mutex) = unsafe { (Cond::from_ptr(cond), Mutex::from_ptr(mutex)) };
    let kind = mutex.kind();
    if matches!(kind, MutexKind::Recursive | MutexKind::ErrorCheck) && !mutex.is_own() {
        return EPERM;
    }
    if recording::orders() {
        let mutex = core::ptr::from_ref(mutex).addr();
        recording::waits_for(cond, Kind::Condvar, mutex, deadline.is_some());
    }
    let wait = |cancellable| match kind {
        // SAFETY: by this function's contract.
        MutexKind::Glibc => unsafe { wait_with_glibcs_mutex(cond, mutex, deadline, cancellable) },
        _ => wait_with_own_mutex(cond, mutex, kind, deadline, cancellable),
    };
    // SAFETY: may unwind this frame, which has nothing to drop.
    let result = unsafe { cancel::point(wait, |result| *result == Ok(Outcome::Interrupted)) };
    if recording::orders() {
        recording::waited_for(core::ptr::from_ref(mutex).addr(), mutex.again());
    }
    match result {
        Ok(Outcome::TimedOut) => ETIMEDOUT,
        Ok(_) => 0,
        Err(errno) => errno,
    }
}

#[inline(always)]
fn wait_with_own_mutex(
    cond: &Cond,
    mutex: &Mutex,
    kind: MutexKind,
    deadline: Option<&Deadline>,
    cancellable: bool,
) -> Result<Outcome, c_int> {
    if mutex.is_nested() {
        // POSIX leaves this undefined; glibc takes off one lock and waits with the mutex held.
        let take_off = || {
            mutex.take_off();
            true
        };
        let left = Left::new(mutex, |mutex| _ = mutex.lock_again());
        // SAFETY: `take_off` stores a number; no mutex to move to.
        let wait = || unsafe {
            let noted = &left.was_notified;
            wait_released(&cond.raw, None, take_off, deadline, cancellable, noted)
        };
        let outcome = closed(|| {
            let outcome = left.unless_returning(cond, wait).outcome();
            mutex.lock_again();
            outcome
        });
        return Ok(outcome);
    }
    mutex.expect_waiter();
    let release = || {
        mutex.release();
        probes::mutex_release(mutex);
        recording::released(mutex);
        true
    };
    let left = Left::new(mutex, lock_again);
    let relock = |wait: CondvarWait| {
        probes::mutex_entry(mutex);
        let recorded = Wait::to_relock(mutex, || mutex.raw.owner());
        let outcome = wait.relock(&mutex.raw);
        recorded.end(|| Ended::OverHeld);
        mutex.waiter_is_back();
        mutex.held_as(kind);
        outcome
    };
    // SAFETY: a release neither unwinds nor waits; the program keeps the mutex as long as a thread
    // waits with it.
    let wait = || unsafe {
        let noted = &left.was_notified;
        wait_released(&cond.raw, Some(&mutex.raw), release, deadline, cancellable, noted)
    };
    let outcome = closed(|| relock(left.unless_returning(cond, wait)));
    probes::mutex_acquired(mutex);
    Ok(outcome)
}

/// Waiters can't queue here for a mutex that the kernel or another process may hand over: they are
/// woken, and lock it with glibc's code.
///
/// # Safety
/// `mutex` is glibc's.
unsafe fn wait_with_glibcs_mutex(
    cond: &Cond,
    mutex: &Mutex,
    deadline: Option<&Deadline>,
    cancellable: bool,
) -> Result<Outcome, c_int> {
    let mut unlocked = 0;
    mutex.expect_waiter();
    let release = || {
        // SAFETY: by this function's contract.
        unlocked = unsafe { glibc::pthread_mutex_unlock(mutex.as_ptr()) };
        unlocked == 0
    };
    let left = Left::new(mutex, lock_again);
    // SAFETY: glibc's unlock neither unwinds nor waits; no mutex to move to.
    let wait = || unsafe {
        let noted = &left.was_notified;
        wait_released(&cond.raw, None, release, deadline, cancellable, noted)
    };
    let wait = closed(|| left.unless_returning(cond, wait));
    if wait.outcome() == Outcome::NotReleased {
        mutex.waiter_is_back();
        return Err(unlocked);
    }
    // SAFETY: by this function's contract.
    let locked = unsafe { glibc::pthread_mutex_lock(mutex.as_ptr()) };
    mutex.waiter_is_back();
    if locked == 0 { Ok(wait.outcome()) } else { Err(locked) }
}

/// Locks the mutex of a wait that is left for good, as glibc does: the program's clean-up code, or
/// the code at the target of its jump, expects that.
fn lock_again(mutex: &Mutex) {
    let kind = mutex.kind();
    if kind == MutexKind::Glibc {
        // SAFETY: the program's mutex.
        unsafe { glibc::pthread_mutex_lock(mutex.as_ptr()) };
        mutex.waiter_is_back();
        return;
    }
    closed(|| {
        mutex.raw.lock();
        mutex.waiter_is_back();
        mutex.held_as(kind);
    });
}

/// What happens to the mutex of a wait that a signal handler leaves for good.
struct Left<'m> {
    mutex: &'m Mutex,
    relock: fn(&Mutex),
    /// To glibc, the thread then waits for the mutex, no longer for the condvar.
    was_notified: Cell<bool>,
}

impl<'m> Left<'m> {
    fn new(mutex: &'m Mutex, relock: fn(&Mutex)) -> Self {
        Self { mutex, relock, was_notified: Cell::new(false) }
    }

    /// Calls `wait`, for `cond`, and `relock` if `wait` is left. glibc runs this for an unwind as
    /// well as for a jump.
    #[inline(always)]
    fn unless_returning(&self, cond: &Cond, wait: impl FnOnce() -> CondvarWait) -> CondvarWait {
        let mut handler = MaybeUninit::uninit();
        // SAFETY: the handler and what it is given outlive the wait.
        unsafe {
            let argument = core::ptr::from_ref(self).cast_mut().cast::<c_void>();
            glibc::_pthread_cleanup_push(handler.as_mut_ptr(), is_left, argument);
            let recorded = Wait::begin(cond, Kind::Condvar, || 0);
            let wait = wait();
            recorded.end(|| match wait.outcome() {
                Outcome::TimedOut => Ended::TimedOut,
                Outcome::NotReleased => Ended::Not,
                Outcome::Signalled | Outcome::Interrupted => Ended::Over,
            });
            glibc::_pthread_cleanup_pop(handler.as_mut_ptr(), 0);
            wait
        }
    }
}

/// A cleanup handler.
unsafe extern "C-unwind" fn is_left(left: *mut c_void) {
    // SAFETY: `unless_returning` registered it with a pointer to its own.
    let left = unsafe { &*left.cast::<Left<'_>>() };
    // An unwind reaches this handler before the frame that drops the wait's node. While the node
    // stands in the mutex's queue, it might be handed the mutex that this handler waits for.
    closed(|| end_waits(|frame| frame < core::ptr::from_ref(left).addr()));
    recording::jumped(|frame| frame < core::ptr::from_ref(left).addr());
    if !left.was_notified.get() {
        (left.relock)(left.mutex);
    }
}
