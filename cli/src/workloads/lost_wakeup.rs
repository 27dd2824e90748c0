//! lost-wakeup: how often pthread_cond_signal wakes no thread though some wait, as glibc's does in
//! the versions 2.25 to 2.40 (its bug 25847). `compare --lost-wakeup` runs it on both sides.
//!
//! A boss posts one or two items, each with a signal sent under the mutex. Five workers wait on the
//! one condition variable until there are items, and take all of them. The boss posts no more until
//! they are taken, for which it looks at a counter. So a round stands still only if a signal was
//! sent while workers waited and woke none of them. Then the main thread looks: there are items,
//! no thread has the mutex, every worker has slept in its wait since before the last signal, and a
//! moment later all of that still holds. It sends one more signal, by which the rounds go on.
//!
//! The bug needs a waiter that is slow between taking its signal and looking whether that was its
//! own. A processor that is taken away there does it, once in hours. Here two things make waiters
//! slow that don't change what a program means. The condition variable lies across two pages of
//! shared memory, of which the boss has the kernel forget the first: the next access takes a page
//! fault. And now and then the boss sends a signal to the worker that wakes next, whose handler
//! sleeps for some microseconds. conformance/lost_wakeup is the same in C, searches for longer, and
//! shows that it tells lost wakeups from other standstills.

use std::cell::Cell;
use std::fs;
use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use crate::harness::{Failed, Figures, Parameters, Random, figures};

const WORKERS: usize = 5;
const PAGE: usize = 4096;
/// So much of the condition variable is on the first page: in glibc's, where each group of waiters
/// starts, but not the groups' signals.
const SPLIT: usize = 16;
/// A handler sleeps for up to so many microseconds, once in so many rounds.
const PAUSE_US: usize = 300;
const EVERY: usize = 4;
/// A round that has stood still for so long is looked at, twice each time, until it goes on.
const STUCK: Duration = Duration::from_millis(400);
const AGAIN: Duration = Duration::from_millis(200);
/// How long the rounds may take to go on.
const PATIENCE: Duration = Duration::from_secs(5);
/// With `plant=1` no signal is sent in this round: that must be found.
const PLANTED_AT: u64 = 100;

struct Shared {
    mutex: *mut libc::pthread_mutex_t,
    posted: *mut libc::pthread_cond_t,
    pages: *mut libc::c_void,
    /// Written with the mutex held, down to `waiting_then`.
    items: AtomicUsize,
    waits: AtomicU64,
    signals: AtomicU64,
    /// When the last signal was sent: all workers' returns, and how many waited.
    returns_then: AtomicU64,
    waiting_then: AtomicUsize,
    taken: AtomicU64,
    rounds: AtomicU64,
    stop: AtomicBool,
    is_over: AtomicBool,
    workers: [Worker; WORKERS],
}

/// All but `in_wait` and `random` is written with the mutex held.
#[derive(Default)]
struct Worker {
    /// Is it between the calls around its wait?
    in_wait: AtomicBool,
    random: AtomicU32,
    tid: AtomicI32,
    pthread: AtomicU64,
    waits: AtomicBool,
    since: AtomicU64,
    returns: AtomicU64,
}

// SAFETY: the pointers are to objects that all threads may use, and that live for ever.
unsafe impl Sync for Shared {}
// SAFETY: the same.
unsafe impl Send for Shared {}

thread_local! {
    static SELF: Cell<Option<&'static Worker>> = const { Cell::new(None) };
}

/// Not while it has the mutex: that would be slow for all.
extern "C" fn be_slow(_signal: libc::c_int) {
    let Some(worker) = SELF.get().filter(|worker| worker.in_wait.load(Relaxed)) else { return };
    let mut random = worker.random.load(Relaxed);
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    worker.random.store(random, Relaxed);
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: (1 + random as usize % PAUSE_US) as libc::c_long * 1000,
    };
    // SAFETY: both calls may be made in a handler; errno is the interrupted code's.
    unsafe {
        let errno = *libc::__errno_location();
        libc::nanosleep(&time, ptr::null_mut());
        *libc::__errno_location() = errno;
    }
}

