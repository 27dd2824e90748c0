//! Which steps a program may contain: those with a defined outcome, after which it can still end.

use super::kind::{Kind, MOST_PERMITS, Made, Prefers, Rules};
use super::state::{Cancel, Object, Pending, Phase, State};
use super::step::{Call, Clock, NAMED, OBJECTS, Step, THREADS, Time};
use std::sync::OnceLock;

/// Whether `step` may be next in all states that may be the case. `alone`: no other call of the
/// same moment is under way.
pub(super) fn is_legal(states: &[State], step: &Step, alone: bool) -> bool {
    // What a child does is planned by what is the case.
    (step.call != Call::Fork || states.len() == 1)
        && states.iter().all(|state| {
            let mut after = state.clone();
            after.begin(*step);
            let can_begin = alone || !step.call.is_alone();
            can_begin
                && state.is_idle(step.thread)
                && state.allows(step, alone)
                && !after.has_circle()
        })
}

impl State {
    fn allows(&self, step: &Step, alone: bool) -> bool {
        let object = self.object(step.at);
        let own = object.owner == Some(step.thread);
        let Some(kind) = object.kind else {
            return (!step.call.has_object() && self.allows_without(step))
                || (step.call == Call::Make && self.is_unwaited(step.at));
        };
        match step.call {
            Call::Make => false,
            Call::Destroy => !object.is_held() && self.is_unwaited(step.at),
            Call::Lock => is_mutex(kind),
            Call::TryLock => is_mutex(kind),
            Call::TimedLock => {
                is_mutex(kind) && has_clock(kind, step) && is_timed_well(kind, own, step)
            }
            Call::LockSignal | Call::LockBroadcast => {
                let cond = self.object(step.with);
                let c11 = kind.made() == Made::C11 || cond.is(Made::C11);
                is_mutex(kind) && !own && matches!(cond.kind, Some(Kind::Cond(..))) && !c11
            }
            Call::LockOften => is_mutex(kind) && !own && kind.made() != Made::C11,
            Call::ReadOften | Call::WriteOften => matches!(kind, Kind::RwLock(..)) && !own,
            Call::Unlock => match kind {
                Kind::Mutex(Rules::Normal | Rules::Adaptive, _) => own,
                // C11 leaves it undefined.
                Kind::Mutex(_, Made::C11) => own,
                _ => is_mutex(kind),
            },
            Call::Wait | Call::TimedWait => self.allows_wait(step, kind),
            Call::Signal | Call::Broadcast => matches!(kind, Kind::Cond(..)),
            Call::Read | Call::TryRead | Call::TimedRead => {
                let reads = object.reads[usize::from(step.thread)];
                matches!(kind, Kind::RwLock(..)) && reads < 3
            }
            Call::Write | Call::TimedWrite | Call::TryWrite => matches!(kind, Kind::RwLock(..)),
            Call::Leave => {
                let reads = object.reads[usize::from(step.thread)] > 0;
                matches!(kind, Kind::RwLock(..)) && (own || reads)
            }
            Call::SemWait | Call::SemTry | Call::SemTimed | Call::Value => is_semaphore(kind),
            // A full one returns an error, and programs at the bound must be sure of it.
            Call::Post => {
                let fits = alone || object.count < MOST_PERMITS - 3;
                is_semaphore(kind) && fits && self.may_post(step)
            }
            Call::Meet => match kind {
                Kind::Barrier(parties, _) => self.users(step.at).count() < usize::from(parties),
                _ => false,
            },
            Call::Once => kind == Kind::Once,
            Call::OnceSem => kind == Kind::Once && self.is_semaphore(step.with),
            Call::Spin => kind == Kind::Spin && object.owner.is_none(),
            Call::SpinTry => kind == Kind::Spin,
            Call::SpinUnlock => kind == Kind::Spin && own,
            Call::Many => self.is_unwaited(step.at) && allows_many(kind, object),
            _ => self.allows_without(step),
        }
    }

