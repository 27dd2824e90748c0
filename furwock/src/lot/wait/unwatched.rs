//! In models no wait is watched: they have no time.

use crate::lot::node::{Key, Waiter};
use crate::sys::clock::Deadline;

pub(crate) struct Watch;

impl Watch {
    pub(crate) fn begin(_key: Key) -> Self {
        Self
    }

    pub(super) fn look(
        &mut self,
        _waiter: &'static Waiter,
        _deadline: Option<&Deadline>,
    ) -> Option<Deadline> {
        None
    }

    pub(crate) fn look_again(&mut self) {}

    pub(crate) fn end(self) {}
}
