//! Readers in slots exclude writers, and no writer sleeps for one that has left (W-3).

use super::rwlock::{Shared, Work, together, together_after};
use super::{explore, rejects};
use crate::lock::slots;
use crate::lock::{Options, Policy, RawRwLock};
use crate::prim::mutant::Mutant;

fn reader_and_writer() {
    together(RawRwLock::biased(), &[Shared::read, Shared::write]);
}

#[test]
fn a_reader_and_a_writer() {
    explore(4, reader_and_writer);
}

#[test]
fn readers_and_a_writer() {
    explore(2, || together(RawRwLock::biased(), &[Shared::read, Shared::write, Shared::read]));
}

#[test]
fn a_reader_and_two_writers() {
    explore(1, || together(RawRwLock::biased(), &[Shared::read, Shared::write, Shared::write]));
}

#[test]
fn a_reader_and_a_writer_that_comes_back() {
    let twice: Work = |shared| {
        shared.write();
        shared.write();
    };
    explore(3, move || together(RawRwLock::biased(), &[Shared::read, twice]));
}

#[test]
fn impatient_ones() {
    for works in [
        [Shared::read as Work, Shared::write_timed],
        [Shared::read_timed, Shared::write],
        [Shared::read, Shared::upgrade_timed],
    ] {
        explore(3, move || together(RawRwLock::biased(), &works));
    }
}

#[test]
fn an_impatient_writer_leaves_the_slots_to_the_next() {
    let works: [Work; 3] = [Shared::read, Shared::write_timed, Shared::write];
    explore(1, move || together(RawRwLock::biased(), &works));
}

/// Two reads after a revocation the lock is biased again (in a model), be it that the writer has
/// written or has given up.
#[test]
fn a_lock_becomes_biased_again() {
    let reads: Work = |shared| (0..3).for_each(|_| shared.read());
    let gives_up_and_writes: Work = |shared| {
        shared.write_timed();
        shared.write();
    };
    explore(2, move || together(RawRwLock::biased(), &[reads, gives_up_and_writes]));
    explore(2, move || together(RawRwLock::revoked(), &[reads, gives_up_and_writes]));
}

fn try_to_write(shared: &Shared) {
    if shared.lock.try_lock_exclusive() {
        shared.change();
        shared.lock.unlock_exclusive();
    }
}

#[test]
fn one_that_only_tries() {
    explore(3, || together(RawRwLock::biased(), &[Shared::read, try_to_write]));
    explore(3, || together(RawRwLock::biased(), &[try_to_write, Shared::write]));
    explore(1, || together(RawRwLock::biased(), &[Shared::read, try_to_write, Shared::write]));
}

#[test]
fn an_upgrade_waits_for_slots() {
    explore(3, || together(RawRwLock::biased(), &[Shared::read, Shared::upgrade]));
    explore(1, || together(RawRwLock::biased(), &[Shared::read, Shared::upgrade, Shared::write]));
}

fn read_and_upgrade_hot() {
    together(RawRwLock::hot(), &[Shared::read, Shared::upgrade]);
}

#[test]
fn a_lock_becomes_biased_as_others_come() {
    explore(3, read_and_upgrade_hot);
    explore(3, || together(RawRwLock::hot(), &[Shared::read, Shared::write]));
    explore(2, || together(RawRwLock::hot(), &[Shared::read, Shared::write, Shared::read]));
}

/// Two readers find the lock hot and never biased. One of them is in a slot when the other, which
/// comes late, writes (W-5).
fn two_readers_of_a_hot_lock() {
    let reads_twice: Work = |shared| {
        shared.read();
        shared.read();
    };
    let reads_and_writes: Work = |shared| {
        shared.read();
        shared.write();
    };
    together(RawRwLock::hot(), &[reads_twice, reads_and_writes]);
}

#[test]
fn two_readers_give_a_lock_its_first_bias() {
    explore(3, two_readers_of_a_hot_lock);
}

#[test]
fn rejects_a_first_bias_without_the_buckets_lock() {
    rejects(Mutant::FirstBiasUnlocked, 3, two_readers_of_a_hot_lock);
}

/// A lock lay at this address whose reader was forgotten: its slot doesn't speak of the new lock.
#[test]
fn a_forgotten_reader_of_an_earlier_lock_keeps_no_thread_out() {
    explore(2, || {
        let forgets: Work = |shared| slots::leave_behind(shared.lock.address());
        let reads_and_writes: Work = |shared| {
            shared.read();
            shared.write();
        };
        together_after(RawRwLock::hot(), forgets, &[reads_and_writes, Shared::read]);
    });
}

#[test]
fn rejects_an_upgrade_that_lets_readers_bias_the_lock() {
    rejects(Mutant::UpgradeLeftOpen, 3, read_and_upgrade_hot);
}

/// A reader in a slot waits for another, that comes once a writer waits for the slot.
#[test]
fn readers_in_slots_meet_though_a_writer_waits() {
    let works: [Work; 3] = [
        |shared| {
            shared.flag.wait();
            shared.lock.unlock_shared();
        },
        Shared::show,
        Shared::write,
    ];
    for policy in [Policy::Recursive, Policy::PreferReaders] {
        explore(2, move || {
            let lock = RawRwLock::biased();
            lock.set_policy(policy);
            together_after(lock, |shared| shared.lock.lock_shared(), &works);
        });
    }
}

#[test]
fn a_thread_reads_twice() {
    let reads: Work = |shared| {
        shared.lock.lock_shared();
        shared.lock.lock_shared_with(&Options::new().recursive(true));
        shared.look();
        shared.lock.unlock_shared();
        shared.look();
        shared.lock.unlock_shared();
    };
    explore(3, move || together(RawRwLock::biased(), &[reads, Shared::write]));
}

#[test]
fn rejects_a_slot_published_without_a_fence() {
    rejects(Mutant::PublishWithoutFence, 3, reader_and_writer);
}

#[test]
fn rejects_a_look_at_the_slots_without_a_fence() {
    rejects(Mutant::DrainWithoutFence, 3, reader_and_writer);
}

#[test]
fn rejects_a_sleep_for_a_slot_without_a_fence() {
    rejects(Mutant::CountWithoutFence, 3, reader_and_writer);
}

#[test]
fn rejects_a_writer_that_passes_slots_by_as_it_passes_sleepers() {
    rejects(Mutant::SlotsPassedBy, 3, reader_and_writer);
}

#[test]
fn rejects_a_writer_that_does_not_look_at_the_slots() {
    rejects(Mutant::GrantedWriterDrainsNothing, 3, reader_and_writer);
}
