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
                let soon = step.time == Time::Soon;
                if step.call == Call::TimedWait && (pending.late || soon) {
                    // The timer of a thread that sleeps may be late itself: until the thread has
                    // gone on, a signal finds it in the queue. Where its mutex is held, nobody
                    // sees whether it has gone on.
                    let urgent = pending.late && (!soon || mutex.owner.is_none());
                    self.phase(urgent, thread, Phase::Locks(ETIMEDOUT.into()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::kind::{CondClock, Kind, Made, Rules};
    use crate::random::state::{Answer, advance, settled};
    use crate::random::step::Step;

    const WAITER: u8 = 0;
    const OWNER: u8 = 1;
    const MUTEX: u8 = 0;
    const COND: u8 = 1;

    /// A thread waits at a condvar and its deadline has passed.
    fn late(time: Time, owner: Option<u8>) -> State {
        let mut state = State::new();
        let mutex = Object::new(Kind::Mutex(Rules::Normal, Made::Static));
        let count = owner.map_or(0, |_| 1);
        state.objects[usize::from(MUTEX)] = Object { owner, count, ..mutex };
        state.objects[usize::from(COND)] =
            Object::new(Kind::Cond(CondClock::Realtime, Made::Static));
        let step = Step { with: MUTEX, time, ..Step::new(WAITER, Call::TimedWait, COND) };
        state.begin(step);
        state.be_late(WAITER);
        set_phase(&mut state, WAITER, Phase::Waits);
        state
    }

    /// Whether the wait may return `answer`, after a broadcast and an unlock if it has to.
    fn may_return(asleep: &[State], answer: Answer) -> bool {
        let step = |states: &[State], call, at| {
            let mut states = states.to_vec();
            states.iter_mut().for_each(|state| state.begin(Step::new(OWNER, call, at)));
            advance(&states, &[(OWNER, 0)])
        };
        let woken = step(asleep, Call::Broadcast, COND);
        !advance(&step(&woken, Call::Unlock, MUTEX), &[(WAITER, answer)]).is_empty()
    }

    #[test]
    fn a_late_waiter_that_sleeps_may_be_notified_or_not() {
        let asleep = settled(&[late(Time::Soon, Some(OWNER))]);
        assert!(may_return(&asleep, 0));
        assert!(may_return(&asleep, ETIMEDOUT.into()));
    }

    #[test]
    fn a_late_waiter_must_go_on_where_its_mutex_is_free() {
        assert!(settled(&[late(Time::Soon, None)]).is_empty());
    }

    #[test]
    fn a_deadline_that_had_passed_before_the_call_ends_it() {
        let asleep = settled(&[late(Time::Past, Some(OWNER))]);
        assert!(!may_return(&asleep, 0));
        assert!(may_return(&asleep, ETIMEDOUT.into()));
    }
}
