//! What takes a processor away from its thread again and again: the timer's ticks, and the host's
//! if the machine is a virtual one.
//!
//! They are rare and short, but two threads that fell into step at a lock, one inside while the
//! other is outside, stay in step until something of this kind moves one of them.

use crate::events::Timer;
use crate::world::World;

impl World {
    /// Sets the first ones: each at the same time on all processors, as ticks are.
    pub(crate) fn begin_interruptions(&mut self) {
        for which in 0..self.interruptions.len() {
            let first = self.now + self.random.next() % self.interruptions[which].every.0;
            for processor in 0..self.processors.len() {
                self.set_timer(first, Timer::Interruption { processor, which });
            }
        }
    }

    /// `processor` does something else than its thread for a while, and sets the next time.
    pub(crate) fn interrupt(&mut self, processor: usize, which: usize) {
        let interruption = self.interruptions[which];
        let next = self.now + interruption.every.0;
        self.set_timer(next, Timer::Interruption { processor, which });
        self.resume_on(processor);
        if let Some(step) = self.steps.of(processor) {
            let takes = self.random.about(interruption.takes.0, interruption.jitter.0);
            let place = &mut self.processors[processor];
            place.stopped_until = place.stopped_until.max(self.now) + takes;
            self.steps.set(processor, step + takes);
        }
    }
}
