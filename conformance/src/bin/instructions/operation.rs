//! One thing that is counted.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// A call, and its name in docs/instruction-counts.txt.
pub struct Operation {
    name: &'static str,
    run: Call,
    around: Call,
}

/// Returns 0 if it took the intended path: another has another count.
type Call = Box<dyn Fn() -> c_int>;

impl Operation {
    /// All that `run` does is counted.
    pub fn new(name: &'static str, run: impl Fn() -> c_int + 'static) -> Self {
        Self { name, run: Box::new(run), around: Box::new(|| 0) }
    }

    /// One call of each of `functions` with `object`. The cost of a function that does nothing
    /// isn't counted.
    pub fn calls<T: 'static, const COUNT: usize>(
        name: &'static str,
        functions: [Function<T>; COUNT],
        object: Object<T>,
    ) -> Self {
        let around = [do_nothing as Function<T>; COUNT];
        Self { name, run: called(functions, object), around: called(around, object) }
    }

    pub fn name(&self) -> &str {
        self.name
    }

    pub fn run(&self) -> &dyn Fn() -> c_int {
        &self.run
    }

    /// The code around the operation, which isn't counted.
    pub fn around(&self) -> &dyn Fn() -> c_int {
        &self.around
    }
}

fn called<T: 'static, const COUNT: usize>(
    functions: [Function<T>; COUNT],
    object: Object<T>,
) -> Call {
    Box::new(move || {
        // SAFETY: an object that lives as long as the process; the code that made the operation put
        // functions together that may be called in turn.
        functions.iter().fold(0, |result, function| result | unsafe { function(object.0) })
    })
}

unsafe extern "C" fn do_nothing<T>(_object: *mut T) -> c_int {
    0
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
