//! A process that has used nothing but futures, and forks. This test is alone in its file: others
//! would register the fork handler for it.

mod common;
mod process;

use common::bounded;
use furwock::futex::{Waited, wait_async, wake};
use process::holds_in_a_child;
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
        let mut parents = Some(parents);
        holds_in_a_child(|| {
            drop(parents.take());
            let mut own = wait_async(&word, 0);
            poll(&mut own).is_pending() && wake(&word, 1) == 1 && poll(&mut own).is_ready()
        });
        assert_eq!(wake(&word, 1), 1, "the parent's still waits");
    });
}
