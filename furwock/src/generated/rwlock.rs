//! Programs on a [`RawRwLock`].
//!
//! They check that no thread is inside beside a writer, and no second owner beside the upgradable
//! reader; that an upgradable reader that becomes the writer finds what it saw; that a try and a
//! timed call fail only if a thread was about that may have kept it out; that every call ends, also
//! where an owner died and the others asked for that; and that at the end neither the word nor a
//! slot speaks of any thread.

use super::foreign;
use super::ground::{About, Note, Pages, Place, Seen, Wish, check_buckets, passed};
use super::random::Random;
use super::runner::{Object, Phase, Program};
pub(super) use super::rwlock_program::RwLocks;
use super::rwlock_program::{Enter, Former, Holding, Op, Start, Step, Word};
use crate::lock::slots;
use crate::lock::{Options, Policy, RawRwLock, Status};
use crate::lot;
use crate::prim;
use crate::unstable::rwlock::{forget_readers, is_full};
use shuttle::sync::{Barrier, Condvar, Mutex};
use shuttle::thread;
use std::sync::Arc;

/// How many threads have got in and haven't begun to leave.
#[derive(Default)]
struct Inside {
    readers: Note,
    upgradable: Note,
    writers: Note,
}

impl Inside {
    fn enter(&self, holding: Holding) {
        let (readers, upgradable, writers) =
            (self.readers.get(), self.upgradable.get(), self.writers.get());
        let allowed = match holding {
            Holding::Reader => writers == 0,
            Holding::Upgradable => writers == 0 && upgradable == 0,
            Holding::Writer => writers == 0 && upgradable == 0 && readers == 0,
        };
        assert!(
            allowed,
            "a {holding:?} enters beside {readers} readers, {upgradable} upgradable readers, \
             {writers} writers"
        );
        self.count(holding).add(1);
    }

    fn leave(&self, holding: Holding) {
        self.count(holding).add(-1);
    }

    fn count(&self, holding: Holding) -> &Note {
        match holding {
            Holding::Reader => &self.readers,
            Holding::Upgradable => &self.upgradable,
            Holding::Writer => &self.writers,
        }
    }
}

/// How a section ends.
#[derive(Clone, Copy)]
enum Leaves {
    Released { fair: bool },
    Dies,
}

/// Whether an owner may die: then calls without a deadline have to ask for that.
fn has_deaths(phase: &Phase<RwLocks>) -> bool {
    phase.threads.iter().flatten().any(|op| matches!(op, Op::Section { dies: true, .. }))
}

/// Whose program is being run.
#[derive(Clone, Copy)]
struct Turn<'p> {
    phase: &'p Phase<RwLocks>,
    number: usize,
}

struct World {
    place: Place<RawRwLock>,
    inside: Inside,
    /// All that are inside or in a call.
    about: About,
    /// Those of them that are, were or want to become an owner.
    owners: About,
    pages: Pages,
    shown: Mutex<usize>,
    shows: Condvar,
    /// Owners that have died and whose lock no thread has taken over yet.
    deaths: Note,
    /// How many of a phase's were upgradable readers.
    upgradable_deaths: Note,
    /// Whether a writer that looks for them has given up: it may have taken the lock over from an
    /// upgradable reader, and released it as readers didn't leave.
    gave_up: Note,
    /// Slots may hold the address though the lock that they spoke of is gone.
    slots_are_stale: Note,
}

impl Object for RwLocks {
    const NAME: &'static str = "rwlock";
    type Start = Start;
    type Op = Op;

    fn generate(random: &mut Random) -> Program<Self> {
        super::rwlock_program::generate(random)
    }

    fn is_child(program: &Program<Self>) -> bool {
        program.phases[0].start.is_childs()
    }

