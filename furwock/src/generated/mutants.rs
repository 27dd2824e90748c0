//! What the generated programs find: each mutant that they have to, and why they can't find the
//! others.

use super::PROGRAMS;
use super::barrier::Barriers;
use super::condvar::Condvars;
use super::mutex::Mutexes;
use super::runner::{Extent, Failure, Object, explore};
use super::rwlock::RwLocks;
use super::semaphore::Semaphores;
use super::words::Words;
use crate::prim::mutant::{self, Mutant};
use std::time::{Duration, Instant};

/// Tries programs on one kind of object. Returns how many it took to fail, and what was said then.
type Try = fn() -> Option<(u64, String)>;

fn on<O: Object>() -> Option<(u64, String)> {
    let failure: Failure<O> = *explore::<O>(1, Extent::Programs(PROGRAMS)).err()?;
    let line = failure.said.lines().next().unwrap_or_default().to_owned();
    Some((failure.programs, format!("{}: {line}", O::NAME)))
}

const FOUND: &[(Mutant, &[Try])] = &[
    (
        Mutant::NotifyWithoutWake,
        &[
            on::<RwLocks>,
            on::<Mutexes>,
            on::<Condvars>,
            on::<Semaphores>,
            on::<Barriers>,
            on::<Words>,
        ],
    ),
    (Mutant::ParkOnFreeLock, &[on::<RwLocks>, on::<Mutexes>, on::<Condvars>]),
    (Mutant::SpinKeptAsleep, &[on::<RwLocks>, on::<Mutexes>, on::<Condvars>]),
    (Mutant::TimedOutWakeDropped, &[on::<RwLocks>, on::<Mutexes>]),
    (Mutant::StaleWakeKept, &[on::<Mutexes>, on::<Condvars>]),
    (Mutant::WakeNotExpected, &[on::<Mutexes>]),
    (Mutant::PlaceLeftToNone, &[on::<RwLocks>, on::<Mutexes>]),
    (Mutant::UnlockBeforeEnqueue, &[on::<Condvars>]),
    (Mutant::MoveWithoutParked, &[on::<Condvars>]),
    (Mutant::MoveToFreeMutex, &[on::<Condvars>]),
    (Mutant::WokenEarlyGoesOn, &[on::<Condvars>]),
    (Mutant::MarkClearedTooSoon, &[on::<Condvars>]),
    (Mutant::WaiterNotOverMark, &[on::<Condvars>]),
    (Mutant::HeirsForgotten, &[on::<RwLocks>, on::<Condvars>, on::<Semaphores>, on::<Words>]),
    (Mutant::PairInCallersOrder, &[on::<Words>]),
    (Mutant::ClaimWithoutCompare, &[on::<Words>]),
    (Mutant::DroppedTaskKeepsWake, &[on::<Words>]),
    (Mutant::TaskGivenBackByBoth, &[on::<Words>]),
    (Mutant::RoleGivenUpUnsettled, &[on::<RwLocks>]),
    (Mutant::LeaverSettlesNothing, &[on::<RwLocks>]),
    (Mutant::UpgradableEntersAlone, &[on::<RwLocks>]),
    (Mutant::ReaderParksOnOpenLock, &[on::<RwLocks>]),
    (
        Mutant::ForeignWaiterChosen,
        &[on::<RwLocks>, on::<Mutexes>, on::<Condvars>, on::<Semaphores>, on::<Barriers>],
    ),
    (Mutant::GrantedWriterDrainsNothing, &[on::<RwLocks>]),
    (Mutant::SlotsPassedBy, &[on::<RwLocks>]),
    (Mutant::FirstBiasUnlocked, &[on::<RwLocks>]),
    (Mutant::ParentsWriterStays, &[on::<RwLocks>]),
    (Mutant::UpgraderForgotten, &[on::<RwLocks>]),
    (Mutant::UpgradeLeftOpen, &[on::<RwLocks>]),
    (Mutant::WaiterUncounted, &[on::<Semaphores>]),
    (Mutant::WaitersReadBefore, &[on::<Semaphores>]),
    (Mutant::ArrivalBeforeQueue, &[on::<Barriers>]),
    (Mutant::GateForgetsSleepers, &[on::<Barriers>]),
    (Mutant::RequeueWithoutCount, &[on::<Words>, on::<Condvars>]),
];

