//! `Barrier`: the raw barrier with its count.

use crate::lock::RawBarrier;

/// A place where a number of threads wait for each other, again and again: std's interface.
///
/// ```
/// use furwock::Barrier;
///
/// let meeting = Barrier::new(2);
/// std::thread::scope(|scope| {
///     let other = scope.spawn(|| meeting.wait().is_leader());
///     assert_ne!(meeting.wait().is_leader(), other.join().unwrap());
/// });
/// ```
#[derive(Debug)]
pub struct Barrier {
    raw: RawBarrier,
    count: u32,
}

/// Whether a thread led its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it did: in each round only the last thread to arrive does.
    pub fn is_leader(self) -> bool {
        self.0
    }
}

impl Barrier {
    /// The one beneath.
    pub(crate) fn raw(&self) -> &RawBarrier {
        &self.raw
    }

    /// A barrier for `count` threads; 0 is taken for 1.
    pub const fn new(count: u32) -> Self {
        Self { raw: RawBarrier::new(), count }
    }

    /// Waits until the barrier's number of threads, the caller among them, have called this. What
    /// each did before is visible to all of them afterwards.
    pub fn wait(&self) -> BarrierWaitResult {
        BarrierWaitResult(self.raw.wait(self.count))
    }
}