    fn run(program: &Arc<Program<Self>>) {
        let first = &program.phases[0].start;
        let former = RawRwLock::biased();
        let world = Arc::new(World {
            place: Place::new(first.in_second_bucket, former),
            inside: Inside::default(),
            about: About::default(),
            owners: About::default(),
            pages: Pages::default(),
            shown: Mutex::new(0),
            shows: Condvar::new(),
            deaths: Note::default(),
            upgradable_deaths: Note::default(),
            gave_up: Note::default(),
            slots_are_stale: Note::default(),
        });
        let count = program.thread_count();
        let together = Arc::new(Barrier::new(count + 1));
        // Without readers that don't leave the threads needn't meet before the first phase.
        let meets = |number: usize| number > 0 || !program.phases[0].start.leavers.is_empty();
        let spawn = |number| {
            let (world, program) = (Arc::clone(&world), Arc::clone(program));
            let together = Arc::clone(&together);
            let meets_first = meets(0);
            thread::spawn(move || {
                for (at, phase) in program.phases.iter().enumerate() {
                    if at > 0 || meets_first {
                        together.wait();
                        together.wait();
                        let leaves = |leaver: &usize| leaver % count == number;
                        if phase.start.leavers.iter().any(leaves) {
                            world.place.get().lock_shared();
                        }
                        together.wait();
                        together.wait();
                    }
                    phase.threads[number]
                        .iter()
                        .for_each(|op| world.act(op, Turn { phase, number }));
                }
            })
        };
        if !meets(0) {
            begin(&world, first);
        }
        let mut foreigners = Some(foreign::come(&first.foreign, world.place.address()));
        let threads: Vec<_> = (0..count).map(spawn).collect();
        for (at, phase) in program.phases.iter().enumerate() {
            if !meets(at) {
                continue;
            }
            together.wait();
            if at > 0 {
                end(&world, &program.phases[at - 1].start);
            }
            together.wait();
            together.wait();
            begin(&world, &phase.start);
            if at > 0 {
                foreigners.take().expect("put back").leave();
                foreigners = Some(foreign::come(&phase.start.foreign, world.place.address()));
            }
            together.wait();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let last = &program.phases.last().expect("one phase").start;
        end(&world, last);
        foreigners.take().expect("put back").leave();
        if !last.is_childs() {
            assert!(
                world.place.get().try_lock_exclusive(),
                "a lock that no thread has can't be had"
            );
            world.place.get().unlock_exclusive();
        }
        world.pages.check();
        check_buckets();
    }

    fn smaller_starts(start: &Start) -> Vec<Start> {
        start.smaller()
    }

    fn smaller_ops(op: &Op) -> Vec<Op> {
        op.smaller()
    }
}

/// Puts a phase's lock in the place of the one before.
fn begin(world: &World, start: &Start) {
    let new = start.lock();
    match start.former {
        Former::Dropped => world.place.remove(),
        Former::Forgotten => forget_readers(world.place.get()),
        Former::Overwritten => {}
    }
    if start.former == Former::Overwritten && !start.leavers.is_empty() {
        world.slots_are_stale.set(1);
    }
    if start.speaks_of_slots() && world.slots_are_stale.get() != 0 {
        // It wasn't made with a bias: its first one found the slots like that, and emptied them.
        slots::forget(world.place.address().addr());
        world.slots_are_stale.set(0);
    }
    world.place.put(new);
    *world.shown.lock().unwrap() = 0;
}

/// All threads have left.
fn end(world: &World, start: &Start) {
    let lock = world.place.get();
    if world.deaths.get() != 0 {
        let minds = Options::new().owner_death(true);
        assert!(world.got(lock.lock_exclusive_with(&minds)));
        let may_be_untold =
            if world.gave_up.get() == 0 { 0 } else { world.upgradable_deaths.get() };
        assert!(world.deaths.get() <= may_be_untold, "no thread learns of a death");
        lock.unlock_exclusive();
    }
    [&world.deaths, &world.upgradable_deaths, &world.gave_up].map(|note| note.set(0));
    let left = lock.at_rest_says() & !start.stale_bits();
    assert_eq!(left, 0, "the word isn't at rest: {lock:?}");
    let by_parent = lock.at_rest_says() != 0 && start.word == Word::ParentsWriter;
    assert!(by_parent || !lock.is_locked(), "a thread seems to be inside: {lock:?}");
    assert!(slots::no_slot_is_awaited(), "a slot says that a thread waits for it");
}

impl World {
    fn act(&self, op: &Op, turn: Turn<'_>) {
        match op {
            Op::Section { enter, steps, fair, dies } => {
                let ops = &turn.phase.threads[turn.number];
                let dies = *dies && ops.last().is_some_and(|last| core::ptr::eq(last, op));
                let leaves = if dies { Leaves::Dies } else { Leaves::Released { fair: *fair } };
                self.section(*enter, steps, leaves, turn, false);
            }
            Op::Show { enter } => {
                self.section(*enter, &[], Leaves::Released { fair: false }, turn, true);
            }
            Op::Ask => {
                let lock = self.place.get();
                _ = (lock.is_locked(), lock.is_locked_exclusive(), lock.owner(), lock.policy());
                assert!(!is_full(lock));
            }
        }
    }

