//! What it costs to wake a sleeping thread, and how long it takes until that runs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::thread::{Pid, gettid};

use super::bound::{futex_wait, futex_wake, now_ns, spawn_on};
use super::patience::{Patience, spin_for};
use super::samples::{Samples, median};
use crate::affinity::bind;

/// How long a thread has slept when it is woken: its processor polls, has halted, sleeps deeply.
pub const SLEPT_US: [u64; 11] = [3, 6, 12, 25, 50, 100, 200, 500, 1_000, 3_000, 10_000];
/// Wakes after each of these, in a round.
const EACH: usize = 8;
/// Wakes of each other kind, in a round.
const WAKES: usize = 12;
/// How long a thread has slept where that makes no difference.
const SLEPT: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_millis(30);
/// A sleep that no wake ends does by itself.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// A thread that sleeps until it is woken, again and again.
#[derive(Default)]
struct Sleeper {
    /// Counts wakes. The thread sleeps on it.
    turn: AtomicU32,
    /// The turn that it sleeps for, once it is about to; 0 before the first.
    asleep: AtomicU32,
    /// When it ran again; 0 until then.
    woke_ns: AtomicU64,
    id: AtomicU32,
    ends: AtomicBool,
}

/// A wake, in nanoseconds.
struct Wake {
    /// How long the call took.
    cost: f64,
    /// From the beginning of the call until the thread ran.
    latency: f64,
}

impl Sleeper {
    fn sleep_again_and_again(&self, patience: Patience) -> Option<()> {
        stay_behind();
        self.id.store(gettid().as_raw_nonzero().get() as u32, Ordering::Release);
        let mut turn = self.turn.load(Ordering::Acquire);
        while !self.ends.load(Ordering::Acquire) && !patience.is_over() {
            self.asleep.store(turn + 1, Ordering::Release);
            futex_wait(&self.turn, turn, LONGEST_SLEEP);
            let now = now_ns();
            let seen = self.turn.load(Ordering::Acquire);
            if seen != turn {
                turn = seen;
                self.woke_ns.store(now, Ordering::Release);
            }
        }
        Some(())
    }

    /// Whether it sleeps, or is about to.
    fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Acquire) == self.turn.load(Ordering::Relaxed) + 1
    }

    /// Wakes it; nothing if it did not sleep yet, or doesn't run in time. Only one thread does so.
    fn wake(&self, waits: impl Fn(&dyn Fn() -> bool) -> Option<()>) -> Option<Wake> {
        self.woke_ns.store(0, Ordering::Relaxed);
        let turn = self.turn.load(Ordering::Relaxed) + 1;
        let start = now_ns();
        self.turn.store(turn, Ordering::Release);
        let was_asleep = futex_wake(&self.turn);
        let returned = now_ns();
        waits(&|| self.woke_ns.load(Ordering::Acquire) != 0)?;
        let latency = self.woke_ns.load(Ordering::Acquire).saturating_sub(start) as f64;
        was_asleep.then(|| Wake { cost: (returned - start) as f64, latency })
    }

    fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.turn.fetch_add(1, Ordering::Release);
        futex_wake(&self.turn);
    }
}

/// A thread of this class doesn't preempt those of others when it is woken: then the waker's call
/// contains nothing of it. Where that is refused, the samples in which it ran are left out.
fn stay_behind() {
    // SAFETY: all-zero is a valid parameter, and the only one for this class.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: reads the parameters.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
}

/// Runs `wakes` on one processor, beside a thread that sleeps on another or the same.
fn with_sleeper<T: Send>(
    waker_on: usize,
    sleeper_on: usize,
    patience: Patience,
    wakes: impl FnOnce(&Sleeper) -> Option<T> + Send,
) -> Option<T> {
    let sleeper = Sleeper::default();
    std::thread::scope(|scope| {
        let body = || sleeper.sleep_again_and_again(patience);
        let asleep = spawn_on(scope, sleeper_on, body)?;
        let result = super::bound::on(waker_on, || wakes(&sleeper));
        sleeper.end();
        asleep.join().ok().flatten()?;
        result
    })
}

/// What a wake on the waker's own processor costs it.
fn same(processor: usize, patience: Patience) -> Option<f64> {
    with_sleeper(processor, processor, patience, |sleeper| {
        let mut costs = Vec::new();
        for _ in 0..WAKES {
            let patience = patience.at_most(PATIENCE);
            patience.nap_until(|| sleeper.is_asleep())?;
            sleep(SLEPT);
            let wake = sleeper.wake(|until| patience.nap_until(until));
            costs.extend(wake.filter(|wake| wake.latency >= wake.cost).map(|wake| wake.cost));
        }
        median(&costs)
    })
}

