//! Programs on a [`RawMutex`].
//!
//! They check that one thread at a time holds it and is named in its word, that a try and a timed
//! call fail only if another thread was about, that every call ends, also where an owner died and
//! the others asked for that, and that the word is zero at the end.

use super::foreign::{self, Foreign, Present};
use super::ground::{About, Note, Pages, Place, Wish, check_buckets, in_phases, passed};
use super::random::Random;
use super::runner::{Object, Phase, Program};
use crate::lock::{Options, RawMutex, Status, Turn};
use crate::lot;
use crate::prim;
use std::sync::Arc;

pub(super) struct Mutexes;

#[derive(Clone, Copy, Debug)]
pub(super) enum Enter {
    Lock,
    Try,
    Timed,
    With(Wish),
    /// By an attempt, which is given up when the lock is seen free so many times.
    Attempt(Wish, Option<u32>),
}

/// A thread locks, does something, and unlocks; `fair` if by the call that hands the mutex over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    enter: Enter,
    fair: bool,
    /// If this is the last that its thread does, it ends instead of unlocking.
    dies: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    in_second_bucket: bool,
    child: bool,
    stale: RawMutexSays,
    foreign: Vec<Foreign>,
}

/// What a free mutex's word may say though no thread waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RawMutexSays {
    parked: bool,
    wakes: bool,
    spinner: bool,
}

impl RawMutexSays {
    fn mutex(self) -> RawMutex {
        RawMutex::with_stale_bits(self.parked, self.wakes, self.spinner)
    }
}

struct World {
    place: Place<RawMutex>,
    inside: Note,
    about: About,
    pages: Pages,
    /// Owners that have died and whose mutex no thread has taken over yet.
    deaths: Note,
}

impl Object for Mutexes {
    const NAME: &'static str = "mutex";
    type Start = Start;
    type Op = Section;

    fn generate(random: &mut Random) -> Program<Self> {
        let threads = random.weighted(&[(4, 2), (6, 3), (3, 4), (1, 5), (1, 6)]);
        let (child, in_second_bucket) = (random.one_in(6), random.one_in(2));
        let phases = if random.one_in(4) { 2 } else { 1 };
        let mut phase = |_| {
            let stale = if child || random.one_in(6) {
                RawMutexSays {
                    parked: random.one_in(2),
                    wakes: random.one_in(2),
                    spinner: child && random.one_in(2),
                }
            } else {
                RawMutexSays::default()
            };
            let foreign = foreign::draw(random);
            let start = Start { in_second_bucket, child, stale, foreign };
            let threads = (0..threads).map(|_| random.list(1, 4, Section::draw)).collect();
            Phase { start, threads }
        };
        let phases = (0..phases).map(&mut phase).collect();
        let mut program = Program::<Self> { phases };
        if random.one_in(12) {
            program.phases.truncate(1);
            if let Some(section) = program.phases[0].threads[0].last_mut() {
                section.dies = true;
            }
        }
        program
    }

    fn is_child(program: &Program<Self>) -> bool {
        program.phases[0].start.child
    }

    fn run(program: &Arc<Program<Self>>) {
        let first = &program.phases[0].start;
        let world = Arc::new(World {
            place: Place::new(first.in_second_bucket, RawMutex::new()),
            inside: Note::default(),
            about: About::default(),
            pages: Pages::default(),
            deaths: Note::default(),
        });
        let present: std::cell::Cell<Option<Present>> = std::cell::Cell::new(None);
        let begin = |phase: &Phase<Self>| {
            world.place.put(phase.start.stale.mutex());
            present.set(Some(foreign::come(&phase.start.foreign, world.place.address())));
        };
        let end = |phase: &Phase<Self>| {
            if world.deaths.get() != 0 {
                let minds = Options::new().owner_death(true);
                assert!(world.got(world.place.get().lock_with(&minds)) && world.deaths.get() == 0);
                world.place.get().unlock();
            }
            let stale = phase.start.stale;
            // A release that believes a stale PARKED claims wakes for no waiter (M-4).
            let but_wakes = stale.wakes || stale.parked;
            let says = world.place.get().at_rest_says(but_wakes);
            assert_eq!(
                says & !stale.mutex().at_rest_says(but_wakes),
                0,
                "the word isn't at rest: {says:#x}"
            );
            present.take().expect("they came").leave();
        };
        let own = Arc::clone(&world);
        in_phases(program, begin, end, move |phase, number| {
            let sections = &phase.threads[number];
            let has_deaths = phase.threads.iter().flatten().any(|section| section.dies);
            for (at, section) in sections.iter().enumerate() {
                let dies = section.dies && at + 1 == sections.len();
                let minding =
                    if has_deaths { section.enter.minding_death() } else { section.enter };
                own.section(Section { enter: minding, dies, ..*section });
            }
        });
        world.pages.check();
        check_buckets();
    }

