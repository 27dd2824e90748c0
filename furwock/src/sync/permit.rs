//! Permits of a semaphore that are given back when they are dropped.

use super::Semaphore;
use core::fmt;
use core::mem;
use std::sync::Arc;

/// Permits that [`Semaphore::acquire_permit`] took; dropping them gives them back. Any thread may
/// do that.
#[must_use = "dropped at once it gives the permit back at once"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: u32,
}

/// Permits that [`Semaphore::acquire_owned`] took, with a share in their semaphore; dropping them
/// gives them back. Any thread may do that.
#[must_use = "dropped at once it gives the permit back at once"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: u32,
}

/// The functions of both, which differ in how they keep the semaphore.
macro_rules! permit {
    ($name:ident $(<$life:lifetime>)?, $kept:ty) => {
        impl $(<$life>)? $name $(<$life>)? {
            /// A permit that the caller has taken.
            pub(super) fn of(semaphore: $kept) -> Self {
                Self { semaphore, permits: 1 }
            }

            /// The semaphore that they are of.
            pub fn semaphore(&self) -> &$kept {
                &self.semaphore
            }

            /// How many they are.
            #[must_use]
            pub fn count(&self) -> u32 {
                self.permits
            }

            /// Keeps the permits from being given back: the semaphore has fewer from now on.
            pub fn forget(mut self) {
                self.permits = 0;
            }

            /// Makes one of two: `other`'s permits are given back with these.
            ///
            /// # Panics
            /// If `other` is of another semaphore; its permits are given back then.
            pub fn merge(&mut self, mut other: Self) {
                let (semaphore, its): (&Semaphore, &Semaphore) =
                    (&self.semaphore, &other.semaphore);
                assert!(core::ptr::eq(semaphore, its), "permits of two semaphores");
                self.permits += mem::take(&mut other.permits);
            }
        }

        impl $(<$life>)? Drop for $name $(<$life>)? {
            #[inline]
            fn drop(&mut self) {
                if self.permits != 0 {
                    // Refused if others have made so many that these don't fit in any more.
                    _ = self.semaphore.release_many(self.permits);
                }
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = stringify!($name);
                f.debug_struct(name).field("count", &self.permits).finish_non_exhaustive()
            }
        }
    };
}

permit!(SemaphorePermit<'a>, &'a Semaphore);
permit!(OwnedSemaphorePermit, Arc<Semaphore>);
