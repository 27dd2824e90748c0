//! A process that has used nothing but futures, and forks. By itself: other tests would register the
//! fork handler for it.

mod common;

use common::bounded;
use furwock::futex::{Waited, wait_async, wake};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Poll, Waker};

fn poll(future: &mut (impl Future<Output = Waited> + Unpin)) -> Poll<Waited> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_child_forgets_its_parents_futures() {
    bounded(|| {
        let word = AtomicU32::new(0);
        let mut parents = wait_async(&word, 0);
        assert!(poll(&mut parents).is_pending());
        // SAFETY: the child calls only what furwock allows there, and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(parents);
            let mut own = wait_async(&word, 0);
            let good =
                poll(&mut own).is_pending() && wake(&word, 1) == 1 && poll(&mut own).is_ready();
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!good)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child made above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
        assert_eq!(wake(&word, 1), 1, "the parent's still waits");
    });
}
