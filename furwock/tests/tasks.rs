//! Waiters that aren't threads: futures, under an executor and polled by hand, and descriptors
//! under poll, epoll and an executor's reactor.

mod common;
mod process;

use common::{becomes_readable, bounded, eventually, join_all, kept, queued, waiting_at};
use furwock::futex::{
    WaitFd, WaitFdError, WaitFuture, Waited, requeue, wait, wait_async, wait_async_bitset, wait_fd,
    wake, wake_all, wake_bitset,
};
use process::holds_in_a_child;
use std::future::Future;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Counts how often it was called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Calls {
    fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll(future: &mut (impl Future<Output = Waited> + Unpin), waker: &Waker) -> Poll<Waited> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn the_latest_waker_is_called_once() {
    let word = AtomicU32::new(0);
    let [first, second] = [(); 2].map(|()| Arc::new(Calls::default()));
    let mut future = wait_async(&word, 0);
    assert!(poll(&mut future, &first.waker()).is_pending());
    assert!(poll(&mut future, &second.waker()).is_pending());
    assert_eq!(wake(&word, 9), 1);
    assert_eq!(first.count(), 0);
    assert_eq!(second.count(), 1);
    assert_eq!(poll(&mut future, Waker::noop()), Poll::Ready(Waited::Woken));
    assert_eq!(Arc::strong_count(&second), 1, "the waker is kept no longer than needed");
    assert!(poll(&mut future, Waker::noop()).is_pending(), "polled again, it waits anew");
    drop(future);
    assert_eq!(wake(&word, 1), 0);
}

#[test]
fn a_mismatch_is_ready_at_once() {
    let word = AtomicU64::new(1 << 40);
    assert_eq!(poll(&mut wait_async(&word, 0), Waker::noop()), Poll::Ready(Waited::Mismatch));
}

#[test]
fn tasks_threads_and_descriptors_are_woken_in_order_of_arrival() {
    bounded(|| {
        let word = kept(AtomicU32::new(0));
        let mut first = wait_async(word, 0);
        assert!(poll(&mut first, Waker::noop()).is_pending());
        let second = queued(word);
        let mut third = wait_fd(word, 0).unwrap();
        let mut fourth = wait_async(word, 0);
        assert!(poll(&mut fourth, Waker::noop()).is_pending());
        let fifth = queued(word);
        assert_eq!(waiting_at(word), 5);

        assert_eq!(wake(word, 1), 1);
        assert!(poll(&mut first, Waker::noop()).is_ready());
        assert!(poll(&mut fourth, Waker::noop()).is_pending());
        assert_eq!(wake(word, 1), 1);
        assert_eq!(second.join().unwrap(), Waited::Woken);
        assert!(!third.is_woken());
        assert_eq!(wake(word, 1), 1);
        assert!(third.is_woken());
        assert!(poll(&mut fourth, Waker::noop()).is_pending());
        assert_eq!(wake_all(word), 2);
        assert!(poll(&mut fourth, Waker::noop()).is_ready());
        assert_eq!(fifth.join().unwrap(), Waited::Woken);
    });
}

#[test]
fn a_dropped_future_passes_its_wake_on_with_its_bitset() {
    let word = AtomicU32::new(0);
    let mut woken = wait_async(&word, 0);
    let mut deaf = wait_async_bitset(&word, 0, 1);
    let mut listens = wait_async_bitset(&word, 0, 2);
    for future in [&mut woken, &mut deaf, &mut listens] {
        assert!(poll(future, Waker::noop()).is_pending());
    }
    assert_eq!(wake_bitset(&word, 1, 2), 1);
    drop(woken);
    assert!(poll(&mut deaf, Waker::noop()).is_pending());
    assert_eq!(poll(&mut listens, Waker::noop()), Poll::Ready(Waited::Woken));
}

#[test]
fn a_requeued_future_is_woken_and_passes_on_where_it_went() {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let [mut moved, mut behind] = [wait_async(&words[0], 0), wait_async(&words[1], 0)];
    assert!(poll(&mut moved, Waker::noop()).is_pending());
    assert_eq!(requeue(&words[0], &words[1], 0, 1).moved, 1);
    assert!(poll(&mut behind, Waker::noop()).is_pending());
    assert_eq!(wake(&words[1], 1), 1);
    drop(moved);
    assert!(poll(&mut behind, Waker::noop()).is_ready());
}

#[test]
fn a_future_that_reported_its_wake_does_not_pass_it_on() {
    let word = AtomicU32::new(0);
    let [mut first, mut second] = [(); 2].map(|()| wait_async(&word, 0));
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, Waker::noop()).is_pending());
    assert_eq!(wake(&word, 1), 1);
    assert!(poll(&mut first, Waker::noop()).is_ready());
    drop(first);
    assert!(poll(&mut second, Waker::noop()).is_pending());
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("this waker always panics, and this is its message");
    }
}

