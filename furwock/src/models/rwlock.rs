//! The rwlock excludes, publishes what writers wrote, and leaves no thread waiting that could be
//! inside (W-1, W-2, W-4).
//!
//! As in the mutex's models a spinner probes once, a deadline has always passed, and a waiter that
//! was woken in vain asks for the hand-off. A reader that may not steal stops at sleeping writers
//! at once, since a model has no turns.

use super::{Gap, explore, rejects};
use crate::lock::{How, Options, Policy, RawRwLock, with_long_reads};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use crate::sys::clock::{Clock, Deadline};
use crate::sys::fork::pretend;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The lock's word lies in another bucket than the slots, in every execution: loom can't repeat one
/// that depends on where memory came from.
#[repr(C, align(128))]
#[derive(Default)]
pub(super) struct Shared {
    _gap: Gap,
    pub(super) lock: RawRwLock,
    pub(super) data: CheckedCell<usize>,
    pub(super) flag: Flag,
}

/// What a thread waits for without running: a probing one would have loom try all of its probes.
#[derive(Default)]
pub(super) struct Flag {
    raised: Mutex<usize>,
    changed: Condvar,
}

impl Flag {
    pub(super) fn raise(&self) {
        *self.raised.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    pub(super) fn wait(&self) {
        self.wait_for(1);
    }

    /// Until it has been raised so often.
    fn wait_for(&self, count: usize) {
        let mut raised = self.raised.lock().unwrap();
        while *raised < count {
            raised = self.changed.wait(raised).unwrap();
        }
    }
}

/// Gives up at a deadline that has passed.
fn at_once() -> Options {
    Options::new().until(Deadline::at(Clock::Monotonic, 0, 0).unwrap())
}

impl Shared {
    pub(super) fn with(lock: RawRwLock) -> Self {
        Self { lock, ..Self::default() }
    }

    /// Looks at the data, inside as a reader.
    pub(super) fn look(&self) -> usize {
        // SAFETY: inside; loom checks it.
        unsafe { self.data.get() }
    }

    /// Changes the data, inside as the writer.
    pub(super) fn change(&self) {
        // SAFETY: inside; loom checks it.
        unsafe { self.data.set(self.data.get() + 1) };
    }

    pub(super) fn read(&self) {
        self.lock.lock_shared();
        self.look();
        self.lock.unlock_shared();
    }

    fn read_politely(&self) {
        self.lock.lock_shared_with(&Options::new().steal(false));
        self.look();
        self.lock.unlock_shared();
    }

    pub(super) fn write(&self) {
        self.lock.lock_exclusive();
        self.change();
        self.lock.unlock_exclusive();
    }

    pub(super) fn read_timed(&self) {
        if self.lock.lock_shared_with(&at_once()).is_some() {
            self.look();
            self.lock.unlock_shared();
        }
    }

    pub(super) fn write_timed(&self) {
        if self.lock.lock_exclusive_with(&at_once()).is_some() {
            self.change();
            self.lock.unlock_exclusive();
        }
    }

    pub(super) fn upgrade(&self) {
        self.lock.lock_upgradable();
        let seen = self.look();
        self.lock.upgrade();
        assert_eq!(self.look(), seen, "a thread wrote beside the upgradable reader");
        self.change();
        self.lock.unlock_exclusive();
    }

    pub(super) fn upgrade_timed(&self) {
        self.lock.lock_upgradable();
        self.look();
        if self.lock.upgrade_with(&at_once()).is_some() {
            self.change();
            self.lock.unlock_exclusive();
        } else {
            self.lock.unlock_upgradable();
        }
    }

    fn step_down(&self) {
        self.lock.lock_exclusive();
        self.change();
        self.lock.downgrade_to_upgradable();
        self.look();
        self.lock.downgrade_upgradable();
        self.look();
        self.lock.unlock_shared();
    }

    /// Raises the flag as a reader.
    pub(super) fn show(&self) {
        self.lock.lock_shared();
        self.flag.raise();
        self.lock.unlock_shared();
    }
}

pub(super) type Work = fn(&Shared);

const POLICIES: [Policy; 5] = [
    Policy::PhaseFair,
    Policy::Recursive,
    Policy::PreferReaders,
    Policy::PreferWriters,
    Policy::PreferWritersRecursive,
];

/// Each of `works` in a thread of its own, the first in this one. In the end no thread is left, and
/// the word says so.
pub(super) fn together(lock: RawRwLock, works: &[Work]) {
    together_after(lock, |_| {}, works);
}

/// The same, once the first of the threads has done something while it was alone: loom tries no
/// schedules of that.
pub(super) fn together_after(lock: RawRwLock, before: Work, works: &[Work]) {
    let shared = Arc::new(Shared::with(lock));
    before(&shared);
    let others: Vec<_> = works[1..]
        .iter()
        .map(|&work| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        })
        .collect();
    works[0](&shared);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert!(shared.lock.is_quiet(), "{:?}", shared.lock);
    assert!(shared.lock.try_lock_exclusive());
    shared.look();
    shared.lock.unlock_exclusive();
}

