//! Weakened variants that the models must reject.
//!
//! A model that passes whatever the code does proves nothing. Each ordering argument of ORDERING.md
//! and each rule of a lock therefore names a mutant: the same code with that one ordering or step
//! left out. Outside model builds `active` is a constant `false` and nothing of this remains.

macro_rules! mutants {
    ($($(#[$what:meta])* $name:ident,)*) => {
        /// One weakening of the real code. The id in brackets is ORDERING.md's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(
            dead_code,
            reason = "the model tests choose among them; other builds name only some"
        )]
        pub enum Mutant {
            $($(#[$what])* $name,)*
        }

        impl Mutant {
            /// All of them.
            #[allow(dead_code, reason = "for builds that choose")]
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name, as it is written here.
            #[allow(dead_code, reason = "for builds that choose")]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

mutants! {
    /// (O-1) the waiter re-reads the word without a full fence after counting itself in.
    CountWithoutFence,
    /// (O-1) the waker reads the count without a full fence after its store.
    EmptyCheckWithoutFence,
    /// (O-2) a notification that does not release what the waker wrote.
    NotifyRelaxed,
    /// (O-2) the waker forgets the kernel's wake.
    NotifyWithoutWake,
    /// (M-1) PARKED is set although the lock was seen free.
    ParkOnFreeLock,
    /// (M-2) a spinner goes to sleep with SPIN set.
    SpinKeptAsleep,
    /// (M-3) a waiter that timed out although chosen drops the wake.
    TimedOutWakeDropped,
    /// (M-4) a wake that was claimed for a waiter that had left stays in the count.
    StaleWakeKept,
    /// (M-5) unlock publishes nothing: a relaxed release.
    UnlockRelaxed,
    /// (M-5) a hand-off that finds no waiter releases relaxed.
    HandOffRelaxed,
    /// (M-10) a thread expects sleepers without a wake, and releases past them.
    WakeNotExpected,
    /// (M-11) a thread that leaves its place claims a wake though no waiter is queued.
    PlaceLeftToNone,
    /// (M-12) a task that is dropped after it was chosen forgets the lock, or the promise, that
    /// came with the choice.
    DroppedTaskKeepsPromise,
    /// (C-1) the condvar's waiter unlocks before it is queued.
    UnlockBeforeEnqueue,
    /// (C-2) waiters are moved to the mutex's queue without PARKED.
    MoveWithoutParked,
    /// (C-3) waiters are moved to a free mutex and none is woken.
    MoveToFreeMutex,
    /// (C-2) a thread that was signalled while its mutex was held goes on without it.
    WokenEarlyGoesOn,
    /// (C-4) the condvar's mark is cleared while a thread waits.
    MarkClearedTooSoon,
    /// (C-4) a mark that stands for no waiter is left where one queues, and believed.
    WaiterNotOverMark,
    /// (O-3) a chosen waiter forgets those that it has to notify.
    HeirsForgotten,
    /// (O-4) the interrupter doesn't order its flag with the sleeper's state.
    InterruptWithoutFence,
    /// (E-1) a thread that has ended is found to have, without a fence before the look at what it
    /// left.
    EndedWithoutFence,
    /// two buckets are locked in the caller's order.
    PairInCallersOrder,
    /// (B-1) the bucket lock's unlocker doesn't look for sleepers.
    BucketUnlockWithoutWake,
    /// a registered wait looks at its words without a full fence after it armed its claim.
    ArmWithoutFence,
    /// a compare-and-requeue claims without a full fence after its caller's store.
    CompareWithoutFence,
    /// a wake-op claims without a full fence after its change.
    ChangeWithoutFence,
    /// a waker takes the claim of a wait on many words without looking whether it has gone.
    ClaimWithoutCompare,
    /// (T-1) that a node was chosen is published without what the waker wrote.
    ChosenUnpublished,
    /// (T-2) a task that is dropped keeps the wake that it got.
    DroppedTaskKeepsWake,
    /// (T-2) a task gives back a node that its notifier gives back too.
    TaskGivenBackByBoth,
    /// (W-1) a waiter that gives up its role doesn't see to those that it kept from being woken.
    RoleGivenUpUnsettled,
    /// (W-1) a waiter that leaves at its deadline doesn't see to those behind it.
    LeaverSettlesNothing,
    /// (W-1) a woken waiter that a signal handler leaves for good leaves its wake in the word.
    WakeLeftInWord,
    /// (W-1) an upgradable reader enters past readers that are queued, and leaves them there.
    UpgradableEntersAlone,
    /// (W-1) a reader queues itself though it could enter.
    ReaderParksOnOpenLock,
    /// (W-2) the thread that admits readers doesn't acquire what the last writer wrote.
    GrantRelaxed,
    /// (W-2) a reader's release publishes nothing.
    ReadUnlockRelaxed,
    /// (K-1) a key doesn't say what kind of object lies at the address.
    ForeignWaiterChosen,
    /// (W-3) a slot is published without a full fence before the look at the bias.
    PublishWithoutFence,
    /// (W-3) a writer looks at the slots without a full fence after it took the bias away.
    DrainWithoutFence,
    /// (W-3) a writer that was given the lock doesn't look at the slots.
    GrantedWriterDrainsNothing,
    /// (W-3) a writer that passes sleepers at once passes readers in slots, too.
    SlotsPassedBy,
    /// (W-5) a lock's first bias clears slots without the bucket's lock.
    FirstBiasUnlocked,
    /// (W-3) a child waits for a writer that only its parent has, and that waits for readers there.
    ParentsWriterStays,
    /// (W-4) the last reader leaves an upgrader asleep.
    UpgraderForgotten,
    /// (W-4) an upgrade doesn't say so, and readers go on entering and biasing the lock.
    UpgradeLeftOpen,
    /// (SE-1) a semaphore's waiter doesn't count itself in before it looks for a permit.
    WaiterUncounted,
    /// (SE-1) a release looks for waiters before it makes its permit, not in the same step.
    WaitersReadBefore,
    /// (SE-1) a permit publishes nothing.
    PermitRelaxed,
    /// (SE-2) a task that finds fewer permits than it wants leaves them to no waiter.
    LeftPermitsKept,
    /// (NT-1) a notification that stored its permit doesn't look for waiters.
    NotificationStoredOnly,
    /// (NT-1) a notification that meets a stored one is left to that.
    NotificationsMerged,
    /// (NT-1) a notification publishes nothing.
    NotificationRelaxed,
    /// (NT-2) a task that is dropped keeps the notification that it got.
    DroppedTaskKeepsNotification,
    /// (BA-1) a thread counts as arrived at a barrier before it is in its queue.
    ArrivalBeforeQueue,
    /// (BA-1) a gate is opened without what came before.
    GateRelaxed,
    /// (BA-1) a gate is opened, and the threads that sleep at it aren't woken.
    GateForgetsSleepers,
    /// (ON-1) the end of a once's call publishes nothing.
    OnceRelaxed,
    /// (ON-1) the end of a once's call wakes no thread that waits for it.
    OnceWithoutWake,
    /// (PK-1) a parker's token publishes nothing.
    UnparkRelaxed,
    /// (PK-1) a parker's token wakes no thread.
    UnparkWithoutWake,
    /// (PK-1) a token is looked at and taken in two steps.
    TokenTakenInTwoSteps,
    /// requeue moves waiters without moving their count.
    RequeueWithoutCount,
    /// (P-2) a PI condvar's waiter reads the sequence after it has released the mutex.
    SequenceReadUnlocked,
    /// (P-2) a PI condvar's notification leaves the sequence as it is.
    SequenceKept,
    /// (P-2) a PI condvar's notification that met another gives up.
    RequeueNotRepeated,
    /// (P-3) a waiter that was moved and then timed out says that it was not notified.
    NotificationTimedOut,
    /// (P-4) a PI condvar's mutex is forgotten while others wait.
    UnboundByAnyWaiter,
    /// (P-4) a PI condvar's count is read and written back in two steps.
    CountedInTwoSteps,
    /// (P-4) a waiter that can't lock its mutex again stays counted.
    ErrorStaysCounted,
    /// (RB-2) the turnstile is left without waking the next.
    TurnstileWithoutWake,
    /// (RB-2) the turnstile's word doesn't say that others may sleep on it.
    TurnstileUnmarked,
    /// (RB-2) the top waiter sleeps on a word that doesn't say so.
    TopWaiterUnmarked,
    /// (RB-2) unlock publishes nothing.
    RobustUnlockRelaxed,
    /// (RB-3) a reader looks for writers without a full fence after it took a slot.
    ReaderWithoutFence,
    /// (RB-3) a writer looks at the slots without a full fence after it changed the phase.
    WriterWithoutFence,
    /// (RB-3) a writer sleeps on a slot that doesn't say so.
    SlotUnmarked,
    /// (RB-4) a writer's death is taken for one that changed nothing.
    DeadWriterForgotten,
}

#[cfg(not(any(loom, shuttle, mutants)))]
#[inline(always)]
pub(crate) const fn active(_mutant: Mutant) -> bool {
    false
}

#[cfg(any(loom, shuttle))]
pub use model::*;

#[cfg(all(mutants, not(any(loom, shuttle))))]
pub(crate) use native::*;

#[cfg(any(loom, shuttle))]
mod model {
    use super::Mutant;
    use std::cell::Cell;

    std::thread_local! {
        static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Whether the model that runs on this thread has chosen `mutant`.
    pub(crate) fn active(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }

    /// Chooses the mutant for the models that this thread runs from here on.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.set(mutant);
    }
}

/// For programs on real threads, built with `--cfg mutants`: the environment's `FURWOCK_MUTANT`
/// names one.
#[cfg(all(mutants, not(any(loom, shuttle))))]
mod native {
    use super::Mutant;
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicUsize, Ordering};

    const UNKNOWN: usize = usize::MAX;
    const NONE: usize = UNKNOWN - 1;
    static CHOSEN: AtomicUsize = AtomicUsize::new(UNKNOWN);

    /// Whether the environment has chosen `mutant`.
    #[inline]
    pub(crate) fn active(mutant: Mutant) -> bool {
        let chosen = match CHOSEN.load(Ordering::Relaxed) {
            UNKNOWN => choose(),
            chosen => chosen,
        };
        chosen == mutant as usize
    }

    #[cold]
    fn choose() -> usize {
        // SAFETY: a program that looks for mutants leaves its environment alone.
        let named = unsafe {
            let value = libc::getenv(c"FURWOCK_MUTANT".as_ptr());
            (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
        };
        let chosen = named.map_or(NONE, |named| {
            let known = Mutant::ALL.iter().find(|mutant| mutant.name().as_bytes() == named);
            *known.expect("FURWOCK_MUTANT names no mutant of prim/mutant.rs") as usize
        });
        CHOSEN.store(chosen, Ordering::Relaxed);
        chosen
    }
}
