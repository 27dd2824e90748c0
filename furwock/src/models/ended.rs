//! What an ended thread left is seen as it left it (E-1).

use super::{explore, rejects};
use crate::lot::{Fate, Owner};
use crate::prim::CheckedCell;
use crate::prim::atomic::{AtomicBool, Ordering};
use crate::prim::mutant::Mutant;
use loom::thread;
use std::sync::Arc;

/// The kernel takes a thread off its lists after the thread's last instruction.
fn ends() {
    let node = Arc::new((Owner::none(), CheckedCell::new(0), AtomicBool::new(true)));
    let process = 1;
    node.0.set(Owner::collectable(process, 2));
    let ending = {
        let node = Arc::clone(&node);
        thread::spawn(move || {
            // SAFETY: the node is this thread's until it has ended.
            unsafe { node.1.set(7) };
            node.2.store(false, Ordering::Release);
        })
    };
    let exists = |_, _| node.2.load(Ordering::Relaxed);
    if node.0.fate(Owner::collectable(process, 3), exists) == Fate::Ended {
        // SAFETY: its thread has ended.
        assert_eq!(unsafe { node.1.get() }, 7);
    }
    ending.join().unwrap();
}

#[test]
fn what_a_thread_left_is_whole() {
    explore(3, ends);
}

#[test]
fn rejects_a_collector_without_its_fence() {
    rejects(Mutant::EndedWithoutFence, 3, ends);
}