fn twice(work: Work, shared: &Shared) {
    work(shared);
    work(shared);
}

#[test]
fn writers_twice() {
    explore(3, || {
        together(
            RawRwLock::new(),
            &[|shared| twice(Shared::write, shared), |shared| twice(Shared::write, shared)],
        );
    });
}

#[test]
fn two_writers_and_a_reader() {
    for policy in [Policy::PhaseFair, Policy::PreferReaders, Policy::PreferWriters] {
        explore(2, move || {
            let works: [Work; 3] = [Shared::write, Shared::write, Shared::read];
            together(RawRwLock::with_policy(policy), &works);
        });
    }
}

#[test]
fn a_writer_and_two_readers() {
    for policy in [Policy::PhaseFair, Policy::Recursive, Policy::PreferWriters] {
        explore(2, move || {
            let works: [Work; 3] = [Shared::read, Shared::write, Shared::read_politely];
            together(RawRwLock::with_policy(policy), &works);
        });
    }
}

#[test]
fn impatient_ones_come_and_go() {
    for works in [
        [Shared::write as Work, Shared::write_timed, Shared::read_politely],
        [Shared::write, Shared::read_timed, Shared::write],
        [Shared::read, Shared::write_timed, Shared::read_timed],
    ] {
        explore(2, move || together(RawRwLock::new(), &works));
    }
}

/// A reader and a writer: whether the writer is ever given the lock in its first sleep.
fn is_given_at_once() -> bool {
    static IS_GIVEN: AtomicBool = AtomicBool::new(false);
    IS_GIVEN.store(false, Ordering::Relaxed);
    let write: Work = |shared| {
        let status = shared.lock.lock_exclusive_with(&Options::new()).unwrap();
        shared.change();
        shared.lock.unlock_exclusive();
        if status.how == How::HandedOver && status.sleeps == 1 {
            IS_GIVEN.store(true, Ordering::Relaxed);
        }
    };
    explore(3, move || together(RawRwLock::new(), &[Shared::read, write]));
    IS_GIVEN.load(Ordering::Relaxed)
}

#[test]
fn a_writer_is_given_the_lock_at_once_after_long_reads_only() {
    assert!(!is_given_at_once());
    with_long_reads(|| assert!(is_given_at_once()));
}

/// The last of two readers gives away what the other has read, too.
#[test]
fn rejects_a_relaxed_grant_after_long_reads() {
    with_long_reads(|| {
        rejects(Mutant::GrantRelaxed, 2, || {
            together(RawRwLock::new(), &[Shared::read, Shared::read, Shared::write]);
        });
    });
}

#[test]
fn the_last_of_long_readers_gives_the_lock_to_a_writer() {
    for works in [
        [Shared::read as Work, Shared::write, Shared::read_politely],
        [Shared::read, Shared::write, Shared::write],
        [Shared::read, Shared::write_timed, Shared::write],
    ] {
        for policy in [Policy::PhaseFair, Policy::Recursive, Policy::PreferReaders] {
            with_long_reads(|| {
                explore(2, move || together(RawRwLock::with_policy(policy), &works));
            });
        }
    }
}

#[test]
fn an_upgradable_reader_and_another() {
    for works in [
        [Shared::upgrade as Work, Shared::upgrade],
        [Shared::upgrade, Shared::read],
        [Shared::upgrade, Shared::read_politely],
        [Shared::upgrade, Shared::write_timed],
        [Shared::upgrade, Shared::read_timed],
        [Shared::upgrade_timed, Shared::read],
        [Shared::upgrade_timed, Shared::write],
        [Shared::upgrade_timed, Shared::upgrade],
    ] {
        explore(3, move || together(RawRwLock::new(), &works));
    }
}

#[test]
fn an_upgrade_under_every_policy() {
    for policy in POLICIES {
        explore(3, move || {
            together(RawRwLock::with_policy(policy), &[Shared::upgrade, Shared::write]);
        });
    }
}

