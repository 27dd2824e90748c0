//! Whether yields let threads run that use locks as well.
//!
//! A yield gives the processor to the thread that is next in its queue, often for a slice of some
//! milliseconds. If that thread uses the lock as well, the lock's work goes on. If it computes, and
//! seldom waits for a lock, or belongs to another program, the slice is lost to the lock; and
//! recent kernels have the yielding thread forfeit a slice of its own, so that it doesn't run at
//! once after its next sleeps either. A thread that sleeps instead runs as soon as it is woken.
//!
//! So threads that are about to yield tell how much processor time they have used since they were
//! the last time. Yields have gone to others if some took long, and either these threads have used
//! less than half of what the program has, or the program less than half of what there was. Then
//! threads sleep for a while. (It can't be seen meanwhile whether that is still so: where all
//! sleep, processors may idle.)

#[cfg(all(test, not(any(loom, shuttle))))]
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::balance;
use crate::lock::spin::USED_BEFORE;
use crate::lot::{self, Notes};
use crate::sys::clock::monotonic_ns;
use crate::sys::processor_time::{processor_time_ns, thread_time_ns};

/// How long it is between two judgements. A few waits of each thread should fall in between.
const WINDOW_NS: u64 = 20_000_000;

/// A longer time isn't judged: the threads have had nothing to do for a while, or seldom wait.
const LONGEST_NS: u64 = 10 * WINDOW_NS;

/// log2 of how many windows there are without yields at first, and at most. Each trial in vain
/// doubles their number.
const FIRST: u32 = 1;
const LAST: u32 = 5;

static SHARE: Share = Share::new();

/// What the threads that are about to yield have used. All of it is advice.
#[derive(Debug)]
struct Share {
    /// How much processor time, since the last judgement.
    used_ns: AtomicU64,
    /// When that was; 0 before the first wait. And how much the program had used by then.
    judged_ns: AtomicU64,
    programs_ns: AtomicU64,
    /// Whether a yield has taken long since.
    had_long: AtomicBool,
    /// So many windows are left without yields, and log2 of how many come next.
    left: AtomicU32,
    late: AtomicU32,
}

/// What is known of a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    lasted_ns: u64,
    /// The processor time of the program, and that of the threads that were about to yield.
    program_ns: u64,
    used_ns: u64,
    had_long: bool,
}

/// Whether the caller, which is about to yield before its first sleep, had better: by what it and
/// others have used, as far as that is known.
pub(super) fn is_large() -> bool {
    // (A thread that has never slept has nowhere to note it.)
    if let Some(used_ns) = lot::known_own().and_then(|thread| used_ns(&thread.notes)) {
        SHARE.add(used_ns, monotonic_ns(), lot::processors(), processor_time_ns);
    }
    was_large()
}

/// The same, for a thread that doesn't tell what it has used.
pub(super) fn was_large() -> bool {
    #[cfg(all(test, not(any(loom, shuttle))))]
    if let Some(large) = SUPPOSED.get() {
        return large;
    }
    SHARE.left.load(Ordering::Relaxed) == 0
}

/// A yield took so long.
pub(super) fn note_yield(took_ns: u64) {
    if balance::is_long(took_ns) && !SHARE.had_long.load(Ordering::Relaxed) {
        SHARE.had_long.store(true, Ordering::Relaxed);
    }
}

/// How much processor time the calling thread, which has these notes, has used since it asked last.
fn used_ns(notes: &Notes) -> Option<u64> {
    let now_ns = thread_time_ns()?;
    let before_ns = notes.times[USED_BEFORE].swap(now_ns, Ordering::Relaxed);
    // (A forked child's thread begins at zero.)
    Some(now_ns.saturating_sub(before_ns))
}

impl Share {
    const fn new() -> Self {
        Self {
            used_ns: AtomicU64::new(0),
            judged_ns: AtomicU64::new(0),
            programs_ns: AtomicU64::new(0),
            had_long: AtomicBool::new(false),
            left: AtomicU32::new(0),
            late: AtomicU32::new(FIRST),
        }
    }

    /// A thread that is about to yield has used so much since it was the last time.
    fn add(
        &self,
        used_ns: u64,
        now_ns: u64,
        processors: usize,
        programs_ns: impl FnOnce() -> Option<u64>,
    ) {
        self.used_ns.fetch_add(used_ns, Ordering::Relaxed);
        let judged_ns = self.judged_ns.load(Ordering::Relaxed);
        let lasted_ns = now_ns.saturating_sub(judged_ns);
        let claims = || {
            let (from, to) = (judged_ns, now_ns);
            self.judged_ns.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if lasted_ns < WINDOW_NS || !claims() {
            return;
        }
        let Some(programs_ns) = programs_ns() else { return };
        let before_ns = self.programs_ns.swap(programs_ns, Ordering::Relaxed);
        let window = Window {
            lasted_ns,
            program_ns: programs_ns.saturating_sub(before_ns),
            used_ns: self.used_ns.swap(0, Ordering::Relaxed),
            had_long: self.had_long.swap(false, Ordering::Relaxed),
        };
        if judged_ns != 0 {
            self.judge(window, processors);
        }
    }

    fn judge(&self, window: Window, processors: usize) {
        let left = self.left.load(Ordering::Relaxed);
        if left != 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return;
        }
        let late = self.late.load(Ordering::Relaxed);
        let goes_to_others = window.lasted_ns <= LONGEST_NS && goes_to_others(window, processors);
        self.left.store(if goes_to_others { 1 << late } else { 0 }, Ordering::Relaxed);
        let late = if goes_to_others { (late + 1).min(LAST) } else { FIRST };
        self.late.store(late, Ordering::Relaxed);
    }
}

