//! `pthread_rwlock_*`.
//!
//! A default lock soon lets readers in ahead of waiting writers: a thread may lock again for
//! reading what it reads already, or wait for other readers. Threads that hold no read lock give
//! way to writers for longer than glibc's do, so that writers don't starve, but at most for 10 ms.

use crate::layout::RwLock;
use crate::recording::{self, Again, Ended, Kind, Take, Wait};
use crate::{glibc, named, probes, time};
use core::ffi::c_int;
use furwock::lock::{Options, Policy, thread_id};
use furwock::unstable::known_thread_id;
use furwock::unstable::rwlock::{
    PastSleepers, forget_readers, is_full, read_contended, read_fast, read_past_sleepers,
    read_with, reads_any, try_read as try_read_raw, try_write_as, unlock_counted_quietly,
    unlock_exclusive_quietly, unlock_shared_fast, unlock_shared_of_any, write_contended,
    write_fast_as, write_past_sleepers_as, write_with,
};
use furwock::unstable::signals::closed;
use furwock::{Clock, Deadline};
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, ETIMEDOUT};
use libc::{clockid_t, pthread_rwlock_t, timespec};

/// POSIX `pthread_rwlock_rdlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if recording::orders() {
        return this.ordered(true, true, || read(this));
    }
    read(this)
}

#[inline(always)]
fn read(this: &RwLock) -> c_int {
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_rdlock(this.as_ptr()) };
    }
    probes::rdlock_entry(this);
    // While threads sleep, a lock that is free is entered without a lock that a signal handler
    // could come upon. It isn't this thread's and isn't full; and once threads sleep, it has its
    // policy.
    let past = match read_fast(&this.raw) {
        true => PastSleepers::Entered,
        false => read_past_sleepers(&this.raw),
    };
    if past == PastSleepers::Entered {
        probes::rdlock_acquire_read(this);
        recording::count(this, Kind::RwLock);
        return 0;
    }
    pthread_rwlock_rdlock_slow(this, past)
}

#[inline(never)]
fn pthread_rwlock_rdlock_slow(lock: &RwLock, past: PastSleepers) -> c_int {
    let result = lock.read_until(None, past);
    if result == 0 {
        probes::rdlock_acquire_read(lock);
    }
    result
}

/// POSIX `pthread_rwlock_tryrdlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if recording::orders() {
        return this.ordered(true, false, || try_read(this));
    }
    try_read(this)
}

#[inline(always)]
fn try_read(this: &RwLock) -> c_int {
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_tryrdlock(this.as_ptr()) };
    }
    this.make_ready();
    recording::count(this, Kind::RwLock);
    match try_read_raw(&this.raw) {
        true => 0,
        false if is_full(&this.raw) => EAGAIN,
        false => EBUSY,
    }
}

/// POSIX `pthread_rwlock_timedrdlock`: a deadline on CLOCK_REALTIME.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_timedrdlock(
    lock: *mut pthread_rwlock_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's lock and timespec.
    unsafe {
        timed(
            lock,
            Clock::Realtime,
            at,
            true,
            || glibc::pthread_rwlock_timedrdlock(lock, at),
            |lock, deadline| lock.read_until(Some(deadline), PastSleepers::Not),
        )
    }
}

/// POSIX.1-2024 `pthread_rwlock_clockrdlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_clockrdlock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    let Some(clock_known) = time::clock(clock) else { return EINVAL };
    // SAFETY: the program's lock and timespec.
    unsafe {
        timed(
            lock,
            clock_known,
            at,
            true,
            || glibc::pthread_rwlock_clockrdlock(lock, clock, at),
            |lock, deadline| lock.read_until(Some(deadline), PastSleepers::Not),
        )
    }
}

