//! Thread-locals of simulated threads. Outside of a simulation they are the host thread's.

use crate::world::World;
use std::cell::RefCell;

/// Defines thread-locals, as std's macro of that name does: `static NAME: Type = value;`.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $of:ty = $value:expr;)*) => {$(
        $(#[$meta])*
        $vis static $name: $crate::LocalKey<$of> = $crate::LocalKey::new(|| $value);
    )*};
}

/// A thread-local, defined by [`thread_local!`](crate::thread_local).
#[derive(Debug)]
pub struct LocalKey<T: 'static> {
    make: fn() -> T,
}

/// What one thread has in its thread-locals.
#[derive(Debug, Default)]
pub(crate) struct Locals(Vec<Local>);

/// A value in a box of its own.
#[derive(Debug)]
struct Local {
    key: *const (),
    value: *mut (),
    drop: unsafe fn(*mut ()),
}

impl Local {
    fn new<T>(key: *const (), value: T) -> Self {
        unsafe fn drop_box<T>(value: *mut ()) {
            // SAFETY: a box's pointer, made below for this type.
            drop(unsafe { Box::from_raw(value.cast::<T>()) });
        }
        Self { key, value: Box::into_raw(Box::new(value)).cast(), drop: drop_box::<T> }
    }
}

impl Locals {
    #[inline]
    fn find(&self, key: *const ()) -> Option<*mut ()> {
        self.0.iter().find(|local| local.key == key).map(|local| local.value)
    }

    /// Takes out the one that was made last.
    fn pop(&mut self) -> Option<Local> {
        self.0.pop()
    }
}

impl Drop for Locals {
    fn drop(&mut self) {
        while let Some(local) = self.pop() {
            // SAFETY: the value is the type's that `drop` is for, and found by no other any more.
            unsafe { (local.drop)(local.value) };
        }
    }
}

std::thread_local! {
    static HOST: RefCell<Locals> = RefCell::default();
}

/// Calls `f` with the calling thread's.
fn with_locals<R>(f: impl FnOnce(&mut Locals) -> R) -> R {
    match World::current() {
        // SAFETY: the world of the running simulation. `f` doesn't run simulated code.
        Some(world) => unsafe {
            let here = &mut *world;
            f(&mut here.threads[here.running].locals)
        },
        None => HOST.with_borrow_mut(f),
    }
}

impl<T: 'static> LocalKey<T> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Self {
        Self { make }
    }

    /// Calls `f` with the calling thread's value, which is made at the first call and dropped when
    /// the thread ends.
    #[inline]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = core::ptr::from_ref(self).cast::<()>();
        let value = with_locals(|locals| locals.find(key)).unwrap_or_else(|| self.make(key));
        // SAFETY: made for this key, so that it is a `T`. It is dropped by its own thread only, at
        // its end, and `f` can't keep the reference.
        f(unsafe { &*value.cast::<T>() })
    }

    #[cold]
    fn make(&'static self, key: *const ()) -> *mut () {
        let local = Local::new(key, (self.make)());
        let value = local.value;
        with_locals(|locals| locals.0.push(local));
        value
    }
}

/// Drops the running simulated thread's, the last first: they may make others as they go.
pub(crate) fn drop_own() {
    while let Some(local) = with_locals(Locals::pop) {
        // SAFETY: as in `Locals::drop`.
        unsafe { (local.drop)(local.value) };
    }
}
