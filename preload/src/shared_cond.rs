//! Process-shared condvars: glibc serves them, but a program may wait on them with one of furwock's
//! mutexes.
//!
//! glibc's code can't release one of furwock's mutexes. Such a wait uses a stand-in: one of glibc's
//! private mutexes, chosen by the condvar's address. The waiter takes it before it releases the
//! program's mutex, and passes it to glibc's wait. Threads of this process that signal the condvar
//! take the stand-in too, so that no signal falls between the release and the wait. (A signal from
//! another process isn't ordered with a mutex that only this process has, so that it can't be
//! missed in this way.)

use crate::layout::{Mutex, MutexKind};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use libc::{pthread_cond_t, pthread_mutex_t};

use crate::glibc;

const STAND_INS: usize = 64;

#[repr(align(64))]
struct StandIn {
    mutex: UnsafeCell<pthread_mutex_t>,
    /// Whether a wait of this process has ever needed it. Until then signals needn't take it.
    needed: AtomicBool,
}

// SAFETY: a pthread mutex is made for use by several threads.
unsafe impl Sync for StandIn {}

static STAND_IN: [StandIn; STAND_INS] = [const {
    StandIn {
        mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
        needed: AtomicBool::new(false),
    }
}; STAND_INS];

/// Whether no wait of this process has needed a stand-in. (True lies in `.data`, on a page that
/// each process has touched: a child that has nothing to forget then touches no page for it.)
static UNUSED: AtomicBool = AtomicBool::new(true);

fn stand_in(cond: *mut pthread_cond_t) -> &'static StandIn {
    &STAND_IN[(cond.addr() / size_of::<pthread_cond_t>()) % STAND_INS]
}

/// In a forked child: threads of the parent may have held the stand-ins.
pub(crate) extern "C" fn forget() {
    if UNUSED.load(Ordering::Relaxed) {
        return;
    }
    for stand_in in &STAND_IN {
        // SAFETY: the child has one thread, and it isn't in here.
        unsafe { stand_in.mutex.get().write(libc::PTHREAD_MUTEX_INITIALIZER) };
    }
}

/// The program's mutex, released for a wait with a stand-in.
struct Exchanged<'m> {
    stand_in: *mut pthread_mutex_t,
    mutex: &'m Mutex,
    kind: MutexKind,
    /// It is recursive and was held more than once: one lock was taken off, as in glibc.
    nested: bool,
}

impl Exchanged<'_> {
    /// Restores the mutexes to the state that the program expects after the wait.
    fn put_back(&self) {
        // SAFETY: glibc's wait has locked the stand-in again.
        unsafe { glibc::pthread_mutex_unlock(self.stand_in) };
        if self.nested {
            self.mutex.lock_again();
        } else {
            self.mutex.raw.lock();
            self.mutex.waiter_is_back();
            self.mutex.held_as(self.kind);
        }
    }
}

/// A cleanup handler: a cancellation unwinds the wait.
unsafe extern "C-unwind" fn put_back(exchanged: *mut c_void) {
    // SAFETY: `wait` registered it with a pointer to its own `Exchanged`.
    unsafe { &*exchanged.cast::<Exchanged<'_>>() }.put_back();
}

/// Waits on a shared condvar with `glibcs`, which gets one of glibc's mutexes.
///
/// # Safety
/// The program's objects.
pub(crate) unsafe fn wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    glibcs: impl FnOnce(*mut pthread_mutex_t) -> c_int,
) -> c_int {
    // SAFETY: by this function's contract.
    let own = unsafe { Mutex::from_ptr(mutex) };
    let kind = own.kind();
    if kind == MutexKind::Glibc {
        return glibcs(mutex);
    }
    if matches!(kind, MutexKind::Recursive | MutexKind::ErrorCheck) && !own.is_own() {
        return libc::EPERM;
    }
    let stand_in = stand_in(cond);
    // Before the program's mutex is released: a thread that takes it next and signals takes the
    // stand-in too.
    stand_in.needed.store(true, Ordering::Relaxed);
    UNUSED.store(false, Ordering::Relaxed);
    let stand_in = stand_in.mutex.get();
    // SAFETY: a valid mutex, which no thread holds while it waits for the program's.
    unsafe { glibc::pthread_mutex_lock(stand_in) };
    let nested = own.is_nested();
    if nested {
        own.take_off();
    } else {
        own.expect_waiter();
        own.release();
    }
    let mut exchanged = Exchanged { stand_in, mutex: own, kind, nested };
    let mut handler = MaybeUninit::uninit();
    // SAFETY: both outlive the wait, which ends with the pop or in the handler.
    unsafe {
        glibc::_pthread_cleanup_push(
            handler.as_mut_ptr(),
            put_back,
            (&raw mut exchanged).cast::<c_void>(),
        );
        let result = glibcs(stand_in);
        glibc::_pthread_cleanup_pop(handler.as_mut_ptr(), 1);
        result
    }
}

/// Signals a shared condvar with `glibcs`.
pub(crate) fn notify(cond: *mut pthread_cond_t, glibcs: impl FnOnce() -> c_int) -> c_int {
    let stand_in = stand_in(cond);
    if !stand_in.needed.load(Ordering::Relaxed) {
        return glibcs();
    }
    // SAFETY: as in `wait`.
    unsafe { glibc::pthread_mutex_lock(stand_in.mutex.get()) };
    let result = glibcs();
    // SAFETY: locked above.
    unsafe { glibc::pthread_mutex_unlock(stand_in.mutex.get()) };
    result
}