/// A call with a deadline. Like glibc it refuses a malformed one before it looks at the lock.
///
/// # Safety
/// `lock` and `at` are the program's lock and timespec; `glibcs` is glibc's function with them.
#[inline(always)]
unsafe fn timed(
    lock: *mut pthread_rwlock_t,
    clock: Clock,
    at: *const timespec,
    reads: bool,
    glibcs: impl FnOnce() -> c_int,
    ours: impl FnOnce(&RwLock, &Deadline) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let this = unsafe { RwLock::from_ptr(lock) };
    let lock = || {
        if !this.is_ours() {
            recording::left_to_glibc();
            return glibcs();
        }
        // SAFETY: by this function's contract.
        let deadline = unsafe { time::deadline(clock, at) };
        deadline.map_or(EINVAL, |deadline| ours(this, &deadline))
    };
    if recording::orders() { this.ordered(reads, false, lock) } else { lock() }
}

/// POSIX `pthread_rwlock_wrlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if recording::orders() {
        return this.ordered(false, true, || write(this));
    }
    write(this)
}

#[inline(always)]
fn write(this: &RwLock) -> c_int {
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_wrlock(this.as_ptr()) };
    }
    probes::wrlock_entry(this);
    let tid = known_thread_id();
    // As in `read`.
    if tid != 0 && (write_fast_as(&this.raw, tid) || write_past_sleepers_as(&this.raw, tid)) {
        this.note_writer(tid);
        probes::wrlock_acquire_write(this);
        return recording::count_hold(this, Kind::RwLock);
    }
    pthread_rwlock_wrlock_slow(this)
}

#[cold]
#[inline(never)]
fn pthread_rwlock_wrlock_slow(lock: &RwLock) -> c_int {
    let result = lock.write_until(None);
    if result == 0 {
        probes::wrlock_acquire_write(lock);
    }
    result
}

/// POSIX `pthread_rwlock_trywrlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if recording::orders() {
        return this.ordered(false, false, || try_write(this));
    }
    try_write(this)
}

#[inline(always)]
fn try_write(this: &RwLock) -> c_int {
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_trywrlock(this.as_ptr()) };
    }
    this.make_ready();
    let tid = thread_id();
    if !try_write_as(&this.raw, tid) {
        recording::count(this, Kind::RwLock);
        return EBUSY;
    }
    this.note_writer(tid);
    recording::count_hold(this, Kind::RwLock)
}

/// POSIX `pthread_rwlock_timedwrlock`: a deadline on CLOCK_REALTIME.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_timedwrlock(
    lock: *mut pthread_rwlock_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's lock and timespec.
    unsafe {
        timed(
            lock,
            Clock::Realtime,
            at,
            false,
            || glibc::pthread_rwlock_timedwrlock(lock, at),
            |lock, deadline| lock.write_until(Some(deadline)),
        )
    }
}

/// POSIX.1-2024 `pthread_rwlock_clockwrlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_clockwrlock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    let Some(clock_known) = time::clock(clock) else { return EINVAL };
    // SAFETY: the program's lock and timespec.
    unsafe {
        timed(
            lock,
            clock_known,
            at,
            false,
            || glibc::pthread_rwlock_clockwrlock(lock, clock, at),
            |lock, deadline| lock.write_until(Some(deadline)),
        )
    }
}

/// POSIX `pthread_rwlock_unlock`: leaves as the reader or writer that the calling thread is.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if recording::orders() {
        recording::releases(this);
    }
    if !this.is_ours() {
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_unlock(lock) };
    }
    probes::rwlock_unlock(this);
    if this.raw.is_locked_exclusive() {
        this.forget_writer();
        if unlock_exclusive_quietly(&this.raw) {
            return recording::released(this);
        }
        return end_writing(this);
    }
    if unlock_shared_fast(&this.raw) || unlock_counted_quietly(&this.raw) {
        return 0;
    }
    end_reading(this)
}

#[cold]
#[inline(never)]
fn end_writing(lock: &RwLock) -> c_int {
    closed(|| lock.raw.unlock_exclusive());
    recording::released_to_waiters(lock, Kind::RwLock);
    0
}