    fn section(&self, enter: Enter, steps: &[Step], leaves: Leaves, turn: Turn<'_>, shows: bool) {
        let enter = if has_deaths(turn.phase) { enter.minding_death() } else { enter };
        let owns = enter.wants() != Holding::Reader;
        let (all, owners) = (self.about.look(), self.owners.look());
        self.about.come();
        if owns {
            self.owners.come();
        }
        if self.enter(enter) {
            let mut holding = enter.wants();
            self.inside.enter(holding);
            if shows {
                *self.shown.lock().unwrap() += 1;
                self.shows.notify_all();
            }
            self.look(holding);
            for step in steps {
                self.step(*step, &mut holding, turn, all);
            }
            self.inside.leave(holding);
            match leaves {
                Leaves::Dies if holding != Holding::Reader => {
                    self.deaths.add(1);
                    if holding == Holding::Upgradable {
                        self.upgradable_deaths.add(1);
                    }
                    // Others have met it from here on: it stays about.
                    return prim::model_thread_dies();
                }
                Leaves::Dies => self.leave(holding, false),
                Leaves::Released { fair } => self.leave(holding, fair),
            }
        } else {
            let met = if owns {
                !self.about.was_alone(all, true)
            } else {
                !self.owners.was_alone(owners, false)
            };
            assert!(met, "{enter:?} failed, and no thread was about that could have kept it out");
            if let Enter::WriteWith(Wish { owner_death: true, .. }) = enter {
                self.gave_up.set(1);
            }
        }
        if owns {
            self.owners.leave();
        }
        self.about.leave();
    }

    fn enter(&self, enter: Enter) -> bool {
        let lock = self.place.get();
        let over = Options::new().until(passed());
        match enter {
            Enter::Read => lock.lock_shared(),
            Enter::Recursive => {
                lock.lock_shared_with(&Options::new().recursive(true));
            }
            Enter::Upgradable => lock.lock_upgradable(),
            Enter::Write => lock.lock_exclusive(),
            Enter::TryRead => return lock.try_lock_shared(),
            Enter::TryRecursive => return lock.try_lock_shared_recursive(),
            Enter::TryUpgradable => return lock.try_lock_upgradable(),
            Enter::TryWrite => return lock.try_lock_exclusive(),
            Enter::TimedRead => return lock.lock_shared_with(&over).is_some(),
            Enter::TimedRecursive => return lock.lock_shared_with(&over.recursive(true)).is_some(),
            Enter::TimedUpgradable => return lock.lock_upgradable_with(&over).is_some(),
            Enter::TimedWrite => return lock.lock_exclusive_with(&over).is_some(),
            Enter::ReadWith(wish) => return self.got(lock.lock_shared_with(&wish.options())),
            Enter::WriteWith(wish) => return self.got(lock.lock_exclusive_with(&wish.options())),
        }
        true
    }

    fn got(&self, status: Option<Status>) -> bool {
        if status.is_some_and(|status| status.owner_died) {
            self.deaths.add(-1);
            assert!(self.deaths.get() >= 0, "taken from an owner that lives");
        }
        status.is_some()
    }

