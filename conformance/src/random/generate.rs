//! Random steps.

use super::kind::{CondClock, Kind, Made, Prefers, Rules};
use super::legal::{is_legal, numbers};
use super::state::State;
use super::step::{Call, Clock, NAMED, OBJECTS, Step, THREADS, Time};

/// A sequence of numbers from a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Mixed, or a seed's numbers would be the next one's, shifted.
        let mut seeds = Self(seed);
        Self(seeds.next() ^ seeds.next().rotate_left(32))
    }

    fn next(&mut self) -> u64 {
        // Splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// One of these, as often as its weight says.
    fn weighted<T: Copy>(&mut self, all: &[(usize, T)]) -> T {
        let mut left = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in all {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *one,
            }
        }
        unreachable!("less than the sum is left")
    }
}

/// Draws a program's steps, one after another, by what is the case so far.
pub(super) struct Generator {
    random: Random,
    /// How many steps are left.
    left: usize,
    /// What the program makes.
    kinds: Vec<Kind>,
    /// Objects at a time.
    objects: usize,
}

/// How many draws may fail in a row.
const MOST_TRIES: usize = 60;

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let left = 8 + random.below(28);
        let kinds = theme(&mut random);
        let objects = kinds.len().max(1 + random.below(4)).min(OBJECTS);
        Self { random, left, kinds, objects }
    }

    /// The next step, if there is one that is legal.
    pub(super) fn next(&mut self, states: &[State], alone: bool) -> Option<Step> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        for _ in 0..MOST_TRIES {
            let mut step = self.draw(&states[0]);
            step.together = !step.call.is_alone() && self.random.is_one_in(3);
            if is_legal(states, &step, alone) {
                return Some(step);
            }
        }
        None
    }

    fn draw(&mut self, state: &State) -> Step {
        let random = &mut self.random;
        // A thread that only helps comes in where the others may all be blocked.
        let threads = if random.is_one_in(8) { NAMED + 1 } else { NAMED };
        let thread = random.below(threads) as u8;
        let made = numbers().filter(|number| state.object(*number).kind.is_some()).count();
        if made < self.objects && (made == 0 || !random.is_one_in(3)) {
            let mut step = Step::new(thread, Call::Make, random.below(self.objects) as u8);
            step.kind = random.one_of(&self.kinds);
            return step;
        }
        if random.is_one_in(8) {
            return self.draw_without(thread);
        }
        let held: Vec<u8> = numbers().filter(|number| holds(state, *number, thread)).collect();
        let at = if !held.is_empty() && random.is_one_in(2) {
            random.one_of(&held)
        } else {
            random.below(self.objects) as u8
        };
        let Some(kind) = state.object(at).kind else { return self.draw_without(thread) };
        let call = draw_call(random, kind, holds(state, at, thread));
        let mut step = Step::new(thread, call, at);
        step.with = random.below(self.objects) as u8;
        self.draw_deadline(&mut step);
        step
    }

    fn draw_deadline(&mut self, step: &mut Step) {
        use Time::*;
        if !step.call.has_deadline() {
            return;
        }
        let random = &mut self.random;
        let times = [
            (30, Past),
            (4, Negative),
            (5, Soon),
            (45, Far),
            (5, Endless),
            (3, TooMany),
            (3, BelowZero),
        ];
        step.time = random.weighted(&times);
        let clocks =
            [(50, Clock::Own), (20, Clock::Realtime), (20, Clock::Monotonic), (2, Clock::Wrong)];
        step.clock = random.weighted(&clocks);
    }

    fn draw_without(&mut self, thread: u8) -> Step {
        let random = &mut self.random;
        let calls = [
            (30, Call::Cancel),
            (20, Call::Kill),
            (15, Call::KillRestart),
            (15, Call::KillPost),
            (16, Call::Disable),
            (8, Call::Enable),
            (4, Call::TestCancel),
            (3, Call::Fork),
            (1, Call::Pause),
        ];
        let mut step = Step::new(thread, random.weighted(&calls), 0);
        step.target = random.below(NAMED) as u8;
        step.with = random.below(self.objects) as u8;
        step
    }
}

fn holds(state: &State, at: u8, thread: u8) -> bool {
    let object = state.object(at);
    object.owner == Some(thread) || object.reads[usize::from(thread) % THREADS] > 0
}

