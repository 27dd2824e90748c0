//! What a program on a rwlock consists of, and how one is drawn.

use super::foreign::{self, Foreign};
use super::ground::Wish;
use super::random::Random;
use super::runner::{Phase, Program};
use crate::lock::{Policy, RawRwLock};

pub(super) struct RwLocks;

/// How a thread gets in. Where the name says nothing, it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enter {
    Read,
    TryRead,
    TimedRead,
    Recursive,
    TryRecursive,
    TimedRecursive,
    ReadWith(Wish),
    Upgradable,
    TryUpgradable,
    TimedUpgradable,
    Write,
    TryWrite,
    TimedWrite,
    WriteWith(Wish),
}

/// How a thread is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holding {
    Reader,
    Upgradable,
    Writer,
}

/// What a thread does inside, if it holds what that takes; else nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Looks around, or changes something.
    Look,
    /// Reads once more, or tries to.
    Again(Option<bool>),
    /// Becomes less by one step: the writer the upgradable reader, that one a reader.
    Less,
    /// Becomes a reader.
    Least,
    Upgrade,
    TryUpgrade,
    TimedUpgrade,
    /// Waits until all have shown themselves that begin with that.
    Await,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Enters, does something there, leaves; `fair` if by the call that hands the lock over.
    /// If it `dies` and this is the last it does, its thread ends instead of leaving as an owner.
    Section { enter: Enter, steps: Vec<Step>, fair: bool, dies: bool },
    /// Enters as a reader that others may wait for.
    Show { enter: Enter },
    /// Asks what can be seen from outside.
    Ask,
}

/// What a phase's lock says at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Cold,
    /// One read less than it takes to become hot.
    Warm,
    /// The next read biases it.
    Hot,
    Biased,
    /// Slots may hold readers, though none enters by one.
    Revoked,
    /// What threads of a forked child's parent did.
    Stale,
    /// Of those, only that one spun, and that some were woken.
    StaleRoles,
    /// One of those was about to write, once readers had left.
    ParentsWriter,
}

/// What happened to the lock that lay in the same place before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Former {
    Dropped,
    /// Its readers were forgotten by the call for that.
    Forgotten,
    /// Its memory went to the new lock just so.
    Overwritten,
}

#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) in_second_bucket: bool,
    pub(super) word: Word,
    /// It has been biased before.
    pub(super) was_biased: bool,
    pub(super) policy: Policy,
    pub(super) former: Former,
    /// Threads that read the former lock and never left.
    pub(super) leavers: Vec<usize>,
    pub(super) foreign: Vec<Foreign>,
}

impl Start {
    pub(super) fn lock(&self) -> RawRwLock {
        let lock = match self.word {
            Word::Cold => RawRwLock::new(),
            Word::Warm => RawRwLock::warm(),
            Word::Hot => RawRwLock::hot(),
            Word::Biased => RawRwLock::biased(),
            Word::Revoked => RawRwLock::revoked(),
            Word::Stale => RawRwLock::with_stale_bits(),
            Word::StaleRoles => RawRwLock::with_stale_roles(),
            Word::ParentsWriter => RawRwLock::with_parents_writer(),
        };
        if self.speaks_of_slots() {
            lock.note_bias();
        }
        lock.set_policy(self.policy);
        lock
    }

    /// Whether the lock has been biased, so that slots were emptied of what lay there before.
    pub(super) fn speaks_of_slots(&self) -> bool {
        let biased = matches!(self.word, Word::Biased | Word::Revoked | Word::ParentsWriter);
        self.was_biased || biased
    }

    /// Whether it is what a forked child finds.
    pub(super) fn is_childs(&self) -> bool {
        matches!(self.word, Word::Stale | Word::StaleRoles | Word::ParentsWriter)
    }

