//! Rounds of futex words, which may leave waiters behind at their addresses.

use super::round::{Kind, Round, Seat};
use furwock::futex::{
    Expected, Registration, requeue, wait, wait_any, wait_async, wait_fd, wake_all,
};
use std::future::Future;
use std::mem::{self, MaybeUninit};
use std::os::fd::AsRawFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

pub(super) struct Words;

#[derive(Default)]
#[repr(C)]
pub(super) struct Pair {
    first: AtomicU32,
    second: AtomicU64,
}

impl Kind for Words {
    type Object = Pair;

    const NAME: &'static str = "words";

    fn make(at: &mut MaybeUninit<Self::Object>, _round: &Round) {
        at.write(Pair::default());
    }

    /// One thread changes the first word, and wakes; the others wait for that in all ways.
    fn meet(pair: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let Pair { first, second } = &*pair;
        if seat.number == 0 {
            if round.choice & 1 == 0 {
                requeue(first, second, 1, usize::MAX);
            }
            seat.dawdle();
            first.store(1, Ordering::Release);
            // (A wake of one might go to a waiter that was leaked here.)
            wake_all(first);
            wake_all(second);
            return;
        }
        let both = || vec![Expected::new(first, 0), Expected::new(second, 0)];
        let mut registration = (seat.random.below(6) == 0).then(|| Registration::new(both()));
        let way = seat.random.below(5);
        while first.load(Ordering::Acquire) == 0 {
            if let Some(registration) = &mut registration {
                registration.wait(None);
                continue;
            }
            match way {
                0 => _ = wait_any(&both(), None),
                1 => block_on(wait_async(first, 0)),
                2 => {
                    if let Ok(mut waits) = wait_fd(first, 0) {
                        let fd = waits.as_raw_fd();
                        let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                        // SAFETY: one entry.
                        unsafe { libc::poll(&mut entry, 1, -1) };
                        round.check(waits.is_woken(), "a descriptor is ready, and wasn't woken");
                    }
                }
                _ => _ = wait(first, 0, None),
            }
        }
    }

    fn end(pair: Pin<&Self::Object>, round: &Round, seat: &mut Seat) {
        let Pair { first, second } = &*pair;
        let left = wake_all(first) + wake_all(second);
        round.check(left == 0, "a waiter is left");
        // The objects that come to lie here have nothing to do with these waiters.
        match seat.random.below(16) {
            0 => leak_task(first),
            1 => mem::forget(Registration::new(vec![Expected::new(first, 1)])),
            _ => {}
        }
    }
}

/// Leaves a task's waiter in the queue for ever: a future that is never dropped.
fn leak_task(word: &AtomicU32) {
    let mut future = Box::pin(wait_async(word, word.load(Ordering::Relaxed)));
    let mut context = Context::from_waker(Waker::noop());
    let _ = future.as_mut().poll(&mut context);
    mem::forget(future);
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
}
