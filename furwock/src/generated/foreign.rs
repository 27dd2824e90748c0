//! Waiters at an object's address that don't wait for the object: threads of other words that were
//! moved here, waits of what lay here before, futures that were leaked, registrations that are
//! idle.

use super::random::Random;
use crate::futex::{requeue_at, wait_at, wake_at};
use crate::lot::{self, Group, Key, Sink, TaskNode, TaskWait, Until};
use crate::prim::atomic::{AtomicU32, Ordering};
use shuttle::thread::{self, JoinHandle};
use std::sync::Arc;
use std::task::Waker;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// A thread that waits at the address, by futex(2) for example.
    Thread,
    /// A thread that waited at another word, from where it was moved.
    Moved,
    /// A future that was polled once and leaked.
    Future,
    /// A registration that isn't being waited on.
    Idle,
}

const KINDS: [Foreign; 4] = [Foreign::Thread, Foreign::Moved, Foreign::Future, Foreign::Idle];

/// Those that wait, until `leave`.
pub(super) struct Present {
    key: Key,
    other: Arc<Other>,
    threads: Vec<JoinHandle<()>>,
    tasks: Vec<TaskWait>,
    groups: Vec<Group>,
}

#[derive(Default)]
struct Other {
    word: AtomicU32,
    /// Whether the threads may end.
    over: AtomicU32,
}

impl Other {
    fn key(&self) -> Key {
        Key::word((&raw const self.word).addr())
    }
}

/// Has them wait at `address`.
pub(super) fn come(kinds: &[Foreign], address: *const ()) -> Present {
    let key = Key::word(address.addr());
    let mut present = Present {
        key,
        other: Arc::default(),
        threads: Vec::new(),
        tasks: Vec::new(),
        groups: Vec::new(),
    };
    for kind in kinds {
        match kind {
            Foreign::Thread => present.thread_at(key),
            Foreign::Moved => {
                let from = present.other.key();
                present.thread_at(from);
                assert_eq!(requeue_at(from, key, 0, 1).moved, 1);
            }
            Foreign::Future => {
                let mut bucket = lot::announce(key);
                let node = TaskNode::new().expect("a model has memory");
                let sink = Sink::Waker(Waker::noop().clone());
                let task = TaskWait::enqueue(&mut bucket, node, key, lot::Stands::LAST, sink);
                drop(bucket);
                present.tasks.push(task);
            }
            Foreign::Idle => present.groups.extend(Group::register([key].into_iter())),
        }
    }
    present
}

impl Present {
    /// Has a thread wait at `key`. Returns once it is queued.
    fn thread_at(&mut self, key: Key) {
        let other = Arc::clone(&self.other);
        self.threads.push(thread::spawn(move || {
            while other.over.load(Ordering::SeqCst) == 0 {
                let look = || if other.over.load(Ordering::SeqCst) == 0 { Ok(()) } else { Err(()) };
                _ = wait_at(key, look, Until::default(), lot::ANY);
            }
        }));
        while lot::is_empty(key) || !lot::lock(key).has(key) {
            thread::yield_now();
        }
    }

    /// Has them leave, wherever they wait.
    pub(super) fn leave(self) {
        self.other.over.store(1, Ordering::SeqCst);
        drop(self.tasks);
        drop(self.groups);
        wake_at(self.key, usize::MAX, lot::ANY);
        wake_at(self.other.key(), usize::MAX, lot::ANY);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// Which of them wait in a phase, if any.
pub(super) fn draw(random: &mut Random) -> Vec<Foreign> {
    if random.one_in(8) { random.list(1, 2, |random| random.pick(&KINDS)) } else { Vec::new() }
}

/// All that lack one of them.
pub(super) fn fewer(foreign: &[Foreign]) -> impl Iterator<Item = Vec<Foreign>> {
    (0..foreign.len()).map(|index| {
        let mut fewer = foreign.to_vec();
        fewer.remove(index);
        fewer
    })
}
