//! `OnceLock`: a value behind `Once`.

use super::Once;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A place for a value that is written once: std's interface.
///
/// Once it is written, each look is one load. What its writer did before is visible to all that get
/// the value. There is no poisoning: if an initialisation panics, or returns an error, the next
/// caller starts another.
///
/// A forked child may initialise what another thread of its parent was about to; what the parent's
/// closure had made until then is leaked in the child.
///
/// # Examples
/// ```
/// use furwock::OnceLock;
///
/// static CONFIG: OnceLock<String> = OnceLock::new();
///
/// fn config() -> &'static str {
///     CONFIG.get_or_init(|| "threads = 4".to_owned())
/// }
///
/// assert!(CONFIG.get().is_none());
/// assert_eq!(config(), "threads = 4");
/// assert_eq!(CONFIG.set("threads = 8".to_owned()), Err("threads = 8".to_owned()));
/// ```
pub struct OnceLock<T> {
    once: Once,
    /// Written by the closure that completes `once`, and not before.
    value: UnsafeCell<MaybeUninit<T>>,
    _owned: PhantomData<T>,
}

// SAFETY: the lock gives out `&T`. A thread may write the value that another drops: so it is sent.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// One without a value.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self::with(Once::new(), MaybeUninit::uninit())
    }

    const fn with(once: Once, value: MaybeUninit<T>) -> Self {
        Self { once, value: UnsafeCell::new(value), _owned: PhantomData }
    }

    /// The value, if there is one. Acquire. Never waits.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it is completed.
        self.once.is_completed().then(|| unsafe { self.written() })
    }

    /// The value, if there is one, by exclusive access.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let written = self.once.is_completed();
        // SAFETY: it is completed.
        written.then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// The value, once there is one: waits for it.
    ///
    /// # Examples
    /// ```
    /// let port = furwock::OnceLock::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| port.set(4000).unwrap());
    ///     assert_eq!(*port.wait(), 4000);
    /// });
    /// ```
    #[inline]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: it is completed.
        unsafe { self.written() }
    }

    /// Writes the value, if there is none; waits if another thread is initialising it. Release.
    ///
    /// # Errors
    /// `value`, if there is another.
    #[inline]
    pub fn set(&self, value: T) -> Result<(), T> {
        self.try_insert(value).map(|_| ()).map_err(|(_, value)| value)
    }

    /// The same, and returns the value that is there afterwards.
    ///
    /// # Errors
    /// The value that was there, and `value`.
    ///
    /// # Examples
    /// ```
    /// let id = furwock::OnceLock::new();
    /// assert_eq!(id.try_insert(1), Ok(&1));
    /// assert_eq!(id.try_insert(2), Err((&1, 2)));
    /// ```
    #[inline]
    pub fn try_insert(&self, value: T) -> Result<&T, (&T, T)> {
        let mut value = Some(value);
        let there = self.get_or_init(|| value.take().expect("called once"));
        match value {
            None => Ok(there),
            Some(value) => Err((there, value)),
        }
    }

    /// The value; writes what `f` returns if there is none, and waits if another thread is
    /// initialising it.
    ///
    /// # Panics
    /// As `f` does: then there is still no value. If `f` initialises it, too: std deadlocks there
    /// or panics.
    #[inline]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<T, core::convert::Infallible>(f())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The value; writes what `f` returns if there is none, and waits if another thread is
    /// initialising it. (std's is unstable.)
    ///
    /// # Errors
    /// `f`'s: then there is still no value.
    ///
    /// # Panics
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// # Examples
    /// ```
    /// let port = furwock::OnceLock::new();
    /// assert!(port.get_or_try_init(|| "http".parse::<u16>()).is_err());
    /// assert_eq!(port.get_or_try_init(|| "80".parse::<u16>()), Ok(&80));
    /// ```
    #[inline]
    pub fn get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if self.get().is_none() {
            self.initialize(f)?;
        }
        // SAFETY: it is completed: otherwise `initialize` has failed.
        Ok(unsafe { self.written() })
    }

    /// The value, by exclusive access; writes what `f` returns if there is none.
    ///
    /// # Examples
    /// ```
    /// let mut line = furwock::OnceLock::new();
    /// line.get_mut_or_init(String::new).push('a');
    /// assert_eq!(line.into_inner().unwrap(), "a");
    /// ```
    #[inline]
    pub fn get_mut_or_init(&mut self, f: impl FnOnce() -> T) -> &mut T {
        self.get_or_init(f);
        self.get_mut().expect("just written")
    }

    /// The value, if there is one.
    #[inline]
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out, if there is one, and leaves none.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let written = self.once.is_completed();
        self.once = Once::new();
        // SAFETY: it was completed, and isn't any more.
        written.then(|| unsafe { self.value.get_mut().assume_init_read() })
    }

    #[cold]
    fn initialize<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
        let mut failed = Ok(());
        self.once.try_call_once(|| match f() {
            Ok(value) => {
                // SAFETY: the once has one caller at a time, and isn't completed, so that nothing
                // else looks at the value.
                unsafe { (*self.value.get()).write(value) };
                true
            }
            Err(error) => {
                failed = Err(error);
                false
            }
        });
        failed
    }

    /// # Safety
    /// `once` is completed.
    #[inline]
    unsafe fn written(&self) -> &T {
        // SAFETY: the completing closure has written it, and nothing writes it any more as long as
        // the lock is shared.
        unsafe { (*self.value.get()).assume_init_ref() }
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        Self::with(Once::completed(), MaybeUninit::new(value))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
