//! The words on which simulated threads sleep.

use crate::description::Time;
use std::collections::{HashMap, VecDeque};

/// One word.
#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) sleepers: VecDeque<usize>,
    /// Calls on one word take the kernel's lock one after another: when those that have asked for
    /// it will have released it.
    pub(crate) releases: VecDeque<Time>,
    /// When the last thread that asked for it in order to sleep will have released it.
    pub(crate) asked_until: Time,
    /// The core of the last of them.
    pub(crate) last: Option<usize>,
}

/// The words on which threads sleep or slept. (Nothing depends on the map's order.)
#[derive(Debug, Default)]
pub(crate) struct Words(pub(crate) HashMap<usize, Word>);

impl Words {
    /// A thread that stops waiting by itself.
    pub(crate) fn leave(&mut self, thread: usize, address: usize) {
        if let Some(word) = self.0.get_mut(&address) {
            word.sleepers.retain(|&sleeper| sleeper != thread);
        }
    }
}
