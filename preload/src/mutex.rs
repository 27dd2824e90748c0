//! `pthread_mutex_*`.

use crate::layout::{Mutex, MutexKind};
use crate::recording::{self, Again, Ended, Kind, Take, Wait};
use crate::{clone, glibc, named, probes, time};
use core::ffi::c_int;
use core::hint::black_box;
use core::sync::atomic::{Ordering, compiler_fence};
use furwock::Clock;
use furwock::lock::{Options, thread_id};
use furwock::unstable::known_thread_id;
use furwock::unstable::mutex::{
    known_claim, lock_contended, lock_soon, make_way, try_lock_alone, try_lock_as, try_steal,
    try_unlock_alone, try_unlock_as, try_unlock_quietly, unlock_contended,
};
use furwock::unstable::signals::closed;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT};
use libc::{clockid_t, pthread_mutex_t, timespec};

/// POSIX `pthread_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if mutex.is_plain() {
        probes::mutex_entry(mutex);
        if let Some(tid) = mutex.try_take() {
            mutex.owner.store(tid, Ordering::Relaxed);
            probes::mutex_acquired(mutex);
            return recording::count_hold(mutex, Kind::Mutex);
        }
        return pthread_mutex_lock_slow(mutex);
    }
    lock_typed(mutex)
}

/// A plain mutex that `try_take` didn't take. Stacks show its name, since the call is a jump.
#[cold]
#[inline(never)]
fn pthread_mutex_lock_slow(mutex: &Mutex) -> c_int {
    // A mutex that is free, or soon is, is taken without a lock that a signal handler could come
    // upon. The recording library neither looks for long nor yields: it would miss that a mutex was
    // waited for.
    let taken = if recording::IS_ON { try_steal(&mutex.raw) } else { lock_soon(&mutex.raw) };
    if taken {
        mutex.held_as(MutexKind::Plain);
        recording::count_hold(mutex, Kind::Mutex);
    } else {
        closed(|| {
            mutex.contend();
            mutex.held_as(MutexKind::Plain);
        });
    }
    probes::mutex_acquired(mutex);
    // What it returns mustn't be known: the caller, whose fast path would save a register for a
    // call, jumps here instead.
    black_box(0)
}

/// A mutex of a kind with rules of its own, or any if their order is recorded.
#[inline(never)]
fn lock_typed(mutex: &Mutex) -> c_int {
    if recording::orders() {
        return mutex.ordered(true, || lock_as_glibc(mutex));
    }
    if clone::is_child() { lock_as_glibc(mutex) } else { lock_any(mutex) }
}

/// By the thread id that glibc goes by. A jump from the way of others, which it costs a look.
#[cold]
#[inline(never)]
fn lock_as_glibc(mutex: &Mutex) -> c_int {
    clone::follow_glibc();
    lock_any(mutex)
}

#[inline(always)]
fn lock_any(mutex: &Mutex) -> c_int {
    let kind = mutex.kind();
    // A free mutex isn't this thread's: no rule of its kind forbids taking it.
    if kind != MutexKind::Glibc {
        probes::mutex_entry(mutex);
        if let Some(tid) = mutex.try_take() {
            mutex.held_by(tid, kind);
            probes::mutex_acquired(mutex);
            return recording::count_hold(mutex, Kind::Mutex);
        }
    }
    typed::pthread_mutex_lock_slow(mutex)
}

mod typed {
    use super::{Mutex, c_int, closed, glibc, make_way, probes, recording};

    #[cold]
    #[inline(never)]
    pub(super) fn pthread_mutex_lock_slow(mutex: &Mutex) -> c_int {
        let kind = mutex.kind();
        // SAFETY: the program's mutex.
        let glibcs = |mutex| unsafe { glibc::pthread_mutex_lock(mutex) };
        if let Some(answer) = mutex.answer(kind, glibcs) {
            return answer;
        }
        // Not `lock_soon`: threads that do next to nothing else take longer for such a mutex, and
        // don't learn to stand aside.
        if !recording::IS_ON {
            make_way(&mutex.raw);
        }
        // A handler that leaves the call for good mustn't come between the mutex and its owner.
        closed(|| {
            mutex.take_slow();
            mutex.held_as(kind);
        });
        probes::mutex_acquired(mutex);
        0
    }
}

