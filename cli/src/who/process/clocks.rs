//! How long threads have slept, by the time at which each last ran.
//!
//! The kernel notes that time by the clock of the processor that the thread ran on. These clocks
//! differ, and stand still while a processor is away; so this thread visits each to read it, and a
//! sleep may be longer than said.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::affinity;

/// Processors that are visited at most.
const MOST: usize = 64;

pub struct Clocks {
    found: Option<CpuSet>,
    /// What a processor's clock showed, and when.
    shown: HashMap<usize, Option<(f64, Instant)>>,
}

impl Clocks {
    pub fn new() -> Self {
        Self { found: sched_getaffinity(None).ok(), shown: HashMap::new() }
    }

    /// None if the kernel doesn't say.
    pub fn asleep_for(&mut self, pid: i32, tid: i32) -> Option<Duration> {
        let thread = format!("/proc/{pid}/task/{tid}");
        let ran = last_ran(&thread)?;
        let stat = fs::read(format!("{thread}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let processor = stat[stat.rfind(')')?..].split_whitespace().nth(37)?.parse().ok()?;
        let (shown, at) = self.read(processor)?;
        let slept = Duration::try_from_secs_f64((shown - ran).max(0.0) / 1000.0).ok()?;
        Some(slept + at.elapsed())
    }

    fn read(&mut self, processor: usize) -> Option<(f64, Instant)> {
        self.found?;
        if self.shown.len() >= MOST || processor >= CpuSet::MAX_CPU {
            return self.shown.get(&processor).copied().flatten();
        }
        let visit = || {
            affinity::bind(None, processor)?;
            Some((last_ran("/proc/thread-self")?, Instant::now()))
        };
        *self.shown.entry(processor).or_insert_with(visit)
    }
}

impl Drop for Clocks {
    fn drop(&mut self) {
        if let Some(found) = self.found.filter(|_| !self.shown.is_empty()) {
            let _ = sched_setaffinity(None, &found);
        }
    }
}

fn last_ran(thread: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{thread}/sched")).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.exec_start"))?;
    line.rsplit(' ').next()?.parse().ok()
}
