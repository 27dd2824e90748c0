//! The barrier: all of a round go on, what each did before is visible to all, one of them leads
//! (BA-1).

use super::{explore, rejects};
use crate::lock::RawBarrier;
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Meeting {
    barrier: RawBarrier,
    written: [CheckedCell<u32>; 3],
}

/// Two threads write, meet, and read what the other wrote, `rounds` times.
fn two_meet(rounds: u32) {
    let meeting = Arc::new(Meeting::default());
    let meet = move |meeting: &Meeting, me: usize| {
        let mut led = 0;
        for round in 1..=rounds {
            // SAFETY: the other thread reads it between two meetings; loom checks it.
            unsafe { meeting.written[me].set(round) };
            led += u32::from(meeting.barrier.wait(2));
            // SAFETY: as above.
            assert_eq!(unsafe { meeting.written[1 - me].get() }, round);
            led += 8 * u32::from(meeting.barrier.wait(2));
        }
        led
    };
    let other = {
        let meeting = Arc::clone(&meeting);
        thread::spawn(move || meet(&meeting, 1))
    };
    let led = meet(&meeting, 0);
    assert_eq!(led + other.join().unwrap(), rounds * 9, "one leader a meeting");
}

/// Three threads write, meet, and read what the others wrote: also what the leader learnt of only
/// as it arrived.
fn three_meet() {
    let meeting = Arc::new(Meeting::default());
    let meet = |meeting: &Meeting, me: usize| {
        // SAFETY: the others read it after they have met; loom checks it.
        unsafe { meeting.written[me].set(1) };
        let leads = meeting.barrier.wait(3);
        for written in &meeting.written {
            // SAFETY: as above.
            assert_eq!(unsafe { written.get() }, 1);
        }
        u32::from(leads)
    };
    let others: Vec<_> = (1..3)
        .map(|me| {
            let meeting = Arc::clone(&meeting);
            thread::spawn(move || meet(&meeting, me))
        })
        .collect();
    let mut leaders = meet(&meeting, 0);
    for other in others {
        leaders += other.join().unwrap();
    }
    assert_eq!(leaders, 1);
}

/// Two threads that there is no memory for a node for, and one that has one.
fn two_without_nodes() {
    let meeting = Arc::new(Meeting::default());
    let meet = |meeting: &Meeting, me: usize| {
        // SAFETY: the others read it after they have met; loom checks it.
        unsafe { meeting.written[me].set(1) };
        let barrier = &meeting.barrier;
        let leads = if me == 0 { barrier.wait(3) } else { barrier.wait_without_node(3) };
        for written in &meeting.written {
            // SAFETY: as above.
            assert_eq!(unsafe { written.get() }, 1);
        }
        u32::from(leads)
    };
    let others: Vec<_> = (1..3)
        .map(|me| {
            let meeting = Arc::clone(&meeting);
            thread::spawn(move || meet(&meeting, me))
        })
        .collect();
    let mut leaders = meet(&meeting, 0);
    for other in others {
        leaders += other.join().unwrap();
    }
    assert_eq!(leaders, 1);
}

/// Two threads meet twice at a barrier for two, with two more: a thread that comes too early
/// belongs to the next round.
fn more_than_the_count() {
    let barrier = Arc::new(RawBarrier::default());
    let others: Vec<_> = (0..3)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || barrier.wait(2))
        })
        .collect();
    let mut leaders = u32::from(barrier.wait(2));
    for other in others {
        leaders += u32::from(other.join().unwrap());
    }
    assert_eq!(leaders, 2);
}

#[test]
fn all_meet_and_see_what_was_done() {
    explore(3, || two_meet(1));
}

#[test]
fn rounds_follow_one_another() {
    explore(2, || two_meet(2));
}

#[test]
fn three_meet_with_one_leader() {
    explore(2, three_meet);
}

#[test]
fn a_thread_without_a_node_waits_on_its_stack() {
    explore(2, two_without_nodes);
}

#[test]
fn an_early_arrival_belongs_to_the_next_round() {
    explore(1, more_than_the_count);
}

#[test]
fn rejects_an_arrival_that_is_not_queued_yet() {
    rejects(Mutant::ArrivalBeforeQueue, 2, || two_meet(1));
}

#[test]
fn rejects_a_gate_that_publishes_nothing() {
    rejects(Mutant::GateRelaxed, 3, three_meet);
}

#[test]
fn rejects_a_gate_that_forgets_its_sleepers() {
    rejects(Mutant::GateForgetsSleepers, 2, || two_meet(1));
}