/// POSIX `pthread_mutex_trylock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if recording::orders() {
        return mutex.ordered(false, || try_lock(mutex));
    }
    try_lock(mutex)
}

#[inline(always)]
fn try_lock(mutex: &Mutex) -> c_int {
    let kind = mutex.kind();
    if kind == MutexKind::Glibc {
        recording::left_to_glibc();
        // SAFETY: the program's mutex.
        return unsafe { glibc::pthread_mutex_trylock(mutex.as_ptr()) };
    }
    if kind == MutexKind::Recursive {
        clone::follow_glibc();
        if mutex.is_own() {
            return mutex.lock_again();
        }
    }
    if !mutex.raw.try_lock() {
        recording::count(mutex, Kind::Mutex);
        return EBUSY;
    }
    mutex.held_as(kind);
    recording::count_hold(mutex, Kind::Mutex)
}

/// POSIX `pthread_mutex_timedlock`: a deadline on CLOCK_REALTIME.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    at: *const timespec,
) -> c_int {
    // SAFETY: the program's mutex and timespec.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if mutex.kind() != MutexKind::Glibc {
        probes::mutex_timedlock_entry(mutex, at);
    }
    let lock = || {
        mutex.lock_checked(
            // SAFETY: the program's mutex and timespec.
            |mutex| unsafe { glibc::pthread_mutex_timedlock(mutex, at) },
            // SAFETY: the program's timespec.
            |mutex| unsafe { mutex.lock_timed(Clock::Realtime, at) },
            probes::mutex_timedlock_acquired,
        )
    };
    if recording::orders() { mutex.ordered(false, lock) } else { lock() }
}

/// POSIX.1-2024 `pthread_mutex_clocklock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    at: *const timespec,
) -> c_int {
    let Some(clock_known) = time::clock(clock) else { return EINVAL };
    // SAFETY: the program's mutex.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if mutex.kind() != MutexKind::Glibc {
        probes::mutex_clocklock_entry(mutex, clock, at);
    }
    let lock = || {
        mutex.lock_checked(
            // SAFETY: the program's mutex and timespec.
            |mutex| unsafe { glibc::pthread_mutex_clocklock(mutex, clock, at) },
            // SAFETY: the program's timespec.
            |mutex| unsafe { mutex.lock_timed(clock_known, at) },
            probes::mutex_timedlock_acquired,
        )
    };
    if recording::orders() { mutex.ordered(false, lock) } else { lock() }
}

/// POSIX `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if !mutex.is_plain() {
        return unlock_typed(mutex);
    }
    mutex.owner.store(0, Ordering::Relaxed);
    if !mutex.try_give() {
        return unlock_slow(mutex);
    }
    probes::mutex_release(mutex);
    recording::released(mutex)
}

#[inline(never)]
fn unlock_typed(mutex: &Mutex) -> c_int {
    if recording::orders() {
        recording::releases(mutex);
    }
    match mutex.kind() {
        // SAFETY: the program's mutex.
        MutexKind::Glibc => return unsafe { glibc::pthread_mutex_unlock(mutex.as_ptr()) },
        MutexKind::Recursive | MutexKind::ErrorCheck if !mutex.is_own() => return EPERM,
        MutexKind::Recursive if !mutex.take_off() => return 0,
        _ => mutex.owner.store(0, Ordering::Relaxed),
    }
    if !mutex.try_give() {
        return unlock_slow(mutex);
    }
    probes::mutex_release(mutex);
    recording::released(mutex)
}

