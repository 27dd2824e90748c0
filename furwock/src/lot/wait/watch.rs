//! What is noticed of a wait while the thread sleeps: that it takes long, and how long a named
//! object's took. Nothing happens on the way to an object that is free, and little before a sleep:
//! two loads, as long as nothing is named and nothing is to be noticed.

use crate::lot::node::{Class, Key, Waiter, names, tid};
use crate::sys::clock::{Deadline, monotonic_ns};
use core::sync::atomic::{AtomicPtr, Ordering};
use core::time::Duration;

/// What to do about waits that take long.
pub(crate) struct Watcher {
    pub(crate) limit: Duration,
    /// Called in the thread that waits, which is queued and holds no lock of the engine's. It must
    /// not unwind.
    pub(crate) call: &'static (dyn Fn(Long) + Sync),
}

/// A wait that has taken longer than the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Long {
    pub(crate) tid: u32,
    pub(crate) key: Key,
    pub(crate) waited: Duration,
}

static WATCHER: AtomicPtr<Watcher> = AtomicPtr::new(core::ptr::null_mut());

/// From now on waits that begin are watched by `watcher`, by none without one.
pub(crate) fn watch_by(watcher: Option<&'static Watcher>) {
    let watcher = watcher.map_or(core::ptr::null(), core::ptr::from_ref);
    WATCHER.store(watcher.cast_mut(), Ordering::Release);
}

fn watcher() -> Option<&'static Watcher> {
    // SAFETY: null, or a reference that lives for ever.
    unsafe { WATCHER.load(Ordering::Acquire).as_ref() }
}

/// One wait, as it is watched; mostly not at all.
pub(crate) struct Watch(Option<Watched>);

struct Watched {
    watcher: Option<&'static Watcher>,
    named: Option<names::Named>,
    began_ns: u64,
    /// Where the waiter was queued when it was last looked at, since when at most, and whether its
    /// wait there has been reported.
    key: Key,
    since_ns: u64,
    has_reported: bool,
    look_at_ns: u64,
}

/// Of a wait that isn't looked at again.
const NEVER: u64 = u64::MAX;

impl Watch {
    /// A wait at `key` begins.
    #[inline]
    pub(crate) fn begin(key: Key) -> Self {
        if cfg!(simulated) {
            return Self(None);
        }
        let (watcher, named) = (watcher(), names::find(key.address()));
        if watcher.is_none() && named.is_none() {
            return Self(None);
        }
        Self::begin_watching(key, watcher, named)
    }

    #[cold]
    fn begin_watching(
        key: Key,
        watcher: Option<&'static Watcher>,
        named: Option<names::Named>,
    ) -> Self {
        if !is_watched(key) {
            return Self(None);
        }
        let now = monotonic_ns();
        Self(Some(Watched {
            watcher,
            named,
            began_ns: now,
            key,
            since_ns: now,
            has_reported: false,
            look_at_ns: watcher.map_or(NEVER, |watcher| later(now, watcher)),
        }))
    }

    /// Looks at the wait of `waiter`, if that is due. Returns when to look again, if that comes
    /// before `deadline`: the next sleep ends then.
    #[inline]
    pub(super) fn look(
        &mut self,
        waiter: &'static Waiter,
        deadline: Option<&Deadline>,
    ) -> Option<Deadline> {
        let watched = self.0.as_mut()?;
        watched.look_at(|| waiter.key(), deadline)
    }

    /// The same of a wait at one key that consists of short ones.
    #[inline]
    pub(crate) fn look_again(&mut self) {
        if let Some(watched) = &mut self.0 {
            let key = watched.key;
            watched.look_at(|| key, None);
        }
    }

    /// The wait is over.
    #[inline]
    pub(crate) fn end(self) {
        if let Some(Watched { named: Some(named), began_ns, .. }) = self.0 {
            named.count(monotonic_ns().saturating_sub(began_ns));
        }
    }
}

impl Watched {
    #[cold]
    fn look_at(
        &mut self,
        key: impl FnOnce() -> Key,
        deadline: Option<&Deadline>,
    ) -> Option<Deadline> {
        let watcher = self.watcher?;
        if self.look_at_ns == NEVER {
            return None;
        }
        let mut now = monotonic_ns();
        if now >= self.look_at_ns {
            self.report(watcher, key(), now);
            now = monotonic_ns();
            // A condvar's waiter may yet be moved to a mutex.
            let may_be_moved = !self.has_reported || self.key.class() == Class::Condvar;
            self.look_at_ns = if may_be_moved { later(now, watcher) } else { NEVER };
        }
        if self.look_at_ns == NEVER {
            return None;
        }
        let left = Duration::from_nanos(self.look_at_ns.saturating_sub(now));
        let ends_before = deadline.is_some_and(|deadline| deadline.is_within(left));
        (!ends_before).then(|| Deadline::after(left))
    }

    fn report(&mut self, watcher: &Watcher, key: Key, now: u64) {
        if key != self.key {
            // Chosen, or moved: since when is unknown.
            (self.key, self.since_ns, self.has_reported) = (key, now, false);
        } else if !self.has_reported && key != Key::NOWHERE {
            self.has_reported = true;
            let waited = Duration::from_nanos(now.saturating_sub(self.since_ns));
            (watcher.call)(Long { tid: tid(), key, waited });
        }
    }
}

fn later(now_ns: u64, watcher: &Watcher) -> u64 {
    let limit = u64::try_from(watcher.limit.as_nanos()).unwrap_or(NEVER);
    now_ns.saturating_add(limit)
}

/// Waits for objects, not those on words: a deadline changes which signals end those.
fn is_watched(key: Key) -> bool {
    !matches!(key.class(), Class::Word | Class::Slot | Class::None)
}
