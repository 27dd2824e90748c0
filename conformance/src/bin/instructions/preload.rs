//! The preload's operations: pthread's and C11's functions, and `syscall`.

use crate::loaded::Library;
use crate::operation::{Function, Object, Operation, zeroed};
use libc::{
    EAGAIN, PTHREAD_BARRIER_SERIAL_THREAD, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_ERRORCHECK,
    PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, c_long, pthread_barrier_t, pthread_mutex_t,
    pthread_once_t, pthread_rwlock_t, pthread_spinlock_t, sem_t,
};
use std::ffi::{OsStr, c_int};
use std::mem::MaybeUninit;
use std::ptr::null;

pub fn operations(file: &OsStr) -> Vec<Operation> {
    let library = Library::load(file, c"pthread_mutex_lock");
    check_is_on(&library);
    [mutexes(&library), rwlocks(&library), others(&library), words(&library)]
        .into_iter()
        .flatten()
        .collect()
}

/// Asserts that the library serves this program: its mutexes hold their owner's id in the word that
/// holds 1 with glibc.
fn check_is_on(library: &Library) {
    let mutex = mutex(PTHREAD_MUTEX_NORMAL);
    // SAFETY: pthread's types, and a mutex's first word.
    let word = unsafe {
        let lock: Function<pthread_mutex_t> = library.function(c"pthread_mutex_lock");
        let unlock: Function<pthread_mutex_t> = library.function(c"pthread_mutex_unlock");
        assert_eq!(lock(mutex.0), 0);
        let word = mutex.0.cast::<u32>().read_volatile();
        assert_eq!(unlock(mutex.0), 0);
        word
    };
    assert_ne!(word, 1, "the library has turned itself off, for the reason printed above");
}

/// A mutex of that kind. glibc marks even a normal one, if it is asked for explicitly.
fn mutex(kind: c_int) -> Object<pthread_mutex_t> {
    let mutex = zeroed();
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: each object is initialised before it is used.
    unsafe {
        assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
        assert_eq!(libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind), 0);
        assert_eq!(libc::pthread_mutex_init(mutex.0, attributes.as_ptr()), 0);
    }
    mutex
}

fn mutexes(library: &Library) -> Vec<Operation> {
    // SAFETY: pthread's and C11's types; glibc's `mtx_t` is a mutex of pthread's.
    let function = |name| unsafe { library.function::<Function<pthread_mutex_t>>(name) };
    let (lock, unlock) = (function(c"pthread_mutex_lock"), function(c"pthread_mutex_unlock"));
    let pair = [lock, unlock];
    let try_pair = [function(c"pthread_mutex_trylock"), unlock];
    let c11_pair = [function(c"mtx_lock"), function(c"mtx_unlock")];
    let (default, normal) = (zeroed(), mutex(PTHREAD_MUTEX_NORMAL));
    let recursive = mutex(PTHREAD_MUTEX_RECURSIVE);
    let held = mutex(PTHREAD_MUTEX_RECURSIVE);
    // SAFETY: a mutex that lives as long as the process.
    assert_eq!(unsafe { lock(held.0) }, 0);
    vec![
        Operation::calls("mutex", pair, default),
        Operation::calls("mutex normal", pair, normal),
        Operation::calls("mutex adaptive", pair, mutex(PTHREAD_MUTEX_ADAPTIVE_NP)),
        Operation::calls("mutex errorcheck", pair, mutex(PTHREAD_MUTEX_ERRORCHECK)),
        Operation::calls("mutex recursive", pair, recursive),
        Operation::calls("mutex recursive again", pair, held),
        Operation::calls("mutex trylock", try_pair, default),
        Operation::calls("mtx", c11_pair, normal),
    ]
}

fn rwlocks(library: &Library) -> Vec<Operation> {
    // SAFETY: pthread's types.
    let function = |name| unsafe { library.function::<Function<pthread_rwlock_t>>(name) };
    let rdlock = function(c"pthread_rwlock_rdlock");
    let wrlock = function(c"pthread_rwlock_wrlock");
    let unlock = function(c"pthread_rwlock_unlock");
    let (biased, lock) = (zeroed(), zeroed());
    vec![
        Operation::calls("rwlock read", [rdlock, unlock], biased),
        Operation::calls("rwlock read twice", [rdlock, rdlock, unlock, unlock], biased),
        Operation::calls("rwlock write", [wrlock, unlock], lock),
        Operation::calls("rwlock write and read", [wrlock, unlock, rdlock, unlock], lock),
    ]
}

fn others(library: &Library) -> Vec<Operation> {
    type OnCond = Function<libc::pthread_cond_t>;
    type OnSemaphore = Function<sem_t>;
    type Once = unsafe extern "C" fn(*mut pthread_once_t, extern "C" fn()) -> c_int;
    // SAFETY: pthread's types. (To unlock a spinlock is glibc's.)
    let (signal, broadcast, sem_wait, sem_post, spin_lock, wait, once) = unsafe {
        (
            library.function::<OnCond>(c"pthread_cond_signal"),
            library.function::<OnCond>(c"pthread_cond_broadcast"),
            library.function::<OnSemaphore>(c"sem_wait"),
            library.function::<OnSemaphore>(c"sem_post"),
            library.function::<Function<pthread_spinlock_t>>(c"pthread_spin_lock"),
            library.function::<Function<pthread_barrier_t>>(c"pthread_barrier_wait"),
            library.function::<Once>(c"pthread_once"),
        )
    };
    let (cond, semaphore, spinlock, barrier) = (zeroed(), zeroed(), zeroed(), zeroed());
    // SAFETY: objects that live as long as the process.
    unsafe {
        assert_eq!(libc::sem_init(semaphore.0, 0, 1), 0);
        assert_eq!(libc::pthread_spin_init(spinlock.0, libc::PTHREAD_PROCESS_PRIVATE), 0);
        assert_eq!(libc::pthread_barrier_init(barrier.0, null(), 1), 0);
    }
    let control = zeroed::<pthread_once_t>().0;
    vec![
        Operation::calls("cond signal", [signal], cond),
        Operation::calls("cond broadcast", [broadcast], cond),
        Operation::calls("semaphore", [sem_wait, sem_post], semaphore),
        Operation::calls("spinlock", [spin_lock, libc::pthread_spin_unlock], spinlock),
        // SAFETY: a barrier that lives as long as the process.
        Operation::new("barrier of one", move || unsafe {
            wait(barrier.0) ^ PTHREAD_BARRIER_SERIAL_THREAD
        }),
        // SAFETY: a control that lives as long as the process.
        Operation::new("once", move || unsafe { once(control, do_nothing) }),
    ]
}

extern "C" fn do_nothing() {}

/// A wake that finds no waiter goes on to the kernel, and so isn't among these.
fn words(library: &Library) -> Vec<Operation> {
    type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
    // SAFETY: libc's type.
    let syscall: Syscall = unsafe { library.function(c"syscall") };
    let word = zeroed::<u32>().0;
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    vec![Operation::new("futex wait mismatch", move || {
        // SAFETY: a word that lives as long as the process. It says -1, and EAGAIN in errno.
        unsafe {
            let result = syscall(libc::SYS_futex, word, wait, 1, null::<libc::timespec>());
            (result as c_int + 1) | (*libc::__errno_location() ^ EAGAIN)
        }
    })]
}
