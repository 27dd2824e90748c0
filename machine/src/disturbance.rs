//! Schedules that are rare, asked for.

/// Something that a simulation does to its threads, for schedules that are rare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The thread that makes this access is preempted just before it, for that long. Others may run
    /// on its processor meanwhile.
    Preempt {
        /// Which access.
        at: At,
        /// For how long.
        for_ns: u64,
    },
    /// The processor stops just before this access, for that long, and its queue waits with it.
    Stop {
        /// Which access.
        at: At,
        /// For how long.
        for_ns: u64,
    },
    /// The simulation's `nth` wake, from 1, takes that much longer.
    WakeLate {
        /// Which wake.
        nth: u64,
        /// How much later.
        by_ns: u64,
    },
}

/// An access, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A processor's.
    Processor {
        /// Which.
        processor: usize,
        /// Its access.
        access: u64,
    },
    /// A thread's.
    Thread {
        /// Which, in the order in which threads are spawned; 0 is the main thread.
        thread: usize,
        /// Its access.
        access: u64,
    },
}

impl Disturbance {
    pub(crate) fn at(&self) -> Option<At> {
        match *self {
            Self::Preempt { at, .. } | Self::Stop { at, .. } => Some(at),
            Self::WakeLate { .. } => None,
        }
    }
}
