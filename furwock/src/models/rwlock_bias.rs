//! Readers in slots exclude writers, and no writer sleeps for one that has left (W-3).

use super::rwlock::{Shared, Work, together};
use super::{explore, rejects};
use crate::lock::RawRwLock;
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
    explore(2, || together(RawRwLock::biased(), &[Shared::read, Shared::write, Shared::write]));
}

#[test]
fn an_impatient_writer_leaves_the_slots_to_the_next() {
    let works: [Work; 3] = [Shared::read, Shared::write_timed, Shared::write];
    explore(2, move || together(RawRwLock::biased(), &works));
}

#[test]
fn one_that_only_tries() {
    let tries: Work = |shared| {
        if shared.lock.try_lock_exclusive() {
            shared.change();
            shared.lock.unlock_exclusive();
        }
    };
    explore(2, move || together(RawRwLock::biased(), &[Shared::read, tries, Shared::write]));
}

#[test]
fn an_upgrade_waits_for_slots() {
    let upgrades: Work = |shared| {
        shared.lock.lock_upgradable();
        shared.look();
        shared.lock.upgrade();
        shared.change();
        shared.lock.unlock_exclusive();
    };
    explore(3, move || together(RawRwLock::biased(), &[Shared::read, upgrades]));
}

#[test]
fn a_thread_reads_twice() {
    let reads: Work = |shared| {
        shared.lock.lock_shared();
        shared.lock.lock_shared_recursive();
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
    rejects(Mutant::AwaitWithoutFence, 3, reader_and_writer);
}

#[test]
fn rejects_a_writer_that_does_not_look_at_the_slots() {
    rejects(Mutant::GrantedWriterDrainsNothing, 3, reader_and_writer);
}