#[cold]
#[inline(never)]
fn end_reading(lock: &RwLock) -> c_int {
    closed(|| unlock_shared_of_any(&lock.raw));
    0
}

/// POSIX `pthread_rwlock_destroy`. Like glibc's it never fails.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: the program's lock.
    let this = unsafe { RwLock::from_ptr(lock) };
    if !this.is_ours() {
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_rwlock_destroy(lock) };
    }
    probes::rwlock_destroy(this);
    named::forget(lock);
    forget_readers(&this.raw);
    recording::destroyed(this, Kind::RwLock);
    0
}

/// glibc's other names, which old programs call.
macro_rules! other_names {
    ($($other:ident = $name:ident;)*) => {$(
        #[doc = concat!("The same as `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $other(lock: *mut pthread_rwlock_t) -> c_int {
            // SAFETY: by this function's contract.
            unsafe { $name(lock) }
        }
    )*};
}

other_names! {
    __pthread_rwlock_rdlock = pthread_rwlock_rdlock;
    __pthread_rwlock_tryrdlock = pthread_rwlock_tryrdlock;
    __pthread_rwlock_wrlock = pthread_rwlock_wrlock;
    __pthread_rwlock_trywrlock = pthread_rwlock_trywrlock;
    __pthread_rwlock_unlock = pthread_rwlock_unlock;
    __pthread_rwlock_destroy = pthread_rwlock_destroy;
}

fn until(deadline: Option<&Deadline>) -> Options {
    deadline.map_or(Options::new(), |deadline| Options::new().until(*deadline))
}

impl RwLock {
    /// Calls `lock`, which locks it, and notes the order. `waits`: without a deadline.
    fn ordered(&self, reads: bool, waits: bool, lock: impl FnOnce() -> c_int) -> c_int {
        let readers_wait = self.is_ours() && {
            self.make_ready();
            self.raw.policy() == Policy::PreferWriters
        };
        let again = if readers_wait { Again::ReadsWait } else { Again::ReadsReturn };
        recording::ordered(self, Kind::RwLock, Take { reads, waits, again }, lock)
    }

    /// Whether the calling thread writes.
    fn is_own(&self) -> bool {
        self.raw.is_locked_exclusive() && self.raw.owner() == thread_id()
    }

    #[inline(always)]
    fn read_until(&self, deadline: Option<&Deadline>, past: PastSleepers) -> c_int {
        self.make_ready();
        if self.is_own() {
            return EDEADLK;
        }
        if is_full(&self.raw) {
            return EAGAIN;
        }
        // A thread that holds some read lock may be inside this one already: it doesn't wait for
        // waiting writers, unless the program asked for that.
        let recursive = reads_any() && self.raw.policy() != Policy::PreferWriters;
        let options = until(deadline).recursive(recursive);
        let entered = closed(|| {
            let wait = Wait::begin(self, Kind::RwLock, || self.raw.owner());
            // Calls without a deadline have tried all that comes before.
            let status = match deadline {
                None => read_contended(&self.raw, &options, past),
                Some(_) => read_with(&self.raw, &options),
            };
            wait.end(|| status.map_or(Ended::TimedOut, Ended::Got));
            status.is_some()
        });
        if entered { 0 } else { ETIMEDOUT }
    }

    #[inline(always)]
    fn write_until(&self, deadline: Option<&Deadline>) -> c_int {
        self.make_ready();
        if self.is_own() {
            return EDEADLK;
        }
        let entered = closed(|| {
            let wait = Wait::begin(self, Kind::RwLock, || self.raw.owner());
            let options = until(deadline);
            let status = match deadline {
                None => write_contended(&self.raw, &options),
                Some(_) => write_with(&self.raw, &options),
            };
            let entered = status.is_some();
            if entered {
                self.note_writer(thread_id());
            }
            wait.end(|| status.map_or(Ended::TimedOut, Ended::Held));
            entered
        });
        if entered { 0 } else { ETIMEDOUT }
    }
}
