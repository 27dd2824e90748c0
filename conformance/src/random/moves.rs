//! What may happen next in a state, by POSIX and glibc's documentation.

use super::kind::{Kind, MOST_PERMITS, Made, Rules};
use super::state::{
    Answer, CANCELLED, Cancel, Doing, Object, Pending, Phase, SERIAL, Signal, State, THRD_ERROR,
};
use super::step::{Call, Clock, Time};
use libc::{EAGAIN, EBUSY, EDEADLK, EINTR, EINVAL, EOVERFLOW, EPERM, ETIMEDOUT};

/// States that may follow, and whether the move has to be made, if no other is.
pub(super) struct Moves<'s> {
    pub(super) from: &'s State,
    pub(super) to: Vec<(State, bool)>,
}

impl State {
    pub(super) fn moves(&self) -> Vec<(State, bool)> {
        let mut moves = Moves { from: self, to: Vec::new() };
        for (number, thread) in (0..).zip(&self.threads) {
            if let Some(signal) = thread.signal {
                moves.handler(number, signal);
            }
            if let Doing::Call(pending) = thread.doing {
                moves.call(number, &pending);
            }
        }
        moves.to
    }
}

impl Moves<'_> {
    pub(super) fn to(&mut self, urgent: bool, change: impl FnOnce(&mut State)) {
        let mut next = self.from.clone();
        change(&mut next);
        self.to.push((next, urgent));
    }

    /// The call of `thread` has the effect `change` on its object, and returns `answer`.
    pub(super) fn done(&mut self, thread: u8, answer: Answer, change: impl FnOnce(&mut Object)) {
        self.ends(true, thread, answer, change);
    }

    pub(super) fn ends(
        &mut self,
        urgent: bool,
        thread: u8,
        answer: Answer,
        change: impl FnOnce(&mut Object),
    ) {
        let Some(pending) = self.from.thread(thread).pending() else { return };
        let step = pending.step;
        // A condvar may be gone by now.
        let waits = matches!(step.call, Call::Wait | Call::TimedWait);
        let at = if waits { step.with } else { step.at };
        self.to(urgent, |state| {
            let c11 = step.call.has_object() && state.object(at).is(Made::C11);
            change(&mut state.objects[usize::from(at)]);
            let answer = if c11 { of_c11(answer) } else { answer };
            state.threads[usize::from(thread)].doing = Doing::Done(answer);
        });
    }

    pub(super) fn fails(&mut self, thread: u8, errno: i32) {
        self.done(thread, errno.into(), |_| ());
    }

    /// The deadline may end the call, or has to.
    pub(super) fn may_time_out(&mut self, thread: u8, pending: &Pending) {
        let step = pending.step;
        if step.call.has_deadline() && (pending.late || step.time == Time::Soon) {
            self.ends(pending.late, thread, ETIMEDOUT.into(), |_| ());
        }
    }

    pub(super) fn phase(&mut self, urgent: bool, thread: u8, phase: Phase) {
        self.to(urgent, |state| set_phase(state, thread, phase));
    }

    fn handler(&mut self, thread: u8, signal: Signal) {
        let run = |state: &mut State| {
            state.threads[usize::from(thread)].signal = None;
            if let Some(at) = signal.posts {
                post(state, at);
            }
        };
        let Some(pending) = self.from.thread(thread).pending() else {
            return self.to(true, run);
        };
        let step = pending.step;
        let waits = matches!(step.call, Call::SemWait | Call::SemTimed);
        let interrupts = waits && (!signal.restarts || step.call == Call::SemTimed);
        let must = interrupts && pending.asleep && !signal.restarts && signal.posts.is_none();
        if interrupts {
            self.to(true, |state| {
                run(state);
                state.threads[usize::from(thread)].doing = Doing::Done(EINTR.into());
            });
        }
        if !must {
            self.to(true, run);
        }
    }

    fn call(&mut self, thread: u8, pending: &Pending) {
        let step = pending.step;
        let object = *self.from.object(step.at);
        match step.call {
            Call::Make => self.done(thread, 0, |object| *object = Object::new(step.kind)),
            Call::Destroy => self.done(thread, 0, |object| *object = Object::NONE),
            Call::Lock | Call::TryLock | Call::TimedLock => self.lock(thread, pending, object),
            Call::Unlock => self.unlock(thread, object),
            Call::Wait | Call::TimedWait => self.wait(thread, pending),
            Call::Signal | Call::Broadcast => self.notify(thread, pending),
            Call::Read | Call::TryRead | Call::TimedRead => self.read(thread, pending, object),
            Call::Write | Call::TryWrite | Call::TimedWrite => self.write(thread, pending, object),
            Call::Leave => self.done(thread, 0, |object| match object.owner {
                Some(_) => object.owner = None,
                None => object.reads[usize::from(thread)] -= 1,
            }),
            Call::SemWait | Call::SemTry | Call::SemTimed => self.take(thread, pending, object),
            Call::Post if object.count == MOST_PERMITS => self.fails(thread, EOVERFLOW),
            Call::Post => self.to(true, |state| {
                post(state, step.at);
                state.threads[usize::from(thread)].doing = Doing::Done(0);
            }),
            Call::Value => self.done(thread, object.count.into(), |_| ()),
            Call::Meet => self.meet(thread, pending, object),
            Call::Once | Call::OnceSem => self.once(thread, pending, object),
            Call::LockSignal | Call::LockBroadcast => self.lock_and_notify(thread, pending, object),
            Call::LockOften | Call::WriteOften => self.hold(thread, pending, object),
            Call::ReadOften => self.hold_shared(thread, pending),
            Call::Spin | Call::SpinTry if object.owner.is_none() => {
                self.done(thread, 0, |object| object.owner = Some(thread));
            }
            Call::Spin => {}
            Call::SpinTry => self.fails(thread, EBUSY),
            Call::SpinUnlock => self.done(thread, 0, |object| object.owner = None),
            Call::Cancel => self.cancel(thread, step.target),
            Call::Kill | Call::KillRestart | Call::KillPost => self.to(true, |state| {
                let posts = (step.call == Call::KillPost).then_some(step.with);
                let signal = Signal { restarts: step.call == Call::KillRestart, posts };
                state.threads[usize::from(step.target)].signal = Some(signal);
                state.threads[usize::from(thread)].doing = Doing::Done(0);
            }),
            Call::Disable | Call::Enable => self.to(true, |state| {
                let its = &mut state.threads[usize::from(thread)];
                its.disabled = step.call == Call::Disable;
                its.doing = Doing::Done(0);
            }),
            Call::TestCancel => {
                let is_cancelled = self.from.thread(thread).is_cancelled();
                self.done(thread, if is_cancelled { CANCELLED } else { 0 }, |_| ());
            }
            Call::Fork | Call::Many | Call::Pause => self.done(thread, 0, |_| ()),
        }
    }

    fn cancel(&mut self, thread: u8, target: u8) {
        self.to(true, |state| {
            let target = &mut state.threads[usize::from(target)];
            if target.cancel == Cancel::No {
                target.cancel = Cancel::Asked;
            }
            state.threads[usize::from(thread)].doing = Doing::Done(0);
        });
        // A thread that acts on one already may be woken from a condvar by another, as POSIX
        // allows at any time: the preload can't tell that it acts.
        let target_thread = self.from.thread(target);
        let waits = target_thread.pending().is_some_and(|pending| pending.phase == Phase::Waits);
        if target_thread.cancel == Cancel::Acting && waits {
            self.to(true, |state| {
                set_phase(state, target, Phase::Locks(0));
                state.threads[usize::from(thread)].doing = Doing::Done(0);
            });
        }
    }

    fn lock(&mut self, thread: u8, pending: &Pending, mutex: Object) {
        let step = pending.step;
        let Some(Kind::Mutex(rules, made)) = mutex.kind else { return };
        let own = mutex.owner == Some(thread);
        let glibcs = matches!(made, Made::Robust | Made::Inheriting);
        if step.call == Call::TimedLock && step.clock == Clock::Wrong {
            return self.fails(thread, EINVAL);
        }
        match mutex.owner {
            None => self.done(thread, 0, |mutex| {
                mutex.owner = Some(thread);
                mutex.count = 1;
            }),
            Some(_) if own && rules == Rules::Recursive => {
                self.done(thread, 0, |mutex| mutex.count += 1);
            }
            // glibc's robust ones say so to a try, too.
            Some(_) if step.call == Call::TryLock && !(own && glibcs) => self.fails(thread, EBUSY),
            Some(_) if own && rules == Rules::ErrorCheck => self.fails(thread, EDEADLK),
            Some(_) if step.call == Call::TryLock => self.fails(thread, EBUSY),
            Some(_) if step.call == Call::TimedLock && step.time.is_malformed() => {
                self.fails(thread, EINVAL);
            }
            Some(_) => self.may_time_out(thread, pending),
        }
    }

    fn unlock(&mut self, thread: u8, mutex: Object) {
        if mutex.owner != Some(thread) {
            return self.fails(thread, EPERM);
        }
        self.done(thread, 0, |mutex| {
            mutex.count -= 1;
            if mutex.count == 0 {
                mutex.owner = None;
            }
        });
    }

    /// Takes a free object for itself.
    pub(super) fn takes(&mut self, thread: u8, pending: &Pending) {
        let at = usize::from(pending.step.at);
        self.to(true, |state| {
            (state.objects[at].owner, state.objects[at].count) = (Some(thread), 1);
            set_phase(state, thread, Phase::Holds);
        });
    }

    /// Holds an object for itself, once or more often.
    fn hold(&mut self, thread: u8, pending: &Pending, object: Object) {
        let at = usize::from(pending.step.at);
        if pending.phase == Phase::Holds {
            let gives = |object: &mut Object| (object.owner, object.count) = (None, 0);
            self.done(thread, 0, gives);
            self.to(true, |state| {
                gives(&mut state.objects[at]);
                set_phase(state, thread, Phase::Begun);
            });
        } else if !object.is_held() {
            self.takes(thread, pending);
        }
    }

    fn take(&mut self, thread: u8, pending: &Pending, semaphore: Object) {
        let step = pending.step;
        if step.call == Call::SemTimed && is_invalid(step.clock, step.time) {
            self.fails(thread, EINVAL);
            if step.clock == Clock::Wrong {
                return;
            }
        }
        if step.call != Call::SemTry && self.from.thread(thread).is_cancelled() {
            self.done(thread, CANCELLED, |_| ());
            // glibc's sem_timedwait looks only before it sleeps.
            if pending.doomed && step.call == Call::SemWait {
                return;
            }
        }
        match step.call {
            _ if semaphore.count > 0 => self.done(thread, 0, |semaphore| semaphore.count -= 1),
            Call::SemTry => self.fails(thread, EAGAIN),
            _ => self.may_time_out(thread, pending),
        }
    }

    fn meet(&mut self, thread: u8, pending: &Pending, barrier: Object) {
        let Some(Kind::Barrier(parties, _)) = barrier.kind else { return };
        let at = pending.step.at;
        if pending.phase == Phase::Arrived {
            return;
        }
        let others = self
            .from
            .calls()
            .filter(|(_, other)| other.step.at == at && other.phase == Phase::Arrived);
        let mut here: Vec<u8> = others.map(|(other, _)| other).collect();
        here.push(thread);
        if here.len() < usize::from(parties) {
            return self.phase(true, thread, Phase::Arrived);
        }
        for &serial in &here {
            self.to(true, |state| {
                for &one in &here {
                    let answer = if one == serial { SERIAL } else { 0 };
                    state.threads[usize::from(one)].doing = Doing::Done(answer);
                }
            });
        }
    }

    fn once(&mut self, thread: u8, pending: &Pending, once: Object) {
        let step = pending.step;
        if once.count == 1 {
            self.done(thread, 0, |_| ());
        } else if pending.phase == Phase::Routine {
            if self.from.thread(thread).is_cancelled() {
                self.done(thread, CANCELLED, |once| once.owner = None);
                if pending.doomed {
                    return;
                }
            }
            if self.from.object(step.with).count > 0 {
                self.to(true, |state| {
                    state.objects[usize::from(step.with)].count -= 1;
                    let once = &mut state.objects[usize::from(step.at)];
                    (once.owner, once.count) = (None, 1);
                    state.threads[usize::from(thread)].doing = Doing::Done(0);
                });
            }
        } else if once.owner.is_none() && step.call == Call::Once {
            self.done(thread, 0, |once| once.count = 1);
        } else if once.owner.is_none() {
            self.to(true, |state| {
                state.objects[usize::from(step.at)].owner = Some(thread);
                set_phase(state, thread, Phase::Routine);
            });
        }
    }
}

pub(super) fn set_phase(state: &mut State, thread: u8, phase: Phase) {
    if let Doing::Call(pending) = &mut state.threads[usize::from(thread)].doing {
        pending.phase = phase;
        // It has run.
        pending.asleep &= phase != Phase::Holds;
    }
}

/// Adds a permit, for which a waiter may wake that is too late to get it.
fn post(state: &mut State, at: u8) {
    let object = &mut state.objects[usize::from(at)];
    object.count = (object.count + 1).min(MOST_PERMITS);
    for thread in &mut state.threads {
        if let Doing::Call(pending) = &mut thread.doing {
            pending.asleep &= pending.step.at != at;
        }
    }
}

pub(super) fn is_invalid(clock: Clock, time: Time) -> bool {
    clock == Clock::Wrong || time.is_malformed()
}

fn of_c11(answer: Answer) -> Answer {
    match answer {
        0 | CANCELLED => answer,
        _ if answer == EBUSY.into() || answer == ETIMEDOUT.into() => answer,
        _ => THRD_ERROR,
    }
}
