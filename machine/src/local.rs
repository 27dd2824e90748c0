//! Thread-locals of simulated threads. Outside of a simulation they are the host thread's.

use crate::locals::{Local, Locals};
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
        with_locals(|locals| locals.push(local));
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
