//! Guards of parts of what a lock protects, for the locks that aren't `lock_api`'s.

/// Defines the guard `$name` of a part, and how `$guard` becomes one: a hold of the lock, which
/// releases it when it is dropped, and the part's address. With `mut` the part may be changed.
macro_rules! mapped_guard {
    (
        $(#[$doc:meta])*
        $name:ident $(<$readers:ident = $default:literal>)?
        from $guard:ident, $hold:ident $(, $mut:ident)?
    ) => {
        $(#[$doc])*
        #[must_use = "dropped at once it unlocks at once"]
        pub struct $name<'a, U: ?Sized $(, const $readers: usize = $default)?> {
            value: core::ptr::NonNull<U>,
            hold: $hold<'a $(, $readers)?>,
            _part: core::marker::PhantomData<&'a $($mut)? U>,
        }

        // SAFETY: a shared guard gives shared access to the part, and nothing else.
        unsafe impl<U: ?Sized + Sync $(, const $readers: usize)?> Sync
            for $name<'_, U $(, $readers)?> {}

        impl<'a, T: ?Sized $(, const $readers: usize)?> $guard<'a, T $(, $readers)?> {
            /// Narrows a guard to a part of what the lock protects.
            #[allow(unused_mut, reason = "for guards that write")]
            pub fn map<U: ?Sized>(
                mut guard: Self,
                part: impl FnOnce(&$($mut)? T) -> &$($mut)? U,
            ) -> $name<'a, U $(, $readers)?> {
                let value = core::ptr::NonNull::from(part(&$($mut)? *guard));
                $name { value, hold: guard.into_hold(), _part: core::marker::PhantomData }
            }

            /// Narrows a guard to a part of what the lock protects, if there is such a part.
            ///
            /// # Errors
            /// The guard, if there is none.
            #[allow(unused_mut, reason = "for guards that write")]
            pub fn try_map<U: ?Sized>(
                mut guard: Self,
                part: impl FnOnce(&$($mut)? T) -> Option<&$($mut)? U>,
            ) -> core::result::Result<$name<'a, U $(, $readers)?>, Self> {
                let Some(value) = part(&$($mut)? *guard).map(core::ptr::NonNull::from) else {
                    return Err(guard);
                };
                let _part = core::marker::PhantomData;
                Ok($name { value, hold: guard.into_hold(), _part })
            }
        }

        impl<'a, T: ?Sized $(, const $readers: usize)?> $name<'a, T $(, $readers)?> {
            /// Narrows a guard further.
            #[allow(unused_mut, reason = "for guards that write")]
            pub fn map<U: ?Sized>(
                mut guard: Self,
                part: impl FnOnce(&$($mut)? T) -> &$($mut)? U,
            ) -> $name<'a, U $(, $readers)?> {
                let value = core::ptr::NonNull::from(part(&$($mut)? *guard));
                $name { value, hold: guard.hold, _part: core::marker::PhantomData }
            }

            /// Narrows a guard further, if there is such a part.
            ///
            /// # Errors
            /// The guard, if there is none.
            #[allow(unused_mut, reason = "for guards that write")]
            pub fn try_map<U: ?Sized>(
                mut guard: Self,
                part: impl FnOnce(&$($mut)? T) -> Option<&$($mut)? U>,
            ) -> core::result::Result<$name<'a, U $(, $readers)?>, Self> {
                let Some(value) = part(&$($mut)? *guard).map(core::ptr::NonNull::from) else {
                    return Err(guard);
                };
                Ok($name { value, hold: guard.hold, _part: core::marker::PhantomData })
            }
        }

        impl<U: ?Sized $(, const $readers: usize)?> core::ops::Deref
            for $name<'_, U $(, $readers)?>
        {
            type Target = U;

            #[inline]
            fn deref(&self) -> &U {
                // SAFETY: a part of what the lock protects, which is held as long as the guard
                // lives.
                unsafe { self.value.as_ref() }
            }
        }

        impl<U: ?Sized + core::fmt::Debug $(, const $readers: usize)?> core::fmt::Debug
            for $name<'_, U $(, $readers)?>
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<U: ?Sized + core::fmt::Display $(, const $readers: usize)?> core::fmt::Display
            for $name<'_, U $(, $readers)?>
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

pub(super) use mapped_guard;
