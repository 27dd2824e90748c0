//! Threads that spin on a line, and are skipped ahead.

use crate::description::Time;
use crate::statistics::Statistics;

/// A thread that spins on a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skip {
    pub(crate) processor: usize,
    pub(crate) thread: usize,
    /// When it would look next, and how long a look and a pause take.
    pub(crate) next: Time,
    pub(crate) period: Time,
}

impl Skip {
    /// How many looks come before `now`.
    pub(crate) fn looks(&self, now: Time) -> u64 {
        if now <= self.next { 0 } else { (now - self.next).div_ceil(self.period) }
    }
}

/// All of them, by the numbers of their lines.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    by_line: Vec<Vec<Skip>>,
    /// The line that each processor's thread spins on.
    lines: Vec<Option<u32>>,
    count: usize,
}

impl Skips {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn add(&mut self, line: u32, skip: Skip) {
        let at = line as usize;
        if self.by_line.len() <= at {
            self.by_line.resize_with(at + 1, Vec::new);
        }
        if self.lines.len() <= skip.processor {
            self.lines.resize(skip.processor + 1, None);
        }
        self.by_line[at].push(skip);
        self.lines[skip.processor] = Some(line);
        self.count += 1;
    }

    /// One that spins on the line.
    pub(crate) fn take(&mut self, line: u32) -> Option<Skip> {
        let skip = self.by_line.get_mut(line as usize)?.pop()?;
        self.lines[skip.processor] = None;
        self.count -= 1;
        Some(skip)
    }

    /// The one on that processor.
    pub(crate) fn take_on(&mut self, processor: usize) -> Option<Skip> {
        let line = self.lines.get_mut(processor)?.take()?;
        let skips = &mut self.by_line[line as usize];
        let at = skips.iter().position(|skip| skip.processor == processor)?;
        self.count -= 1;
        Some(skips.swap_remove(at))
    }

    pub(crate) fn on(&self, processor: usize) -> Option<&Skip> {
        let line = (*self.lines.get(processor)?)?;
        self.by_line[line as usize].iter().find(|skip| skip.processor == processor)
    }
}

/// What so many looks, and a pause after each, count as.
pub(crate) fn counts(looks: u64) -> Statistics {
    Statistics { accesses: looks, pauses: looks, ..Statistics::default() }
}
