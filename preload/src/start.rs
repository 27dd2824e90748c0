//! What happens before the program and the other libraries start.

use crate::environment::Environment;
use crate::recording;
use crate::say::say;
use crate::{
    clone, glibc, layout, longjmp, sandbox, say, shared_cond, symbols, syscall, tools, unwinder,
    warn,
};
use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;
use furwock::unstable::Unprepared;

/// In `.init_array` of a library that asks to be initialised first.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = start;

/// # Safety
/// `environment` is what the loader gives to constructors.
unsafe extern "C" fn start(
    _argc: c_int,
    _argv: *const *const c_char,
    environment: *mut *mut c_char,
) {
    // SAFETY: by this function's contract; nothing else runs yet.
    let mut environment = unsafe { Environment::new(environment) };
    if environment.asked(c"FURWOCK_QUIET") == Some(c"1") {
        say::be_quiet();
    }
    if environment.asked(c"FURWOCK_CHILDREN") == Some(c"0") {
        environment.forget_this_library();
    }
    // Functions that a handler may leave also let a panic through, which must not reach the
    // program.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("furwock: {panic}");
        std::process::abort();
    }));
    glibc::look_up();
    longjmp::look_up();
    let takes_futex = environment.asked(c"FURWOCK_FUTEX") != Some(c"0");
    match tools::find(&environment).map_or_else(take_over, Err) {
        Ok(()) => {
            syscall::start(takes_futex);
            recording::start(&environment);
            monitor(&environment);
            // (rr ends a program at a system call's option that it doesn't know.)
            if environment.get(c"RUNNING_UNDER_RR").is_none() {
                furwock::unstable::enlarge_kernel_table();
            }
            if let Some(after) = environment.asked(c"FURWOCK_WARN_AFTER") {
                warn::start(after);
            }
        }
        Err(why) => {
            layout::turn_off();
            syscall::start(false);
            say(why);
        }
    }
}

/// Takes up what `furwock run --monitor` tells, if it reached this process: programs may have
/// closed the descriptor.
fn monitor(environment: &Environment) {
    let Some(number) = environment.asked(c"FURWOCK_MONITOR") else { return };
    if let Some(descriptor) = number.to_str().ok().and_then(|number| number.parse().ok()) {
        furwock::unstable::monitor::watch(descriptor);
    }
}

/// Prepares furwock to serve the program, unless something rules that out.
fn take_over() -> Result<(), &'static str> {
    match find_cond_flags() {
        Some(word) if mutex_kinds_are_where_expected() => layout::set_cond_flags_at(word),
        _ => {
            return Err(
                "this glibc lays out its mutexes or condvars in a way that furwock doesn't \
                 know: the program runs on glibc's own",
            );
        }
    }
    if !longjmp::is_known() {
        return Err(
            "this glibc lays out its jump buffers in a way that furwock doesn't know: the \
                    program runs on glibc's own locks",
        );
    }
    // The table and the fork handlers, before a sandbox forbids their system calls, and while
    // nothing can hold a lock that they need.
    furwock::unstable::try_prepare().map_err(|why| match why {
        Unprepared::NoMemory => {
            "the kernel gives no memory for the wait queues: the program runs on glibc's own locks"
        }
        Unprepared::NoFutex => {
            "the kernel refuses private futexes: the program runs on glibc's own locks"
        }
    })?;
    if !rwlocks_are_laid_out_as_expected() {
        layout::turn_off_rwlocks();
        say(
            "this glibc lays out its rwlocks in a way that furwock doesn't know: they stay glibc's own",
        );
    }
    if !semaphores_are_laid_out_as_expected() {
        layout::turn_off_semaphores();
        say(
            "this glibc lays out its semaphores in a way that furwock doesn't know: they stay glibc's \
             own",
        );
    }
    if !barriers_are_laid_out_as_expected() {
        layout::turn_off_barriers();
        say(
            "this glibc lays out its barriers in a way that furwock doesn't know: they stay glibc's \
             own",
        );
    }
    // SAFETY: a handler of the right type, in a library that is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    unwinder::look_up_if_loaded();
    clone::look_up();
    // Last, so that all look-ups so far have found glibc's own functions.
    symbols::take_over();
    Ok(())
}

/// In a forked child.
unsafe extern "C" fn forked() {
    recording::forked();
    sandbox::forked();
    shared_cond::forget();
}