fn goes_to_others(window: Window, processors: usize) -> bool {
    let Window { lasted_ns, program_ns, used_ns, had_long } = window;
    let all_ns = lasted_ns.saturating_mul(processors as u64);
    had_long && !(is_half(used_ns, program_ns) && is_half(program_ns, all_ns))
}

fn is_half(part: u64, whole: u64) -> bool {
    part.saturating_mul(2) >= whole
}

#[cfg(all(test, not(any(loom, shuttle))))]
std::thread_local! {
    /// What a test supposes for its thread.
    pub(in crate::lock) static SUPPOSED: Cell<Option<bool>> = const { Cell::new(None) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What is used in a millisecond of a simulation, on two processors.
    #[derive(Clone, Copy)]
    struct Use {
        /// By the threads that wait, and by the whole program.
        waiters: u64,
        program: u64,
    }

    /// A program's threads wait once a millisecond.
    struct Simulation {
        share: Share,
        now_ms: u64,
        program_ns: u64,
    }

    impl Simulation {
        fn new() -> Self {
            Self { share: Share::new(), now_ms: 1_000, program_ns: 0 }
        }

        /// How many of so many waits yield, if they take long or not, and the processors are used
        /// so where threads yield, and where they sleep.
        fn yields(&mut self, waits: u32, take_long: bool, [yielding, sleeping]: [Use; 2]) -> u32 {
            let mut yields = 0;
            for _ in 0..waits {
                let may = self.share.left.load(Ordering::Relaxed) == 0;
                yields += u32::from(may);
                let used = if may { yielding } else { sleeping };
                self.now_ms += 1;
                self.program_ns += used.program;
                if may && take_long {
                    self.share.had_long.store(true, Ordering::Relaxed);
                }
                let program_ns = || Some(self.program_ns);
                self.share.add(used.waiters, self.now_ms * MS, 2, program_ns);
            }
            yields
        }
    }

    /// The program's threads have both processors; or two fifths, beside another program.
    const ALL: Use = Use { waiters: 2 * MS, program: 2 * MS };
    const SOME: Use = Use { waiters: MS * 4 / 5, program: MS * 4 / 5 };
    /// The same, beside threads of the program that compute.
    const SOME_OF_OWN: Use = Use { waiters: MS * 4 / 5, program: 2 * MS };

    #[test]
    fn threads_that_have_the_processors_to_themselves_yield() {
        assert_eq!(Simulation::new().yields(10_000, true, [ALL; 2]), 10_000);
    }

    #[test]
    fn threads_beside_others_sleep_but_for_trials_and_yield_once_they_are_alone() {
        for others in [SOME, SOME_OF_OWN] {
            let mut simulation = Simulation::new();
            simulation.yields(5_000, true, [others; 2]);
            let yields = simulation.yields(10_000, true, [others; 2]);
            assert!((100..500).contains(&yields), "{yields} of 10,000");
            simulation.yields(2_000, true, [ALL; 2]);
            assert_eq!(simulation.yields(1_000, true, [ALL; 2]), 1_000);
        }
    }

    #[test]
    fn threads_whose_yields_are_short_go_on_though_processors_idle() {
        assert_eq!(Simulation::new().yields(10_000, false, [SOME; 2]), 10_000);
    }

    #[test]
    fn threads_that_leave_processors_idle_while_they_sleep_yield_again() {
        let mut simulation = Simulation::new();
        simulation.yields(1_000, true, [SOME; 2]);
        simulation.yields(5_000, true, [ALL, SOME]);
        assert_eq!(simulation.yields(1_000, true, [ALL, SOME]), 1_000);
    }

    #[test]
    fn a_window_that_seems_small_by_chance_costs_few_yields() {
        let mut simulation = Simulation::new();
        simulation.yields(60, true, [ALL; 2]);
        simulation.yields(60, true, [SOME; 2]);
        let yields = simulation.yields(1_000, true, [ALL; 2]);
        assert!(yields >= 850, "{yields} of 1,000");
    }

    #[test]
    fn a_time_without_waits_says_nothing() {
        let mut simulation = Simulation::new();
        for _ in 0..10 {
            simulation.yields(20, true, [ALL; 2]);
            simulation.now_ms += 10_000;
            assert_eq!(simulation.yields(20, true, [ALL; 2]), 20);
        }
    }

    #[test]
    fn half_may_be_missing_and_nothing_overflows() {
        assert!(is_half(1, 2) && !is_half(1, 3) && is_half(0, 0));
        assert!(is_half(u64::MAX, u64::MAX) && !is_half(1, u64::MAX / 4));
    }

    #[test]
    #[cfg(not(any(miri, simulated)))]
    fn a_threads_work_counts_once_and_its_sleep_does_not() {
        use std::time::{Duration, Instant};
        let used = |work: &dyn Fn()| {
            let notes = &lot::own().unwrap().notes;
            used_ns(notes).expect("nothing forbids it here");
            work();
            used_ns(notes).unwrap()
        };
        let end = Instant::now() + Duration::from_millis(20);
        assert!(used(&|| while Instant::now() < end {}) > 0);
        assert!(used(&|| std::thread::sleep(Duration::from_millis(20))) < 10 * MS);
        assert!(used(&|| {}) < 10 * MS);
    }
}