    fn smaller_starts(start: &Start) -> Vec<Start> {
        let mut all = foreign::fewer(&start.foreign)
            .map(|foreign| Start { foreign, ..start.clone() })
            .collect::<Vec<_>>();
        if start.stale != RawMutexSays::default() {
            all.push(Start { stale: RawMutexSays::default(), ..start.clone() });
        }
        if start.in_second_bucket {
            all.push(Start { in_second_bucket: false, ..start.clone() });
        }
        all
    }

    fn smaller_ops(section: &Section) -> Vec<Section> {
        if section.fair { vec![Section { fair: false, ..*section }] } else { Vec::new() }
    }
}

impl Enter {
    /// The same, for one that minds whether the owner lives, where it would wait for ever.
    fn minding_death(self) -> Self {
        match self {
            Self::Lock => {
                Self::With(Wish { steal: true, spin: true, timed: false, owner_death: true })
            }
            Self::With(wish) => Self::With(Wish { owner_death: true, ..wish }),
            Self::Attempt(wish, patience) => {
                Self::Attempt(Wish { owner_death: true, ..wish }, patience)
            }
            tries => tries,
        }
    }
}

impl Section {
    fn draw(random: &mut Random) -> Self {
        let wish = Wish::draw(random);
        let seen = if random.one_in(2) { Some(random.below(3) as u32) } else { None };
        let enter = random.weighted(&[
            (6, Enter::Lock),
            (1, Enter::Try),
            (3, Enter::Timed),
            (3, Enter::With(wish)),
            (3, Enter::Attempt(wish, seen)),
        ]);
        Self { enter, fair: random.one_in(5), dies: false }
    }
}

impl World {
    fn section(&self, section: Section) {
        let mutex = self.place.get();
        let seen = self.about.look();
        self.about.come();
        let mut gave_up = false;
        let held = match section.enter {
            Enter::Lock => {
                mutex.lock();
                true
            }
            Enter::Try => mutex.try_lock(),
            Enter::Timed => mutex.lock_with(&Options::new().until(passed())).is_some(),
            Enter::With(wish) => self.got(mutex.lock_with(&wish.options())),
            Enter::Attempt(wish, patience) => self.attempt(wish, patience, &mut gave_up),
        };
        if held {
            assert_eq!(self.inside.get(), 0, "a second thread holds it");
            self.inside.add(1);
            assert_eq!(mutex.owner(), lot::tid(), "another is said to hold it");
            self.pages.change();
            self.inside.add(-1);
            if section.dies {
                self.deaths.add(1);
                // Others have met it from here on: it stays about.
                return prim::model_thread_dies();
            }
            if section.fair {
                let given = mutex.unlock_fair();
                let alone = self.about.was_alone(seen, true);
                assert!(!(given && alone), "given to a waiter, and no thread was about");
            } else {
                mutex.unlock();
            }
        } else {
            let alone = self.about.was_alone(seen, true);
            assert!(gave_up || !alone, "{:?} failed, and no thread was about", section.enter);
        }
        self.about.leave();
    }

    fn got(&self, status: Option<Status>) -> bool {
        if status.is_some_and(|status| status.owner_died) {
            self.deaths.add(-1);
            assert!(self.deaths.get() >= 0, "taken from an owner that lives");
        }
        status.is_some()
    }

    fn attempt(&self, wish: Wish, patience: Option<u32>, gave_up: &mut bool) -> bool {
        let options = wish.options();
        let mut attempt = self.place.get().attempt(&options);
        let mut seen_free = 0;
        loop {
            match attempt.wait() {
                Turn::Held(status) => return self.got(Some(status)),
                Turn::TimedOut => return false,
                Turn::Try if patience == Some(seen_free) => {
                    *gave_up = true;
                    return false;
                }
                Turn::Try => {
                    seen_free += 1;
                    if self.got(attempt.try_take()) {
                        return true;
                    }
                }
            }
        }
    }
}
