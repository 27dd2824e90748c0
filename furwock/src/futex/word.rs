//! What can be waited on.

use crate::lot::Key;
use crate::prim::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

pub(super) mod sealed {
    use crate::lot::Key;

    /// A word of any width, as waits on many words see it.
    pub trait Bits: Sync {
        /// The key that its waiters queue under.
        fn key(&self) -> Key;

        /// Its current value, read with `SeqCst`, in the low bits.
        fn bits(&self) -> u64;
    }
}

/// An atomic that threads can wait on: 8, 16, 32 or 64 bits wide, or a pointer.
///
/// Sealed: the engine relies on a word's address being its own for as long as it is borrowed.
pub trait Word: sealed::Bits {
    /// What the word holds.
    type Value: Copy + PartialEq;

    /// What the word holds now.
    #[doc(hidden)]
    fn value(&self) -> Self::Value;

    #[doc(hidden)]
    fn to_bits(value: Self::Value) -> u64;
}

#[inline]
fn key<W>(word: &W) -> Key {
    Key::word(core::ptr::from_ref(word).cast::<()>().addr())
}

macro_rules! words {
    ($($atomic:ty => $value:ty),* $(,)?) => {$(
        impl sealed::Bits for $atomic {
            #[inline]
            fn key(&self) -> Key {
                key(self)
            }

            #[inline]
            fn bits(&self) -> u64 {
                Self::to_bits(self.value())
            }
        }

        impl Word for $atomic {
            type Value = $value;

            #[inline]
            fn value(&self) -> $value {
                self.load(Ordering::SeqCst)
            }

            #[inline]
            fn to_bits(value: $value) -> u64 {
                value as u64
            }
        }
    )*};
}

words! {
    AtomicBool => bool,
    AtomicU8 => u8,
    AtomicI8 => i8,
    AtomicU16 => u16,
    AtomicI16 => i16,
    AtomicU32 => u32,
    AtomicI32 => i32,
    AtomicU64 => u64,
    AtomicI64 => i64,
    AtomicUsize => usize,
    AtomicIsize => isize,
}

impl<T> sealed::Bits for AtomicPtr<T> {
    #[inline]
    fn key(&self) -> Key {
        key(self)
    }

    #[inline]
    fn bits(&self) -> u64 {
        Self::to_bits(self.value())
    }
}

impl<T> Word for AtomicPtr<T> {
    type Value = *mut T;

    #[inline]
    fn value(&self) -> *mut T {
        self.load(Ordering::SeqCst)
    }

    #[inline]
    fn to_bits(value: *mut T) -> u64 {
        value.addr() as u64
    }
}