#[cold]
#[inline(never)]
fn unlock_slow(mutex: &Mutex) -> c_int {
    // Where no waiter has to be woken, no lock is taken that a signal handler could come upon.
    if !try_unlock_quietly(&mutex.raw) {
        closed(|| unlock_contended(&mutex.raw));
    }
    probes::mutex_release(mutex);
    recording::released_to_waiters(mutex, Kind::Mutex);
    0
}

/// POSIX `pthread_mutex_destroy`: EBUSY while the mutex is held or a condvar's waiter will lock it
/// again, as in glibc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { Mutex::from_ptr(mutex) };
    if mutex.kind() == MutexKind::Glibc {
        // SAFETY: the program's mutex.
        return unsafe { glibc::pthread_mutex_destroy(mutex.as_ptr()) };
    }
    probes::mutex_destroy(mutex);
    if mutex.is_in_use() {
        return EBUSY;
    }
    named::forget(mutex.as_ptr());
    mutex.mark_destroyed();
    recording::destroyed(mutex, Kind::Mutex);
    0
}

/// glibc's other names for four of them, which old programs call.
macro_rules! other_names {
    ($($other:ident = $name:ident;)*) => {$(
        #[doc = concat!("The same as `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $other(mutex: *mut pthread_mutex_t) -> c_int {
            // SAFETY: by this function's contract.
            unsafe { $name(mutex) }
        }
    )*};
}

other_names! {
    __pthread_mutex_lock = pthread_mutex_lock;
    __pthread_mutex_trylock = pthread_mutex_trylock;
    __pthread_mutex_unlock = pthread_mutex_unlock;
    __pthread_mutex_destroy = pthread_mutex_destroy;
}

impl Mutex {
    /// Calls `lock`, which locks it, and notes the order. `waits`: without a deadline.
    fn ordered(&self, waits: bool, lock: impl FnOnce() -> c_int) -> c_int {
        let take = Take { reads: false, waits, again: self.again() };
        recording::ordered(self, Kind::Mutex, take, lock)
    }

    /// What happens to a thread that locks it while it holds it.
    pub(crate) fn again(&self) -> Again {
        match self.kind() {
            MutexKind::Recursive | MutexKind::ErrorCheck | MutexKind::Glibc => Again::Returns,
            _ => Again::Waits,
        }
    }

    /// What a call that locks it returns without waiting for it here: with `glibcs` if glibc serves
    /// it, or because its kind demands an error or lets its holder in.
    #[inline(always)]
    fn answer(
        &self,
        kind: MutexKind,
        glibcs: impl FnOnce(*mut pthread_mutex_t) -> c_int,
    ) -> Option<c_int> {
        match kind {
            MutexKind::Glibc => {
                recording::left_to_glibc();
                Some(glibcs(self.as_ptr()))
            }
            MutexKind::Recursive if self.is_own() => Some(self.lock_again()),
            MutexKind::ErrorCheck if self.is_own() => Some(EDEADLK),
            _ => None,
        }
    }

    /// Locks a mutex of any kind: with `ours` unless there is an `answer`. Calls `acquired` if
    /// `ours` succeeds.
    #[inline(always)]
    fn lock_checked(
        &self,
        glibcs: impl FnOnce(*mut pthread_mutex_t) -> c_int,
        ours: impl FnOnce(&Self) -> c_int,
        acquired: impl FnOnce(&Self),
    ) -> c_int {
        clone::follow_glibc();
        let kind = self.kind();
        if let Some(answer) = self.answer(kind, glibcs) {
            return answer;
        }
        let result = closed(|| {
            let result = ours(self);
            if result == 0 {
                self.held_as(kind);
            }
            result
        });
        if result == 0 {
            acquired(self);
        }
        result
    }

