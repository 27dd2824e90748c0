//! The robust rwlock: readers and writers exclude one another (RB-3), and a death is reported if it
//! has to be (RB-4).

use super::{explore, rejects};
use crate::lock::robust::{Held, RawRobustRwLock, ReadHeld};
use crate::prim::CheckedCell;
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

/// `halves` are equal unless a writer is at work, or died at it.
#[derive(Default)]
struct Pair<const READERS: usize> {
    lock: RawRobustRwLock<READERS>,
    halves: [CheckedCell<usize>; 2],
}

impl<const READERS: usize> Pair<READERS> {
    fn read(&self) {
        // SAFETY: the Arc keeps it in place.
        match unsafe { self.lock.read() }.unwrap() {
            ReadHeld::Shared(slot) => {
                self.assert_whole();
                // SAFETY: had just now.
                unsafe { self.lock.unlock_read(slot) };
            }
            ReadHeld::OwnerDied => self.repair(),
        }
    }

    fn read_and_die(&self) {
        // SAFETY: as above.
        match unsafe { self.lock.read() }.unwrap() {
            ReadHeld::Shared(_) => self.lock.die(),
            ReadHeld::OwnerDied => self.repair(),
        }
    }

    fn write(&self) {
        // SAFETY: as above.
        match unsafe { self.lock.write() }.unwrap() {
            Held::Acquired => {
                self.assert_whole();
                self.half(0);
                self.half(1);
                self.unlock_write();
            }
            Held::OwnerDied => self.repair(),
        }
    }

    fn write_half_and_die(&self) {
        // SAFETY: as above.
        assert_eq!(unsafe { self.lock.write() }, Ok(Held::Acquired));
        self.half(0);
        self.lock.die();
    }

    fn repair(&self) {
        self.half(1);
        self.assert_whole();
        assert!(self.lock.make_consistent());
        self.unlock_write();
    }

    fn unlock_write(&self) {
        // SAFETY: the callers hold it exclusively.
        unsafe { self.lock.unlock_write() };
    }

    fn half(&self, which: usize) {
        // SAFETY: the caller holds the lock exclusively; loom checks it.
        unsafe { self.halves[which].set(self.halves[which].get() + 1) };
    }

    fn assert_whole(&self) {
        // SAFETY: the caller holds the lock; loom checks it.
        unsafe { assert_eq!(self.halves[0].get(), self.halves[1].get()) };
    }
}

/// Runs each of `works` in a thread of its own, the last one here; then the lock is to be had, and
/// the data whole.
fn together<const READERS: usize>(works: &[fn(&Pair<READERS>)]) {
    let pair = Arc::new(Pair::default());
    let (own, others) = works.split_last().unwrap();
    let others: Vec<_> = others
        .iter()
        .map(|&work| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || work(&pair))
        })
        .collect();
    own(&pair);
    others.into_iter().for_each(|other| other.join().unwrap());
    pair.write();
    pair.read();
}

fn a_reader_and_a_writer() {
    together::<1>(&[Pair::read, Pair::write]);
}

fn a_writer_dies() {
    together::<1>(&[Pair::write_half_and_die, Pair::read]);
}

#[test]
fn a_reader_and_a_writer_exclude_one_another() {
    explore(4, a_reader_and_a_writer);
}

#[test]
fn two_readers_and_a_writer() {
    explore(2, || together::<2>(&[Pair::read, Pair::read, Pair::write]));
}

#[test]
fn two_writers_and_a_reader() {
    explore(2, || together::<1>(&[Pair::write, Pair::write, Pair::read]));
}

#[test]
fn more_readers_than_slots() {
    explore(3, || together::<1>(&[Pair::read, Pair::read]));
    explore(2, || together::<1>(&[Pair::read, Pair::read, Pair::read]));
}

#[test]
fn a_dead_reader_is_forgotten() {
    explore(3, || together::<1>(&[Pair::read_and_die, Pair::write]));
    explore(1, || together::<1>(&[Pair::read_and_die, Pair::read, Pair::write]));
}

#[test]
fn a_dead_writer_is_told_of_once() {
    explore(3, a_writer_dies);
    explore(2, || together::<1>(&[Pair::write_half_and_die, Pair::read, Pair::read]));
}

#[test]
fn rejects_a_reader_without_fence() {
    rejects(Mutant::ReaderWithoutFence, 3, a_reader_and_a_writer);
}

#[test]
fn rejects_a_writer_without_fence() {
    rejects(Mutant::WriterWithoutFence, 3, a_reader_and_a_writer);
}

#[test]
fn rejects_an_unmarked_slot() {
    rejects(Mutant::SlotUnmarked, 3, a_reader_and_a_writer);
}

#[test]
fn rejects_a_forgotten_writer() {
    rejects(Mutant::DeadWriterForgotten, 2, a_writer_dies);
}
