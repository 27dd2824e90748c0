//! `Barrier`: the raw barrier with its count.

use crate::lock::RawBarrier;
use core::fmt;

/// A place where a number of threads wait for each other, again and again:
/// [`std::sync::Barrier`]'s interface over [`RawBarrier`].
///
/// ```
/// use furwock::std_compat::Barrier;
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

/// Whether a thread led its round at a [`Barrier`].
///
/// ```
/// let result = furwock::std_compat::Barrier::new(1).wait();
/// assert!(result.is_leader());
/// assert_eq!(format!("{result:?}"), "BarrierWaitResult { is_leader: true }");
/// ```
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for `n` threads; 0 is taken for 1.
    #[must_use]
    #[inline]
    pub const fn new(n: usize) -> Self {
        // A process has far fewer threads than that: such a barrier never opens.
        let count = if n > u32::MAX as usize { u32::MAX } else { n as u32 };
        Self { raw: RawBarrier::new(), count }
    }

    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawBarrier {
        &self.raw
    }

    /// Waits until the barrier's number of threads, the caller among them, have called this. What
    /// each did before is visible to all of them afterwards.
    pub fn wait(&self) -> BarrierWaitResult {
        BarrierWaitResult(self.raw.wait(self.count))
    }
}

impl BarrierWaitResult {
    /// Whether it did: in each round only the last thread to arrive does.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
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
