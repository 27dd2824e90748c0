//! Mutexes with condition variables, of the families that have them.

use std::ops::DerefMut;

use super::Family;

/// A family whose mutexes have condition variables.
pub trait Monitors: Family {
    type Monitor<T: Send + 'static>: Monitor<T, Condvar = Self::Condvar>;
    type Condvar: Condvar;
}

/// A mutex with its data, on which threads can wait for news.
pub trait Monitor<T>: Send + Sync + 'static {
    type Condvar;
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    fn new(data: T) -> Self;

    fn lock(&self) -> Self::Guard<'_>;

    /// Unlocks, sleeps until woken, locks again. May return for no reason.
    fn wait<'a>(guard: Self::Guard<'a>, condvar: &Self::Condvar) -> Self::Guard<'a>
    where
        Self: 'a;
}

pub trait Condvar: Send + Sync + 'static {
    fn new() -> Self;

    fn signal(&self);

    fn broadcast(&self);
}
