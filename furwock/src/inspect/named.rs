//! Names for objects.
//!
//! A name stands in a table by the object's address, so that an object without one pays nothing. It
//! therefore belongs to an object that stays where it is: one that is borrowed as long as it has
//! the name, or one in a box of its own.

use super::objects::Inspect;
use crate::lot::names::{self, Name};
use crate::{Condvar, Mutex, PiMutex, RwLock, Semaphore, std_compat};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Names an object that exists, until the guard is dropped. [`waits`](super::waits), `furwock who`
/// and debuggers show the name.
///
/// Names have room for 95 bytes; longer ones are cut. About 4,000 objects can have names at once;
/// further ones stay without. An object has one name: a second one replaces the first, and goes
/// with either guard.
///
/// ```
/// use furwock::Mutex;
/// use furwock::inspect::{self, Inspect};
///
/// static CACHE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
///
/// inspect::name(&CACHE, "cache").keep();
/// assert_eq!(CACHE.inspect().name.unwrap().as_str(), "cache");
///
/// let local = Mutex::new(0);
/// {
///     let _name = inspect::name(&local, "local");
///     assert!(local.inspect().name.is_some());
/// }
/// assert!(local.inspect().name.is_none());
/// ```
pub fn name<'o, O: Inspect + ?Sized>(object: &'o O, name: &str) -> NameGuard<'o> {
    let address = object.address();
    names::set(address, name);
    NameGuard { address, _borrowed: PhantomData }
}

/// What [`name`] returns; dropping it takes the name away.
#[must_use = "dropping the guard takes the name away"]
#[derive(Debug)]
pub struct NameGuard<'o> {
    address: usize,
    _borrowed: PhantomData<&'o ()>,
}

impl NameGuard<'static> {
    /// Lets an object that is never dropped keep its name.
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for NameGuard<'_> {
    fn drop(&mut self) {
        names::remove(self.address);
    }
}

/// An object with a name, in memory of its own. It is used as the object is, which it derefs to;
/// the name goes when it is dropped.
///
/// ```
/// use furwock::inspect::{Named, WithName};
/// use furwock::{Barrier, Condvar, Mutex};
///
/// let queue = Mutex::named("queue", Vec::new());
/// let filled = Condvar::named("queue filled");
/// let start = Named::new("start", Barrier::new(1));
///
/// start.wait();
/// queue.lock().push(1);
/// filled.notify_one();
/// assert_eq!(queue.name().unwrap().as_str(), "queue");
/// assert_eq!(queue.into_inner().into_inner(), [1]);
/// ```
pub struct Named<O: Inspect> {
    /// `None` once it has been taken out.
    object: Option<Box<O>>,
}

impl<O: Inspect> Named<O> {
    /// `object` with a name. (If the table of names is full, without: see [`name`].)
    pub fn new(name: &str, object: O) -> Self {
        let object = Box::new(object);
        names::set(object.address(), name);
        Self { object: Some(object) }
    }

    /// Its name, unless there was no room for it.
    pub fn name(&self) -> Option<Name> {
        names::find(self.address()).map(names::Named::name)
    }

    /// The object, without its name.
    pub fn into_inner(mut self) -> O {
        names::remove(self.address());
        *self.object.take().expect("it is there until here")
    }
}

impl<O: Inspect> Drop for Named<O> {
    fn drop(&mut self) {
        if let Some(object) = &self.object {
            names::remove(object.address());
        }
    }
}

impl<O: Inspect> Deref for Named<O> {
    type Target = O;

    #[inline]
    fn deref(&self) -> &O {
        // SAFETY: `into_inner` takes it, together with `self`.
        unsafe { self.object.as_deref().unwrap_unchecked() }
    }
}

impl<O: Inspect> DerefMut for Named<O> {
    #[inline]
    fn deref_mut(&mut self) -> &mut O {
        // SAFETY: as above.
        unsafe { self.object.as_deref_mut().unwrap_unchecked() }
    }
}

impl<O: Inspect + fmt::Debug> fmt::Debug for Named<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named").field("name", &self.name()).field("object", &**self).finish()
    }
}

/// Makes a named lock. See [`Named`].
///
/// ```
/// use furwock::inspect::WithName;
/// use furwock::{Mutex, PiMutex, RwLock};
///
/// let cache = Mutex::named("cache", vec![1]);
/// let settings = RwLock::named("settings", 2);
/// let queue = PiMutex::named("queue", 3);
/// assert_eq!(cache.lock()[0] + *settings.read() + *queue.lock()?, 6);
/// # Ok::<(), furwock::lock::pi::PiError>(())
/// ```
pub trait WithName<T>: Inspect + Sized {
    /// A free lock with a name.
    fn named(name: &str, value: T) -> Named<Self>;
}

macro_rules! with_name {
    ($($lock:ty),*) => {$(
        impl<T> WithName<T> for $lock {
            fn named(name: &str, value: T) -> Named<Self> {
                Named::new(name, Self::new(value))
            }
        }
    )*};
}

with_name!(Mutex<T>, RwLock<T>, PiMutex<T>, std_compat::Mutex<T>, std_compat::RwLock<T>);

impl Condvar {
    /// A condition variable with a name: see [`Named`].
    ///
    /// ```
    /// let filled = furwock::Condvar::named("queue filled");
    /// assert!(!filled.notify_one());
    /// ```
    pub fn named(name: &str) -> Named<Self> {
        Named::new(name, Self::new())
    }
}

impl Semaphore {
    /// A semaphore with a name: see [`Named`].
    ///
    /// ```
    /// let slots = furwock::Semaphore::named("connections", 2);
    /// assert!(slots.try_acquire());
    /// ```
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[must_use]
    pub fn named(name: &str, permits: u32) -> Named<Self> {
        Named::new(name, Self::new(permits))
    }
}
