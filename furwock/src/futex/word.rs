//! What can be waited on.

use crate::prim::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

mod sealed {
    pub trait Sealed {}
}

/// An atomic that threads can wait on: 32 and 64 bits wide, and pointers.
///
/// Sealed: the engine relies on a word's address being its own for as long as it is borrowed.
pub trait Word: sealed::Sealed + Sync {
    /// What the word holds.
    type Value: Copy + PartialEq;

    /// What the word holds now.
    #[doc(hidden)]
    fn value(&self) -> Self::Value;

    /// Where its waiters queue.
    #[doc(hidden)]
    #[inline]
    fn key(&self) -> usize {
        core::ptr::from_ref(self).cast::<()>().addr()
    }
}

macro_rules! words {
    ($($atomic:ty => $value:ty),* $(,)?) => {$(
        impl sealed::Sealed for $atomic {}

        impl Word for $atomic {
            type Value = $value;

            #[inline]
            fn value(&self) -> $value {
                self.load(Ordering::SeqCst)
            }
        }
    )*};
}

words! {
    AtomicU32 => u32,
    AtomicI32 => i32,
    AtomicU64 => u64,
    AtomicI64 => i64,
    AtomicUsize => usize,
    AtomicIsize => isize,
}

impl<T> sealed::Sealed for AtomicPtr<T> {}

impl<T> Word for AtomicPtr<T> {
    type Value = *mut T;

    #[inline]
    fn value(&self) -> *mut T {
        self.load(Ordering::SeqCst)
    }
}