    pub(super) fn stale_bits(&self) -> u64 {
        if self.is_childs() { self.lock().at_rest_says() } else { 0 }
    }

    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for index in 0..self.leavers.len() {
            let mut start = self.clone();
            start.leavers.remove(index);
            all.push(start);
        }
        all.extend(foreign::fewer(&self.foreign).map(|foreign| Self { foreign, ..self.clone() }));
        if self.was_biased && self.former == Former::Dropped {
            all.push(Self { was_biased: false, ..self.clone() });
        }
        if self.former != Former::Dropped {
            all.push(Self { former: Former::Dropped, ..self.clone() });
        }
        if self.word != Word::Cold {
            all.push(Self { word: Word::Cold, ..self.clone() });
        }
        if self.policy != Policy::PhaseFair {
            all.push(Self { policy: Policy::PhaseFair, ..self.clone() });
        }
        if self.in_second_bucket {
            all.push(Self { in_second_bucket: false, ..self.clone() });
        }
        all
    }

    fn draw(random: &mut Random, first: bool, child: bool) -> Self {
        let word = match () {
            () if child => random.pick(&[Word::Stale, Word::StaleRoles, Word::ParentsWriter]),
            () => random.weighted(&[
                (4, Word::Cold),
                (2, Word::Warm),
                (4, Word::Hot),
                (5, Word::Biased),
                (1, Word::Revoked),
            ]),
        };
        let leavers =
            if random.one_in(5) { random.list(1, 2, |random| random.below(8)) } else { Vec::new() };
        let was_biased = random.one_in(4) && !child;
        // A lock that says that slots may hold its readers mustn't be put over another's.
        let may_speak_of_slots =
            was_biased || matches!(word, Word::Biased | Word::Revoked | Word::ParentsWriter);
        let formers: &[Former] = match () {
            () if may_speak_of_slots => &[Former::Dropped, Former::Forgotten],
            () => &[Former::Dropped, Former::Forgotten, Former::Overwritten, Former::Overwritten],
        };
        let foreign = foreign::draw(random);
        Self {
            in_second_bucket: random.one_in(2),
            word,
            was_biased,
            policy: random.pick(&[
                Policy::PhaseFair,
                Policy::Recursive,
                Policy::PreferReaders,
                Policy::PreferWriters,
                Policy::PreferWritersRecursive,
            ]),
            former: if first && leavers.is_empty() {
                Former::Dropped
            } else {
                random.pick(formers)
            },
            leavers,
            foreign,
        }
    }
}

impl Enter {
    /// The same, for one that minds whether the owner lives, where it would wait for ever.
    pub(super) fn minding_death(self) -> Self {
        let minds = Wish { steal: true, spin: true, timed: false, owner_death: true };
        match self {
            Self::Read | Self::Recursive => Self::ReadWith(minds),
            Self::Upgradable | Self::Write => Self::WriteWith(minds),
            Self::ReadWith(wish) => Self::ReadWith(Wish { owner_death: true, ..wish }),
            Self::WriteWith(wish) => Self::WriteWith(Wish { owner_death: true, ..wish }),
            tries => tries,
        }
    }

    pub(super) fn wants(self) -> Holding {
        match self {
            Self::Read | Self::TryRead | Self::TimedRead | Self::ReadWith(_) => Holding::Reader,
            Self::Recursive | Self::TryRecursive | Self::TimedRecursive => Holding::Reader,
            Self::Upgradable | Self::TryUpgradable | Self::TimedUpgradable => Holding::Upgradable,
            Self::Write | Self::TryWrite | Self::TimedWrite | Self::WriteWith(_) => Holding::Writer,
        }
    }

    fn draw(random: &mut Random) -> Self {
        let wish = Wish::draw(random);
        random.weighted(&[
            (12, Self::Read),
            (2, Self::TryRead),
            (2, Self::TimedRead),
            (1, Self::Recursive),
            (1, Self::TryRecursive),
            (1, Self::TimedRecursive),
            (3, Self::ReadWith(wish)),
            (4, Self::Upgradable),
            (1, Self::TryUpgradable),
            (1, Self::TimedUpgradable),
            (7, Self::Write),
            (2, Self::TryWrite),
            (3, Self::TimedWrite),
            (2, Self::WriteWith(wish)),
        ])
    }
}

impl Step {
    fn draw(random: &mut Random, holding: Holding) -> Self {
        let again = random.pick(&[None, Some(true), Some(false)]);
        match holding {
            Holding::Reader => {
                random.weighted(&[(2, Self::Look), (2, Self::Again(again)), (3, Self::Await)])
            }
            Holding::Upgradable => random.weighted(&[
                (1, Self::Look),
                (1, Self::Again(again)),
                (2, Self::Less),
                (6, Self::Upgrade),
                (2, Self::TryUpgrade),
                (3, Self::TimedUpgrade),
                (2, Self::Await),
            ]),
            Holding::Writer => {
                random.weighted(&[(1, Self::Look), (3, Self::Less), (3, Self::Least)])
            }
        }
    }
}

