//! Threads by pthread_create, as other programs start theirs, so that a preload sees the same.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use super::pinning;
use super::report::fail_now;
use crate::measuring::limits;

/// A thread that returns a `T`.
pub struct Thread<T> {
    id: libc::pthread_t,
    result: PhantomData<T>,
}

/// Starts a thread. `stack_bytes` of 0 means the default; less than the minimum means the minimum.
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
        fail_now(format!("the system can't start more threads{limit}"));
    }
    expect("pthread_create", code);
    // SAFETY: pthread_create succeeded, so it has written the id.
    Thread { id: unsafe { id.assume_init() }, result: PhantomData }
}

/// Starts `count` threads that share a value. Each is given its number.
pub fn spawn_all<S, T>(
    count: usize,
    shared: &Arc<S>,
    body: impl Fn(&S, usize) -> T + Copy + Send + 'static,
) -> Vec<Thread<T>>
where
    S: Send + Sync + 'static,
    T: Send + 'static,
{
    let spawn_one = |index| {
        let shared = Arc::clone(shared);
        spawn(0, move || body(&shared, index))
    };
    (0..count).map(spawn_one).collect()
}

pub fn join_all<T>(threads: Vec<Thread<T>>) -> Vec<T> {
    threads.into_iter().map(Thread::join).collect()
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
    // SAFETY: `spawn` passed a box of F, and nothing else takes it.
    let body = unsafe { Box::from_raw(body.cast::<F>()) };
    pinning::bind_this_thread();
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

/// Ends the process if a pthread call failed: such a run measures nothing.
#[inline]
pub fn expect(call: &str, code: c_int) {
    if code != 0 {
        fail(call, code);
    }
}

#[cold]
fn fail(call: &str, code: c_int) -> ! {
    fail_now(format!("{call}: {}", std::io::Error::from_raw_os_error(code)))
}
