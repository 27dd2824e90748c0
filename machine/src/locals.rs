//! What a thread's thread-locals hold.

/// What one thread has in its thread-locals.
#[derive(Debug, Default)]
pub(crate) struct Locals(Vec<Local>);

/// A value in a box of its own.
#[derive(Debug)]
pub(crate) struct Local {
    key: *const (),
    pub(crate) value: *mut (),
    pub(crate) drop: unsafe fn(*mut ()),
}

impl Local {
    pub(crate) fn new<T>(key: *const (), value: T) -> Self {
        unsafe fn drop_box<T>(value: *mut ()) {
            // SAFETY: a box's pointer, made below for this type.
            drop(unsafe { Box::from_raw(value.cast::<T>()) });
        }
        Self { key, value: Box::into_raw(Box::new(value)).cast(), drop: drop_box::<T> }
    }
}

impl Locals {
    #[inline]
    pub(crate) fn find(&self, key: *const ()) -> Option<*mut ()> {
        self.0.iter().find(|local| local.key == key).map(|local| local.value)
    }

    pub(crate) fn push(&mut self, local: Local) {
        self.0.push(local);
    }

    /// Takes out the one that was made last.
    pub(crate) fn pop(&mut self) -> Option<Local> {
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