impl Shared {
    /// Lives for ever: threads may be stuck in it at the end.
    fn new() -> Result<&'static Self, String> {
        // SAFETY: new memory of two pages.
        let pages = unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            libc::mmap(ptr::null_mut(), 2 * PAGE, access, kind, -1, 0)
        };
        if pages == libc::MAP_FAILED {
            return Err(format!("no memory: {}", std::io::Error::last_os_error()));
        }
        // SAFETY: it fits, is aligned to 16, and is zero, as PTHREAD_COND_INITIALIZER is.
        let posted = unsafe { pages.byte_add(PAGE - SPLIT) }.cast::<libc::pthread_cond_t>();
        let mutex = Box::into_raw(Box::new(libc::PTHREAD_MUTEX_INITIALIZER));
        Ok(Box::leak(Box::new(Shared {
            mutex,
            posted,
            pages,
            items: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            signals: AtomicU64::new(0),
            returns_then: AtomicU64::new(0),
            waiting_then: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            workers: Default::default(),
        })))
    }

    fn lock(&self) {
        // SAFETY: the mutex lives for ever.
        let error = unsafe { libc::pthread_mutex_lock(self.mutex) };
        assert_eq!(error, 0, "pthread_mutex_lock");
    }

    /// By the thread that has it.
    fn unlock(&self) {
        // SAFETY: the mutex lives for ever.
        let error = unsafe { libc::pthread_mutex_unlock(self.mutex) };
        assert_eq!(error, 0, "pthread_mutex_unlock");
    }

    fn signal(&self) {
        // SAFETY: the condition variable lives for ever.
        let error = unsafe { libc::pthread_cond_signal(self.posted) };
        assert_eq!(error, 0, "pthread_cond_signal");
    }

    fn waiting(&self) -> usize {
        self.workers.iter().filter(|worker| worker.waits.load(Relaxed)).count()
    }

    fn returns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.returns.load(Relaxed)).sum()
    }

    fn work(&self, worker: &'static Worker) {
        SELF.set(Some(worker));
        self.lock();
        worker.tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
        // SAFETY: a thread may always ask for its own name.
        worker.pthread.store(unsafe { libc::pthread_self() } as u64, Relaxed);
        loop {
            while self.items.load(Relaxed) == 0 {
                worker.since.store(self.waits.fetch_add(1, Relaxed) + 1, Relaxed);
                worker.waits.store(true, Relaxed);
                worker.in_wait.store(true, Relaxed);
                // SAFETY: both live for ever, and this thread has the mutex.
                let error = unsafe { libc::pthread_cond_wait(self.posted, self.mutex) };
                assert_eq!(error, 0, "pthread_cond_wait");
                worker.in_wait.store(false, Relaxed);
                worker.waits.store(false, Relaxed);
                worker.returns.fetch_add(1, Relaxed);
            }
            let took = self.items.swap(0, Relaxed);
            self.unlock();
            self.taken.fetch_add(took as u64, SeqCst);
            self.lock();
        }
    }

    /// Returns the thread that has waited longest: signals usually wake it.
    fn post(&self, is_signalled: bool) -> Option<&Worker> {
        self.lock();
        let waiting = self.workers.iter().filter(|worker| worker.waits.load(Relaxed));
        let oldest = waiting.min_by_key(|worker| worker.since.load(Relaxed));
        self.items.fetch_add(1, Relaxed);
        self.signals.fetch_add(1, Relaxed);
        self.waiting_then.store(self.waiting(), Relaxed);
        self.returns_then.store(self.returns(), Relaxed);
        if is_signalled {
            self.signal();
        }
        self.unlock();
        oldest
    }

    /// Until all sleep in their waits, and no signal is on its way to one.
    fn settle(&self) {
        let asleep = || self.workers.iter().all(|worker| is_asleep(worker.tid.load(Relaxed)));
        let mut returns = u64::MAX;
        loop {
            std::thread::sleep(AGAIN);
            self.lock();
            let (waiting, now) = (self.waiting(), self.returns());
            self.unlock();
            if waiting == WORKERS && now == returns && asleep() {
                return;
            }
            returns = now;
        }
    }

    fn lead(&self, seed: u64, plants: bool) {
        let mut random = Random::new(seed, 0, 0.5);
        let mut sent = 0;
        while !self.stop.load(Relaxed) {
            let burst = 1 + random.below(2);
            sent += burst as u64;
            let is_planted = plants && self.rounds.load(Relaxed) == PLANTED_AT;
            if is_planted {
                self.settle();
            }
            let next = self.post(!is_planted);
            if burst == 2 {
                self.post(!is_planted);
            }
            // SAFETY: the page is shared memory: its content stays.
            unsafe { libc::madvise(self.pages, PAGE, libc::MADV_DONTNEED) };
            if let Some(next) = next
                && random.below(EVERY) == 0
            {
                // As often within 1 us as within 10.
                let most = 1usize << random.below(17);
                let begin = Instant::now() + Duration::from_nanos(random.below(most) as u64);
                while Instant::now() < begin {}
                // SAFETY: workers never end.
                unsafe { libc::pthread_kill(next.pthread.load(Relaxed) as _, libc::SIGUSR1) };
            }
            let mut looks = 0u32;
            while self.taken.load(SeqCst) != sent {
                looks += 1;
                if looks < 100_000 {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            self.rounds.fetch_add(1, Relaxed);
        }
        self.is_over.store(true, SeqCst);
    }

    /// Is there work that a signalled waiter should have taken, while all of them sleep?
    fn stands_still(&self) -> bool {
        // (A mutex that can't be had hangs here, which the watchdog reports.)
        self.lock();
        let held = self.items.load(Relaxed) > 0
            && self.waiting() == WORKERS
            && self.waiting_then.load(Relaxed) > 0
            && self.returns() == self.returns_then.load(Relaxed);
        self.unlock();
        std::thread::sleep(AGAIN);
        held && self.workers.iter().all(|worker| is_asleep(worker.tid.load(Relaxed)))
    }

    fn go_on_since(&self, before: u64) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if self.rounds.load(Relaxed) != before || self.is_over.load(SeqCst) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

/// A thread that was woken but has no processor isn't.
fn is_asleep(tid: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let most = Duration::from_secs_f64(given.amount("seconds", 10.0)?);
    let enough = given.count("losses", 5)? as u64;
    let seed = given.take("seed", 0u64)?;
    let plants = given.flag("plant")?;
    given.finish()?;
    Ok(search(most, enough, seed, plants)?)
}

fn search(most: Duration, enough: u64, seed: u64, plants: bool) -> Result<Figures, String> {
    let shared = Shared::new()?;
    // SAFETY: all-zero is a valid sigaction, and the handler makes only calls that it may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = be_slow as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut());
    }
    let spawn = |body: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().spawn(body).map_err(|error| format!("no thread: {error}"))
    };
    for (index, worker) in shared.workers.iter().enumerate() {
        worker.random.store(seed as u32 ^ 0x9e37_79b9 ^ (index as u32 + 1) << 8, Relaxed);
        spawn(Box::new(|| shared.work(worker)))?;
    }
    while shared.workers.iter().any(|worker| !is_asleep(worker.tid.load(Relaxed))) {
        std::thread::sleep(Duration::from_millis(1));
    }
    spawn(Box::new(move || shared.lead(seed, plants)))?;

    let begin = Instant::now();
    let (mut lost, mut mended, mut first_s) = (0u64, 0u64, 0.0);
    let (mut seen, mut moved) = (0, begin);
    while !shared.is_over.load(SeqCst) {
        std::thread::sleep(Duration::from_millis(10));
        if begin.elapsed() >= most || lost == enough {
            shared.stop.store(true, Relaxed);
        }
        let rounds = shared.rounds.load(Relaxed);
        if rounds != seen {
            (seen, moved) = (rounds, Instant::now());
        } else if moved.elapsed() > STUCK {
            let is_lost = shared.stands_still() && shared.stands_still();
            if shared.rounds.load(Relaxed) != seen {
                continue;
            }
            if is_lost {
                if lost == 0 {
                    first_s = (moved - begin).as_secs_f64();
                }
                lost += 1;
                shared.lock();
                shared.signal();
                shared.unlock();
                mended += u64::from(shared.go_on_since(seen));
                if mended < lost {
                    break;
                }
            } else if moved.elapsed() > PATIENCE {
                return Err("stands still, but not for want of a wakeup".to_owned());
            }
        }
    }
    Ok(figures([
        ("lost", lost as f64),
        ("mended", mended as f64),
        ("first_s", first_s),
        ("seconds", begin.elapsed().as_secs_f64()),
        ("signals", shared.signals.load(Relaxed) as f64),
        ("rounds", shared.rounds.load(Relaxed) as f64),
    ]))
}
