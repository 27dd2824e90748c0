//! glibc's own functions, for the objects that stay glibc's.
//!
//! They are looked up by name *and version*: `pthread_cond_wait` exists twice, and the older one
//! (2.2.5) takes an object of another format. `start` looks all of them up before any other
//! library's constructor runs. A look-up on first use, from inside a lock function, could wait for
//! the loader's lock while the thread that holds that waits for the program's.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use libc::{clockid_t, timespec};
use libc::{
    pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t,
};

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// One function: where it is, once known.
struct Function {
    name: &'static CStr,
    version: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    fn look_up(&self) -> *mut c_void {
        // SAFETY: both strings end with NUL. RTLD_NEXT: the definition after this library's.
        let mut address =
            unsafe { dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), self.version.as_ptr()) };
        if address.is_null() {
            // Added under another version than here, in whichever glibc this is.
            // SAFETY: as above.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        }
        self.address.store(address, Ordering::Release);
        address
    }

    fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        let found = self.look_up();
        if found.is_null() {
            self.missing();
        }
        found
    }

    #[cold]
    fn missing(&self) -> ! {
        eprintln!(
            "furwock: this C library has no {}: run the program without furwock",
            self.name.to_string_lossy()
        );
        std::process::abort()
    }
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) @ $version:literal;)*) => {
        #[allow(non_upper_case_globals, reason = "named for the functions they stand for")]
        mod table {
            use super::*;
            $(pub(super) static $name: Function = Function {
                name: match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                },
                version: match CStr::from_bytes_with_nul(concat!($version, "\0").as_bytes()) {
                    Ok(version) => version,
                    Err(_) => unreachable!(),
                },
                address: AtomicPtr::new(core::ptr::null_mut()),
            };)*
        }

        $(
            /// glibc's function of that name.
            ///
            /// # Safety
            /// As POSIX has it.
            #[cold]
            pub(crate) unsafe fn $name($($argument: $type),*) -> c_int {
                type Signature = unsafe extern "C-unwind" fn($($type),*) -> c_int;
                // SAFETY: the address of that very function, which has this type.
                let function: Signature = unsafe { core::mem::transmute(table::$name.address()) };
                // SAFETY: by this function's contract.
                unsafe { function($($argument),*) }
            }
        )*

        /// Looks all of them up.
        pub(crate) fn look_up() {
            $(table::$name.look_up();)*
        }
    };
}

functions! {
    pthread_mutex_destroy(mutex: *mut pthread_mutex_t) @ "GLIBC_2.2.5";
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) @ "GLIBC_2.2.5";
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) @ "GLIBC_2.2.5";
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, at: *const timespec) @ "GLIBC_2.2.5";
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec)
        @ "GLIBC_2.30";
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) @ "GLIBC_2.2.5";
    pthread_cond_init(cond: *mut pthread_cond_t, attr: *const libc::pthread_condattr_t)
        @ "GLIBC_2.3.2";
    pthread_cond_destroy(cond: *mut pthread_cond_t) @ "GLIBC_2.3.2";
    pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) @ "GLIBC_2.3.2";
    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        at: *const timespec) @ "GLIBC_2.3.2";
    pthread_cond_clockwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t,
        clock: clockid_t, at: *const timespec) @ "GLIBC_2.30";
    pthread_cond_signal(cond: *mut pthread_cond_t) @ "GLIBC_2.3.2";
    pthread_cond_broadcast(cond: *mut pthread_cond_t) @ "GLIBC_2.3.2";
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, at: *const timespec) @ "GLIBC_2.2.5";
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, at: *const timespec)
        @ "GLIBC_2.30";
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, at: *const timespec) @ "GLIBC_2.2.5";
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, at: *const timespec)
        @ "GLIBC_2.30";
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) @ "GLIBC_2.2.5";
    sem_wait(semaphore: *mut sem_t) @ "GLIBC_2.2.5";
    sem_timedwait(semaphore: *mut sem_t, at: *const timespec) @ "GLIBC_2.2.5";
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, at: *const timespec) @ "GLIBC_2.30";
    sem_trywait(semaphore: *mut sem_t) @ "GLIBC_2.2.5";
    sem_post(semaphore: *mut sem_t) @ "GLIBC_2.2.5";
    pthread_barrier_wait(barrier: *mut pthread_barrier_t) @ "GLIBC_2.2.5";
    pthread_barrier_destroy(barrier: *mut pthread_barrier_t) @ "GLIBC_2.2.5";
    pthread_cancel(thread: pthread_t) @ "GLIBC_2.2.5";
}

static SYSCALL: Function = Function {
    name: c"syscall",
    version: c"GLIBC_2.2.5",
    address: AtomicPtr::new(core::ptr::null_mut()),
};

/// Where glibc's `syscall` is.
pub(crate) fn syscall() -> *mut c_void {
    SYSCALL.address()
}

unsafe extern "C" {
    static __libc_single_threaded: core::sync::atomic::AtomicU8;
}

/// Whether the process has one thread, as far as glibc knows. glibc's own mutexes do without locked
/// instructions then.
#[inline(always)]
pub(crate) fn is_single_threaded() -> bool {
    // SAFETY: a byte of glibc's, which it writes only while there is one thread.
    unsafe { __libc_single_threaded.load(Ordering::Relaxed) != 0 }
}

unsafe extern "C-unwind" {
    /// Acts on a cancellation that is pending, by unwinding the caller's stack.
    pub(crate) fn pthread_testcancel();
    pub(crate) fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
    pub(crate) fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// What a cleanup handler is registered by (`struct _pthread_cleanup_buffer`).
#[repr(C)]
pub(crate) struct CleanupHandler {
    routine: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut CleanupHandler,
}

unsafe extern "C-unwind" {
    /// Has `routine(argument)` called if the frame that this is called in is unwound.
    pub(crate) fn _pthread_cleanup_push(
        handler: *mut CleanupHandler,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    /// Takes the last handler back, and calls it if `execute` isn't 0.
    pub(crate) fn _pthread_cleanup_pop(handler: *mut CleanupHandler, execute: c_int);
}

pub(crate) const PTHREAD_CANCEL_DEFERRED: c_int = 0;
pub(crate) const PTHREAD_CANCEL_DISABLE: c_int = 1;
