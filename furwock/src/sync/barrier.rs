//! `Barrier`: the raw barrier with its count.

use crate::lock::RawBarrier;
use core::fmt;

/// A place where a number of threads wait for each other, again and again: std's interface.
///
/// It may be freed as soon as a round is complete and no other has begun, also while threads of the
/// round haven't returned yet.
///
/// # Examples
/// ```
/// use furwock::Barrier;
///
/// let meeting = Barrier::new(2);
/// std::thread::scope(|scope| {
///     let other = scope.spawn(|| meeting.wait().is_leader());
///     assert_ne!(meeting.wait().is_leader(), other.join().unwrap());
/// });
/// ```
pub struct Barrier {
    raw: RawBarrier,
    count: u32,
}

/// Whether a thread led its round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it did: in each round only the last thread to arrive does.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawBarrier {
        &self.raw
    }

    /// A barrier for `count` threads; 0 is taken for 1. (More than 2^32 - 1 never meet: Linux has
    /// 2^22 threads at most.)
    #[must_use]
    pub const fn new(count: usize) -> Self {
        let count = if count > u32::MAX as usize { u32::MAX } else { count as u32 };
        Self { raw: RawBarrier::new(), count }
    }

    /// Waits until the barrier's number of threads, the caller among them, have called this. What
    /// each did before is visible to all of them afterwards.
    pub fn wait(&self) -> BarrierWaitResult {
        BarrierWaitResult(self.raw.wait(self.count))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