/// What a wake costs on a processor where another thread runs: nothing has to be interrupted.
fn busy(waker_on: usize, sleeper_on: usize, patience: Patience) -> Option<f64> {
    let (ends, gives_way) = (AtomicBool::new(false), AtomicBool::new(true));
    let runs = AtomicBool::new(false);
    let works = || {
        while !ends.load(Ordering::Acquire) && !patience.is_over() {
            let runs_now = !gives_way.load(Ordering::Acquire);
            runs.store(runs_now, Ordering::Release);
            match runs_now {
                true => spin_for(Duration::from_micros(1)),
                false => sleep(Duration::from_micros(30)),
            }
        }
        Some(())
    };
    let wakes = |sleeper: &Sleeper| {
        let mut costs = Vec::new();
        for _ in 0..WAKES {
            let patience = patience.at_most(PATIENCE);
            patience.spin_until(|| sleeper.is_asleep())?;
            spin_for(SLEPT);
            gives_way.store(false, Ordering::Release);
            patience.spin_until(|| runs.load(Ordering::Acquire))?;
            spin_for(Duration::from_micros(20));
            let wake = sleeper.wake(|until| {
                gives_way.store(true, Ordering::Release);
                patience.spin_until(until)
            });
            costs.extend(wake.map(|wake| wake.cost));
        }
        median(&costs)
    };
    std::thread::scope(|scope| {
        let worker = spawn_on(scope, sleeper_on, works)?;
        let cost = with_sleeper(waker_on, sleeper_on, patience, wakes);
        ends.store(true, Ordering::Release);
        worker.join().ok().flatten()?;
        cost
    })
}

/// Costs and latencies on an idle processor, by how long the thread has slept. Nothing for those of
/// which no wake found it asleep.
fn idle(waker_on: usize, sleeper_on: usize, patience: Patience) -> Option<Vec<Option<(f64, f64)>>> {
    with_sleeper(waker_on, sleeper_on, patience, |sleeper| {
        let after = |slept_us: u64| {
            let mut wakes = Vec::new();
            for _ in 0..EACH {
                let patience = patience.at_most(PATIENCE);
                if patience.spin_until(|| sleeper.is_asleep()).is_none() {
                    break;
                }
                spin_for(Duration::from_micros(slept_us));
                wakes.extend(sleeper.wake(|until| patience.spin_until(until)));
            }
            let costs: Vec<f64> = wakes.iter().map(|wake| wake.cost).collect();
            let latencies: Vec<f64> = wakes.iter().map(|wake| wake.latency).collect();
            median(&costs).zip(median(&latencies))
        };
        Some(SLEPT_US.into_iter().map(after).collect())
    })
}

/// How much later a thread runs that is woken on another processor than it last ran on.
fn migration(one: usize, other: usize, patience: Patience) -> Option<f64> {
    with_sleeper(one, one, patience, |sleeper| {
        let mut later = Vec::new();
        for _ in 0..WAKES {
            let latency_on = |processor: usize| {
                let patience = patience.at_most(PATIENCE);
                patience.nap_until(|| sleeper.is_asleep())?;
                let id = Pid::from_raw(sleeper.id.load(Ordering::Acquire) as i32)?;
                bind(Some(id), processor)?;
                spin_for(SLEPT);
                let wake = match processor == one {
                    true => sleeper.wake(|until| patience.nap_until(until)),
                    false => sleeper.wake(|until| patience.spin_until(until)),
                };
                wake.map(|wake| wake.latency)
            };
            let (moved, stayed) = (latency_on(other), latency_on(other));
            latency_on(one)?;
            later.extend(moved.zip(stayed).map(|(moved, stayed)| moved - stayed));
        }
        median(&later)
    })
}

pub fn measure_same(samples: &mut Samples, processor: usize, patience: Patience) {
    samples.add("same", same(processor, patience));
}

/// The name of a wake on an idle processor.
pub fn idle_name(what: &str, slept_us: u64) -> String {
    format!("{what}.{slept_us}")
}

/// Two processors of that distance. Latencies are those of the nearest ones.
pub fn measure_pair(
    samples: &mut Samples,
    distance: &str,
    is_nearest: bool,
    (one, other): (usize, usize),
    patience: Patience,
) {
    samples.add(format!("waker.{distance}"), busy(one, other, patience));
    if is_nearest {
        let wakes = idle(one, other, patience).unwrap_or_default();
        for (slept_us, wake) in SLEPT_US.into_iter().zip(wakes) {
            samples.add(idle_name("cost", slept_us), wake.map(|(cost, _)| cost));
            samples.add(idle_name("latency", slept_us), wake.map(|(_, latency)| latency));
        }
        samples.add("migration", migration(one, other, patience));
    }
}