#[test]
fn an_upgradable_reader_among_others() {
    for works in [
        [Shared::upgrade as Work, Shared::upgrade, Shared::read],
        [Shared::upgrade, Shared::write, Shared::read],
        [Shared::upgrade_timed, Shared::read, Shared::write],
        [Shared::upgrade_timed, Shared::read_politely, Shared::upgrade],
    ] {
        explore(1, move || together(RawRwLock::new(), &works));
    }
}

#[test]
fn a_writer_that_steps_down() {
    for other in [Shared::write as Work, Shared::read, Shared::upgrade, Shared::write_timed] {
        explore(3, move || together(RawRwLock::new(), &[Shared::step_down, other]));
    }
}

#[test]
fn a_writer_that_steps_down_before_others() {
    for other in [Shared::write as Work, Shared::upgrade] {
        explore(1, move || together(RawRwLock::new(), &[Shared::step_down, other, Shared::read]));
    }
}

/// A reader inside waits for another that is queued, though a writer waits too: where no reader may
/// be made to wait for a waiting writer, that ends. (The first waits until the others are about to
/// come, which saves a preemption.)
fn readers_meet() {
    let works: [Work; 3] = [
        |shared| {
            shared.flag.wait_for(2);
            shared.change();
            shared.lock.unlock_exclusive();
            // Past all that wait.
            shared.lock.lock_shared_with(&Options::new().recursive(true));
            shared.flag.wait_for(3);
            shared.lock.unlock_shared();
        },
        |shared| {
            shared.flag.raise();
            shared.lock.lock_shared();
            shared.look();
            shared.flag.raise();
            shared.lock.unlock_shared();
        },
        |shared| {
            shared.flag.raise();
            shared.write();
        },
    ];
    let lock = RawRwLock::with_policy(Policy::Recursive);
    together_after(lock, |shared| shared.lock.lock_exclusive(), &works);
}

#[test]
fn readers_meet_though_a_writer_waits() {
    explore(1, readers_meet);
}

#[test]
fn rejects_a_role_given_up_unsettled() {
    rejects(Mutant::RoleGivenUpUnsettled, 1, readers_meet);
}

#[test]
fn rejects_a_relaxed_grant() {
    rejects(Mutant::GrantRelaxed, 1, readers_meet);
}

/// A reader behind a writer that gives up gets in though another reader stays.
fn reader_behind_a_leaver() {
    let works: [Work; 3] = [
        |shared| {
            shared.flag.wait();
            shared.lock.unlock_shared();
        },
        |shared| {
            shared.lock.lock_shared_with(&Options::new().steal(false));
            shared.flag.raise();
            shared.lock.unlock_shared();
        },
        Shared::write_timed,
    ];
    together_after(RawRwLock::new(), |shared| shared.lock.lock_shared(), &works);
}

#[test]
fn a_reader_behind_a_writer_that_gives_up() {
    explore(3, reader_behind_a_leaver);
}

#[test]
fn rejects_a_leaver_that_settles_nothing() {
    rejects(Mutant::LeaverSettlesNothing, 3, reader_behind_a_leaver);
}

/// A reader gets in though the writer that was woken before it is left for good by a handler.
fn reader_behind_a_woken_leaver() {
    let works: [Work; 3] = [
        |shared| _ = shared.lock.unlock_exclusive(),
        |shared| {
            shared.lock.lock_shared();
            shared.lock.unlock_shared();
        },
        |shared| shared.lock.leave_as_woken(),
    ];
    let lock = RawRwLock::with_woken_writer();
    together_after(lock, |shared| shared.lock.lock_exclusive(), &works);
}

#[test]
fn a_reader_behind_a_woken_writer_that_is_left_for_good() {
    explore(3, reader_behind_a_woken_leaver);
}

#[test]
fn rejects_a_wake_left_in_the_word() {
    rejects(Mutant::WakeLeftInWord, 3, reader_behind_a_woken_leaver);
}

/// A reader that is queued as an upgradable reader takes the lock past it gets in beside it.
fn reader_beside_a_spinner() {
    let works: [Work; 3] = [
        |shared| {
            shared.change();
            shared.lock.unlock_exclusive();
        },
        |shared| {
            shared.lock.lock_shared();
            shared.look();
            shared.flag.raise();
            shared.lock.unlock_shared();
        },
        |shared| {
            shared.lock.lock_upgradable();
            shared.look();
            shared.flag.wait();
            shared.lock.unlock_upgradable();
        },
    ];
    together_after(RawRwLock::new(), |shared| shared.lock.lock_exclusive(), &works);
}

