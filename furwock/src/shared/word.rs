//! What can be waited on across processes.

use super::numa_word::{NO_NODE, NumaWord};
use super::scope::{Scope, Scoped};
use crate::prim::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::sys::futex2::{MPOL, NUMA, PRIVATE};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// A word of 32 bits: an `AtomicU32`, `AtomicI32` or [`NumaWord`], also in a [`Scope`] of its own.
///
/// Sealed: the kernel gets addresses of memory that the word owns.
pub trait Word: sealed::Sealed {
    /// What the word holds.
    type Value: Copy;

    #[doc(hidden)]
    fn target(&self) -> Target<'_>;

    #[doc(hidden)]
    fn bits(value: Self::Value) -> u32;
}

/// A word of 64 bits: an `AtomicU64` or `AtomicI64`, also in a [`Scope`] of its own.
///
/// Sealed, as [`Word`] is.
pub trait Word64: sealed::Sealed {
    /// What the word holds.
    type Value: Copy;

    #[doc(hidden)]
    fn target(&self) -> Target64<'_>;

    #[doc(hidden)]
    fn bits(value: Self::Value) -> u64;
}

/// The address of 32 bits that may be passed to the kernel, with futex2's flags. With `NUMA` a node
/// follows them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Target<'word> {
    address: *const u32,
    flags: u32,
    word: PhantomData<&'word AtomicU32>,
}

/// The address of 64 bits that may be passed to the kernel, with futex2's flags; never `NUMA`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Target64<'word> {
    word: &'word AtomicU64,
    flags: u32,
}

impl Target<'_> {
    pub(super) fn address(&self) -> *const u32 {
        self.address
    }

    pub(super) fn flags(&self) -> u32 {
        self.flags
    }

    /// Whether futex(2) can express it.
    pub(super) fn is_plain(&self) -> bool {
        self.flags & (NUMA | MPOL) == 0
    }

    /// Operation `op` of futex(2) in this word's scope.
    pub(super) fn op(&self, op: i32) -> i32 {
        if self.flags & PRIVATE == 0 { op } else { op | libc::FUTEX_PRIVATE_FLAG }
    }

    pub(super) fn load(&self) -> u32 {
        // SAFETY: made from a live atomic of 32 bits, borrowed for as long as `self` lives.
        unsafe { AtomicU32::from_ptr(self.address.cast_mut()) }.load(Ordering::SeqCst)
    }

    /// Gives a word without a node the caller's. The kernel would do so too, but not atomically:
    /// two first users on two nodes could queue on either, and a wake would find only one of them.
    pub(super) fn settle(&self) {
        if self.flags & (NUMA | MPOL) != NUMA {
            // With a memory policy only the kernel knows which node.
            return;
        }
        // SAFETY: a word with NUMA is the start of a `NumaWord`, whose second half is an atomic
        // too.
        let node = unsafe { AtomicU32::from_ptr(self.address.add(1).cast_mut()) };
        if node.load(Ordering::Relaxed) == NO_NODE {
            let here = crate::sys::topology::current_node();
            // The loser finds the winner's node. Only one location is involved: coherence suffices.
            _ = node.compare_exchange(NO_NODE, here, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl<'word> Target64<'word> {
    pub(super) fn load(&self) -> u64 {
        self.word.load(Ordering::SeqCst)
    }

    /// The halves in the order of their addresses.
    pub(super) fn halves(&self) -> [Target<'word>; 2] {
        let first: *const u32 = self.word.as_ptr().cast();
        [first, first.wrapping_add(1)].map(|address| Target {
            address,
            flags: self.flags,
            word: PhantomData,
        })
    }
}

macro_rules! words {
    ($($atomic:ty => $value:ty),* $(,)?) => {$(
        impl sealed::Sealed for $atomic {}

        impl Word for $atomic {
            type Value = $value;

            fn target(&self) -> Target<'_> {
                Target {
                    address: self.as_ptr().cast(),
                    flags: Scope::SHARED.flags(),
                    word: PhantomData,
                }
            }

            fn bits(value: $value) -> u32 {
                value as u32
            }
        }
    )*};
}

words! { AtomicU32 => u32, AtomicI32 => i32 }

impl sealed::Sealed for NumaWord {}

impl Word for NumaWord {
    type Value = u32;

    fn target(&self) -> Target<'_> {
        Target {
            // From the whole of it: the kernel writes the node too.
            address: core::ptr::from_ref(self).cast(),
            flags: Scope::SHARED.flags() | NUMA,
            word: PhantomData,
        }
    }

    fn bits(value: u32) -> u32 {
        value
    }
}

impl<W: sealed::Sealed> sealed::Sealed for Scoped<'_, W> {}

impl<W: Word> Word for Scoped<'_, W> {
    type Value = W::Value;

    fn target(&self) -> Target<'_> {
        let target = self.word.target();
        Target { flags: target.flags & NUMA | self.scope.flags(), ..target }
    }

    fn bits(value: W::Value) -> u32 {
        W::bits(value)
    }
}

impl sealed::Sealed for AtomicU64 {}

impl Word64 for AtomicU64 {
    type Value = u64;

    fn target(&self) -> Target64<'_> {
        Target64 { word: self, flags: Scope::SHARED.flags() }
    }

    fn bits(value: u64) -> u64 {
        value
    }
}

impl sealed::Sealed for AtomicI64 {}

impl Word64 for AtomicI64 {
    type Value = i64;

    fn target(&self) -> Target64<'_> {
        // SAFETY: an atomic of the same size and alignment (8 bytes), borrowed as long.
        let word = unsafe { AtomicU64::from_ptr(self.as_ptr().cast()) };
        Target64 { word, flags: Scope::SHARED.flags() }
    }

    fn bits(value: i64) -> u64 {
        value as u64
    }
}

impl<W: Word64> Word64 for Scoped<'_, W> {
    type Value = W::Value;

    fn target(&self) -> Target64<'_> {
        Target64 { flags: self.scope.flags(), ..self.word.target() }
    }

    fn bits(value: W::Value) -> u64 {
        W::bits(value)
    }
}
