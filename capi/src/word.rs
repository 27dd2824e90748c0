//! Words as C names them: an address and a size in bytes.

use crate::deadline::errno_of;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use engine::futex::{self, Expected};
use libc::EINVAL;

/// Any object: `volatile void` to C, so that atomics need no cast.
pub(crate) type Word = c_void;

/// One of the engine's atomics, whose value fits in C's widest.
pub(crate) trait Sized: futex::Word<Value: TryFrom<u64>> + 'static {}

impl Sized for AtomicU8 {}
impl Sized for AtomicU16 {}
impl Sized for AtomicU32 {}
impl Sized for AtomicU64 {}

/// The atomic at `word`, or `EINVAL` for an address that can't hold one.
///
/// # Safety
/// If the address is not null and is aligned for `A`, an `A` is there for as long as `'w`.
#[inline]
pub(crate) unsafe fn at<'w, A>(word: *const Word) -> Result<&'w A, c_int> {
    let word = word.cast::<A>();
    if word.is_null() || !word.is_aligned() {
        return Err(EINVAL);
    }
    // SAFETY: by this function's contract.
    Ok(unsafe { &*word })
}

/// Writes what `make` makes to `place`, whatever is there; `EINVAL` for an address that can't hold
/// it.
///
/// # Safety
/// `place` is null, not aligned for a `T`, or may be written to.
pub(crate) unsafe fn initialise<T>(
    place: *mut T,
    make: impl FnOnce() -> Result<T, c_int>,
) -> c_int {
    if place.is_null() || !place.is_aligned() {
        return EINVAL;
    }
    // SAFETY: by this function's contract.
    errno_of(make().map(|made| unsafe { place.write(made) }))
}

/// `value` in the word's own type, or `EINVAL` if it doesn't fit.
pub(crate) fn narrow<A: Sized>(value: u64) -> Result<A::Value, c_int> {
    A::Value::try_from(value).map_err(|_| EINVAL)
}

/// Calls `$function::<A>` for the atomic `A` of `$size` bytes; `EINVAL` if there is none.
macro_rules! by_size {
    ($size:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $size {
            1 => $function::<core::sync::atomic::AtomicU8>($($argument),*),
            2 => $function::<core::sync::atomic::AtomicU16>($($argument),*),
            4 => $function::<core::sync::atomic::AtomicU32>($($argument),*),
            8 => $function::<core::sync::atomic::AtomicU64>($($argument),*),
            _ => Err(libc::EINVAL),
        }
    };
}
pub(crate) use by_size;

/// A word with its expected value.
///
/// # Safety
/// As for [`at`].
pub(crate) unsafe fn expected<'w>(
    word: *const Word,
    size: usize,
    value: u64,
) -> Result<Expected<'w>, c_int> {
    /// # Safety
    /// As for [`at`].
    unsafe fn typed<'w, A: Sized>(word: *const Word, value: u64) -> Result<Expected<'w>, c_int> {
        // SAFETY: by this function's contract.
        let word = unsafe { at::<A>(word) }?;
        Ok(Expected::new(word, narrow::<A>(value)?))
    }
    // SAFETY: by this function's contract.
    unsafe { by_size!(size, typed(word, value)) }
}
