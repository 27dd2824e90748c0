//! The states of a semaphore's word: 64 bits, two counts. Pure: no atomics, no waiting.
//!
//! | half | counts |
//! |---|---|
//! | low | permits |
//! | high | threads between their first look that found none and their return |
//!
//! | from | by | to |
//! |---|---|---|
//! | permits > 0 | acquire | permits - 1 |
//! | permits = 0 | acquire: counts itself in, then sleeps while there are none | waiters + 1 |
//! | permits > 0 | a waiter | permits - 1 and waiters - 1, at once |
//! | permits >= n | a task that wants n | permits - n, and waiters - 1 if it waited, at once |
//! | permits < n | the same: counts itself in, then waits while there are fewer | waiters + 1 |
//! | | a waiter that gives up | waiters - 1 |
//! | permits < [`MOST`] | release | permits + 1; if that step found waiters, one is woken |

const PERMITS: u64 = u32::MAX as u64;
/// One waiter.
pub(super) const WAITER: u64 = PERMITS + 1;

/// The most permits there may be. One bit less than there is room for.
pub(super) const MOST: u32 = i32::MAX as u32;

#[inline]
pub(super) const fn permits(word: u64) -> u32 {
    (word & PERMITS) as u32
}

#[inline]
pub(super) const fn waiters(word: u64) -> u64 {
    word / WAITER
}

/// The word after a permit was taken, and so many waiters counted out; `None` if there is no
/// permit.
#[inline]
pub(super) const fn acquired(word: u64, waiters: u64) -> Option<u64> {
    acquired_many(word, 1, waiters)
}

/// The same of so many permits at once.
#[inline]
pub(super) const fn acquired_many(word: u64, count: u32, waiters: u64) -> Option<u64> {
    if permits(word) < count { None } else { Some(word - count as u64 - waiters * WAITER) }
}

/// The word after `more` permits were made; `None` if there would be too many.
#[inline]
pub(super) const fn released(word: u64, more: u32) -> Option<u64> {
    match MOST.checked_sub(more) {
        Some(most) if permits(word) <= most => Some(word + more as u64),
        _ => None,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn words() -> impl Iterator<Item = u64> {
        [0, 1, 2, MOST - 1, MOST].into_iter().flat_map(|permits| {
            [0, 1, 2, u64::from(u32::MAX)]
                .into_iter()
                .map(move |waiters| u64::from(permits) + waiters * WAITER)
        })
    }

    #[test]
    fn an_acquire_takes_one_permit_and_only_if_there_is_one() {
        for word in words() {
            for counted in [0, 1].into_iter().filter(|&counted| counted <= waiters(word)) {
                match acquired(word, counted) {
                    None => assert_eq!(permits(word), 0),
                    Some(new) => {
                        assert_eq!(permits(new), permits(word) - 1);
                        assert_eq!(waiters(new), waiters(word) - counted);
                    }
                }
            }
        }
    }

    #[test]
    fn many_are_taken_at_once_or_none() {
        for word in words() {
            for count in [0, 1, 2, 3, MOST] {
                match acquired_many(word, count, 0) {
                    None => assert!(permits(word) < count),
                    Some(new) => {
                        assert_eq!(permits(new), permits(word) - count);
                        assert_eq!(waiters(new), waiters(word));
                    }
                }
            }
        }
    }

    #[test]
    fn a_release_makes_no_more_permits_than_there_may_be_and_no_waiters() {
        for word in words() {
            for more in [0, 1, 2, MOST] {
                match released(word, more) {
                    None => assert!(u64::from(permits(word)) + u64::from(more) > u64::from(MOST)),
                    Some(new) => {
                        assert_eq!(permits(new), permits(word) + more);
                        assert_eq!(waiters(new), waiters(word));
                    }
                }
            }
        }
    }
}