#[test]
fn a_waker_that_panics_keeps_no_wake_from_those_behind() {
    let word = AtomicU32::new(0);
    let calls = Arc::new(Calls::default());
    let [mut first, mut second] = [(); 2].map(|()| wait_async(&word, 0));
    assert!(poll(&mut first, &Waker::from(Arc::new(Panics))).is_pending());
    assert!(poll(&mut second, &calls.waker()).is_pending());
    assert_eq!(wake_all(&word), 2);
    assert_eq!(calls.count(), 1);
    assert!(poll(&mut first, Waker::noop()).is_ready());
}

/// Panics when dropped, with another of these as often as it says.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 == 0 {
            panic!("this value always panics when dropped");
        }
        panic_any(Bomb(self.0 - 1));
    }
}

/// A waker that panics with a value that panics when dropped.
struct PanicsWith(u32);

impl Wake for PanicsWith {
    fn wake(self: Arc<Self>) {
        panic_any(Bomb(self.0));
    }
}

#[test]
fn what_a_waker_panics_with_keeps_no_wake_from_those_behind() {
    for deeper in 0..3 {
        bounded(move || {
            let word = kept(AtomicU32::new(0));
            let calls = Arc::new(Calls::default());
            let [mut first, mut second] = [(); 2].map(|()| wait_async(word, 0));
            assert!(poll(&mut first, &Waker::from(Arc::new(PanicsWith(deeper)))).is_pending());
            assert!(poll(&mut second, &calls.waker()).is_pending());
            let third = queued(word);
            assert_eq!(wake_all(word), 3);
            assert_eq!(calls.count(), 1);
            assert!(poll(&mut first, Waker::noop()).is_ready());
            assert!(poll(&mut second, Waker::noop()).is_ready());
            assert_eq!(third.join().unwrap(), Waited::Woken);
        });
    }
}

/// A future that is woken while its waker is cloned drops the clone, and with it the waker's own
/// drop may panic: the wake stays with the future, and goes on with it.
#[test]
fn a_clone_that_panics_when_dropped_keeps_no_wake() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    static WAKES: std::task::RawWakerVTable = std::task::RawWakerVTable::new(
        |_| {
            assert_eq!(wake(&WORD, 1), 1);
            std::task::RawWaker::new(std::ptr::null(), &DROP_PANICS)
        },
        |_| {},
        |_| {},
        |_| {},
    );
    static DROP_PANICS: std::task::RawWakerVTable = std::task::RawWakerVTable::new(
        |_| unreachable!("cloned once"),
        |_| {},
        |_| {},
        |_| panic!("this waker always panics when dropped"),
    );
    // SAFETY: the table's functions use no data.
    let waker = unsafe { Waker::new(std::ptr::null(), &WAKES) };
    let calls = Arc::new(Calls::default());
    let [mut first, mut second] = [(); 2].map(|()| wait_async(&WORD, 0));
    assert!(poll(&mut first, Waker::noop()).is_pending());
    assert!(poll(&mut second, &calls.waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut first, &waker))).is_err());
    drop(first);
    assert_eq!(calls.count(), 1);
    assert!(poll(&mut second, Waker::noop()).is_ready());
}

