//! One round: what its threads share, and what is checked.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A kind of object.
pub(super) trait Kind: Sync {
    fn name(&self) -> &'static str;

    fn layout(&self) -> Layout;

    /// Makes one at `at`.
    ///
    /// # Safety
    /// There is memory of this layout that nobody uses.
    unsafe fn make(&self, at: *mut u8, round: &Round);

    /// What each thread does with it.
    ///
    /// # Safety
    /// `make` has been called, `end` has not.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat);

    /// Checks that it is free, and is done with it. True if the next round should be of this kind
    /// and at this place.
    ///
    /// # Safety
    /// As for `meet`, and no thread uses it any more.
    unsafe fn end(&self, at: *mut u8, round: &Round, seat: &mut Seat) -> bool;
}

/// What a kind may take.
pub(super) const SIZE: usize = 4096;

/// What the threads of a round share.
#[derive(Default)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) seats: usize,
    /// Its random choice, the same for all.
    pub(super) choice: u64,
    /// Whether its threads end with it.
    pub(super) mortal: bool,
    /// Equal but while somebody writes.
    pair: [UnsafeCell<u64>; 2],
    writes: AtomicU64,
    /// For the kind's own use.
    pub(super) count: AtomicUsize,
    pub(super) phase: AtomicUsize,
}

// SAFETY: the pair is what the lock under test protects; that it does is the test.
unsafe impl Sync for Round {}

/// One of a round's threads.
pub(super) struct Seat {
    pub(super) number: usize,
    pub(super) random: Random,
}

/// Threads of a round.
const MOST: usize = 4;

/// Where a round is, for the thread that finds it stuck.
pub(super) static NOW: Now = Now {
    round: AtomicU64::new(0),
    kind: AtomicUsize::new(0),
    tids: [const { AtomicI32::new(0) }; MOST],
    inside: [const { AtomicBool::new(false) }; MOST],
    done: AtomicU64::new(0),
};

pub(super) struct Now {
    pub(super) round: AtomicU64,
    pub(super) kind: AtomicUsize,
    /// Of its threads.
    pub(super) tids: [AtomicI32; MOST],
    /// Which of these use the object: the others wait for them.
    pub(super) inside: [AtomicBool; MOST],
    /// Rises with each round.
    pub(super) done: AtomicU64,
}

static SEED: AtomicU64 = AtomicU64::new(0);
static KINDS: OnceLock<&[&dyn Kind]> = OnceLock::new();

impl Round {
    pub(super) fn new(number: u64, seats: usize, choice: u64) -> Self {
        Self { number, seats, choice, ..Self::default() }
    }

    /// One whose threads end with it.
    pub(super) fn mortal(mut self) -> Self {
        self.mortal = true;
        self
    }

    /// Writes what the object protects.
    pub(super) fn write(&self, seat: &mut Seat) {
        let [first, second] = self.read_pair();
        self.check(first == second, "a writer comes upon another");
        self.set(0, first + 1);
        seat.dawdle();
        self.check(self.read_pair() == [first + 1, first], "somebody else writes");
        self.set(1, first + 1);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads it.
    pub(super) fn read(&self, seat: &mut Seat) {
        let before = self.read_pair();
        self.check(before[0] == before[1], "a reader comes upon a writer");
        seat.linger();
        self.check(self.read_pair() == before, "somebody writes beside a reader");
    }

    /// That the pair says what was written, which nobody does any more.
    pub(super) fn check_sums(&self) {
        self.check(self.read_pair() == [self.writes(); 2], "the sums are wrong");
    }

    /// How often it was written.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    fn read_pair(&self) -> [u64; 2] {
        // SAFETY: alive; volatile, as what protects it is under test.
        self.pair.each_ref().map(|cell| unsafe { ptr::read_volatile(cell.get()) })
    }

    fn set(&self, which: usize, value: u64) {
        // SAFETY: as above.
        unsafe { ptr::write_volatile(self.pair[which].get(), value) };
    }

    #[inline]
    pub(super) fn check(&self, holds: bool, what: &str) {
        if !holds {
            self.fail(what);
        }
    }

