//! The constants of the locks and the engine that a simulation may set.
//!
//! `adjustable!(TURN_NS, Turn)` is `TURN_NS`. Under `--cfg simulated` it is what the process has
//! set `Turn` to, if it has: so a sweep finds out what the constant is worth on other machines. The
//! value and its reason stand where the constant is defined, and the list here has only what a
//! sweep needs to know. docs/constants.md has what came of it.

/// A constant's value, which only simulations may change.
#[cfg(not(simulated))]
macro_rules! adjustable {
    ($value:expr, $name:ident) => {
        $value
    };
}

/// A constant's value, or what this process has set it to.
#[cfg(simulated)]
macro_rules! adjustable {
    ($value:expr, $name:ident) => {
        crate::prim::constant::value(crate::prim::constant::Constant::$name, $value)
    };
}

pub(crate) use adjustable;

#[cfg(simulated)]
pub use table::*;

#[cfg(simulated)]
mod table {
    use core::sync::atomic::{AtomicU64, Ordering};
    use core::time::Duration;

    macro_rules! constants {
        ($(
            $(#[doc = $what:literal])+
            $name:ident:
                $words:literal, $unit:literal, $least:literal..=$most:literal, $file:literal;
        )*) => {
            /// A constant that a simulation may set.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Constant {
                $($(#[doc = $what])+ $name,)*
            }

            impl Constant {
                /// All of them.
                pub const ALL: &[Self] = &[$(Self::$name),*];

                /// What a command line calls it.
                pub const fn name(self) -> &'static str {
                    match self { $(Self::$name => $words,)* }
                }

                /// What it counts.
                pub const fn unit(self) -> &'static str {
                    match self { $(Self::$name => $unit,)* }
                }

                /// The least value and the greatest that the code can do with.
                pub const fn range(self) -> (u64, u64) {
                    match self { $(Self::$name => ($least, $most),)* }
                }

                /// The file that defines and uses it, below `src`.
                pub const fn file(self) -> &'static str {
                    match self { $(Self::$name => $file,)* }
                }

                /// What it is, in a sentence.
                pub fn what(self) -> &'static str {
                    match self { $(Self::$name => concat!($($what),+).trim(),)* }
                }
            }
        };
    }

    constants! {
        /// How long a mutex's waiter spins before it sleeps.
        MutexSpin: "mutex-spin", "ns", 0..=100_000_000, "lock/mutex/state.rs";
        /// How long a rwlock's waiter spins before it sleeps.
        RwlockSpin: "rwlock-spin", "ns", 0..=100_000_000, "lock/rwlock/state.rs";
        /// For how much longer a mutex's waiter spins as long as it sees one owner.
        MutexSpinsLonger: "mutex-spins-longer", "ns", 0..=100_000_000, "lock/mutex/state.rs";
        /// For how much longer a rwlock's waiter spins as long as it sees one owner.
        RwlockSpinsLonger: "rwlock-spins-longer", "ns", 0..=100_000_000, "lock/rwlock/state.rs";
        /// How long a thread may run past sleepers.
        Turn: "turn", "ns", 0..=1_000_000_000, "lock/turn.rs";
        /// The same where it seldom meets contention.
        ShortTurn: "short-turn", "ns", 0..=1_000_000_000, "lock/turn.rs";
        /// How long it is between contentions that are seldom.
        Sparse: "sparse", "ns", 0..=1_000_000_000, "lock/turn.rs";
        /// Turns are shorter after a wait that was longer.
        LongWait: "long-wait", "ns", 1..=10_000_000_000, "lock/turn.rs";
        /// How long a waiter waits before it asks for the lock to be handed over.
        HandOff: "hand-off", "ns", 0..=10_000_000_000, "lock/options.rs";
        /// The most wakes under way to a lock at once.
        MostAhead: "most-ahead", "wakes", 1..=127, "lock/spin.rs";
        /// The most wakes under way to a lock at once, for each processor.
        AheadAProcessor: "ahead-a-processor", "wakes", 1..=127, "lock/spin.rs";
        /// The same where threads meet contention seldom.
        AheadIfSparse: "ahead-if-sparse", "wakes", 1..=127, "lock/spin.rs";
        /// Pauses between two probes of a spinner, at first.
        ProbePauses: "probe-pauses", "pauses", 1..=100_000, "lock/spin.rs";
        /// Pauses between two probes of a spinner, at most.
        MostProbePauses: "most-probe-pauses", "pauses", 1..=100_000, "lock/spin.rs";
        /// Pauses for which a spinner doesn't say in the word that it spins.
        UnseenPauses: "unseen-pauses", "pauses", 0..=1_000_000, "lock/spin.rs";
        /// The same at a lock that readers hold.
        UnseenBySharers: "unseen-by-sharers", "pauses", 0..=1_000_000, "lock/rwlock/state.rs";
        /// Contentions that follow one another within that many looks at the clock speak of short
        /// sections.
        ShortLooks: "short-looks", "looks", 0..=1_000_000, "lock/interval.rs";
        /// The same within so many transfers of a lock's cache line, of a thread that waited for
        /// much of that time.
        ShortLines: "short-lines", "transfers", 0..=1_000_000, "lock/interval.rs";
        /// How long a thread stands aside where sections are short.
        Aside: "aside", "ns", 0..=100_000_000, "lock/spin.rs";
        /// One in so many spells is timed, to see how things are, where threads stand aside.
        TimedSpells: "timed-spells", "spells", 4..=1_000_000, "lock/interval.rs";
        /// The same where none was short lately.
        SeldomTimed: "seldom-timed", "spells", 4..=1_000_000, "lock/interval.rs";
        /// The same once one was short.
        OftenTimed: "often-timed", "spells", 4..=1_000_000, "lock/interval.rs";
        /// How often a contender looks at the word before its first whole spell.
        BriefLooks: "brief-looks", "looks", 0..=10_000, "lock/brief.rs";
        /// A lock's sections count as short if its word changes more often in 32 pauses.
        MostChanges: "most-changes", "changes", 0..=32, "lock/spin.rs";
        /// More threads than one are surplus at a rwlock whose word changes at least so often in 16
        /// looks of 64 loads.
        SurplusChanges: "surplus-changes", "changes", 0..=2_000, "lock/surplus.rs";
        /// And has an owner in so many loads of a look.
        SurplusOwned: "surplus-owned", "loads", 0..=65, "lock/surplus.rs";
        /// And nobody inside in so many at most.
        SurplusFree: "surplus-free", "loads", 0..=64, "lock/surplus.rs";
        /// Readers that do little stand aside where nobody is inside for one part of the time in so
        /// many.
        SharingParts: "sharing-parts", "parts", 1..=1_000, "lock/rwlock/sharing.rs";
        /// How long a writer sleeps that is surplus, before it looks again.
        SurplusNap: "surplus-nap", "ns", 1_000..=999_000_000, "lock/surplus.rs";
        /// How often a rwlock's waiter yields before it sleeps.
        Yields: "yields", "yields", 0..=1_000_000, "lock/rwlock/state.rs";
        /// For how long it does, at most.
        YieldTime: "yield-time", "ns", 0..=1_000_000_000, "lock/yields/mod.rs";
        /// After how many yields it counts whether others have run.
        TellingYields: "telling-yields", "yields", 1..=1_000_000, "lock/yields/mod.rs";
        /// Pauses before the clock is looked at.
        BlindPauses: "blind-pauses", "pauses", 1..=10_000, "lock/spin.rs";
        /// So many spells in vain in a row show that spinning doesn't pay.
        InVain: "in-vain", "spells", 1..=12, "lock/spin.rs";
        /// So many in a row show that holders are off their processors as a rule.
        HoldersOff: "holders-off", "spells", 1..=12, "lock/spin.rs";
        /// log2 of the waits between two trials of spinning, in the end.
        SpinTrials: "spin-trials", "log2 waits", 1..=12, "lock/trials.rs";
        /// How long a thread pauses between two looks before a sleep at a semaphore or barrier.
        LookTime: "look-time", "ns", 1..=1_000_000, "lock/patience.rs";
        /// The longest time for which a thread stands back that met another at a semaphore's word.
        StandBack: "stand-back", "ns", 0..=1_000_000, "lock/semaphore/mod.rs";
        /// The looks of a trial, and the most that are learnt.
        TrialLooks: "trial-looks", "looks", 0..=4095, "lock/patience.rs";
        /// Fewer looks than this aren't worth the bother.
        LeastLooks: "least-looks", "looks", 0..=4095, "lock/patience.rs";
        /// log2 of the waits between two trials of looking where others sleep, too, at the least.
        TrialsSoon: "trials-soon", "log2 waits", 0..=12, "lock/patience.rs";
        /// log2 of the waits between two trials of looking, in the end.
        TrialsLate: "trials-late", "log2 waits", 4..=15, "lock/patience.rs";
        /// Probes for which a reader lets a spinning writer go first.
        ReaderProbes: "reader-probes", "probes", 0..=100_000, "lock/rwlock/reader.rs";
        /// How often a reader yields to sleeping writers before it reads past them.
        YieldsToSleepers:
            "yields-to-sleepers", "yields", 0..=1_000, "lock/rwlock/reader.rs";
        /// For how long a reader that yields to sleeping writers has passed none.
        SeldomSleepers: "seldom-sleepers", "ns", 0..=1_000_000_000, "lock/rwlock/reader.rs";
        /// How long a thread may read past sleeping writers.
        ReadTurn: "read-turn", "ns", 0..=1_000_000_000, "lock/rwlock/reader.rs";
        /// Reads without a write after which readers bias the lock, rounded down to a power of two.
        BiasAfter: "bias-after", "reads", 1..=32, "lock/rwlock/state.rs";
        /// The same after a write to a lock that was biased; `bias-after` at most.
        BiasAgainAfter: "bias-again-after", "reads", 1..=32, "lock/rwlock/state.rs";
        /// Probes of a reader's slot before a writer sleeps for it.
        SlotProbes: "slot-probes", "probes", 0..=100_000, "lock/rwlock/slots.rs";
        /// Pauses between two probes of a reader's slot.
        SlotPauses: "slot-pauses", "pauses", 1..=100_000, "lock/rwlock/slots.rs";
        /// How long a writer sleeps before it looks at a slot again.
        SlotSlice: "slot-slice", "ns", 1_000..=10_000_000_000, "lock/rwlock/slots.rs";
        /// Pauses before a thread sleeps in the kernel.
        ParkerPauses: "parker-pauses", "pauses", 0..=100_000, "lot/node/parker.rs";
        /// Probes of a bucket's lock before a sleep.
        BucketProbes: "bucket-probes", "probes", 0..=100_000, "lot/node/short_lock.rs";
        /// Waiters that are looked at for one that last ran on the waker's processor.
        Near: "near", "waiters", 0..=10_000, "lot/bucket/locked.rs";
        /// The same by a thread that is about to sleep, with two processors.
        NearSleeper: "near-sleeper", "waiters", 0..=10_000, "lot/bucket/locked.rs";
        /// How often the first waiter may be passed by for one that is near.
        PassedBy: "passed-by", "times", 0..=250, "lot/bucket/locked.rs";
        /// How many threads a waker of many notifies itself.
        FanOut: "fan-out", "threads", 1..=32, "lot/bucket/wake_list.rs";
        /// Up to so many threads are notified one by one.
        PlainWakes: "plain-wakes", "threads", 0..=100_000, "lot/bucket/wake_list.rs";
        /// Buckets of the wait-queue table for each processor.
        Buckets: "buckets", "buckets", 1..=4096, "lot/bucket/table.rs";
    }

    const COUNT: usize = Constant::ALL.len();
    const NONE: u64 = u64::MAX;

    // `core`'s atomics: to look at them costs no virtual time.
    static SET: [AtomicU64; COUNT] = [const { AtomicU64::new(NONE) }; COUNT];
    static DEFAULTS: [AtomicU64; COUNT] = [const { AtomicU64::new(NONE) }; COUNT];

    /// A type of constants. Durations are nanoseconds.
    pub(crate) trait Number: Copy {
        fn to_u64(self) -> u64;
        fn from_u64(value: u64) -> Self;
    }

    macro_rules! numbers {
        ($($of:ty),*) => {$(
            impl Number for $of {
                fn to_u64(self) -> u64 {
                    self as u64
                }

                fn from_u64(value: u64) -> Self {
                    value as Self
                }
            }
        )*};
    }
    numbers!(u32, u64, usize);

    impl Number for Duration {
        fn to_u64(self) -> u64 {
            self.as_nanos() as u64
        }

        fn from_u64(value: u64) -> Self {
            Duration::from_nanos(value)
        }
    }

    /// What the process has set the constant to, or else `default`; notes that it was asked for.
    pub(crate) fn value<N: Number>(constant: Constant, default: N) -> N {
        DEFAULTS[constant as usize].store(default.to_u64(), Ordering::Relaxed);
        match SET[constant as usize].load(Ordering::Relaxed) {
            NONE => default,
            set => N::from_u64(set),
        }
    }

    /// A value that a constant can't have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OutOfRange(pub Constant, pub u64);

    impl core::fmt::Display for OutOfRange {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            let (least, most) = self.0.range();
            let (name, unit, value) = (self.0.name(), self.0.unit(), self.1);
            write!(f, "constant \"{name}\" can't be {value} {unit}: {least} to {most}")
        }
    }

    impl core::error::Error for OutOfRange {}

    impl Constant {
        /// The one with this name.
        pub fn named(name: &str) -> Option<Self> {
            Self::ALL.iter().copied().find(|constant| constant.name() == name)
        }

        /// Whether it can have that value.
        pub fn check(self, value: u64) -> Result<(), OutOfRange> {
            let (least, most) = self.range();
            if (least..=most).contains(&value) { Ok(()) } else { Err(OutOfRange(self, value)) }
        }

        /// Sets it for all threads of this process. To be called before furwock is used.
        pub fn set(self, value: u64) -> Result<(), OutOfRange> {
            self.check(value)?;
            SET[self as usize].store(value, Ordering::Relaxed);
            Ok(())
        }

        /// The value that it has unless it is set, once the code has asked for it in this process.
        pub fn default_if_used(self) -> Option<u64> {
            let default = DEFAULTS[self as usize].load(Ordering::Relaxed);
            (default != NONE).then_some(default)
        }
    }
}
