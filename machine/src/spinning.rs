//! Skipping ahead of threads that spin.
//!
//! A thread that looks at a word again and again, with a pause in between, sees the same until
//! another access writes to the word's line. As long as the line is in its core's cache, each look
//! costs the same. So its processor gets no steps for looks. They are counted when another access
//! writes to the line, or something happens to the thread on its processor: then it goes on with
//! the look that comes next. Counts and virtual time are those of a thread that makes each look.
//! Only the trace has no line for a look that was skipped.
//!
//! What changes a processor's step calls [`World::resume_on`] before.

use crate::lines::Access;
use crate::skips::{Skip, counts};
use crate::statistics::Statistics;
use crate::world::{Op, World};

impl World {
    /// The thread goes on by itself, with the next look.
    fn resume(&mut self, skip: Skip) {
        let looks = skip.looks(self.now);
        self.threads[skip.thread].statistics += counts(looks);
        self.processors[skip.processor].accesses += looks;
        let next = skip.next + looks * skip.period;
        self.steps.set(skip.processor, next);
        self.horizon = self.horizon.min(next);
    }

    /// An access to the line is asked for, or takes effect.
    #[inline]
    pub(crate) fn wrote_to(&mut self, line: u32, access: Access) {
        if access != Access::Read && !self.skips.is_empty() {
            while let Some(skip) = self.skips.take(line) {
                self.resume(skip);
            }
        }
    }

    /// Something happens to the thread on that processor.
    #[inline]
    pub(crate) fn resume_on(&mut self, processor: usize) {
        if !self.skips.is_empty()
            && let Some(skip) = self.skips.take_on(processor)
        {
            self.resume(skip);
        }
    }

    /// What a thread on that processor has done that isn't counted yet.
    pub(crate) fn skipped_on(&self, processor: usize) -> Statistics {
        self.skips
            .on(processor)
            .map_or_else(Statistics::default, |skip| counts(skip.looks(self.now)))
    }
}

/// The running thread has looked at the word at `address`, and paused: it does so again and again
/// until another access writes to the line, or at least once.
pub(crate) fn skip(address: usize) {
    let Some(world) = World::current() else { return };
    // SAFETY: the world of the running simulation; the reference ends before the switch.
    unsafe {
        let here = &mut *world;
        let thread = &here.threads[here.running];
        // A disturbance is at an access that may be among those.
        if !here.disturbances.is_empty() || thread.credit != 0 || std::thread::panicking() {
            return;
        }
        let next = here.now + here.debt;
        let core = here.topology.core_of(here.processor);
        let line = here.lines.number(address);
        if !here.lines.stays_at(line, core, here.now) {
            return;
        }
        let period = here.costs.hit + here.costs.pause;
        let (processor, thread) = (here.processor, here.running);
        here.debt = 0;
        here.skips.add(line, Skip { processor, thread, next, period });
        here.steps.clear(processor);
        let thread = &mut here.threads[thread];
        thread.op = Op::Resumable;
        thread.was_cut = false;
        let yielder = thread.yielder;
        (*yielder).suspend(());
    }
}
