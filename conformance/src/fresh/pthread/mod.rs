//! Rounds of pthread's and C11's objects. They are called by libc's names: the preload serves them
//! if it is loaded, and glibc otherwise.

mod locks;
mod waits;

pub(super) use waits::Objects;

use super::pool::Pool;
use super::round::{AnyKind, Random, Round, Seat};
use libc::{CLOCK_REALTIME, clockid_t, timespec};
use std::alloc::Layout;
use std::thread;
use std::time::Duration;

pub(super) const KINDS: [&dyn AnyKind; 8] = [
    &locks::RwLocks,
    &locks::Mutexes,
    &waits::Condvars,
    &waits::Barriers,
    &waits::Semaphores,
    &waits::Onces,
    &waits::C11,
    &locks::Spins,
];

/// How many threads wait where objects lie.
const STALE: u64 = 6;

/// libc's functions, with those that the crate of that name lacks.
mod c {
    pub use libc::*;

    unsafe extern "C" {
        pub fn pthread_mutex_clocklock(
            mutex: *mut pthread_mutex_t,
            clock: clockid_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_cond_clockwait(
            cond: *mut pthread_cond_t,
            mutex: *mut pthread_mutex_t,
            clock: clockid_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_rwlock_timedrdlock(
            lock: *mut pthread_rwlock_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_rwlock_timedwrlock(
            lock: *mut pthread_rwlock_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_rwlock_clockrdlock(
            lock: *mut pthread_rwlock_t,
            clock: clockid_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_rwlock_clockwrlock(
            lock: *mut pthread_rwlock_t,
            clock: clockid_t,
            at: *const timespec,
        ) -> c_int;
        pub fn pthread_rwlockattr_setkind_np(attr: *mut pthread_rwlockattr_t, kind: c_int)
        -> c_int;
        pub fn pthread_once(control: *mut c_int, routine: extern "C" fn()) -> c_int;
        pub fn call_once(flag: *mut c_int, routine: extern "C" fn());
        pub fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int;
        pub fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int;
        pub fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int;
        pub fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int;
        pub fn mtx_destroy(mutex: *mut pthread_mutex_t);
        pub fn cnd_init(cond: *mut pthread_cond_t) -> c_int;
        pub fn cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
        pub fn cnd_timedwait(
            cond: *mut pthread_cond_t,
            mutex: *mut pthread_mutex_t,
            at: *const timespec,
        ) -> c_int;
        pub fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int;
        pub fn cnd_destroy(cond: *mut pthread_cond_t);
    }
}

/// Calls one of `c`.
macro_rules! call {
    ($name:ident($($argument:expr),*)) => {
        // SAFETY: on an object that its kind's `make` has made, or is making.
        unsafe { super::c::$name($($argument),*) }
    };
}

/// The same, and fails the round unless it returns 0.
macro_rules! ok {
    ($round:expr, $name:ident($($argument:expr),*)) => {
        if call!($name($($argument),*)) != 0 {
            $round.fail(concat!(stringify!($name), " fails"));
        }
    };
}

use {call, ok};

/// Whether a try or a wait with a deadline succeeded. It may fail only with EBUSY or ETIMEDOUT.
fn got(round: &Round, result: i32, what: &str) -> bool {
    let allowed = [0, libc::EBUSY, libc::ETIMEDOUT].contains(&result);
    round.check(allowed, what);
    result == 0
}

/// A deadline a moment from now.
fn shortly(seat: &mut Seat, clock: clockid_t) -> timespec {
    // SAFETY: all zeroes is a timespec.
    let mut now: timespec = unsafe { std::mem::zeroed() };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(clock, &mut now) };
    let at = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + seat.moment();
    timespec { tv_sec: at.as_secs() as i64, tv_nsec: i64::from(at.subsec_nanos()) }
}

fn shortly_by_the_time_of_day(seat: &mut Seat) -> timespec {
    shortly(seat, CLOCK_REALTIME)
}

/// Whether the preload is loaded.
fn under_furwock() -> bool {
    std::env::var_os("CONFORMANCE_SIDE").is_some_and(|side| side == "furwock")
}

/// Starts threads that wait on words where objects come to lie meanwhile, as waiters do that were
/// requeued to a word that is gone. A lock at such an address must wake its own waiters. (glibc's
/// locks can't: the kernel wakes by address.)
pub(super) fn leave_stale_waiters(pool: &'static Pool) {
    for seed in (1..=STALE).take_while(|_| under_furwock()) {
        thread::spawn(move || {
            let mut random = Random::new(seed);
            let limit = timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            loop {
                let word = pool.place(&mut random, Layout::new::<u32>()).cast::<u32>();
                // SAFETY: the pool's, whatever lies there; read as others may write it.
                unsafe {
                    let value = word.read_volatile();
                    libc::syscall(libc::SYS_futex, word, wait, value, &limit);
                }
            }
        });
    }
}

/// Reads a lock that all threads read often.
pub(super) fn read_warm() {
    static mut WARM: libc::pthread_rwlock_t = libc::PTHREAD_RWLOCK_INITIALIZER;
    // SAFETY: initialised, and made for several threads.
    let results = unsafe {
        let warm = &raw mut WARM;
        [libc::pthread_rwlock_rdlock(warm), libc::pthread_rwlock_unlock(warm)]
    };
    assert_eq!(results, [0; 2]);
}
