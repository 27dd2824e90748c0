//! The specification's states: what a program's objects and threads may be like. Where POSIX leaves
//! a choice there are several, and what is seen says which of them remain.

use super::kind::{Kind, Made};
use super::step::{OBJECTS, Step, THREADS};
use std::collections::HashSet;

/// What a call returns: 0, an error number, a value, or one of these.
pub(super) type Answer = i64;
/// It was cancelled: its clean-up handler runs.
pub(super) const CANCELLED: Answer = -1000;
/// `PTHREAD_BARRIER_SERIAL_THREAD`.
pub(super) const SERIAL: Answer = -1;
/// C11's `thrd_error`.
pub(super) const THRD_ERROR: Answer = 1000;

/// All that matters of a moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) objects: [Object; OBJECTS],
    pub(super) threads: [Thread; THREADS],
}

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// None: there is none.
    pub(super) kind: Option<Kind>,
    /// The thread that holds a mutex or spinlock, writes, or calls a once's routine.
    pub(super) owner: Option<u8>,
    /// A recursive mutex's locks, a semaphore's permits, threads at a barrier; 1: a once is done.
    pub(super) count: u32,
    /// How often each thread reads.
    pub(super) reads: [u8; THREADS],
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    pub(super) doing: Doing,
    pub(super) cancel: Cancel,
    /// Whether it has disabled cancellation.
    pub(super) disabled: bool,
    /// A signal whose handler hasn't run.
    pub(super) signal: Option<Signal>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Doing {
    Nothing,
    /// It is in a call.
    Call(Pending),
    /// Its call has had its effect and returns this.
    Done(Answer),
}

/// A call that has not had its last effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) step: Step,
    pub(super) phase: Phase,
    /// Its deadline has passed.
    pub(super) late: bool,
    /// It was seen asleep: it has done all that comes before.
    pub(super) asleep: bool,
    /// A cancellation that it must act on came before the call.
    pub(super) doomed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Begun,
    /// In a condvar's queue.
    Waits,
    /// It locks its condvar's mutex and will return this.
    Locks(Answer),
    /// At a barrier.
    Arrived,
    /// In a once's routine.
    Routine,
    /// It has taken what it will give back.
    Holds,
    /// The same, and it has notified a condvar.
    Notified,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cancel {
    No,
    Asked,
    Acting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signal {
    pub(super) restarts: bool,
    /// The semaphore that the handler posts.
    pub(super) posts: Option<u8>,
}

impl Object {
    pub(super) const NONE: Self = Self { kind: None, owner: None, count: 0, reads: [0; THREADS] };

    pub(super) fn new(kind: Kind) -> Self {
        let count = if let Kind::Semaphore(permits, _) = kind { permits } else { 0 };
        Self { kind: Some(kind), count, ..Self::NONE }
    }

    pub(super) fn is_read(&self) -> bool {
        self.reads.iter().any(|reads| *reads > 0)
    }

    pub(super) fn is_held(&self) -> bool {
        self.owner.is_some() || self.is_read()
    }

    pub(super) fn is(&self, made: Made) -> bool {
        self.kind.is_some_and(|kind| kind.made() == made)
    }
}

impl Thread {
    pub(super) const NEW: Self =
        Self { doing: Doing::Nothing, cancel: Cancel::No, disabled: false, signal: None };

    pub(super) fn pending(&self) -> Option<&Pending> {
        if let Doing::Call(pending) = &self.doing { Some(pending) } else { None }
    }

    /// Whether a cancellation point acts.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel == Cancel::Asked && !self.disabled
    }
}

impl State {
    pub(super) fn new() -> Self {
        Self { objects: [Object::NONE; OBJECTS], threads: [Thread::NEW; THREADS] }
    }

    pub(super) fn object(&self, at: u8) -> &Object {
        &self.objects[usize::from(at)]
    }

    pub(super) fn thread(&self, thread: u8) -> &Thread {
        &self.threads[usize::from(thread)]
    }

    pub(super) fn begin(&mut self, step: Step) {
        let thread = &mut self.threads[usize::from(step.thread)];
        let late = step.call.has_deadline() && step.time.is_past();
        let doomed = thread.is_cancelled();
        let pending = Pending { step, phase: Phase::Begun, late, asleep: false, doomed };
        thread.doing = Doing::Call(pending);
    }

    /// Calls that are going on.
    pub(super) fn calls(&self) -> impl Iterator<Item = (u8, &Pending)> {
        let threads = (0..).zip(&self.threads);
        threads.filter_map(|(number, thread)| Some((number, thread.pending()?)))
    }

    pub(super) fn is_idle(&self, thread: u8) -> bool {
        self.thread(thread).doing == Doing::Nothing
    }

    /// Whether nothing has to happen that hasn't.
    pub(super) fn is_quiet(&self) -> bool {
        let threads = &self.threads;
        let done = threads.iter().any(|thread| matches!(thread.doing, Doing::Done(_)));
        let signalled = threads.iter().any(|thread| thread.signal.is_some());
        !done && !signalled && self.moves().iter().all(|(_, urgent)| !urgent)
    }

    /// All calls that go on were seen asleep.
    pub(super) fn fall_asleep(&mut self) {
        for thread in &mut self.threads {
            if let Doing::Call(pending) = &mut thread.doing {
                pending.asleep = true;
            }
        }
    }

    /// The deadline of a thread's call, if it has one, has passed.
    pub(super) fn be_late(&mut self, thread: u8) {
        if let Doing::Call(pending) = &mut self.threads[usize::from(thread)].doing {
            pending.late = true;
        }
    }
}

/// What may be the case once nothing has to happen any more.
pub(super) fn settled(states: &[State]) -> Vec<State> {
    let mut quiet = advance(states, &[]);
    quiet.retain(State::is_quiet);
    quiet
}

/// What may be the case after these returns, in any order, and whatever else may have happened.
pub(super) fn advance(states: &[State], returned: &[(u8, Answer)]) -> Vec<State> {
    let all = (1u32 << returned.len()) - 1;
    let mut seen: HashSet<(State, u32)> = states.iter().map(|state| (state.clone(), 0)).collect();
    let mut open: Vec<_> = seen.iter().cloned().collect();
    let mut after = Vec::new();
    while let Some((state, mask)) = open.pop() {
        let mut reached = |state: State, mask| {
            if seen.insert((state.clone(), mask)) {
                open.push((state, mask));
            }
        };
        for (index, (thread, answer)) in returned.iter().enumerate() {
            let doing = state.thread(*thread).doing;
            if mask & (1 << index) == 0 && doing == Doing::Done(*answer) {
                let mut next = state.clone();
                let thread = &mut next.threads[usize::from(*thread)];
                thread.doing = Doing::Nothing;
                if *answer == CANCELLED {
                    thread.cancel = Cancel::Acting;
                }
                reached(next, mask | (1 << index));
            }
        }
        for (next, _) in state.moves() {
            reached(next, mask);
        }
        if mask == all {
            after.push(state);
        }
    }
    after
}