    /// Ends the process: others may be stuck in what failed.
    #[cold]
    pub(super) fn fail(&self, what: &str) -> ! {
        let mortal = if self.mortal { ", whose threads end with it" } else { "" };
        eprintln!(
            "FAILED: {}: {what} (round {} of {} threads{mortal}, seed {})",
            name(),
            self.number,
            self.seats,
            SEED.load(Ordering::Relaxed)
        );
        // SAFETY: ends the process, without exit handlers that might wait.
        unsafe { libc::_exit(1) }
    }
}

fn name() -> &'static str {
    let kinds = KINDS.get().copied().unwrap_or_default();
    kinds.get(NOW.kind.load(Ordering::Relaxed)).map_or("a child", |kind| kind.name())
}

impl Seat {
    /// Calls `use_it`, in which this thread may be the one that is stuck.
    pub(super) fn inside<T>(&mut self, use_it: impl FnOnce(&mut Self) -> T) -> T {
        let inside = &NOW.inside[self.number];
        inside.store(true, Ordering::Relaxed);
        let result = use_it(self);
        inside.store(false, Ordering::Relaxed);
        result
    }

    /// Mostly nothing, sometimes a few pauses: what differs between two threads in lockstep.
    #[inline]
    pub(super) fn dawdle(&mut self) {
        let draw = self.random.next();
        if draw.is_multiple_of(4) {
            (0..draw >> 2 & 31).for_each(|_| std::hint::spin_loop());
        }
    }

    /// The same for longer, some microseconds.
    #[inline]
    fn linger(&mut self) {
        let draw = self.random.next();
        if draw.is_multiple_of(4) {
            (0..draw >> 2 & 127).for_each(|_| std::hint::spin_loop());
        }
    }

    /// A moment, up to 60 us.
    pub(super) fn moment(&mut self) -> Duration {
        Duration::from_nanos(self.random.below(60_000))
    }
}

/// xorshift: good enough to choose.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 8) % end
    }
}

/// Starts a thread that sees to it that rounds end: it asks the runner, if there is one, and ends
/// the process otherwise.
pub(super) fn watch(seed: u64, kinds: &'static [&'static dyn Kind]) {
    SEED.store(seed, Ordering::Relaxed);
    KINDS.get_or_init(|| kinds);
    let hard_limit = std::env::var(crate::watchdog::HARD_LIMIT).ok();
    let hard_limit = hard_limit.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    thread::spawn(move || {
        let (mut seen, mut since, mut asked) = (0, Instant::now(), None);
        loop {
            thread::sleep(Duration::from_millis(100));
            let done = NOW.done.load(Ordering::Relaxed);
            if done != seen {
                (seen, since, asked) = (done, Instant::now(), None);
            } else if since.elapsed() > hard_limit.unwrap_or(super::STUCK) {
                say_stuck(since, "FAILED: ");
                // SAFETY: ends the process.
                unsafe { libc::_exit(1) };
            } else if since.elapsed() > super::STUCK
                && asked.is_none_or(|asked: Instant| asked.elapsed() > super::STUCK / 2)
            {
                asked = Some(Instant::now());
                say_stuck(since, "");
                ask();
            }
        }
    });
}

fn say_stuck(since: Instant, word: &str) {
    eprintln!(
        "{word}{}: round {} hasn't ended after {:.1} s, seed {}",
        name(),
        NOW.round.load(Ordering::Relaxed),
        since.elapsed().as_secs_f64(),
        SEED.load(Ordering::Relaxed)
    );
}

/// As `watchdog::runner` has it. Threads that spin until the others come aren't the ones to judge.
fn ask() {
    let load = |at: usize| NOW.tids[at].load(Ordering::Relaxed);
    let inside = |at: &usize| NOW.inside[*at].load(Ordering::Relaxed);
    let all: Vec<_> = (0..MOST).filter(|at| load(*at) != 0).collect();
    let stuck: Vec<_> = all.iter().copied().filter(inside).collect();
    let named = if stuck.is_empty() { all } else { stuck };
    let tids: Vec<_> = named.into_iter().map(|at| load(at).to_string()).collect();
    let bound = super::STUCK.as_millis();
    eprintln!("STUCK {} {bound} {}", std::process::id(), tids.join(" "));
}

/// The calling thread's id, for the kernel.
pub(super) fn tid() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() }
}
