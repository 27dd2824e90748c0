//! Waits as others see them.

use crate::lot::bucket::{self, Queued};
use crate::lot::node::{self, Key};

/// Calls `then` for each thread that waits and that `is_wanted`, by its id, with what `look` says
/// of its waiter under the lock of the bucket that it is queued in. `then` runs without a lock.
pub(crate) fn for_each_wait<T>(
    is_wanted: impl Fn(u32) -> bool,
    look: impl Fn(Queued<'_>) -> T,
    mut then: impl FnMut(T),
) {
    node::for_each(|thread| {
        let key = thread.waiter.key();
        if key == Key::NOWHERE || key == Key::MANY {
            return;
        }
        let locked = bucket::lock(key);
        // SAFETY: locked by this key.
        let queued = unsafe { locked.queued(&thread.waiter, key) };
        let wanted = queued.filter(|queued| queued.is_of_a_thread() && is_wanted(queued.tid()));
        let seen = wanted.map(&look);
        drop(locked);
        if let Some(seen) = seen {
            then(seen);
        }
    });
}

/// The threads that wait at `key`, in order, and what `look` says meanwhile. Allocates without a
/// lock.
pub(crate) fn waiters<T>(key: Key, look: impl Fn() -> T) -> (T, Vec<u32>) {
    let mut waiters: Vec<u32> = Vec::new();
    loop {
        let locked = bucket::lock(key);
        let (mut count, mut at) = (0, locked.first(key));
        waiters.clear();
        while let Some(queued) = at {
            if queued.is_of_a_thread() {
                count += 1;
                if waiters.len() < waiters.capacity() {
                    waiters.push(queued.tid());
                }
            }
            at = locked.after(queued);
        }
        let seen = look();
        drop(locked);
        if waiters.len() == count {
            return (seen, waiters);
        }
        waiters.reserve(2 * count);
    }
}
