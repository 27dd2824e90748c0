//! In place of `recording`: records nothing. All of it is gone once compiled.

use crate::environment::Environment;
use core::ffi::{c_int, c_void};
use furwock::lock::Status;

/// Whether this library records.
pub(crate) const IS_ON: bool = false;

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Mutex,
    RwLock,
    Condvar,
    Semaphore,
    Barrier,
    Word,
    Spin,
}

#[allow(dead_code, reason = "read by the module that it stands for")]
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    Held(Status),
    Got(Status),
    Over,
    OverHeld,
    TimedOut,
    Not,
}

pub(crate) struct Wait;

impl Wait {
    #[inline(always)]
    pub(crate) fn begin<T>(_: *const T, _: Kind, _: impl FnOnce() -> u32) -> Self {
        Wait
    }

    #[inline(always)]
    pub(crate) fn to_relock<T>(_: *const T, _: impl FnOnce() -> u32) -> Self {
        Wait
    }

    #[inline(always)]
    pub(crate) fn end(self, _: impl FnOnce() -> Ended) {}
}

#[inline(always)]
pub(crate) fn start(_: &Environment) {}

#[inline(always)]
pub(crate) fn forked() {}

#[inline(always)]
pub(crate) fn before_sandbox() {}

#[inline(always)]
pub(crate) fn before_glibc(glibc: *mut c_void) -> *mut c_void {
    glibc
}

#[inline(always)]
pub(crate) fn count<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn count_hold<T>(_: *const T, _: Kind) -> c_int {
    0
}

#[inline(always)]
pub(crate) fn left_to_glibc() {}

#[inline(always)]
pub(crate) fn released<T>(_: *const T) -> c_int {
    0
}

#[inline(always)]
pub(crate) fn released_to_waiters<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn made<T>(_: *const T, _: Kind, _: impl FnOnce() -> bool) {}

#[inline(always)]
pub(crate) fn destroyed<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn jumped(_: impl Fn(usize) -> bool) {}

#[allow(dead_code, reason = "read by the module that it stands for")]
#[derive(Clone, Copy)]
pub(crate) enum Again {
    Returns,
    Waits,
    ReadsReturn,
    ReadsWait,
}

#[allow(dead_code, reason = "read by the module that it stands for")]
#[derive(Clone, Copy)]
pub(crate) struct Take {
    pub(crate) reads: bool,
    pub(crate) waits: bool,
    pub(crate) again: Again,
}

#[inline(always)]
pub(crate) fn orders() -> bool {
    false
}

#[inline(always)]
pub(crate) fn ordered<T>(_: *const T, _: Kind, _: Take, call: impl FnOnce() -> c_int) -> c_int {
    call()
}

#[inline(always)]
pub(crate) fn releases<T>(_: *const T) {}

#[inline(always)]
pub(crate) fn waits_for<T>(_: *const T, _: Kind, _: usize, _: bool) {}

#[inline(always)]
pub(crate) fn waited_for(_: usize, _: Again) {}

#[inline(always)]
pub(crate) fn wakes<T>(_: *const T, _: Kind) {}