/// A waker's clone that panics leaves the future as it was.
#[test]
fn a_clone_that_panics_leaves_the_wait_in_place() {
    static PANICS: std::task::RawWakerVTable = std::task::RawWakerVTable::new(
        |_| panic!("this waker's clone always panics"),
        |_| {},
        |_| {},
        |_| {},
    );
    // SAFETY: the table's functions use no data.
    let waker = unsafe { Waker::new(std::ptr::null(), &PANICS) };
    let word = AtomicU32::new(0);
    let calls = Arc::new(Calls::default());
    let [mut fresh, mut queued] = [(); 2].map(|()| wait_async(&word, 0));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut fresh, &waker))).is_err());
    assert!(poll(&mut queued, &calls.waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut queued, &waker))).is_err());
    assert_eq!(wake(&word, 2), 1);
    assert_eq!(calls.count(), 1);
    assert!(poll(&mut queued, Waker::noop()).is_ready());
}

/// Drops the future that it wakes, as an executor does that has shut down.
struct DropsItsFuture(std::sync::Mutex<Option<WaitFuture<'static, AtomicU32>>>);

impl Wake for DropsItsFuture {
    fn wake(self: Arc<Self>) {
        let future = self.0.lock().unwrap().take();
        drop(future);
    }
}

/// What panics as it is dropped.
struct EndsInPanic;

impl Wake for EndsInPanic {
    fn wake(self: Arc<Self>) {}
}

impl Drop for EndsInPanic {
    fn drop(&mut self) {
        panic!("this drop always panics, and this is its message");
    }
}

/// The first waker drops the second future, between the choice of both and the second's
/// notification.
#[test]
fn a_waker_that_panics_as_it_is_dropped_keeps_no_wake_from_those_behind() {
    let word = kept(AtomicU32::new(0));
    let drops = Arc::new(DropsItsFuture(std::sync::Mutex::new(None)));
    let calls = Arc::new(Calls::default());
    let [mut first, mut second, mut third] = [(); 3].map(|()| wait_async(word, 0));
    assert!(poll(&mut first, &Waker::from(Arc::clone(&drops))).is_pending());
    assert!(poll(&mut second, &Waker::from(Arc::new(EndsInPanic))).is_pending());
    assert!(poll(&mut third, &calls.waker()).is_pending());
    *drops.0.lock().unwrap() = Some(second);
    let woken = std::panic::catch_unwind(|| wake_all(word));
    assert_eq!((woken.ok(), calls.count()), (Some(3), 1));
    assert!(poll(&mut first, Waker::noop()).is_ready());
    assert!(poll(&mut third, Waker::noop()).is_ready());
}

/// One wake goes from each to the next, tens of thousands of times, on one small stack.
#[test]
fn wakers_that_drop_their_futures_pass_a_wake_on_without_end() {
    const TASKS: usize = 50_000;
    let word = kept(AtomicU32::new(0));
    let wakers: Vec<_> =
        (0..TASKS).map(|_| Arc::new(DropsItsFuture(std::sync::Mutex::new(None)))).collect();
    for waker in &wakers {
        let mut future = wait_async(word, 0);
        assert!(poll(&mut future, &Waker::from(Arc::clone(waker))).is_pending());
        *waker.0.lock().unwrap() = Some(future);
    }
    let mut last = wait_async(word, 0);
    assert!(poll(&mut last, Waker::noop()).is_pending());
    assert_eq!(wake(word, 1), 1);
    assert!(poll(&mut last, Waker::noop()).is_ready());
}

/// The clone of this one's waker polls another future at the same word.
#[test]
fn a_wakers_clone_may_use_the_word() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    static TABLE: std::task::RawWakerVTable = std::task::RawWakerVTable::new(
        |_| {
            let mut other = wait_async(&WORD, 0);
            assert!(poll(&mut other, Waker::noop()).is_pending());
            std::task::RawWaker::new(std::ptr::null(), &TABLE)
        },
        |_| {},
        |_| {},
        |_| {},
    );
    bounded(|| {
        // SAFETY: the table's functions use no data.
        let waker = unsafe { Waker::new(std::ptr::null(), &TABLE) };
        let mut future = wait_async(&WORD, 0);
        assert!(poll(&mut future, Waker::noop()).is_pending());
        assert!(poll(&mut future, &waker).is_pending());
        assert_eq!(wake(&WORD, 1), 1);
        assert!(poll(&mut future, &waker).is_ready());
    });
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// An asynchronous lock on one word, from nothing but `wait_async`.
struct Lock(AtomicU32);

impl Lock {
    async fn lock(&self) {
        while self.0.swap(1, Ordering::Acquire) != 0 {
            wait_async(&self.0, 1).await;
        }
    }

    fn unlock(&self) {
        self.0.store(0, Ordering::Release);
        wake(&self.0, 1);
    }
}

/// Tasks contend for a lock; some give up at random moments. Were the wake of one that gave up
/// lost, the others would wait for ever.
#[test]
fn tasks_that_give_up_lose_no_wake() {
    bounded(|| {
        const TASKS: usize = 32;
        const ROUNDS: usize = 200;
        let lock = kept(Lock(AtomicU32::new(0)));
        let [inside, taken] = [(); 2].map(|()| kept(AtomicUsize::new(0)));
        let runtime = runtime();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                runtime.spawn(async move {
                    for round in 0..ROUNDS {
                        let patience = Duration::from_micros((task * 7 + round * 13) as u64 % 97);
                        let got = if task % 2 == 0 {
                            timeout(patience, lock.lock()).await.is_ok()
                        } else {
                            lock.lock().await;
                            true
                        };
                        if got {
                            assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                            if round % 8 == 0 {
                                tokio::task::yield_now().await;
                            }
                            inside.fetch_sub(1, Ordering::Relaxed);
                            taken.fetch_add(1, Ordering::Relaxed);
                            lock.unlock();
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert!(taken.load(Ordering::Relaxed) >= TASKS / 2 * ROUNDS);
        assert_eq!(wake_all(&lock.0), 0, "no waiter is left in the queue");
    });
}

#[test]
fn a_thread_and_a_task_hand_a_token_to_and_fro() {
    bounded(|| {
        const ROUNDS: u32 = 20_000;
        let token = kept(AtomicU32::new(0));
        let runtime = runtime();
        let task = runtime.spawn(async {
            for round in (0..ROUNDS).map(|round| round * 2) {
                while token.load(Ordering::Acquire) != round + 1 {
                    wait_async(token, round).await;
                }
                token.store(round + 2, Ordering::Release);
                wake(token, 1);
            }
        });
        for round in (0..ROUNDS).map(|round| round * 2) {
            token.store(round + 1, Ordering::Release);
            wake(token, 1);
            while token.load(Ordering::Acquire) == round + 1 {
                wait(token, round + 1, None);
            }
        }
        runtime.block_on(task).unwrap();
    });
}

/// Wakes at one word while other threads make, poll and drop futures: as many futures report a wake
/// as wakes were sent, since the wake of a dropped future goes to the next waiter.
#[test]
fn no_wake_is_lost_or_doubled_by_drops() {
    bounded(|| {
        let (word, stop) = (kept(AtomicU32::new(0)), kept(AtomicBool::new(false)));
        let pollers: Vec<_> = (1..=3usize)
            .map(|seed| {
                thread::spawn(move || {
                    let (mut random, mut reported) = (seed, 0);
                    while !stop.load(Ordering::Relaxed) {
                        let mut future = pin!(wait_async(word, 0));
                        for _ in 0..2 {
                            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                            let mut context = Context::from_waker(Waker::noop());
                            if future.as_mut().poll(&mut context).is_ready() {
                                reported += 1;
                                break;
                            }
                            if random >> 60 < 4 {
                                break;
                            }
                        }
                    }
                    reported
                })
            })
            .collect();
        // A thread that always waits takes the wakes that the others pass on.
        let last = thread::spawn(|| {
            let mut reported = 0;
            while wait(word, 0, None) != Waited::Mismatch {
                reported += 1;
            }
            reported
        });
        let mut sent = 0;
        while sent < 20_000 {
            sent += wake(word, 1);
        }
        stop.store(true, Ordering::Relaxed);
        let mut reported: usize = join_all(pollers).into_iter().sum();
        word.store(1, Ordering::Relaxed);
        sent += wake_all(word);
        reported += last.join().unwrap();
        assert!(reported <= sent, "{reported} of {sent}");
        // A wake is missing if it was passed on while no waiter was queued.
        assert!(reported > 0);
    });
}

#[test]
fn a_descriptor_polls_as_readable_once_woken() {
    bounded(|| {
        let word = AtomicU32::new(0);
        let mut wait = wait_fd(&word, 0).unwrap();
        let fd = wait.as_raw_fd();
        assert!(!becomes_readable(fd, 0) && !wait.is_woken());
        assert_eq!(wake(&word, 1), 1);
        assert!(becomes_readable(fd, 10_000) && wait.is_woken());
        drop(wait);
        assert_eq!(wake(&word, 1), 0);
        assert!(matches!(wait_fd(&word, 7), Err(WaitFdError::Mismatch)));
    });
}

#[test]
fn epoll_reports_the_word_that_was_woken() {
    bounded(|| {
        let words: Vec<_> = (0..8).map(|_| AtomicU32::new(0)).collect();
        let mut waits: Vec<WaitFd> = words.iter().map(|word| wait_fd(word, 0).unwrap()).collect();
        // SAFETY: makes a descriptor.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        for (index, wait) in waits.iter().enumerate() {
            let events = libc::EPOLLIN as u32;
            let mut event = libc::epoll_event { events, u64: index as u64 };
            // SAFETY: reads one event.
            let added = unsafe {
                libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, wait.as_raw_fd(), &mut event)
            };
            assert_eq!(added, 0);
        }
        assert_eq!(wake(&words[5], 1), 1);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: writes one event.
        assert_eq!(unsafe { libc::epoll_wait(epoll, &mut event, 1, 10_000) }, 1);
        assert_eq!({ event.u64 }, 5);
        assert!(waits[5].is_woken() && !waits[4].is_woken());
        // SAFETY: made above.
        unsafe { libc::close(epoll) };
    });
}

#[test]
fn a_reactor_waits_for_a_descriptor() {
    bounded(|| {
        let word = kept(AtomicU32::new(0));
        let runtime = runtime();
        let task = runtime.spawn(async {
            // SAFETY: the descriptor stays the same one until the wait is dropped.
            let mut fd = unsafe { AsyncFd::register(wait_fd(word, 0).unwrap()) }.unwrap();
            let ready = fd.readable_mut().await.map(|_| ());
            ready.unwrap();
            fd.get_mut().is_woken()
        });
        eventually("the task is woken", || wake(word, 1) == 1);
        assert!(runtime.block_on(task).unwrap());
    });
}

#[test]
fn a_closed_descriptor_passes_its_wake_on() {
    let word = AtomicU32::new(0);
    let [unasked, asked, mut last] = [(); 3].map(|()| wait_fd(&word, 0).unwrap());
    assert_eq!(wake(&word, 1), 1);
    drop(unasked);
    let mut asked = asked;
    assert!(asked.is_woken(), "the wake went on to the second");
    drop(asked);
    assert!(!last.is_woken(), "and stayed there");
}

#[test]
fn running_out_of_descriptors_is_an_error_and_leaves_no_waiter() {
    let word = AtomicU32::new(0);
    // In a process of its own: the limit is the process's.
    holds_in_a_child(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: reads one limit.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) };
        let refused = matches!(wait_fd(&word, 0), Err(WaitFdError::Os(error))
            if error.raw_os_error() == Some(libc::EMFILE));
        refused && wake(&word, 1) == 0
    });
}
