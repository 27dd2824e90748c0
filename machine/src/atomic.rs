//! `core`'s atomics, of which each access costs virtual time in a simulation.
//!
//! The types dereference to `core`'s, for code that only passes them on: an access through that
//! costs nothing.

pub use core::sync::atomic::Ordering;

use crate::lines::Access;
use crate::spinning::skip;
use crate::world::{Op, World, spend, touch};
use core::ops::Deref;
use core::sync::atomic as real;

/// A fence. Only one that is sequentially consistent costs anything.
#[inline]
pub fn fence(order: Ordering) {
    if let Some(world) = World::current()
        && order == Ordering::SeqCst
    {
        // SAFETY: the world of the running simulation.
        let cost = unsafe {
            (*world).end_stores();
            (*world).costs.fence
        };
        spend(world, cost, Op::Resumable);
        return;
    }
    real::fence(order);
}

/// What an access to a word is: a store that is sequentially consistent is an exchange.
#[inline]
fn store_by(order: Ordering) -> Access {
    if order == Ordering::SeqCst { Access::Rmw } else { Access::Store }
}

macro_rules! common {
    ($name:ident($($of:tt)*), $value:ty, [$($generic:tt)*], $type:ty) => {
        impl$($generic)* $type {
            /// Makes one.
            pub const fn new(value: $value) -> Self {
                Self(real::$name::new(value))
            }

            /// The value, which no other thread knows.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The value.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Where the value lies.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// The atomic at `pointer`.
            ///
            /// # Safety
            /// As for `core`'s.
            pub const unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
                // SAFETY: by this function's contract; the type is transparent.
                unsafe { &*pointer.cast::<Self>() }
            }

            #[inline]
            fn address(&self) -> usize {
                core::ptr::from_ref(self).addr()
            }

            /// Reads the value.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                touch(self.address(), Access::Read);
                let value = self.0.load(order);
                self.saw(value);
                value
            }

            /// Reads the value again and again until `is` holds for it, with a pause after each
            /// other. The same as a loop of [`load`](Self::load) and
            /// [`spin_loop`](crate::hint::spin_loop), at less cost on the host: looks at a line
            /// that stays are counted, and not made. `is` looks at the value only.
            pub fn spin_until(&self, order: Ordering, is: impl Fn($value) -> bool) -> $value {
                loop {
                    let value = self.load(order);
                    if is(value) {
                        return value;
                    }
                    crate::hint::spin_loop();
                    // Others may have run meanwhile.
                    if !is(self.0.load(order)) {
                        skip(self.address());
                    }
                }
            }

            /// Writes the value.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                touch(self.address(), store_by(order));
                self.0.store(value, order);
            }

            /// Writes the value. Returns the old one.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                touch(self.address(), Access::Rmw);
                self.0.swap(value, order)
            }

            /// Writes the value if the old one is `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                touch(self.address(), Access::Rmw);
                let result = self.0.compare_exchange(current, new, success, failure);
                if let Err(seen) = result {
                    self.saw(seen);
                }
                result
            }

            /// The same: it doesn't fail without a reason.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Replaces the value by what `f` makes of it, until that is `None`.
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch);
                while let Some(new) = f(seen) {
                    match self.compare_exchange_weak(seen, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }
        }

        impl$($generic)* Deref for $type {
            type Target = real::$name$($of)*;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl$($generic)* core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! rmw {
    ($value:ty: $($(#[$meta:meta])* $name:ident),*) => {$(
        $(#[$meta])*
        #[inline]
        pub fn $name(&self, value: $value, order: Ordering) -> $value {
            touch(self.address(), Access::Rmw);
            self.0.$name(value, order)
        }
    )*};
}

macro_rules! integers {
    ($($name:ident: $value:ty, |$seen:ident| $named:expr;)*) => {$(
        /// `core`'s, in virtual time.
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $name(real::$name);

        common!($name(), $value, [], $name);

        impl $name {
            rmw! {
                $value:
                /// Adds. Returns the old value.
                fetch_add,
                /// Subtracts. Returns the old value.
                fetch_sub,
                /// Ands. Returns the old value.
                fetch_and,
                /// Ands and inverts. Returns the old value.
                fetch_nand,
                /// Ors. Returns the old value.
                fetch_or,
                /// Exclusively ors. Returns the old value.
                fetch_xor,
                /// Keeps the greater. Returns the old value.
                fetch_max,
                /// Keeps the lesser. Returns the old value.
                fetch_min
            }

            /// Notes a thread that the word may name.
            #[inline]
            fn saw(&self, $seen: $value) {
                if let Some(word) = $named {
                    World::saw(self.address(), word);
                }
            }
        }

        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    )*};
}

integers! {
    AtomicU8: u8, |_seen| None::<u32>;
    AtomicU16: u16, |_seen| None::<u32>;
    AtomicU32: u32, |seen| Some(seen);
    AtomicU64: u64, |seen| Some(seen as u32);
    AtomicUsize: usize, |_seen| None::<u32>;
    AtomicI8: i8, |_seen| None::<u32>;
    AtomicI16: i16, |_seen| None::<u32>;
    AtomicI32: i32, |seen| Some(seen as u32);
    AtomicI64: i64, |seen| Some(seen as u32);
    AtomicIsize: isize, |_seen| None::<u32>;
}

/// `core`'s, in virtual time.
#[repr(transparent)]
#[derive(Default)]
pub struct AtomicBool(real::AtomicBool);

common!(AtomicBool(), bool, [], AtomicBool);

impl AtomicBool {
    rmw! {
        bool:
        /// Ands. Returns the old value.
        fetch_and,
        /// Ors. Returns the old value.
        fetch_or,
        /// Exclusively ors. Returns the old value.
        fetch_xor
    }

    #[inline]
    fn saw(&self, _value: bool) {}
}

impl From<bool> for AtomicBool {
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

/// `core`'s, in virtual time.
#[repr(transparent)]
pub struct AtomicPtr<T>(real::AtomicPtr<T>);

common!(AtomicPtr(<T>), *mut T, [<T>], AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    #[inline]
    fn saw(&self, _value: *mut T) {}
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(core::ptr::null_mut())
    }
}