#[test]
fn a_reader_enters_beside_an_upgradable_reader_that_overtook_it() {
    explore(2, reader_beside_a_spinner);
}

#[test]
fn rejects_an_upgradable_reader_that_enters_alone() {
    rejects(Mutant::UpgradableEntersAlone, 2, reader_beside_a_spinner);
}

#[test]
fn rejects_a_reader_that_queues_at_an_open_lock() {
    rejects(Mutant::ReaderParksOnOpenLock, 3, || {
        together(RawRwLock::new(), &[Shared::read, Shared::write]);
    });
}

/// Two threads come while a writer or a reader is inside. The second to queue leaves its place to
/// the first, which may time out, want less, or find the lock taken again.
fn places_are_left(policy: Policy, preemptions: usize) {
    let enter: [(Work, Work); 2] = [
        (
            |shared| shared.lock.lock_exclusive(),
            |shared| {
                shared.change();
                shared.lock.unlock_exclusive();
            },
        ),
        (
            |shared| shared.lock.lock_shared(),
            |shared| {
                shared.look();
                shared.lock.unlock_shared();
            },
        ),
    ];
    for (enter, leave) in enter {
        for [first, second] in [
            [Shared::write as Work, Shared::write],
            [Shared::write, Shared::upgrade],
            [Shared::write, Shared::read_politely],
            [Shared::write_timed, Shared::write],
            [Shared::write_timed, Shared::read_politely],
            [Shared::upgrade_timed, Shared::read_politely],
        ] {
            explore(preemptions, move || {
                let lock = RawRwLock::with_policy(policy);
                together_after(lock, enter, &[leave, first, second]);
            });
        }
    }
}

#[test]
fn a_place_left_to_a_waiter_strands_none() {
    for policy in POLICIES {
        places_are_left(policy, 1);
    }
}

#[test]
fn rejects_a_place_left_to_none() {
    rejects(Mutant::PlaceLeftToNone, 2, || {
        together(RawRwLock::new(), &[Shared::write, Shared::write]);
    });
}

#[test]
fn rejects_a_relaxed_release_by_a_reader() {
    rejects(Mutant::ReadUnlockRelaxed, 2, || {
        together(RawRwLock::new(), &[Shared::read, Shared::write]);
    });
}

#[test]
fn rejects_a_reader_that_leaves_the_upgrader_asleep() {
    rejects(Mutant::UpgraderForgotten, 3, || {
        together(RawRwLock::new(), &[Shared::upgrade, Shared::read]);
    });
}

/// A child finds a lock that says what its parent's threads waited for.
#[test]
fn a_child_believes_nothing_of_its_parents_threads() {
    pretend::CHILD.set(true);
    for works in [
        [Shared::write as Work, Shared::read],
        [Shared::upgrade, Shared::read],
        [Shared::write, Shared::upgrade],
        [Shared::write_timed, Shared::read_timed],
    ] {
        explore(3, move || together(RawRwLock::with_stale_bits(), &works));
    }
    pretend::CHILD.set(false);
}

/// One of them owns it, and waits in the parent for readers in slots.
fn a_parents_writer_waits(preemptions: usize) {
    for works in [
        [Shared::write as Work, Shared::read],
        [Shared::upgrade, Shared::read],
        [Shared::write, Shared::upgrade],
        [Shared::write, Shared::write],
    ] {
        explore(preemptions, move || together(RawRwLock::with_parents_writer(), &works));
    }
}

#[test]
fn a_child_does_not_wait_for_its_parents_writer() {
    pretend::CHILD.set(true);
    a_parents_writer_waits(2);
    pretend::CHILD.set(false);
}

#[test]
fn rejects_a_child_that_waits_for_its_parents_writer() {
    pretend::CHILD.set(true);
    rejects(Mutant::ParentsWriterStays, 1, || {
        together(RawRwLock::with_parents_writer(), &[Shared::write, Shared::read]);
    });
    pretend::CHILD.set(false);
}

#[test]
fn readers_show_one_another() {
    for policy in POLICIES {
        explore(3, move || {
            let works: [Work; 2] = [
                |shared| {
                    shared.lock.lock_shared();
                    shared.flag.wait();
                    shared.lock.unlock_shared();
                },
                Shared::show,
            ];
            together(RawRwLock::with_policy(policy), &works);
        });
    }
}
