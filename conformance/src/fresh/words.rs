//! Rounds of futex words, and waiters that are left at their addresses.

use super::round::{Kind, Round, Seat};
use furwock::futex::{
    Expected, Registration, requeue, wait, wait_any, wait_async, wait_fd, wake_all,
};
use std::alloc::Layout;
use std::future::Future;
use std::mem;
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

pub(super) struct Words;

#[derive(Default)]
#[repr(C)]
struct Pair {
    first: AtomicU32,
    second: AtomicU64,
}

/// # Safety
/// There is one.
unsafe fn pair<'a>(at: *mut u8) -> &'a Pair {
    // SAFETY: by the caller's promise.
    unsafe { &*at.cast() }
}

impl Kind for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn layout(&self) -> Layout {
        Layout::new::<Pair>()
    }

    unsafe fn make(&self, at: *mut u8, _round: &Round) {
        // SAFETY: by the caller's promise.
        unsafe { at.cast::<Pair>().write(Pair::default()) };
    }

    /// One changes the first word, and wakes; the others wait for that in all ways.
    unsafe fn meet(&self, at: *mut u8, round: &Round, seat: &mut Seat) {
        // SAFETY: by the caller's promise.
        let Pair { first, second } = unsafe { pair(at) };
        if seat.number == 0 {
            if round.choice & 1 == 0 {
                requeue(first, second, 1, usize::MAX);
            }
            seat.dawdle();
            first.store(1, Ordering::Release);
            // (Wakes of one might go to waiters that were leaked here.)
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

    unsafe fn end(&self, at: *mut u8, round: &Round, seat: &mut Seat) -> bool {
        // SAFETY: by the caller's promise.
        let Pair { first, second } = unsafe { pair(at) };
        let left = wake_all(first) + wake_all(second);
        round.check(left == 0, "somebody still waits");
        // What comes to lie here has nothing to do with these.
        match seat.random.below(16) {
            0 => leak_task(first),
            1 => mem::forget(Registration::new(vec![Expected::new(first, 1)])),
            _ => {}
        }
        false
    }
}

/// Leaves a task's waiter in the queue for ever: a future that nobody drops.
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