    /// # Safety
    /// `at` points to a timespec.
    #[inline(always)]
    unsafe fn lock_timed(&self, clock: Clock, at: *const timespec) -> c_int {
        // POSIX: the deadline is checked only if the mutex can't be locked at once.
        if self.raw.try_lock() {
            return recording::count_hold(self, Kind::Mutex);
        }
        // SAFETY: by this function's contract.
        let Some(deadline) = (unsafe { time::deadline(clock, at) }) else { return EINVAL };
        let wait = Wait::begin(self, Kind::Mutex, || self.raw.owner());
        let status = lock_contended(&self.raw, &Options::new().until(deadline));
        wait.end(|| status.map_or(Ended::TimedOut, Ended::Held));
        match status {
            Some(_) => 0,
            None => ETIMEDOUT,
        }
    }

    /// Takes it after `try_take` didn't. If it is held, another exchange would only take the cache
    /// line from the holder.
    #[inline(always)]
    fn take_slow(&self) {
        if try_steal(&self.raw) {
            recording::count_hold(self, Kind::Mutex);
        } else {
            self.contend();
        }
    }

    /// Takes it after `try_steal` found it held.
    #[inline(always)]
    fn contend(&self) {
        probes::lll_lock_wait(self);
        let wait = Wait::begin(self, Kind::Mutex, || self.raw.owner());
        let status = lock_contended(&self.raw, &const { Options::new() });
        wait.end(|| status.map_or(Ended::TimedOut, Ended::Held));
    }

    /// Takes it if it is free and taking it needs no call, so that a fast path saves no register.
    /// Returns the thread's id if it took it.
    #[inline(always)]
    fn try_take(&self) -> Option<u32> {
        let (claim, tid) = (known_claim(), known_thread_id());
        if claim == 0 {
            return None;
        }
        // SAFETY: glibc says that there is one thread.
        let taken = glibc::is_single_threaded() && unsafe { try_lock_alone(&self.raw, tid) };
        (taken || try_lock_as(&self.raw, claim)).then_some(tid)
    }

    /// Releases it if that needs no call.
    #[inline(always)]
    fn try_give(&self) -> bool {
        // SAFETY: glibc says that there is one thread.
        let given = glibc::is_single_threaded() && unsafe { try_unlock_alone(&self.raw) };
        given || try_unlock_as(&self.raw, known_claim())
    }

    /// Whether the calling thread holds it.
    pub(crate) fn is_own(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == thread_id()
    }

    /// Notes the holder where debuggers look, and the first of a recursive mutex's locks.
    pub(crate) fn held_as(&self, kind: MutexKind) {
        self.held_by(thread_id(), kind);
    }

    /// The count is set before the owner: a signal handler that finds its thread the owner relies
    /// on the count.
    #[inline(always)]
    fn held_by(&self, tid: u32, kind: MutexKind) {
        if kind == MutexKind::Recursive {
            self.count.store(1, Ordering::Relaxed);
        }
        compiler_fence(Ordering::Release);
        self.owner.store(tid, Ordering::Relaxed);
    }

    /// Locks a recursive mutex that the calling thread holds.
    pub(crate) fn lock_again(&self) -> c_int {
        match self.count.load(Ordering::Relaxed).checked_add(1) {
            None => EAGAIN,
            Some(count) => {
                self.count.store(count, Ordering::Relaxed);
                0
            }
        }
    }

    /// Whether it is recursive and held more than once.
    pub(crate) fn is_nested(&self) -> bool {
        self.kind() == MutexKind::Recursive && self.count.load(Ordering::Relaxed) > 1
    }

    /// Takes one lock off a recursive mutex. Returns whether it was the last.
    pub(crate) fn take_off(&self) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        self.count.store(count.saturating_sub(1), Ordering::Relaxed);
        count <= 1
    }

    #[inline(always)]
    pub(crate) fn release(&self) {
        self.owner.store(0, Ordering::Relaxed);
        if !self.try_give() {
            self.raw.unlock();
        }
    }
}
