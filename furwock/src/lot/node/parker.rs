//! Where a thread sleeps: a word of its own, and the kernel's futex beneath it.
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | EMPTY | awake, not yet notified | the thread, before it queues itself; the thread that interrupts it |
//! | SLEEPING | in the kernel, or about to be | the thread |
//! | NOTIFIED | chosen; what the waker wrote may be read | the one waker that chose it |
//! | ABANDONED | no thread waits for the notification any more | a task's owner, chosen and not yet notified |

use crate::prim::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{
    Sleep, adjustable, full_fence, is_sleep_ended, kernel_sleep, kernel_sleep_restarting,
    kernel_wake_one, kernel_wake_two, spin_loop,
};
use crate::sys::clock::Deadline;

const EMPTY: u32 = 0;
const SLEEPING: u32 = 1;
const NOTIFIED: u32 = 2;
const ABANDONED: u32 = 3;

/// Pauses before a sleep that asks for them: tens of nanoseconds, for a notification that is about
/// to come. More didn't pay (docs/experiments.md, "A shorter spin in the parker").
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 3 };

/// Wakes of threads that have been notified, two to a system call: a tenth is saved where many are
/// woken (docs/experiments.md, "More random programs"). Makes the last as it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Wakes<'p> {
    due: Option<&'p AtomicU32>,
}

impl<'p> Wakes<'p> {
    #[inline]
    fn add(&mut self, word: &'p AtomicU32) {
        match self.due.take() {
            None => self.due = Some(word),
            Some(first) => kernel_wake_two(first, word),
        }
    }

    /// Makes those that are due.
    #[inline]
    pub(crate) fn make(&mut self) {
        if let Some(word) = self.due.take() {
            kernel_wake_one(word);
        }
    }
}

impl Drop for Wakes<'_> {
    #[inline]
    fn drop(&mut self) {
        self.make();
    }
}

/// Why a thread came out of `sleep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Notified,
    TimedOut,
    Interrupted,
    /// A signal handler ran.
    Signalled,
}

/// What besides the notification ends a sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Until<'d> {
    pub(crate) deadline: Option<&'d Deadline>,
    pub(crate) interrupts: bool,
    pub(crate) signals: Signals,
    /// Whether the thread pauses before it sleeps, for a notification that is about to come. Only
    /// for waits that are known to be short: elsewhere it costs each sleep as much as all the
    /// thread's own code here.
    pub(crate) pauses: bool,
}

impl<'d> Until<'d> {
    /// The same, with an earlier deadline if there is one, which changes nothing of what handlers
    /// end the sleep.
    #[inline]
    pub(in crate::lot) fn but_not_after(self, earlier: &'d Option<Deadline>) -> Self {
        let signals = match self.signals {
            Signals::AsFutex if self.deadline.is_none() => Signals::AsWaitv,
            signals => signals,
        };
        match earlier {
            None => self,
            earlier => Self { deadline: earlier.as_ref(), signals, ..self },
        }
    }
}

/// Which signal handlers end a sleep by having run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Signals {
    /// None.
    #[default]
    Ignored,
    /// As in futex(2): without a deadline those that don't ask for interrupted calls to go on
    /// (`SA_RESTART`); with one, all.
    AsFutex,
    /// As in futex_waitv(2): those that don't ask for it.
    AsWaitv,
}

/// One thread's place to sleep.
#[derive(Debug)]
pub(crate) struct Parker {
    state: AtomicU32,
    interrupted: AtomicBool,
}

