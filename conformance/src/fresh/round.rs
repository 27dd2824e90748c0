//! One round: what its threads share, and what is checked.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A kind of object, and what a round does with one.
pub(super) trait Kind: Sync {
    type Object;

    const NAME: &'static str;

    /// Makes an object, over whatever the memory holds.
    fn make(at: &mut MaybeUninit<Self::Object>, round: &Round);

    /// What each thread does with the object.
    fn meet(object: Pin<&Self::Object>, round: &Round, seat: &mut Seat);

    /// Checks that the object is free. No other thread uses it any more.
    fn end(object: Pin<&Self::Object>, round: &Round, seat: &mut Seat);

    /// Whether the object isn't dropped, and the next round's is of this kind and takes its place.
    fn stays(_object: Pin<&Self::Object>, _seat: &mut Seat) -> bool {
        false
    }
}

/// A kind by the address of its object.
pub(super) trait AnyKind: Sync {
    fn name(&self) -> &'static str;

    fn layout(&self) -> Layout;

    /// # Safety
    /// There is memory of this layout at `at`, and nothing uses it.
    unsafe fn make(&self, at: *mut u8, round: &Round);

    /// # Safety
    /// `make` has been called, `end` has not.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat);

    /// Checks the object, and drops it unless it stays. Returns whether it does.
    ///
    /// # Safety
    /// As for `meet`, and no other thread uses it any more.
    unsafe fn end(&self, at: *mut u8, round: &Round, seat: &mut Seat) -> bool;
}

impl<K: Kind> AnyKind for K {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn layout(&self) -> Layout {
        Layout::new::<K::Object>()
    }

    unsafe fn make(&self, at: *mut u8, round: &Round) {
        // SAFETY: by the caller's promise.
        K::make(unsafe { &mut *at.cast() }, round);
    }

    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise. It stays where it is until `end`.
        K::meet(unsafe { Pin::new_unchecked(&*at.cast()) }, round, seat);
    }

    unsafe fn end(&self, at: *mut u8, round: &Round, seat: &mut Seat) -> bool {
        let at = at.cast::<K::Object>();
        // SAFETY: as above.
        let object = unsafe { Pin::new_unchecked(&*at) };
        K::end(object, round, seat);
        let stays = K::stays(object, seat);
        if !stays {
            // SAFETY: by the caller's promise.
            unsafe { at.drop_in_place() };
        }
        stays
    }
}

/// The most memory that an object may take.
pub(super) const SIZE: usize = 4096;

/// What the threads of a round share.
#[derive(Default)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) seats: usize,
    /// A random number, the same for all its threads.
    pub(super) choice: u64,
    /// Whether its threads end with it.
    pub(super) mortal: bool,
    /// Two numbers that are equal unless a thread is writing.
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

/// How far the current round is, for the thread that finds it stuck.
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
    /// Its threads' ids.
    pub(super) tids: [AtomicI32; MOST],
    /// Which of these threads use the object: the others wait for them.
    pub(super) inside: [AtomicBool; MOST],
    /// Rises with each round.
    pub(super) done: AtomicU64,
}

static SEED: AtomicU64 = AtomicU64::new(0);
static KINDS: OnceLock<&[&dyn AnyKind]> = OnceLock::new();

impl Round {
    pub(super) fn new(number: u64, seats: usize, choice: u64) -> Self {
        Self { number, seats, choice, ..Self::default() }
    }

    /// The same round, with threads that end with it.
    pub(super) fn mortal(mut self) -> Self {
        self.mortal = true;
        self
    }

    /// Writes what the object protects.
    pub(super) fn write(&self, seat: &mut Seat) {
        let [first, second] = self.read_pair();
        self.check(first == second, "two threads write");
        self.set(0, first + 1);
        seat.dawdle();
        self.check(self.read_pair() == [first + 1, first], "another thread writes");
        self.set(1, first + 1);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads what the object protects.
    pub(super) fn read(&self, seat: &mut Seat) {
        let before = self.read_pair();
        self.check(before[0] == before[1], "a thread reads while another writes");
        seat.linger();
        self.check(self.read_pair() == before, "a thread writes beside a reader");
    }

    /// Checks that the pair holds all writes. No thread writes any more.
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

    /// Ends the process: other threads may be stuck in the object.
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

    /// Mostly does nothing, sometimes pauses a little: so threads in lockstep differ.
    #[inline]
    pub(super) fn dawdle(&mut self) {
        let draw = self.random.next();
        if draw.is_multiple_of(4) {
            (0..draw >> 2 & 31).for_each(|_| std::hint::spin_loop());
        }
    }

    /// The same for some microseconds.
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

/// How often the watching thread looks.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

/// Starts a thread that watches whether rounds end. If one is stuck, it asks the runner, or ends
/// the process if there is none. It counts its own looks, not the time: while the machine stood
/// still, which it once did for 4 seconds, no round could end.
pub(super) fn watch(seed: u64, kinds: &'static [&'static dyn AnyKind]) {
    SEED.store(seed, Ordering::Relaxed);
    KINDS.get_or_init(|| kinds);
    let hard_limit = std::env::var(crate::watchdog::HARD_LIMIT).ok();
    let hard_limit = hard_limit.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    thread::spawn(move || {
        let (mut seen, mut since, mut stuck, mut ask_at) =
            (0, Instant::now(), Duration::ZERO, super::STUCK);
        loop {
            thread::sleep(LOOKS_EVERY);
            stuck += LOOKS_EVERY;
            let done = NOW.done.load(Ordering::Relaxed);
            if done != seen {
                (seen, since, stuck, ask_at) = (done, Instant::now(), Duration::ZERO, super::STUCK);
            } else if stuck > hard_limit.unwrap_or(super::STUCK) {
                say_stuck(since, "FAILED: ");
                // SAFETY: ends the process.
                unsafe { libc::_exit(1) };
            } else if stuck > ask_at {
                ask_at = stuck + super::STUCK / 2;
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

/// Asks as `watchdog::runner` describes. Threads that spin until the others come aren't to be
/// judged.
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