fn draw_call(random: &mut Random, kind: Kind, held: bool) -> Call {
    use Call::*;
    match kind {
        Kind::Mutex(..) if held && !random.is_one_in(4) => Unlock,
        Kind::Mutex(..) => random.weighted(&[
            (40, Lock),
            (12, TryLock),
            (20, TimedLock),
            (6, Unlock),
            (8, LockOften),
            (25, LockSignal),
            (10, LockBroadcast),
            (3, Destroy),
            (1, Many),
        ]),
        Kind::Cond(..) => random.weighted(&[
            (30, Wait),
            (25, TimedWait),
            (20, Signal),
            (12, Broadcast),
            (6, Destroy),
        ]),
        Kind::RwLock(..) if held && !random.is_one_in(3) => Leave,
        Kind::RwLock(..) => random.weighted(&[
            (25, Read),
            (8, TryRead),
            (15, TimedRead),
            (25, Write),
            (8, TryWrite),
            (20, TimedWrite),
            (6, ReadOften),
            (6, WriteOften),
            (3, Destroy),
            (5, Many),
        ]),
        Kind::Semaphore(..) => random.weighted(&[
            (35, SemWait),
            (8, SemTry),
            (20, SemTimed),
            (30, Post),
            (5, Value),
            (3, Destroy),
            (1, Many),
        ]),
        Kind::Barrier(..) => random.weighted(&[(40, Meet), (4, Destroy)]),
        Kind::Once => random.weighted(&[(10, Once), (40, OnceSem), (10, Destroy)]),
        Kind::Spin if held => SpinUnlock,
        Kind::Spin => random.weighted(&[(10, Spin), (10, SpinTry), (2, Destroy)]),
    }
}

/// The kinds of a program's objects: few, so that calls meet.
fn theme(random: &mut Random) -> Vec<Kind> {
    let plain = [(6, Made::Private), (3, Made::Static)];
    let mutex = |random: &mut Random| {
        let rules = [
            (8, Rules::Normal),
            (3, Rules::Recursive),
            (3, Rules::ErrorCheck),
            (2, Rules::Adaptive),
        ];
        Kind::Mutex(random.weighted(&rules), random.weighted(&plain))
    };
    let cond = |random: &mut Random| match random.weighted(&plain) {
        Made::Static => Kind::Cond(CondClock::Realtime, Made::Static),
        made => Kind::Cond(random.one_of(&[CondClock::Realtime, CondClock::Monotonic]), made),
    };
    let rwlock = |random: &mut Random| {
        let prefers = [Prefers::Readers, Prefers::Writers, Prefers::WritersNonrecursive];
        match random.weighted(&plain) {
            Made::Static => Kind::RwLock(Prefers::Readers, Made::Static),
            made => Kind::RwLock(random.one_of(&prefers), made),
        }
    };
    let semaphore = |random: &mut Random| {
        let permits = [(6, 0), (6, 1), (3, 2), (1, super::kind::MOST_PERMITS - 1)];
        Kind::Semaphore(random.weighted(&permits), Made::Private)
    };
    let barrier = |random: &mut Random| Kind::Barrier(1 + random.below(3) as u8, Made::Private);
    match random.below(20) {
        0..3 => vec![mutex(random), mutex(random)],
        3..7 => vec![cond(random), mutex(random), cond(random)],
        7..11 => vec![rwlock(random), rwlock(random)],
        11..13 => vec![semaphore(random), semaphore(random)],
        13 => vec![barrier(random), barrier(random), mutex(random)],
        14 => vec![Kind::Once, Kind::Once, semaphore(random)],
        15 => {
            let mutex = Kind::Mutex(random.one_of(&[Rules::Normal, Rules::Recursive]), Made::C11);
            vec![mutex, Kind::Cond(CondClock::Realtime, Made::C11)]
        }
        16 => vec![semaphore(random), cond(random), mutex(random), mutex(random)],
        17 => vec![Kind::Spin, rwlock(random), mutex(random), semaphore(random)],
        18 => {
            let all = Kind::all();
            (0..4).map(|_| random.one_of(&all)).collect()
        }
        _ => {
            // Those that glibc serves, beside those that furwock does.
            let made = random.one_of(&[Made::Shared, Made::Robust, Made::Inheriting]);
            let rules = random.one_of(&[Rules::Normal, Rules::Recursive, Rules::ErrorCheck]);
            let shared = Kind::Cond(CondClock::Monotonic, Made::Shared);
            let plain = mutex(random);
            let other = random.one_of(&[plain, Kind::Mutex(rules, made)]);
            vec![Kind::Mutex(rules, made), cond(random), shared, other]
        }
    }
}