impl Op {
    fn draw(random: &mut Random) -> Self {
        if random.one_in(24) {
            return Self::Ask;
        }
        let enter = Enter::draw(random);
        let mut holding = enter.wants();
        let steps = random.pick(&[0, 0, 1, 1, 2, 3]);
        let steps = (0..steps)
            .map(|_| {
                let step = Step::draw(random, holding);
                holding = match (step, holding) {
                    (Step::Less, Holding::Writer) => Holding::Upgradable,
                    (Step::Less | Step::Least, _) => Holding::Reader,
                    (Step::Upgrade | Step::TryUpgrade | Step::TimedUpgrade, _) => Holding::Writer,
                    _ => holding,
                };
                step
            })
            .collect();
        Self::Section { enter, steps, fair: random.one_in(6), dies: false }
    }

    pub(super) fn smaller(&self) -> Vec<Self> {
        let Self::Section { enter, steps, fair, dies } = self else { return Vec::new() };
        let mut all: Vec<_> = (0..steps.len())
            .map(|index| {
                let mut steps = steps.clone();
                steps.remove(index);
                Self::Section { enter: *enter, steps, fair: *fair, dies: *dies }
            })
            .collect();
        if *fair {
            all.push(Self::Section {
                enter: *enter,
                steps: steps.clone(),
                fair: false,
                dies: *dies,
            });
        }
        all
    }
}

/// The policies under which no reader may be made to wait for ever for a writer that only waits.
const RECURSIVE: [Policy; 3] =
    [Policy::Recursive, Policy::PreferReaders, Policy::PreferWritersRecursive];

/// Programs of threads that wait, inside, for readers of other threads to come in.
fn meeting(random: &mut Random, threads: usize) -> Vec<Vec<Op>> {
    let plain = Wish { steal: true, spin: true, timed: false, owner_death: false };
    let mut op = |random: &mut Random| {
        let (enter, steps) = random.weighted(&[
            (4, (Enter::Write, [Step::Look].as_slice())),
            (2, (Enter::TimedWrite, &[Step::Look])),
            (2, (Enter::Write, &[Step::Least, Step::Await])),
            (2, (Enter::Write, &[Step::Less, Step::Await])),
            (2, (Enter::Read, &[Step::Await])),
            (2, (Enter::Recursive, &[Step::Await])),
            (4, (Enter::Upgradable, &[Step::Await])),
            (1, (Enter::Upgradable, &[Step::Await, Step::Upgrade])),
            (1, (Enter::Upgradable, &[Step::Await, Step::TimedUpgrade, Step::Await])),
        ]);
        Op::Section { enter, steps: steps.to_vec(), fair: random.one_in(8), dies: false }
    };
    let last = if threads > 3 && random.one_in(3) { threads - 2 } else { threads - 1 };
    (0..threads)
        .map(|number| {
            if number < last {
                return random.list(1, 2, &mut op);
            }
            let polite = Wish { steal: false, ..plain };
            let enters = [Enter::Read, Enter::Read, Enter::Recursive, Enter::ReadWith(polite)];
            let show = Op::Show { enter: random.pick(&enters) };
            std::iter::once(show).chain(random.list(0, 1, &mut op)).collect()
        })
        .collect()
}

pub(super) fn generate(random: &mut Random) -> Program<RwLocks> {
    let threads = random.weighted(&[(4, 2), (6, 3), (3, 4), (1, 5), (1, 6)]);
    let child = random.one_in(10);
    let phases = if child { 1 } else { random.weighted(&[(8, 1), (2, 2), (1, 3)]) };
    // Many short programs, and some long ones.
    let most = if phases > 1 { 2 } else { random.pick(&[2, 3, 3, 5]) };
    let in_second_bucket = random.one_in(2);
    let meets = random.one_in(3);
    let phases = (0..phases)
        .map(|number| {
            let mut start = Start { in_second_bucket, ..Start::draw(random, number == 0, child) };
            let mut programs: Vec<Vec<Op>> =
                (0..threads).map(|_| random.list(1, most, Op::draw)).collect();
            if meets {
                programs = meeting(random, threads);
                start.policy = random.pick(&RECURSIVE);
            }
            Phase { start, threads: programs }
        })
        .collect();
    let mut program = Program { phases };
    if random.one_in(12) {
        program.phases.truncate(1);
        if let Some(Op::Section { dies, .. }) = program.phases[0].threads[0].last_mut() {
            *dies = true;
        }
    }
    program
}