/// Which 32-bit word of a condvar glibc marks when it is told to use the monotonic clock.
fn find_cond_flags() -> Option<usize> {
    const WORDS: usize = size_of::<libc::pthread_cond_t>() / size_of::<u32>();
    let mut attr = MaybeUninit::uninit();
    let mut cond = MaybeUninit::<libc::pthread_cond_t>::zeroed();
    // SAFETY: each object is initialised before it is used, and no other code sees it.
    let words: [u32; WORDS] = unsafe {
        libc::pthread_condattr_init(attr.as_mut_ptr());
        libc::pthread_condattr_setclock(attr.as_mut_ptr(), libc::CLOCK_MONOTONIC);
        glibc::pthread_cond_init(cond.as_mut_ptr(), attr.as_ptr());
        libc::pthread_condattr_destroy(attr.as_mut_ptr());
        core::mem::transmute(cond)
    };
    let mut marked = (0..WORDS).filter(|&at| words[at] != 0);
    let at = marked.next().filter(|&at| at != 0 && words[at] == 2)?;
    marked.next().is_none().then_some(at)
}

/// Whether furwock recognises a recursive mutex that glibc initialised.
fn mutex_kinds_are_where_expected() -> bool {
    let mut attr = MaybeUninit::uninit();
    let mut mutex = MaybeUninit::<libc::pthread_mutex_t>::zeroed();
    // SAFETY: as in `find_cond_flags`. The mutex is never locked.
    unsafe {
        libc::pthread_mutexattr_init(attr.as_mut_ptr());
        libc::pthread_mutexattr_settype(attr.as_mut_ptr(), libc::PTHREAD_MUTEX_RECURSIVE);
        libc::pthread_mutex_init(mutex.as_mut_ptr(), attr.as_ptr());
        libc::pthread_mutexattr_destroy(attr.as_mut_ptr());
        layout::Mutex::from_ptr(mutex.as_mut_ptr()).kind() == layout::MutexKind::Recursive
    }
}

unsafe extern "C" {
    fn pthread_rwlockattr_setkind_np(attr: *mut libc::pthread_rwlockattr_t, kind: c_int) -> c_int;
}

/// Whether furwock reads back an attribute that glibc wrote.
fn rwlocks_are_laid_out_as_expected() -> bool {
    let kind = layout::RWLOCK_PREFER_WRITER_NONRECURSIVE;
    let mut attr = MaybeUninit::uninit();
    let mut private = MaybeUninit::<libc::pthread_rwlock_t>::zeroed();
    let mut shared = MaybeUninit::<libc::pthread_rwlock_t>::zeroed();
    // SAFETY: as in `find_cond_flags`. The locks are never locked.
    unsafe {
        libc::pthread_rwlockattr_init(attr.as_mut_ptr());
        pthread_rwlockattr_setkind_np(attr.as_mut_ptr(), kind as c_int);
        libc::pthread_rwlock_init(private.as_mut_ptr(), attr.as_ptr());
        libc::pthread_rwlockattr_setpshared(attr.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_rwlock_init(shared.as_mut_ptr(), attr.as_ptr());
        libc::pthread_rwlockattr_destroy(attr.as_mut_ptr());
        let private = layout::RwLock::from_ptr(private.as_mut_ptr());
        let shared = layout::RwLock::from_ptr(shared.as_mut_ptr());
        private.kind() == kind
            && private.is_shared() == Some(false)
            && shared.is_shared() == Some(true)
    }
}

/// Whether furwock reads back what `sem_init` writes.
fn semaphores_are_laid_out_as_expected() -> bool {
    const PERMITS: u32 = 5;
    let mut private = MaybeUninit::<libc::sem_t>::zeroed();
    let mut shared = MaybeUninit::<libc::sem_t>::zeroed();
    // SAFETY: as in `find_cond_flags`.
    unsafe {
        libc::sem_init(private.as_mut_ptr(), 0, PERMITS);
        libc::sem_init(shared.as_mut_ptr(), 1, PERMITS);
        let private = layout::Semaphore::from_ptr(private.as_mut_ptr());
        let shared = layout::Semaphore::from_ptr(shared.as_mut_ptr());
        private.is_ours() && !shared.is_ours() && private.raw.available() == PERMITS
    }
}

/// Whether furwock reads back what `pthread_barrier_init` writes.
fn barriers_are_laid_out_as_expected() -> bool {
    const COUNT: u32 = 5;
    let mut attr = MaybeUninit::uninit();
    let mut private = MaybeUninit::<libc::pthread_barrier_t>::zeroed();
    let mut shared = MaybeUninit::<libc::pthread_barrier_t>::zeroed();
    // SAFETY: as in `find_cond_flags`.
    unsafe {
        libc::pthread_barrier_init(private.as_mut_ptr(), core::ptr::null(), COUNT);
        libc::pthread_barrierattr_init(attr.as_mut_ptr());
        libc::pthread_barrierattr_setpshared(attr.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_barrier_init(shared.as_mut_ptr(), attr.as_ptr(), COUNT);
        libc::pthread_barrierattr_destroy(attr.as_mut_ptr());
        let private = layout::Barrier::from_ptr(private.as_mut_ptr());
        let shared = layout::Barrier::from_ptr(shared.as_mut_ptr());
        private.is_ours() && !shared.is_ours() && private.count() == COUNT
    }
}
