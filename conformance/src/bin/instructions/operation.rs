//! One thing that is counted.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// What to call, and what it goes by in the changelog.
pub struct Operation {
    name: &'static str,
    run: Box<dyn Fn() -> c_int>,
}

impl Operation {
    /// `run` returns 0 if all went as it should: another path has another count.
    pub fn new(name: &'static str, run: impl Fn() -> c_int + 'static) -> Self {
        Self { name, run: Box::new(run) }
    }

    /// One call of each of `functions` with `object`.
    pub fn calls<T: 'static, const COUNT: usize>(
        name: &'static str,
        functions: [Function<T>; COUNT],
        object: Object<T>,
    ) -> Self {
        Self::new(name, move || {
            // SAFETY: an object that lives as long as the process. Its caller put the functions together.
            functions.iter().fold(0, |result, function| result | unsafe { function(object.0) })
        })
    }

    pub fn name(&self) -> &str {
        self.name
    }

    #[inline(always)]
    pub fn run(&self) -> c_int {
        (self.run)()
    }
}

/// Something that lives as long as the process: the operations that use it do.
pub fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A C function of one object, which returns 0 if all went well.
pub type Function<T> = unsafe extern "C" fn(*mut T) -> c_int;

/// An object of C's that lives as long as the process.
pub struct Object<T>(pub *mut T);

impl<T> Clone for Object<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<T> {}

/// Zero bytes, as C's static objects have them.
pub fn zeroed<T: 'static>() -> Object<T> {
    Object(kept(UnsafeCell::new(MaybeUninit::<T>::zeroed())).get().cast())
}
