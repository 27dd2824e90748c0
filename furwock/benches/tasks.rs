//! What tasks pay for a mutex and for notifications, beside tokio's.
//! `cargo bench -p furwock --bench tasks`
//!
//! A pair is an uncontended lock and unlock in a task. Contended, four tasks on two threads lock,
//! add one and unlock, 50 or 0 steps of a random generator long inside and outside; in the last
//! case they give way to other tasks inside. Two tasks notify each other in turn. Rounds are
//! interleaved; medians.

use furwock::future::AsyncMutex;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

const ROUNDS: usize = 9;
const PAIRS: u32 = 200_000;
const TASKS: u32 = 4;
const TURNS: u32 = 20_000;

/// A mutex of a number, for tasks.
trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    fn lock(&self) -> impl Future<Output = impl std::ops::DerefMut<Target = u64> + Send> + Send;
}

impl Lock for furwock::Mutex<u64> {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl Future<Output = impl std::ops::DerefMut<Target = u64> + Send> + Send {
        self.lock_async()
    }
}

impl Lock for tokio::sync::Mutex<u64> {
    fn new() -> Self {
        Self::new(0)
    }

    fn lock(&self) -> impl Future<Output = impl std::ops::DerefMut<Target = u64> + Send> + Send {
        self.lock()
    }
}

/// Polls a future that is ready at once.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it had to wait"),
    }
}

fn work(steps: u32, seed: &mut u64) {
    for _ in 0..steps {
        *seed = black_box(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// Nanoseconds for an uncontended lock and unlock.
fn pair<L: Lock>() -> f64 {
    let mutex = L::new();
    let started = Instant::now();
    at_once(async {
        for _ in 0..PAIRS {
            *black_box(&mutex).lock().await += 1;
        }
    });
    assert_eq!(*at_once(mutex.lock()), u64::from(PAIRS));
    started.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

/// Nanoseconds for each lock of contending tasks.
fn contended<L: Lock>(runtime: &Runtime, steps: u32, yields: bool) -> f64 {
    let locks = if yields { PAIRS / 10 } else { PAIRS };
    let mutex = Arc::new(L::new());
    let started = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let mutex = Arc::clone(&mutex);
            runtime.spawn(async move {
                let mut seed = u64::from(task);
                for _ in 0..locks {
                    let mut count = mutex.lock().await;
                    *count += 1;
                    work(steps, &mut seed);
                    if yields {
                        tokio::task::yield_now().await;
                    }
                    drop(count);
                    work(steps, &mut seed);
                }
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
    let taken = TASKS * locks;
    assert_eq!(*at_once(mutex.lock()), u64::from(taken));
    started.elapsed().as_secs_f64() * 1e9 / f64::from(taken)
}

/// Nanoseconds for a notification that is answered.
macro_rules! turns {
    ($notify:ty, $runtime:expr) => {{
        let (there, back) = (Arc::new(<$notify>::new()), Arc::new(<$notify>::new()));
        let started = Instant::now();
        let answers = {
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            $runtime.spawn(async move {
                for _ in 0..TURNS {
                    there.notified().await;
                    back.notify_one();
                }
            })
        };
        let asks = $runtime.spawn(async move {
            for _ in 0..TURNS {
                there.notify_one();
                back.notified().await;
            }
        });
        $runtime.block_on(answers).unwrap();
        $runtime.block_on(asks).unwrap();
        started.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
    }};
}

fn figures<L: Lock>(runtime: &Runtime) -> [f64; 4] {
    [
        pair::<L>(),
        contended::<L>(runtime, 0, false),
        contended::<L>(runtime, 50, false),
        contended::<L>(runtime, 50, true),
    ]
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let cases = ["pair", "contended, 0 steps", "contended, 50 steps", "the same, giving way"];
    let mut times = vec![[const { Vec::new() }; 2]; cases.len() + 1];
    for _ in 0..ROUNDS {
        let ours = figures::<furwock::Mutex<u64>>(&runtime);
        let tokios = figures::<tokio::sync::Mutex<u64>>(&runtime);
        for (at, times) in times.iter_mut().take(cases.len()).enumerate() {
            times[0].push(ours[at]);
            times[1].push(tokios[at]);
        }
        times[cases.len()][0].push(turns!(furwock::Notify, runtime));
        times[cases.len()][1].push(turns!(tokio::sync::Notify, runtime));
    }
    println!("{:<24} {:>8} {:>8}  ns", "", "furwock", "tokio");
    for (case, times) in cases.iter().chain(&["a notification answered"]).zip(&mut times) {
        let [ours, tokios] = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        });
        println!("{case:<24} {ours:8.1} {tokios:8.1}");
    }
}