impl Parker {
    /// Where the word lies that its thread sleeps on.
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const WORD_AT: usize = core::mem::offset_of!(Parker, state);

    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), interrupted: AtomicBool::new(false) }
    }

    /// Makes ready for one wait. No thread can notify before the waiter is linked, so that the
    /// bucket lock publishes this.
    #[inline]
    pub(crate) fn prepare(&self) {
        self.state.store(EMPTY, Ordering::Relaxed);
    }

    /// Sleeps until notified, or until what the caller names. May be called again after anything
    /// but `Notified`.
    #[inline(always)]
    pub(crate) fn sleep(&self, until: Until<'_>) -> Woke {
        let pauses = if until.pauses { adjustable!(SPINS, ParkerPauses) } else { 0 };
        for _ in 0..pauses {
            if self.is_notified() {
                return Woke::Notified;
            }
            spin_loop();
        }
        loop {
            let slept =
                self.state.compare_exchange(EMPTY, SLEEPING, Ordering::Relaxed, Ordering::Acquire);
            if slept == Err(NOTIFIED) {
                return Woke::Notified;
            }
            // (A handler that came earlier in the call ends it too, as it would in the kernel.)
            let ended = match until.signals {
                Signals::Ignored => false,
                Signals::AsFutex => is_sleep_ended(until.deadline.is_some()),
                Signals::AsWaitv => is_sleep_ended(false),
            };
            if ended {
                return self.awake_as(Woke::Signalled);
            }
            if until.interrupts {
                // Against `interrupt`, which stores its flag and then looks for SLEEPING (O-4).
                full_fence();
                if self.interrupted.load(Ordering::Relaxed) {
                    return self.awake_as(Woke::Interrupted);
                }
            }
            let sleep = match until.signals {
                Signals::AsWaitv => kernel_sleep_restarting(&self.state, SLEEPING, until.deadline),
                _ => kernel_sleep(&self.state, SLEEPING, until.deadline),
            };
            if self.is_notified() {
                return Woke::Notified;
            }
            match sleep {
                Sleep::TimedOut => return self.awake_as(Woke::TimedOut),
                Sleep::Signalled if until.signals != Signals::Ignored => {
                    return self.awake_as(Woke::Signalled);
                }
                Sleep::Signalled | Sleep::Ended => {}
            }
        }
    }

    /// Whether the one notification has come. Acquires what the waker wrote before it (O-2).
    #[inline]
    pub(crate) fn is_notified(&self) -> bool {
        self.state.load(Ordering::Acquire) == NOTIFIED
    }

    fn awake_as(&self, why: Woke) -> Woke {
        match self.state.compare_exchange(SLEEPING, EMPTY, Ordering::Relaxed, Ordering::Acquire) {
            Err(NOTIFIED) => Woke::Notified,
            _ => why,
        }
    }

    /// Lets the thread go on. **The last permitted touch**: once the swap is done the thread may
    /// have returned, ended, or be waiting for something else; all that follows is a wake by
    /// address, which a later sleeper there tolerates, and which `wakes` may put off.
    #[inline]
    pub(crate) fn notify<'p>(&'p self, wakes: &mut Wakes<'p>) {
        let ordering = if mutant::active(Mutant::NotifyRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        if self.state.swap(NOTIFIED, ordering) == SLEEPING
            && !mutant::active(Mutant::NotifyWithoutWake)
        {
            wakes.add(&self.state);
        }
    }

    /// A task's `notify`: it sleeps elsewhere. `false` if its owner abandoned it, and the node is
    /// now the caller's to give back.
    #[inline]
    pub(in crate::lot) fn notify_task(&self) -> bool {
        self.state.swap(NOTIFIED, Ordering::AcqRel) != ABANDONED
    }

    /// Gives up waiting for the notification of a task that has been chosen: the node is the
    /// notifier's to give back. `false` if it had come, and the node is still the caller's.
    pub(in crate::lot) fn abandon(&self) -> bool {
        self.state.swap(ABANDONED, Ordering::AcqRel) != NOTIFIED
    }

    /// Wakes the thread from an interruptible sleep without choosing it.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        if !mutant::active(Mutant::InterruptWithoutFence) {
            full_fence();
        }
        let asleep =
            self.state.compare_exchange(SLEEPING, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
        if asleep.is_ok() {
            kernel_wake_one(&self.state);
        }
    }

    /// Whether an interrupt came; forgets it.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) && self.interrupted.swap(false, Ordering::Relaxed)
    }
}
