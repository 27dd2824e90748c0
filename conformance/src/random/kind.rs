//! The kinds of objects that programs make.

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Mutex(Rules, Made),
    Cond(CondClock, Made),
    RwLock(Prefers, Made),
    /// With so many permits.
    Semaphore(u32, Made),
    /// For so many threads.
    Barrier(u8, Made),
    Once,
    Spin,
}

/// A mutex's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rules {
    Normal,
    Recursive,
    ErrorCheck,
    Adaptive,
}

/// The clock of a condvar's `timedwait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CondClock {
    Realtime,
    Monotonic,
}

/// A rwlock's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Prefers {
    Readers,
    Writers,
    WritersNonrecursive,
}

/// How it is made, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Made {
    /// By its init function.
    Private,
    /// By a static initialiser.
    Static,
    /// By C11's init function.
    C11,
    /// For several processes.
    Shared,
    /// A robust mutex.
    Robust,
    /// A mutex that inherits priorities.
    Inheriting,
}

use Made::*;

const RULES: [Rules; 4] = [Rules::Normal, Rules::Recursive, Rules::ErrorCheck, Rules::Adaptive];
const PREFERENCES: [Prefers; 3] =
    [Prefers::Readers, Prefers::Writers, Prefers::WritersNonrecursive];
const CLOCKS: [CondClock; 2] = [CondClock::Realtime, CondClock::Monotonic];

/// `SEM_VALUE_MAX`.
pub(super) const MOST_PERMITS: u32 = i32::MAX as u32;
const PERMITS: [u32; 4] = [0, 1, 2, MOST_PERMITS - 1];
/// As many threads as only help can release a barrier at which one other waits.
const PARTIES: [u8; 3] = [1, 2, 3];

impl Kind {
    /// All kinds that there are.
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Kind::Once, Kind::Spin];
        for made in [Private, Static, C11, Shared, Robust, Inheriting] {
            all.extend(RULES.map(|rules| Kind::Mutex(rules, made)));
            all.extend(CLOCKS.map(|clock| Kind::Cond(clock, made)));
            all.extend(PREFERENCES.map(|prefers| Kind::RwLock(prefers, made)));
            all.extend(PERMITS.map(|permits| Kind::Semaphore(permits, made)));
            all.extend(PARTIES.map(|parties| Kind::Barrier(parties, made)));
        }
        all.retain(|kind| kind.exists());
        all
    }

    fn exists(self) -> bool {
        match self {
            Kind::Mutex(rules, C11) => matches!(rules, Rules::Normal | Rules::Recursive),
            // glibc's adaptive mutexes that are shared are of other types.
            Kind::Mutex(rules, made) => {
                rules != Rules::Adaptive || matches!(made, Private | Static)
            }
            Kind::Cond(clock, made) => match made {
                Private | Shared => true,
                Static | C11 => clock == CondClock::Realtime,
                Robust | Inheriting => false,
            },
            Kind::RwLock(prefers, Static) => prefers == Prefers::Readers,
            Kind::RwLock(_, made) => matches!(made, Private | Shared),
            Kind::Semaphore(_, made) | Kind::Barrier(_, made) => matches!(made, Private | Shared),
            Kind::Once | Kind::Spin => true,
        }
    }

    /// How it is made.
    pub(super) fn made(self) -> Made {
        match self {
            Kind::Mutex(_, made)
            | Kind::Cond(_, made)
            | Kind::RwLock(_, made)
            | Kind::Semaphore(_, made)
            | Kind::Barrier(_, made) => made,
            Kind::Once | Kind::Spin => Static,
        }
    }

    /// Its name in programs, without spaces.
    pub(super) fn name(self) -> String {
        let made = format!("{:?}", self.made());
        let name = match self {
            Kind::Mutex(rules, _) => format!("mutex-{rules:?}-{made}"),
            Kind::Cond(clock, _) => format!("cond-{clock:?}-{made}"),
            Kind::RwLock(prefers, _) => format!("rwlock-{prefers:?}-{made}"),
            Kind::Semaphore(permits, _) => format!("semaphore-{permits}-{made}"),
            Kind::Barrier(parties, _) => format!("barrier-{parties}-{made}"),
            Kind::Once => "once".to_owned(),
            Kind::Spin => "spin".to_owned(),
        };
        name.to_lowercase()
    }
}
