//! Faults that the specification must find.

use super::perform::Job;
use super::state::{Answer, SERIAL};
use super::step::Call;
use libc::EBUSY;
use std::sync::OnceLock;

/// What is wrong with all calls of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A try takes a mutex that is held.
    TryTakes,
    /// A post adds no permit.
    PostAddsNothing,
    /// A signal wakes no thread.
    SignalWakesNone,
    /// A broadcast wakes one thread.
    BroadcastWakesOne,
    /// No thread of a barrier is the serial one.
    NoSerialThread,
    /// A cancellation is never asked for.
    CancelsNothing,
    /// A wait ends by its deadline, and says that it was woken.
    TimesOutUnsaid,
    /// A writer's unlock is forgotten.
    WriterStays,
}

static CHOSEN: OnceLock<Fault> = OnceLock::new();

impl Fault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::TryTakes,
        Self::PostAddsNothing,
        Self::SignalWakesNone,
        Self::BroadcastWakesOne,
        Self::NoSerialThread,
        Self::CancelsNothing,
        Self::TimesOutUnsaid,
        Self::WriterStays,
    ];

    /// Its name, as `named` knows it.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The fault of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// From here on all of this process's calls have it.
    pub(super) fn choose(self) {
        CHOSEN.set(self).expect("a process has one fault");
    }
}

/// The call that is made in the place of the program's: `None` for none, which returns 0.
pub(super) fn call(job: &Job) -> Option<Call> {
    let call = job.step.call;
    match (CHOSEN.get(), call) {
        (Some(Fault::PostAddsNothing), Call::Post) => None,
        (Some(Fault::SignalWakesNone), Call::Signal) => None,
        (Some(Fault::BroadcastWakesOne), Call::Broadcast) => Some(Call::Signal),
        (Some(Fault::CancelsNothing), Call::Cancel) => None,
        (Some(Fault::WriterStays), Call::Leave) if job.owns => None,
        _ => Some(call),
    }
}

/// What is said to be returned.
pub(super) fn answer(job: &Job, answer: Answer) -> Answer {
    match (CHOSEN.get(), job.step.call) {
        (Some(Fault::TryTakes), Call::TryLock) if answer == EBUSY.into() => 0,
        (Some(Fault::NoSerialThread), Call::Meet) if answer == SERIAL => 0,
        (Some(Fault::TimesOutUnsaid), Call::TimedWait) if answer == libc::ETIMEDOUT.into() => 0,
        _ => answer,
    }
}
