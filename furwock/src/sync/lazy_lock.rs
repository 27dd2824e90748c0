//! `LazyLock`: a value that its first use makes.

use super::Once;
use crate::lock::OnceState;
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A value that is made when it is first used: std's interface.
///
/// Once it is made, each use is one load more than without the lock. If making it panics, all later
/// uses panic, too: the lock is poisoned, as std's. It is also poisoned in a forked child if
/// another thread of the parent was making it.
///
/// # Examples
/// ```
/// use furwock::{LazyLock, Mutex};
///
/// static WORDS: LazyLock<Mutex<Vec<String>>> = LazyLock::new(|| Mutex::new(vec!["a".to_owned()]));
///
/// WORDS.lock().push("b".to_owned());
/// assert_eq!(*WORDS.lock(), ["a", "b"]);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

/// `f` in a new lock, `value` in one that is done; neither once `f` has been called and the value
/// isn't there yet, or won't ever be.
union Data<T, F> {
    f: ManuallyDrop<F>,
    value: ManuallyDrop<T>,
}

// SAFETY: the lock gives out `&T`; a thread may make the value that another drops, and calls or
// drops the `F` that another has made, but gets no `&F`.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// One whose first use calls `f`.
    #[must_use]
    #[inline]
    pub const fn new(f: F) -> Self {
        Self { once: Once::new(), data: UnsafeCell::new(Data { f: ManuallyDrop::new(f) }) }
    }

    /// The value, which this makes if it is the first to ask for it. Waits if another thread is
    /// making it. `Deref` calls it.
    ///
    /// # Panics
    /// As the lock's closure does; if that has panicked before; and if the closure asks for the
    /// value: std deadlocks there or panics.
    #[inline]
    pub fn force(this: &Self) -> &T {
        if !this.once.is_completed() {
            this.make();
        }
        // SAFETY: it is completed.
        unsafe { this.made() }
    }

    /// The value by exclusive access, which this makes if it is the first to ask for it.
    ///
    /// # Panics
    /// As [`force`](Self::force).
    ///
    /// # Examples
    /// ```
    /// let mut numbers = furwock::LazyLock::new(|| vec![1]);
    /// furwock::LazyLock::force_mut(&mut numbers).push(2);
    /// assert_eq!(*numbers, [1, 2]);
    /// ```
    #[inline]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        // SAFETY: it is completed: otherwise `force` has panicked.
        unsafe { &mut this.data.get_mut().value }
    }

    /// The value, if it has been made, or else the closure.
    ///
    /// # Errors
    /// The closure, if it hasn't been called.
    ///
    /// # Panics
    /// If the closure has panicked.
    ///
    /// # Examples
    /// ```
    /// let unused = furwock::LazyLock::new(|| 1);
    /// assert_eq!(furwock::LazyLock::into_inner(unused).unwrap_err()(), 1);
    /// ```
    pub fn into_inner(this: Self) -> Result<T, F> {
        let state = this.once.state();
        if !matches!(state, OnceState::New | OnceState::Done) {
            panic_poisoned();
        }
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` isn't used after this, nor dropped.
        let data = unsafe { core::ptr::read(&this.data) }.into_inner();
        // SAFETY: what a lock in this state contains.
        unsafe {
            if state.is_done() {
                Ok(ManuallyDrop::into_inner(data.value))
            } else {
                Err(ManuallyDrop::into_inner(data.f))
            }
        }
    }

    #[cold]
    fn make(&self) {
        self.once.call_once_force(|state| {
            if state.is_poisoned() {
                panic_poisoned();
            }
            let data = self.data.get();
            // SAFETY: the once has one caller at a time, and isn't completed, so that nothing else
            // looks at the data. It is new, so that `f` is there; later it isn't.
            let f = unsafe { ManuallyDrop::take(&mut (*data).f) };
            let value = ManuallyDrop::new(f());
            // SAFETY: as above.
            unsafe { (*data).value = value };
        });
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made. Acquire. Never waits.
    ///
    /// # Examples
    /// ```
    /// let lazy = furwock::LazyLock::new(|| 1);
    /// assert!(furwock::LazyLock::get(&lazy).is_none());
    /// assert_eq!(*lazy, 1);
    /// assert_eq!(furwock::LazyLock::get(&lazy), Some(&1));
    /// ```
    #[inline]
    pub fn get(this: &Self) -> Option<&T> {
        // SAFETY: it is completed.
        this.once.is_completed().then(|| unsafe { this.made() })
    }

    /// The value, if it has been made, by exclusive access.
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let made = this.once.is_completed();
        // SAFETY: it is completed.
        made.then(|| unsafe { &mut *this.data.get_mut().value })
    }

    /// # Safety
    /// `once` is completed.
    #[inline]
    unsafe fn made(&self) -> &T {
        // SAFETY: the closure that completed it has written the value, and nothing writes it any
        // more as long as the lock is shared.
        unsafe { &(*self.data.get()).value }
    }
}

#[cold]
#[inline(never)]
fn panic_poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        let state = self.once.state();
        let data = self.data.get_mut();
        // SAFETY: what a lock in this state contains, and nothing looks at it after this.
        unsafe {
            match state {
                OnceState::New => ManuallyDrop::drop(&mut data.f),
                OnceState::Done => ManuallyDrop::drop(&mut data.value),
                OnceState::Poisoned | OnceState::InProgress => {}
            }
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        Self::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("LazyLock");
        match Self::get(self) {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}
