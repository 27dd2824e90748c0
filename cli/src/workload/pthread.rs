//! Pthread mutexes, condition variables and threads, called by their plain names so that a
//! preload can stand in for them.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr;

use super::padded::Padded;
use super::pinning;
use super::report::fail_now;
use crate::measuring::limits;

/// A lock with the data it protects beside it, as programs have them, and nothing else on the
/// cache lines.
#[repr(align(128))]
struct Locked<Raw, T> {
    raw: UnsafeCell<Raw>,
    data: UnsafeCell<T>,
}

/// A mutex with the data it protects. It is boxed because its address must never change.
pub struct Mutex<T>(Box<Locked<libc::pthread_mutex_t, T>>);

// SAFETY: the data is reached only through a guard, that is by one thread at a time.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: as above; a pthread mutex is made to be used from many threads.
unsafe impl<T: Send> Sync for Mutex<T> {}

pub struct Guard<'a, T> {
    mutex: &'a Mutex<T>,
    /// The thread that locked must be the one that unlocks.
    not_send: PhantomData<*const ()>,
}

impl<T> Mutex<T> {
    pub fn new(data: T) -> Self {
        let raw = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        Mutex(Box::new(Locked { raw, data: UnsafeCell::new(data) }))
    }

    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        // SAFETY: `raw` is initialised, and stays where it is for as long as `self` lives.
        expect("pthread_mutex_lock", unsafe { libc::pthread_mutex_lock(self.0.raw.get()) });
        Guard { mutex: self, not_send: PhantomData }
    }
}

impl<T> Drop for Mutex<T> {
    fn drop(&mut self) {
        // SAFETY: guards borrow the mutex, so none is left and nobody holds it.
        expect("pthread_mutex_destroy", unsafe { libc::pthread_mutex_destroy(self.0.raw.get()) });
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread holds the mutex for as long as the guard lives.
        unsafe { &*self.mutex.0.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.mutex.0.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread locked the mutex when it made the guard.
        let code = unsafe { libc::pthread_mutex_unlock(self.mutex.0.raw.get()) };
        expect("pthread_mutex_unlock", code);
    }
}

/// A reader-writer lock with the data it protects, boxed as the mutex is.
pub struct RwLock<T>(Box<Locked<libc::pthread_rwlock_t, T>>);

// SAFETY: a pthread rwlock may be used by any thread, and the data goes along.
unsafe impl<T: Send> Send for RwLock<T> {}
// SAFETY: readers share the data, a writer has it alone.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    pub fn new(data: T) -> Self {
        let raw = UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER);
        RwLock(Box::new(Locked { raw, data: UnsafeCell::new(data) }))
    }

    /// Runs `section` as a reader.
    #[inline]
    pub fn read<R>(&self, section: impl FnOnce(&T) -> R) -> R {
        // SAFETY: `raw` is initialised, and stays where it is for as long as `self` lives.
        let code = unsafe { libc::pthread_rwlock_rdlock(self.0.raw.get()) };
        expect("pthread_rwlock_rdlock", code);
        // SAFETY: this thread is a reader until `unlock`, and readers only look.
        let result = section(unsafe { &*self.0.data.get() });
        self.unlock();
        result
    }

    /// Runs `section` as the writer.
    #[inline]
    pub fn write<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: as in `read`.
        let code = unsafe { libc::pthread_rwlock_wrlock(self.0.raw.get()) };
        expect("pthread_rwlock_wrlock", code);
        // SAFETY: this thread is the writer, and alone, until `unlock`.
        let result = section(unsafe { &mut *self.0.data.get() });
        self.unlock();
        result
    }

    #[inline]
    fn unlock(&self) {
        // SAFETY: both callers hold the lock.
        let code = unsafe { libc::pthread_rwlock_unlock(self.0.raw.get()) };
        expect("pthread_rwlock_unlock", code);
    }
}

impl<T> Drop for RwLock<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the lock any more, and all sections are over.
        let code = unsafe { libc::pthread_rwlock_destroy(self.0.raw.get()) };
        expect("pthread_rwlock_destroy", code);
    }
}

/// A condition variable; all its waiters must come with the same mutex.
pub struct Condvar(Box<Padded<UnsafeCell<libc::pthread_cond_t>>>);

// SAFETY: a pthread condition variable is made to be used from many threads.
unsafe impl Send for Condvar {}
// SAFETY: as above.
unsafe impl Sync for Condvar {}

