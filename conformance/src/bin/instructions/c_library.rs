//! The C library's operations.

use crate::loaded::Library;
use crate::operation::{Function, Operation, zeroed};
use libc::EAGAIN;
use std::ffi::{CStr, OsStr, c_int, c_long, c_void};
use std::ptr::{null, null_mut};

type Wake = unsafe extern "C" fn(*const c_void, usize) -> usize;
type Wait = unsafe extern "C" fn(*const c_void, u32, *const c_void) -> c_int;
type Futex = unsafe extern "C" fn(*mut u32, c_int, u32, *const c_void, *mut u32, u32) -> c_long;

struct Functions(Library);

impl Functions {
    fn on_word(&self, name: &CStr) -> Function<u32> {
        // SAFETY: callers name functions of furwock.h that take a mutex or a condvar, of one 32-bit
        // word.
        unsafe { self.0.function(name) }
    }

    fn on_rwlock(&self, name: &CStr) -> Function<u64> {
        // SAFETY: callers name functions of furwock.h that take a rwlock, of one 64-bit word.
        unsafe { self.0.function(name) }
    }
}

pub fn operations(file: &OsStr) -> Vec<Operation> {
    let functions = Functions(Library::load(file, c"furwock_mutex_lock"));
    [mutex(&functions), rwlock(&functions), words(&functions)].into_iter().flatten().collect()
}

fn mutex(functions: &Functions) -> Vec<Operation> {
    let function = |name| functions.on_word(name);
    let (mutex, condvar) = (zeroed(), zeroed());
    let unlock = function(c"furwock_mutex_unlock");
    let signal = function(c"furwock_condvar_signal");
    let broadcast = function(c"furwock_condvar_broadcast");
    vec![
        Operation::calls("mutex", [function(c"furwock_mutex_lock"), unlock], mutex),
        Operation::calls("mutex trylock", [function(c"furwock_mutex_trylock"), unlock], mutex),
        Operation::calls("condvar signal", [signal], condvar),
        Operation::calls("condvar broadcast", [broadcast], condvar),
    ]
}

fn rwlock(functions: &Functions) -> Vec<Operation> {
    let function = |name| functions.on_rwlock(name);
    let (biased, lock) = (zeroed(), zeroed());
    let (rdlock, rdunlock) =
        (function(c"furwock_rwlock_rdlock"), function(c"furwock_rwlock_rdunlock"));
    let (wrlock, wrunlock) =
        (function(c"furwock_rwlock_wrlock"), function(c"furwock_rwlock_wrunlock"));
    vec![
        Operation::calls("rwlock read", [rdlock, rdunlock], biased),
        Operation::calls("rwlock read twice", [rdlock, rdlock, rdunlock, rdunlock], biased),
        Operation::calls("rwlock write", [wrlock, wrunlock], lock),
        Operation::calls("rwlock write and read", [wrlock, wrunlock, rdlock, rdunlock], lock),
    ]
}

fn words(functions: &Functions) -> Vec<Operation> {
    let library = &functions.0;
    // SAFETY: furwock.h's types.
    let (wake, wait, futex): (Wake, Wait, Futex) = unsafe {
        (
            library.function(c"furwock_wake"),
            library.function(c"furwock_wait32"),
            library.function(c"furwock_futex"),
        )
    };
    let word = zeroed::<u32>().0;
    let (wake_op, wait_op) =
        (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG);
    vec![
        // SAFETY: a word that lives as long as the process.
        Operation::new("wake", move || unsafe { wake(word.cast(), 1) as c_int }),
        // SAFETY: such a word, and no deadline.
        Operation::new("wait mismatch", move || unsafe { wait(word.cast(), 1, null()) ^ EAGAIN }),
        // SAFETY: such a word; this operation looks at no other.
        Operation::new("futex wake", move || unsafe {
            futex(word, wake_op, 1, null(), null_mut(), 0) as c_int
        }),
        // SAFETY: the same, and no deadline. It says -1.
        Operation::new("futex wait mismatch", move || unsafe {
            futex(word, wait_op, 1, null(), null_mut(), 0) as c_int + 1
        }),
    ]
}
