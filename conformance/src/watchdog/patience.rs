//! A bound on a wait, which asks for the cause before it gives up.

use super::examine::{Subject, examine};
use super::judge::Fault;
use std::time::{Duration, Instant};

/// A wait may take so many times its bound, whatever the cause.
pub const EXTENSIONS: u32 = 4;

/// How much longer to wait.
#[derive(Debug)]
pub struct Patience {
    bound: Duration,
    since: Instant,
    next_look: Instant,
}

impl Patience {
    /// For a wait that begins now.
    pub fn new(bound: Duration) -> Self {
        let now = Instant::now();
        Self { bound, since: now, next_look: now + bound }
    }

    /// For a wait that has lasted for all of its bound.
    pub fn over(bound: Duration) -> Self {
        let now = Instant::now();
        Self { bound, since: now.checked_sub(bound).unwrap_or(now), next_look: now }
    }

    /// Whether the bound, as it stands, has passed: `judge` then takes a second.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.next_look
    }

    /// The reason to give up waiting for `subject`, once the bound has passed and the machine isn't
    /// at fault, or at the hard limit. The caller checks once more before it fails.
    pub fn judge(&mut self, subject: &Subject) -> Option<String> {
        if !self.is_over() {
            return None;
        }
        let seen = examine(subject);
        let (fault, lines) = (seen.fault(), seen.lines());
        let (waited, limit) = (self.since.elapsed(), self.bound * EXTENSIONS);
        let times = format!("{:.1} s without progress", waited.as_secs_f64());
        if fault == Fault::Machine && waited < limit {
            self.next_look = Instant::now() + self.bound / 2;
            eprint!(
                "watchdog: {times}: {fault} fault. The bound of {:?} is extended, up to \
                 {limit:?}:\n{lines}",
                self.bound
            );
            return None;
        }
        let stacks = seen.user_stacks();
        Some(format!("watchdog: {times}: {fault} fault:\n{lines}{stacks}"))
    }
}
