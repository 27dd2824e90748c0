//! What may happen at a rwlock.

use super::kind::{Kind, Prefers};
use super::moves::{Moves, is_invalid, set_phase};
use super::state::{Object, Pending, Phase, State};
use super::step::Call;
use libc::{EBUSY, EDEADLK, EINVAL};

/// Whether a rwlock lets a thread read.
enum Reads {
    Yes,
    /// A writer waits: it is up to the lock.
    Maybe,
    No,
}

impl State {
    /// Whether `thread` may read the rwlock `at`.
    fn reads(&self, thread: u8, at: u8) -> Reads {
        let lock = self.object(at);
        let Some(Kind::RwLock(prefers, _)) = lock.kind else { return Reads::No };
        if lock.owner.is_some() {
            return Reads::No;
        }
        let writes = |pending: &Pending| {
            pending.step.at == at
                && matches!(
                    pending.step.call,
                    Call::Write | Call::TimedWrite | Call::TryWrite | Call::WriteOften
                )
                && pending.phase == Phase::Begun
        };
        let mut writers = self.calls().filter(|(_, pending)| writes(pending)).peekable();
        if writers.peek().is_none() {
            return Reads::Yes;
        }
        let strict = prefers == Prefers::WritersNonrecursive;
        // Where readers hold it, a writer that sleeps waits for them.
        if strict && lock.is_read() && writers.any(|(_, pending)| pending.asleep) {
            return Reads::No;
        }
        let again = lock.reads[usize::from(thread)] > 0;
        if again && !strict { Reads::Yes } else { Reads::Maybe }
    }
}

impl Moves<'_> {
    pub(super) fn read(&mut self, thread: u8, pending: &Pending, lock: Object) {
        let step = pending.step;
        if step.call == Call::TimedRead && is_invalid(step.clock, step.time) {
            return self.fails(thread, EINVAL);
        }
        let tries = step.call == Call::TryRead;
        if lock.owner == Some(thread) {
            return self.fails(thread, if tries { EBUSY } else { EDEADLK });
        }
        let reads = self.from.reads(thread, step.at);
        // A nonrecursive lock may keep readers out as long as a writer waits.
        let strict = matches!(lock.kind, Some(Kind::RwLock(Prefers::WritersNonrecursive, _)));
        if !matches!(reads, Reads::No) {
            let urgent = matches!(reads, Reads::Yes) || tries || !strict;
            self.ends(urgent, thread, 0, |lock| lock.reads[usize::from(thread)] += 1);
        }
        if !matches!(reads, Reads::Yes) {
            if tries {
                self.fails(thread, EBUSY);
            } else {
                self.may_time_out(thread, pending);
            }
        }
    }

    pub(super) fn write(&mut self, thread: u8, pending: &Pending, lock: Object) {
        let step = pending.step;
        let tries = step.call == Call::TryWrite;
        if step.call == Call::TimedWrite && is_invalid(step.clock, step.time) {
            self.fails(thread, EINVAL);
        } else if !lock.is_held() {
            self.done(thread, 0, |lock| lock.owner = Some(thread));
        } else if tries {
            self.fails(thread, EBUSY);
        } else if lock.owner == Some(thread) {
            self.fails(thread, EDEADLK);
        } else {
            self.may_time_out(thread, pending);
        }
    }

    /// The same as one of several readers.
    pub(super) fn hold_shared(&mut self, thread: u8, pending: &Pending) {
        let (at, reader) = (usize::from(pending.step.at), usize::from(thread));
        if pending.phase == Phase::Holds {
            self.done(thread, 0, |lock| lock.reads[reader] -= 1);
            self.to(true, |state| {
                state.objects[at].reads[reader] -= 1;
                set_phase(state, thread, Phase::Begun);
            });
            return;
        }
        let reads = self.from.reads(thread, pending.step.at);
        let strict = matches!(
            self.from.objects[at].kind,
            Some(Kind::RwLock(Prefers::WritersNonrecursive, _))
        );
        if !matches!(reads, Reads::No) {
            self.to(matches!(reads, Reads::Yes) || !strict, |state| {
                state.objects[at].reads[reader] += 1;
                set_phase(state, thread, Phase::Holds);
            });
        }
    }
}