impl Condvar {
    pub fn new() -> Self {
        Condvar(Box::new(Padded(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER))))
    }

    pub fn wait<T>(&self, guard: &mut Guard<'_, T>) {
        let mutex = guard.mutex.0.raw.get();
        // SAFETY: both objects are initialised and stay in place; the guard proves that this
        // thread holds the mutex, and it holds it again when the call returns.
        expect("pthread_cond_wait", unsafe { libc::pthread_cond_wait(self.0.0.get(), mutex) });
    }

    pub fn signal(&self) {
        // SAFETY: the condition variable is initialised and stays in place.
        expect("pthread_cond_signal", unsafe { libc::pthread_cond_signal(self.0.0.get()) });
    }

    pub fn broadcast(&self) {
        // SAFETY: the condition variable is initialised and stays in place.
        expect("pthread_cond_broadcast", unsafe { libc::pthread_cond_broadcast(self.0.0.get()) });
    }
}

impl Drop for Condvar {
    fn drop(&mut self) {
        // SAFETY: nobody waits: a waiter would borrow what is dropped here.
        expect("pthread_cond_destroy", unsafe { libc::pthread_cond_destroy(self.0.0.get()) });
    }
}

/// A thread that returns a `T`.
pub struct Thread<T> {
    id: libc::pthread_t,
    result: PhantomData<T>,
}

/// Starts a thread; `stack_bytes` of 0 stands for the default, less than the minimum for the
/// minimum.
pub fn spawn<T, F>(stack_bytes: usize, body: F) -> Thread<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let body = Box::into_raw(Box::new(body));
    let mut id = MaybeUninit::<libc::pthread_t>::uninit();
    let code = with_stack(stack_bytes, |attributes| {
        // SAFETY: the attributes are valid or null, and `enter` takes the box that it is handed
        // here, as the type it is handed as.
        unsafe {
            libc::pthread_create(id.as_mut_ptr(), attributes, enter::<T, F>, body.cast::<c_void>())
        }
    });
    if code == libc::EAGAIN {
        let limit = limits::threads().map_or_else(String::new, |limit| format!("; {limit}"));
        fail_now(format!("the system starts no more threads{limit}"));
    }
    expect("pthread_create", code);
    // SAFETY: pthread_create succeeded, so it has written the id.
    Thread { id: unsafe { id.assume_init() }, result: PhantomData }
}

fn with_stack(
    stack_bytes: usize,
    create: impl FnOnce(*const libc::pthread_attr_t) -> c_int,
) -> c_int {
    if stack_bytes == 0 {
        return create(ptr::null());
    }
    let bytes = stack_bytes.max(stack_bytes_min());
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are initialised before they are used and destroyed after.
    unsafe {
        let attributes = attributes.as_mut_ptr();
        expect("pthread_attr_init", libc::pthread_attr_init(attributes));
        expect("pthread_attr_setstacksize", libc::pthread_attr_setstacksize(attributes, bytes));
        let code = create(attributes);
        expect("pthread_attr_destroy", libc::pthread_attr_destroy(attributes));
        code
    }
}

/// The running system's PTHREAD_STACK_MIN: it grows with the CPU's registers.
fn stack_bytes_min() -> usize {
    // SAFETY: sysconf has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_THREAD_STACK_MIN) };
    usize::try_from(bytes).unwrap_or(libc::PTHREAD_STACK_MIN)
}

extern "C" fn enter<T, F: FnOnce() -> T>(body: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` passed a box of F, and nobody else takes it.
    let body = unsafe { Box::from_raw(body.cast::<F>()) };
    pinning::settle();
    Box::into_raw(Box::new(body())).cast::<c_void>()
}

impl<T> Thread<T> {
    pub fn join(self) -> T {
        let mut result = ptr::null_mut();
        // SAFETY: the thread is joinable, and joined once: `self` is consumed.
        expect("pthread_join", unsafe { libc::pthread_join(self.id, &mut result) });
        // SAFETY: `enter` returned a box of T, and this is the only join.
        *unsafe { Box::from_raw(result.cast::<T>()) }
    }
}

/// A workload that breaks the rules of pthread, or a library that does, measures nothing.
#[inline]
fn expect(call: &str, code: c_int) {
    if code != 0 {
        fail(call, code);
    }
}

#[cold]
fn fail(call: &str, code: c_int) -> ! {
    fail_now(format!("{call}: {}", std::io::Error::from_raw_os_error(code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_small_thread_returns_what_it_counted() {
        let shared = Arc::new((Mutex::new(0u32), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let thread = spawn(1, move || {
            let mut count = theirs.0.lock();
            *count += 1;
            theirs.1.signal();
            *count
        });
        let mut count = shared.0.lock();
        while *count == 0 {
            shared.1.wait(&mut count);
        }
        drop(count);
        assert_eq!(thread.join(), 1);
    }
}