    fn allows_without(&self, step: &Step) -> bool {
        match step.call {
            Call::Cancel => {
                let mut posts = self.calls().filter(|(_, other)| other.step.posts().is_some());
                usize::from(step.target) < NAMED
                    && !self.signals(step.target)
                    && !posts.any(|(_, other)| self.swallows(step.target, other.step.posts()))
            }
            Call::Kill | Call::KillRestart => self.may_signal(step.target),
            Call::KillPost => {
                self.may_signal(step.target)
                    && self.is_semaphore(step.with)
                    && self.object(step.with).count < MOST_PERMITS - 3
                    && self.may_post(step)
            }
            Call::Fork => self.thread(step.thread).cancel == Cancel::No,
            Call::Disable | Call::Enable | Call::TestCancel | Call::Pause => true,
            _ => false,
        }
    }

    fn allows_wait(&self, step: &Step, cond: Kind) -> bool {
        let mutex = self.object(step.with);
        let (Kind::Cond(_, made), Some(Kind::Mutex(rules, mutexes))) = (cond, mutex.kind) else {
            return false;
        };
        let own = mutex.owner == Some(step.thread);
        let checks = matches!(rules, Rules::Recursive | Rules::ErrorCheck);
        let plain = matches!(mutexes, Made::Private | Made::Static);
        let refused = checks && plain && (step.call == Call::Wait || !is_invalid(step));
        let others = |(_, pending): (u8, &Pending)| {
            is_wait(pending)
                && !matches!(pending.phase, Phase::Locks(_))
                && pending.step.at == step.at
                && pending.step.with != step.with
        };
        let c11 = [made, mutexes].map(|made| made == Made::C11);
        let timed = step.call == Call::TimedWait;
        c11[0] == c11[1]
            && (!timed || has_clock(cond, step))
            && ((own && mutex.count == 1) || (!own && refused))
            && !self.calls().any(others)
    }

    fn is_semaphore(&self, at: u8) -> bool {
        self.object(at).kind.is_some_and(is_semaphore)
    }

    /// A signal and a cancellation that meet cut the handler short.
    fn may_signal(&self, target: u8) -> bool {
        let cancels = |(_, other): (u8, &Pending)| {
            other.step.call == Call::Cancel && other.step.target == target
        };
        let is_free = self.thread(target).signal.is_none() && !self.signals(target);
        is_free && !self.calls().any(cancels)
    }

    fn may_post(&self, step: &Step) -> bool {
        let mut cancels = self.calls().filter(|(_, other)| other.step.call == Call::Cancel);
        !cancels.any(|(_, other)| self.swallows(other.step.target, step.posts()))
    }

    /// Whether `target` waits for a semaphore of glibc's, whose post it may swallow as it is
    /// cancelled: then another waiter sleeps beside a permit.
    fn swallows(&self, target: u8, posted: Option<u8>) -> bool {
        let Some((target, posted)) = self.thread(target).pending().zip(posted) else {
            return false;
        };
        let waits_at = match target.step.call {
            Call::OnceSem => target.step.with,
            Call::SemWait | Call::SemTimed => target.step.at,
            _ => return false,
        };
        waits_at == posted && (is_glibc() || self.object(posted).is(Made::Shared))
    }

    /// Whether a thread is about to interrupt this one.
    fn signals(&self, target: u8) -> bool {
        self.calls().any(|(_, pending)| {
            matches!(pending.step.call, Call::Kill | Call::KillRestart | Call::KillPost)
                && pending.step.target == target
        })
    }

    /// Calls that use an object, except a condvar's that have been notified.
    pub(super) fn users(&self, at: u8) -> impl Iterator<Item = u8> {
        let calls = self.calls().filter(move |(_, pending)| {
            let step = pending.step;
            let first = step.call.has_object() && step.at == at;
            let second = step.call.has_second() && step.with == at;
            (first && !matches!(pending.phase, Phase::Locks(_))) || second
        });
        calls.map(|(thread, _)| thread)
    }

    fn is_unwaited(&self, at: u8) -> bool {
        let posts = |thread: &super::state::Thread| {
            thread.signal.is_some_and(|signal| signal.posts == Some(at))
        };
        self.users(at).next().is_none() && !self.threads.iter().any(posts)
    }

