//! What the programs of all objects stand on: where an object lies, what a call may have met, data
//! that is looked at and changed in steps.

use super::random::Random;
use super::runner::{Object, Phase, Program};
use crate::lock::Options;
use crate::lot::{self, Key};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::sys::clock::{Clock, Deadline};
use shuttle::sync::Barrier;
use shuttle::thread;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// Where an object lies, and others after it: in the first or the second of the model's two
/// buckets.
pub(super) struct Place<T> {
    memory: *mut u8,
    offset: usize,
    object: PhantomData<T>,
}

// SAFETY: the threads of an execution share one kernel thread; programs replace an object only
// while no other thread uses it.
unsafe impl<T> Send for Place<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    fn layout() -> Layout {
        Layout::from_size_align(64 + size_of::<T>(), 128).expect("small and aligned")
    }

    pub(super) fn new(in_second_bucket: bool, object: T) -> Self {
        // SAFETY: the size isn't 0.
        let memory = unsafe { alloc_zeroed(Self::layout()) };
        let offset = if in_second_bucket { 64 } else { 0 };
        let place = Self { memory, offset, object: PhantomData };
        place.put(object);
        place
    }

    fn at(&self) -> *mut T {
        // SAFETY: within the memory.
        unsafe { self.memory.add(self.offset).cast() }
    }

    /// The address, by which waiters are found.
    pub(super) fn address(&self) -> *const () {
        self.at().cast_const().cast()
    }

    pub(super) fn get(&self) -> &T {
        // SAFETY: there is always one, but between `remove` and `put`.
        unsafe { &*self.at() }
    }

    /// Puts an object over the one that is there, which isn't dropped.
    pub(super) fn put(&self, object: T) {
        // SAFETY: no thread uses the object that was there.
        unsafe { self.at().write(object) }
    }

    /// Drops the object.
    pub(super) fn remove(&self) {
        // SAFETY: no thread uses the object, and another is put in its place before any does.
        unsafe { self.at().drop_in_place() }
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        if crate::prim::checker_has_failed() {
            return;
        }
        self.remove();
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.memory, Self::layout()) };
    }
}

/// A number that the threads of an execution share without a step of the schedule.
#[derive(Debug, Default)]
pub(super) struct Note(Cell<i64>);

// SAFETY: the threads of an execution share one kernel thread.
unsafe impl Sync for Note {}
// SAFETY: as above.
unsafe impl Send for Note {}

impl Note {
    pub(super) fn get(&self) -> i64 {
        self.0.get()
    }

    pub(super) fn set(&self, value: i64) {
        self.0.set(value);
    }

    pub(super) fn add(&self, more: i64) {
        self.0.set(self.0.get() + more);
    }
}

/// Counts the threads that are inside an object or in a call on it, so that a call can tell whether
/// it may have met another.
#[derive(Debug, Default)]
pub(super) struct About {
    now: Note,
    came: Note,
}

/// What a call saw as it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    alone: bool,
    came: i64,
}

impl About {
    /// To be called before the caller itself comes.
    pub(super) fn look(&self) -> Seen {
        Seen { alone: self.now.get() == 0, came: self.came.get() }
    }

    pub(super) fn come(&self) {
        self.now.add(1);
        self.came.add(1);
    }

    pub(super) fn leave(&self) {
        self.now.add(-1);
    }

    /// Whether no other thread was about at any moment since `seen`. With `has_come` the caller
    /// itself has come once since.
    pub(super) fn was_alone(&self, seen: Seen, has_come: bool) -> bool {
        seen.alone && self.came.get() == seen.came + i64::from(has_come)
    }
}

/// What a lock protects: a writer changes one page after the other.
#[derive(Default)]
pub(super) struct Pages {
    pages: [AtomicU32; 2],
    written: Note,
}

impl Pages {
    pub(super) fn look(&self) -> u32 {
        let [first, second] = [0, 1].map(|page: usize| self.pages[page].load(Ordering::Relaxed));
        assert_eq!(first, second, "a thread writes beside a reader");
        first
    }

    pub(super) fn change(&self) {
        let seen = self.pages[0].load(Ordering::Relaxed);
        for page in &self.pages {
            assert_eq!(page.load(Ordering::Relaxed), seen, "a thread writes beside a writer");
            page.store(seen + 1, Ordering::Relaxed);
        }
        self.written.add(1);
    }

    /// At the end.
    pub(super) fn check(&self) {
        assert_eq!(i64::from(self.look()), self.written.get(), "a change was lost");
    }
}

/// Runs a program's phases, each once all threads have ended the one before: `begin` and `end` are
/// called when none of them runs, `work` in each thread.
pub(super) fn in_phases<O: Object>(
    program: &Arc<Program<O>>,
    mut begin: impl FnMut(&Phase<O>),
    mut end: impl FnMut(&Phase<O>),
    work: impl Fn(&Phase<O>, usize) + Send + Sync + 'static,
) {
    let count = program.thread_count();
    let together = Arc::new(Barrier::new(count + 1));
    let work = Arc::new(work);
    begin(&program.phases[0]);
    let spawn = |number| {
        let (program, together) = (Arc::clone(program), Arc::clone(&together));
        let work = Arc::clone(&work);
        thread::spawn(move || {
            for (at, phase) in program.phases.iter().enumerate() {
                if at > 0 {
                    together.wait();
                    together.wait();
                }
                work(phase, number);
            }
        })
    };
    let threads: Vec<_> = (0..count).map(spawn).collect();
    for pair in program.phases.windows(2) {
        together.wait();
        end(&pair[0]);
        begin(&pair[1]);
        together.wait();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    end(program.phases.last().expect("one phase"));
}

/// At the end: no bucket counts a waiter.
pub(super) fn check_buckets() {
    let all_empty = [0, 64].map(Key::word).into_iter().all(lot::is_empty);
    assert!(all_empty, "a bucket counts waiters that aren't there");
}

pub(super) fn passed() -> Deadline {
    Deadline::at(Clock::Monotonic, 0, 0).expect("the clock's zero")
}

/// Options that aren't the plain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) steal: bool,
    pub(super) spin: bool,
    pub(super) timed: bool,
    pub(super) owner_death: bool,
}

impl Wish {
    pub(super) fn draw(random: &mut Random) -> Self {
        Self {
            steal: random.one_in(2),
            spin: random.one_in(2),
            timed: random.one_in(4),
            owner_death: random.one_in(5),
        }
    }

    pub(super) fn options(self) -> Options {
        let options = Options::new().steal(self.steal).spin(self.spin);
        let options = options.owner_death(self.owner_death);
        if self.timed { options.until(passed()) } else { options }
    }
}
