//! `clone`: which thread id a child with memory of its own goes by.
//!
//! No fork handler runs in such a child. glibc goes on with the id that the calling thread has in
//! the parent, and so does furwock. A program may put glibc's right: Firefox and Chromium write the
//! new id where glibc keeps it, and look who owns a recursive mutex before and after. So a child
//! that `clone` has made compares the two ids at each lock of a mutex with rules of its own.

use crate::glibc;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use furwock::lock::thread_id;
use furwock::unstable::{known_thread_id, refresh_thread_id};

/// What a child calls first.
pub(crate) type Function = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// Bytes from what `pthread_self` returns to glibc's thread id; 0 if that isn't known.
static ID_AT: AtomicUsize = AtomicUsize::new(0);

/// Whether `clone` has made this process.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// glibc describes its threads to debuggers: a field's size in bits, how many there are, and where.
pub(crate) fn look_up() {
    // SAFETY: a C string.
    let field = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_thread_db_pthread_tid".as_ptr()) };
    if field.is_null() {
        return;
    }
    // SAFETY: three numbers.
    let [bits, _, offset] = unsafe { field.cast::<[u32; 3]>().read() };
    let offset = offset as usize;
    // SAFETY: where glibc says.
    if bits == u32::BITS && unsafe { id_at(offset) } == thread_id() {
        ID_AT.store(offset, Ordering::Relaxed);
    }
}

/// # Safety
/// glibc's id of this thread is there.
unsafe fn id_at(offset: usize) -> u32 {
    // SAFETY: the calling thread's own structure; by this function's contract.
    let id = unsafe { (libc::pthread_self() as *const u8).add(offset).cast::<AtomicU32>() };
    // SAFETY: the same.
    unsafe { &*id }.load(Ordering::Relaxed)
}

/// What a child with memory of its own calls in place of the program's function.
struct Start {
    function: Function,
    argument: *mut c_void,
}

/// Linux's `clone`. Callers give as many of the last three as their flags need.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clone(
    function: Option<Function>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: usize,
    storage: usize,
    child: usize,
) -> c_int {
    let knows_id = ID_AT.load(Ordering::Relaxed) != 0;
    let (function, stack, argument) = match function {
        Some(function) if flags & libc::CLONE_VM == 0 && knows_id && !stack.is_null() => {
            // Else the child would ask for its own.
            thread_id();
            // On the child's stack, as glibc passes the function itself: the caller's may be memory
            // that the two share. It grows downwards.
            let top = stack.map_addr(|top| (top - size_of::<Start>()) & !15).cast::<Start>();
            // SAFETY: the child's stack, which nothing uses yet.
            unsafe { top.write(Start { function, argument }) };
            (Some(begin as Function), top.cast(), top.cast())
        }
        function => (function, stack, argument),
    };
    // SAFETY: by this function's contract.
    unsafe { glibc::clone(function, stack, flags, argument, parent, storage, child) }
}

/// Has nothing to drop: the function may leave by `longjmp`.
unsafe extern "C-unwind" fn begin(start: *mut c_void) -> c_int {
    IS_CHILD.store(true, Ordering::Relaxed);
    // SAFETY: what `clone` passed, and the program's function.
    unsafe {
        let Start { function, argument } = start.cast::<Start>().read();
        function(argument)
    }
}

/// Whether `clone` has made this process, with memory of its own.
#[inline(always)]
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Goes by another thread id, if glibc does.
#[inline(always)]
pub(crate) fn follow_glibc() {
    if is_child() {
        follow();
    }
}

#[cold]
#[inline(never)]
extern "C" fn follow() {
    // SAFETY: `look_up` has found it there.
    let id = unsafe { id_at(ID_AT.load(Ordering::Relaxed)) };
    // SAFETY: no arguments.
    if id != known_thread_id() && id == unsafe { libc::gettid() } as u32 {
        refresh_thread_id();
    }
}
