//! glibc's own functions, for the objects that glibc serves.
//!
//! They are looked up by name *and version*: `pthread_cond_wait` exists twice, and the older one
//! (2.2.5) takes an object of another format. `start` looks all of them up before any other
//! library's constructor runs. A look-up on first use, from inside a lock function, could wait for
//! the loader's lock while the thread that holds that waits for the program's.

use crate::clone::Function as Begin;
use crate::tools;
#[cfg(feature = "recording")]
use core::ffi::c_uint;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
use libc::{clockid_t, pid_t, sched_param, timespec};
use libc::{
    pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t,
};

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// One function: its address, once known.
struct Function {
    name: &'static CStr,
    version: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    const fn new(name: &'static CStr, version: &'static CStr) -> Self {
        Self { name, version, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    fn look_up(&self) -> *mut c_void {
        let mut address = core::ptr::null_mut();
        if !tools::has_thread_sanitizer() {
            let version = on_this_processor(self.version);
            // SAFETY: both strings end with NUL. RTLD_NEXT: the definition after this library's.
            address = unsafe { dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
        }
        if address.is_null() {
            // Added under another version than here, in whichever glibc this is; or
            // ThreadSanitizer's, whose names carry none, and which comes before glibc's.
            // SAFETY: as above.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        }
        self.address.store(address, Ordering::Release);
        address
    }

    /// Null if this C library lacks it: the program was then built for a newer one.
    fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() { known } else { self.look_up() }
    }
}

/// What a function that came to x86-64 with `version` has here: aarch64's first is 2.17.
fn on_this_processor(version: &'static CStr) -> &'static CStr {
    const BEFORE_2_17: [&CStr; 4] = [c"GLIBC_2.2.5", c"GLIBC_2.3.2", c"GLIBC_2.3.4", c"GLIBC_2.11"];
    if cfg!(target_arch = "aarch64") && BEFORE_2_17.contains(&version) {
        c"GLIBC_2.17"
    } else {
        version
    }
}

macro_rules! functions {
    ($($(#[$when:meta])? $name:ident($($argument:ident: $type:ty),*) @ $version:literal;)*) => {
        #[allow(non_upper_case_globals, reason = "named for the functions they stand for")]
        mod table {
            use super::*;
            $($(#[$when])? pub(super) static $name: Function = Function {
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
            /// glibc's function of that name; ENOSYS if it has none.
            ///
            /// # Safety
            /// As POSIX has it.
            #[cold]
            $(#[$when])?
            pub(crate) unsafe fn $name($($argument: $type),*) -> c_int {
                type Signature = Option<unsafe extern "C-unwind" fn($($type),*) -> c_int>;
                // SAFETY: null, or the address of that very function, which has this type.
                let function: Signature = unsafe { core::mem::transmute(table::$name.address()) };
                match function {
                    // SAFETY: by this function's contract.
                    Some(function) => unsafe { function($($argument),*) },
                    None => libc::ENOSYS,
                }
            }
        )*

        /// Looks all of them up.
        pub(crate) fn look_up() {
            $($(#[$when])? table::$name.look_up();)*
            SYSCALL.look_up();
            look_up_single_threaded();
        }

        /// Whether `lies` holds for the addresses of all functions found.
        pub(crate) fn all(lies: impl Fn(*mut c_void) -> bool) -> bool {
            let functions = [$($(#[$when])? &table::$name,)* &SYSCALL].into_iter().chain(&LONGJMPS);
            let mut known = functions.map(|function| function.address.load(Ordering::Acquire));
            known.all(|address| address.is_null() || lies(address))
        }
    };
}

/// What `pthread_once` calls.
pub(crate) type Routine = unsafe extern "C-unwind" fn();

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
    pthread_setschedparam(thread: pthread_t, policy: c_int, parameters: *const sched_param)
        @ "GLIBC_2.2.5";
    pthread_setschedprio(thread: pthread_t, priority: c_int) @ "GLIBC_2.3.4";
    sched_setscheduler(thread: pid_t, policy: c_int, parameters: *const sched_param)
        @ "GLIBC_2.2.5";
    sched_setparam(thread: pid_t, parameters: *const sched_param) @ "GLIBC_2.2.5";
    pthread_attr_setschedpolicy(attr: *mut libc::pthread_attr_t, policy: c_int) @ "GLIBC_2.2.5";
    pthread_spin_lock(lock: *mut libc::pthread_spinlock_t) @ "GLIBC_2.2.5";
    pthread_once(control: *mut libc::pthread_once_t, routine: Routine) @ "GLIBC_2.2.5";
    pthread_cancel(thread: pthread_t) @ "GLIBC_2.2.5";
    pthread_setcanceltype(kind: c_int, old: *mut c_int) @ "GLIBC_2.2.5";
    clone(function: Option<Begin>, stack: *mut c_void, flags: c_int, argument: *mut c_void,
        parent: usize, storage: usize, child: usize) @ "GLIBC_2.2.5";
    sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction)
        @ "GLIBC_2.2.5";
    // What the library that records replaces besides.
    #[cfg(feature = "recording")]
    pthread_join(thread: pthread_t, result: *mut *mut c_void) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    pthread_mutex_init(mutex: *mut pthread_mutex_t, attr: *const libc::pthread_mutexattr_t)
        @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    pthread_rwlock_init(lock: *mut pthread_rwlock_t, attr: *const libc::pthread_rwlockattr_t)
        @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    pthread_barrier_init(barrier: *mut pthread_barrier_t, attr: *const libc::pthread_barrierattr_t,
        count: c_uint) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    pthread_spin_init(lock: *mut libc::pthread_spinlock_t, shared: c_int) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    pthread_spin_destroy(lock: *mut libc::pthread_spinlock_t) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    sem_destroy(semaphore: *mut sem_t) @ "GLIBC_2.2.5";
    #[cfg(feature = "recording")]
    mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) @ "GLIBC_2.28";
    #[cfg(feature = "recording")]
    cnd_init(cond: *mut pthread_cond_t) @ "GLIBC_2.28";
}

static SYSCALL: Function = Function::new(c"syscall", c"GLIBC_2.2.5");

static LONGJMPS: [Function; 4] = [
    Function::new(c"longjmp", c"GLIBC_2.2.5"),
    Function::new(c"_longjmp", c"GLIBC_2.2.5"),
    Function::new(c"siglongjmp", c"GLIBC_2.2.5"),
    Function::new(c"__longjmp_chk", c"GLIBC_2.11"),
];

/// Where glibc's `longjmp`, `_longjmp`, `siglongjmp` and `__longjmp_chk` are.
pub(crate) fn longjmps() -> [*mut c_void; 4] {
    LONGJMPS.each_ref().map(Function::address)
}

/// Whether this library's constructor has looked glibc's functions up.
pub(crate) fn are_looked_up() -> bool {
    !SYSCALL.address.load(Ordering::Acquire).is_null()
}

/// Where glibc's `syscall` is, once it has been looked up. (Not looked up here: after
/// `symbols::take_over` a look-up finds this library's.)
pub(crate) fn syscall() -> *mut c_void {
    SYSCALL.address.load(Ordering::Acquire)
}

/// Sets errno. Returns what a C function does that fails.
#[inline(always)]
pub(crate) fn failed(errno: c_int) -> c_long {
    // SAFETY: this thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// The errno of a C function that has just returned `result`, if it failed.
#[inline(always)]
pub(crate) fn errno_of(result: c_long) -> Option<c_int> {
    // SAFETY: this thread's own errno.
    (result == -1).then(|| unsafe { *libc::__errno_location() })
}

/// glibc's `syscall`, for what the library's own leaves to it.
///
/// Before this library's constructor, the kernel's call without glibc. A look-up then allocates in
/// glibc 2.31, where other libraries' constructors run before this one's; and jemalloc makes system
/// calls as it begins, with a mutex held that the allocation needs.
pub(crate) unsafe extern "C-unwind" fn system_call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    type Syscall = unsafe extern "C-unwind" fn(c_long, ...) -> c_long;
    // SAFETY: null, or glibc's function, which has this type.
    let glibc: Option<Syscall> = unsafe { core::mem::transmute(syscall()) };
    if let Some(glibc) = glibc {
        // SAFETY: the program's own call.
        return unsafe { glibc(number, a, b, c, d, e, f) };
    }
    // SAFETY: the program's own call.
    match unsafe { furwock::unstable::system_call(number, &[a, b, c, d, e, f]) } {
        Ok(result) => result as c_long,
        Err(errno) => failed(errno),
    }
}

/// Stands for `__libc_single_threaded` in a glibc that lacks it, as all do before 2.32: there may
/// be other threads.
static UNKNOWN: AtomicU8 = AtomicU8::new(0);
static SINGLE_THREADED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());

/// Whether the process has one thread, as far as glibc knows. glibc's own mutexes then use no
/// locked instructions.
#[inline(always)]
pub(crate) fn is_single_threaded() -> bool {
    // SAFETY: a byte of glibc's, which it writes only while there is one thread, or `UNKNOWN`.
    unsafe { (*SINGLE_THREADED.load(Ordering::Relaxed)).load(Ordering::Relaxed) != 0 }
}

fn look_up_single_threaded() {
    // SAFETY: the name ends with NUL.
    let byte = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    if !byte.is_null() {
        SINGLE_THREADED.store(byte.cast(), Ordering::Relaxed);
    }
}

unsafe extern "C-unwind" {
    /// Acts on a cancellation that is pending, by unwinding the caller's stack.
    pub(crate) fn pthread_testcancel();
    pub(crate) fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// The registration of a cleanup handler (`struct _pthread_cleanup_buffer`).
#[repr(C)]
pub(crate) struct CleanupHandler {
    routine: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    cancel_type: c_int,
    previous: *mut CleanupHandler,
}

unsafe extern "C-unwind" {
    /// Registers `routine(argument)` to be called if a cancellation, `pthread_exit` or a jump
    /// leaves the caller's frame, even past frames that can't be unwound.
    pub(crate) fn _pthread_cleanup_push(
        handler: *mut CleanupHandler,
        routine: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    /// Takes the last handler back, and calls it if `execute` isn't 0.
    pub(crate) fn _pthread_cleanup_pop(handler: *mut CleanupHandler, execute: c_int);
}

pub(crate) const PTHREAD_CANCEL_DEFERRED: c_int = 0;
pub(crate) const PTHREAD_CANCEL_ASYNCHRONOUS: c_int = 1;
pub(crate) const PTHREAD_CANCEL_ENABLE: c_int = 0;
pub(crate) const PTHREAD_CANCEL_DISABLE: c_int = 1;