    /// The threads that `thread` can't go on without.
    fn waits_for(&self, thread: u8) -> Vec<u8> {
        let Some(pending) = self.thread(thread).pending() else { return Vec::new() };
        let step = pending.step;
        let ends = matches!(step.time, Time::Far | Time::Endless);
        let object = self.object(step.at);
        // The kernel judges these without regard to deadlines.
        let inherits = object.is(Made::Inheriting);
        if step.call.has_deadline() && !ends && !inherits && step.call != Call::TimedWait {
            return Vec::new();
        }
        let mut others = Vec::new();
        let recursive =
            matches!(object.kind, Some(Kind::Mutex(Rules::Recursive | Rules::ErrorCheck, _)));
        match step.call {
            Call::Lock
            | Call::TimedLock
            | Call::LockSignal
            | Call::LockBroadcast
            | Call::LockOften => {
                others.extend(object.owner.filter(|owner| *owner != thread || !recursive));
            }
            Call::Wait | Call::TimedWait => {
                others.extend(self.object(step.with).owner.filter(|owner| *owner != thread));
            }
            Call::Read | Call::TimedRead | Call::ReadOften => {
                let strict =
                    matches!(object.kind, Some(Kind::RwLock(Prefers::WritersNonrecursive, _)));
                others.extend(object.owner.filter(|owner| *owner != thread));
                others.extend(self.calls().filter(|_| strict).filter_map(|(writer, pending)| {
                    let writes = matches!(
                        pending.step.call,
                        Call::Write | Call::TimedWrite | Call::WriteOften
                    );
                    (writes && pending.step.at == step.at).then_some(writer)
                }));
            }
            Call::Write | Call::TimedWrite | Call::WriteOften => {
                others.extend(object.owner.filter(|owner| *owner != thread));
                others.extend(
                    (0..THREADS as u8).filter(|other| object.reads[usize::from(*other)] > 0),
                );
            }
            Call::Once | Call::OnceSem => others.extend(object.owner.filter(|own| *own != thread)),
            _ => {}
        }
        others
    }

    /// Whether threads wait for one another in a circle.
    fn has_circle(&self) -> bool {
        (0..THREADS as u8).any(|first| {
            let mut reached = [false; THREADS];
            let mut open = self.waits_for(first);
            while let Some(thread) = open.pop() {
                if thread == first {
                    return true;
                }
                if !std::mem::replace(&mut reached[usize::from(thread)], true) {
                    open.extend(self.waits_for(thread));
                }
            }
            false
        })
    }
}

/// Whether nothing but glibc serves this process.
pub(super) fn is_glibc() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    // SAFETY: a look-up of a name.
    let found = || unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"furwock_inspect".as_ptr()) };
    *IS.get_or_init(|| found().is_null())
}

fn is_wait(pending: &Pending) -> bool {
    matches!(pending.step.call, Call::Wait | Call::TimedWait)
}

fn is_mutex(kind: Kind) -> bool {
    matches!(kind, Kind::Mutex(..))
}

fn is_semaphore(kind: Kind) -> bool {
    matches!(kind, Kind::Semaphore(..))
}

fn is_invalid(step: &Step) -> bool {
    step.clock == Clock::Wrong || step.time.is_malformed()
}

/// C11 has no calls with a clock.
fn has_clock(kind: Kind, step: &Step) -> bool {
    kind.made() != Made::C11 || step.clock == Clock::Own
}

/// glibc lets the kernel judge the deadlines of mutexes that inherit priorities, and leaves it to
/// the kernel to find that a thread waits for itself.
fn is_timed_well(kind: Kind, own: bool, step: &Step) -> bool {
    match kind {
        Kind::Mutex(rules, made @ (Made::Inheriting | Made::Robust)) => {
            let checks = matches!(rules, Rules::Recursive | Rules::ErrorCheck);
            let simple = matches!(step.time, Time::Past | Time::Soon | Time::Far)
                && matches!(step.clock, Clock::Own | Clock::Realtime);
            (!own || checks) && (made == Made::Robust || simple)
        }
        _ => true,
    }
}

fn allows_many(kind: Kind, object: &Object) -> bool {
    match kind {
        Kind::Mutex(..) => object.owner.is_none(),
        Kind::RwLock(..) => object.owner.is_none(),
        Kind::Semaphore(..) => object.count < MOST_PERMITS,
        _ => false,
    }
}

/// All numbers of objects.
pub(super) fn numbers() -> std::ops::Range<u8> {
    0..OBJECTS as u8
}