/// Orderings: in a sequentially consistent model they are as good as the real code.
const ORDERINGS: &[Mutant] = &[
    Mutant::CountWithoutFence,
    Mutant::EmptyCheckWithoutFence,
    Mutant::NotifyRelaxed,
    Mutant::UnlockRelaxed,
    Mutant::HandOffRelaxed,
    Mutant::InterruptWithoutFence,
    Mutant::ArmWithoutFence,
    Mutant::CompareWithoutFence,
    Mutant::ChangeWithoutFence,
    Mutant::ChosenUnpublished,
    Mutant::GrantRelaxed,
    Mutant::ReadUnlockRelaxed,
    Mutant::PublishWithoutFence,
    Mutant::DrainWithoutFence,
    Mutant::PermitRelaxed,
    Mutant::GateRelaxed,
    Mutant::OnceRelaxed,
    Mutant::UnparkRelaxed,
    Mutant::TokenTakenInTwoSteps,
    Mutant::RobustUnlockRelaxed,
    Mutant::ReaderWithoutFence,
    Mutant::WriterWithoutFence,
    Mutant::EndedWithoutFence,
    Mutant::NotificationRelaxed,
];

/// Of what no program here uses: the bucket's own lock, which the checker's stands in for, what the
/// kernel queues for, and tasks at locks.
const ELSEWHERE: &[Mutant] = &[
    Mutant::DroppedTaskKeepsPromise,
    Mutant::LeftPermitsKept,
    Mutant::NotificationStoredOnly,
    Mutant::NotificationsMerged,
    Mutant::DroppedTaskKeepsNotification,
    Mutant::BucketUnlockWithoutWake,
    Mutant::SequenceReadUnlocked,
    Mutant::SequenceKept,
    Mutant::RequeueNotRepeated,
    Mutant::NotificationTimedOut,
    Mutant::UnboundByAnyWaiter,
    Mutant::CountedInTwoSteps,
    Mutant::ErrorStaysCounted,
    Mutant::TurnstileWithoutWake,
    Mutant::TurnstileUnmarked,
    Mutant::TopWaiterUnmarked,
    Mutant::SlotUnmarked,
    Mutant::DeadWriterForgotten,
    Mutant::OnceWithoutWake,
    Mutant::UnparkWithoutWake,
    Mutant::WakeLeftInWord,
];

/// The same programs pass without mutants: `programs_on_*`.
#[test]
fn every_mutant_that_a_schedule_can_show_is_found() {
    let mut missed = Vec::new();
    for (mutant, tries) in FOUND {
        for tried in *tries {
            let begin = Instant::now();
            mutant::choose(Some(*mutant));
            let found = tried();
            mutant::choose(None);
            let took: Duration = begin.elapsed();
            match found {
                Some((programs, said)) => {
                    println!("{mutant:?} after {programs} programs, {took:.1?}; {said}");
                }
                None => missed.push(format!("{mutant:?}")),
            }
        }
    }
    assert!(missed.is_empty(), "within {PROGRAMS} programs not found: {missed:?}");
}

/// A new mutant has to be put into one of the lists.
#[test]
fn every_mutant_is_named_once() {
    for mutant in Mutant::ALL {
        let found = FOUND.iter().filter(|(named, _)| named == mutant).count();
        let others = ORDERINGS.iter().chain(ELSEWHERE).filter(|named| *named == mutant).count();
        assert_eq!(found + others, 1, "{mutant:?}");
    }
}
