//! What may happen to waits for a condvar.

use super::moves::{Moves, is_invalid, set_phase};
use super::state::{CANCELLED, Doing, Object, Pending, Phase, State};
use super::step::{Call, Time};
use libc::{EINVAL, EPERM, ETIMEDOUT};

impl Moves<'_> {
    pub(super) fn wait(&mut self, thread: u8, pending: &Pending) {
        let step = pending.step;
        let mutex = *self.from.object(step.with);
        let is_cancelled = self.from.thread(thread).is_cancelled();
        match pending.phase {
            Phase::Begun if step.call == Call::TimedWait && is_invalid(step.clock, step.time) => {
                self.fails(thread, EINVAL);
            }
            Phase::Begun if mutex.owner != Some(thread) => self.fails(thread, EPERM),
            Phase::Begun => {
                if is_cancelled {
                    self.done(thread, CANCELLED, |_| ());
                }
                self.to(true, |state| {
                    let mutex = &mut state.objects[usize::from(step.with)];
                    (mutex.owner, mutex.count) = (None, 0);
                    set_phase(state, thread, Phase::Waits);
                });
            }
            Phase::Locks(answer) if mutex.owner.is_none() => {
                self.done(thread, answer, |mutex| {
                    mutex.owner = Some(thread);
                    mutex.count = 1;
                });
            }
            Phase::Locks(_) => {}
            _ => {
                if step.call == Call::TimedWait && (pending.late || step.time == Time::Soon) {
                    self.phase(pending.late, thread, Phase::Locks(ETIMEDOUT.into()));
                }
                if is_cancelled {
                    self.phase(true, thread, Phase::Locks(CANCELLED));
                }
            }
        }
    }

    pub(super) fn notify(&mut self, thread: u8, pending: &Pending) {
        let step = pending.step;
        let locks = matches!(step.call, Call::LockSignal | Call::LockBroadcast);
        let at = if locks { step.with } else { step.at };
        let next = if locks { set_notified } else { set_done };
        let waits = |other: &Pending| other.step.at == at && other.phase == Phase::Waits;
        let calls = self.from.calls().filter(|(_, other)| waits(other));
        let waiters: Vec<u8> = calls.map(|(waiter, _)| waiter).collect();
        let all = matches!(step.call, Call::Broadcast | Call::LockBroadcast);
        if waiters.is_empty() || all {
            return self.to(true, |state| {
                waiters.iter().for_each(|waiter| set_phase(state, *waiter, Phase::Locks(0)));
                next(state, thread);
            });
        }
        for waiter in waiters {
            self.to(true, |state| {
                set_phase(state, waiter, Phase::Locks(0));
                next(state, thread);
            });
        }
    }

    pub(super) fn lock_and_notify(&mut self, thread: u8, pending: &Pending, mutex: Object) {
        match pending.phase {
            Phase::Holds => self.notify(thread, pending),
            Phase::Notified => self.done(thread, 0, |mutex| (mutex.owner, mutex.count) = (None, 0)),
            _ if mutex.owner.is_none() => self.takes(thread, pending),
            _ => {}
        }
    }
}

fn set_notified(state: &mut State, thread: u8) {
    set_phase(state, thread, Phase::Notified);
}

fn set_done(state: &mut State, thread: u8) {
    state.threads[usize::from(thread)].doing = Doing::Done(0);
}
