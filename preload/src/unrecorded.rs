//! In place of `recording`: records nothing. All of it is gone once compiled.

use crate::environment::Environment;
use furwock::lock::Status;

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
pub(crate) fn count<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn left_to_glibc() {}

#[inline(always)]
pub(crate) fn released<T>(_: *const T) {}

#[inline(always)]
pub(crate) fn released_to_waiters<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn destroyed<T>(_: *const T, _: Kind) {}

#[inline(always)]
pub(crate) fn jumped(_: impl Fn(usize) -> bool) {}
