//! What was seen of a program that failed.

use super::state::{Answer, CANCELLED, SERIAL, State, THRD_ERROR};
use super::step::{Step, text};
use std::fmt;

/// What was seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Begins(Step),
    Returns(u8, Answer),
    /// The program's own steps are over; what follows ends it.
    Ends,
}

/// A program that does what the specification forbids.
#[derive(Debug)]
pub struct Failure {
    pub(super) seed: u64,
    pub(super) why: String,
    pub(super) steps: Vec<Step>,
    pub(super) events: Vec<Event>,
    pub(super) states: Vec<State>,
}

/// How many of the states that were possible are printed.
const MOST_STATES: usize = 2;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {:#x}: {}", self.seed, self.why)?;
        for event in &self.events {
            match event {
                Event::Begins(step) => writeln!(f, "  {step}")?,
                Event::Returns(thread, answer) => {
                    writeln!(f, "      {thread} returns {}", Shown(*answer))?;
                }
                Event::Ends => writeln!(f, "  at the end:")?,
            }
        }
        writeln!(f, "  {} states were possible, such as:", self.states.len())?;
        for state in self.states.iter().take(MOST_STATES) {
            let objects = state.objects.iter().filter(|object| object.kind.is_some());
            objects.clone().try_for_each(|object| writeln!(f, "    {object:?}"))?;
            for (thread, pending) in state.calls() {
                let phase = (pending.phase, pending.late, pending.asleep);
                writeln!(f, "    {thread} in {}: {phase:?}", pending.step)?;
            }
        }
        writeln!(f, "RANDOM_PROGRAM='{}'", text(&self.steps))
    }
}

struct Shown(Answer);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(errno) = i32::try_from(self.0) else { return write!(f, "{}", self.0) };
        let name = match errno {
            libc::EBUSY => "EBUSY",
            libc::EAGAIN => "EAGAIN",
            libc::EDEADLK => "EDEADLK",
            libc::EINTR => "EINTR",
            libc::EINVAL => "EINVAL",
            libc::EPERM => "EPERM",
            libc::ETIMEDOUT => "ETIMEDOUT",
            libc::EOVERFLOW => "EOVERFLOW",
            _ if self.0 == CANCELLED => "by its cancellation",
            _ if self.0 == SERIAL => "as the serial thread",
            _ if self.0 == THRD_ERROR => "thrd_error",
            _ => return write!(f, "{errno}"),
        };
        f.write_str(name)
    }
}