    /// What a thread that is inside sees and does there.
    fn look(&self, holding: Holding) {
        match holding {
            Holding::Writer => {
                assert_eq!(self.place.get().owner(), lot::tid(), "another is said to write");
                self.pages.change();
            }
            Holding::Upgradable => {
                assert_eq!(self.place.get().owner(), lot::tid(), "another is said to own it");
                self.pages.look();
            }
            Holding::Reader => _ = self.pages.look(),
        }
    }

    fn step(&self, step: Step, holding: &mut Holding, turn: Turn<'_>, began: Seen) {
        let lock = self.place.get();
        match (step, *holding) {
            (Step::Look, _) => self.look(*holding),
            (Step::Await, Holding::Reader | Holding::Upgradable) => self.await_shows(turn),
            (Step::Again(once), Holding::Reader | Holding::Upgradable) => {
                if once.is_some_and(|tries| tries) {
                    if !lock.try_lock_shared_recursive() {
                        panic!("a thread that is inside can't read again");
                    }
                } else {
                    lock.lock_shared_with(&Options::new().recursive(true));
                }
                self.inside.enter(Holding::Reader);
                self.pages.look();
                self.inside.leave(Holding::Reader);
                lock.unlock_shared();
            }
            (Step::Less, Holding::Writer) => {
                self.become_less(holding, Holding::Upgradable, RawRwLock::downgrade_to_upgradable);
            }
            (Step::Least, Holding::Writer) => {
                self.become_less(holding, Holding::Reader, RawRwLock::downgrade);
            }
            (Step::Less | Step::Least, Holding::Upgradable) => {
                self.become_less(holding, Holding::Reader, RawRwLock::downgrade_upgradable);
            }
            (Step::Upgrade | Step::TryUpgrade | Step::TimedUpgrade, Holding::Upgradable) => {
                let seen = self.pages.look();
                let over = Options::new().until(passed());
                let upgraded = match step {
                    Step::Upgrade => {
                        lock.upgrade();
                        true
                    }
                    Step::TryUpgrade => lock.try_upgrade(),
                    _ => lock.upgrade_with(&over).is_some(),
                };
                if upgraded {
                    self.inside.leave(Holding::Upgradable);
                    *holding = Holding::Writer;
                    self.inside.enter(Holding::Writer);
                    assert_eq!(self.pages.look(), seen, "a thread wrote beside the upgrader");
                } else {
                    let alone = self.about.was_alone(began, true);
                    assert!(
                        !alone,
                        "{step:?} failed, and no thread was about that could have hindered it"
                    );
                }
                self.look(*holding);
            }
            _ => {}
        }
    }

    fn become_less(&self, holding: &mut Holding, less: Holding, change: fn(&RawRwLock)) {
        self.inside.leave(*holding);
        *holding = less;
        self.inside.enter(less);
        change(self.place.get());
        self.look(less);
    }

    /// Waits, inside, for the readers that come first in their threads. Only where no reader may be
    /// made to wait for writers that wait.
    fn await_shows(&self, Turn { phase, number }: Turn<'_>) {
        let comes_first = |ops: &Vec<Op>| matches!(ops.first(), Some(Op::Show { .. }));
        let coming = phase.threads.iter().filter(|ops| comes_first(ops)).count();
        let may_be_made_to_wait =
            matches!(phase.start.policy, Policy::PhaseFair | Policy::PreferWriters);
        if may_be_made_to_wait || comes_first(&phase.threads[number]) {
            return;
        }
        let mut shown = self.shown.lock().unwrap();
        while *shown < coming {
            shown = self.shows.wait(shown).unwrap();
        }
    }

    fn leave(&self, holding: Holding, fair: bool) {
        let lock = self.place.get();
        if fair {
            lock.ask_for_hand_off();
        }
        match holding {
            Holding::Reader => lock.unlock_shared(),
            Holding::Upgradable => lock.unlock_upgradable(),
            Holding::Writer => lock.unlock_exclusive(),
        };
    }
}
