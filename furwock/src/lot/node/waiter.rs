//! One node in a queue: a thread's, one of several of a wait on many words, or a task's.

use super::claim::{Claim, Counts};
use super::ended::Owner;
use super::key::Key;
use super::parker::{Parker, Wakes};
use super::room::{Notes, Room};
use super::sink::SinkCell;
use super::verdict::{Debt, Verdict};
use crate::prim::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{self, CheckedCell};

/// Matches every waiter (futex(2): `FUTEX_BITSET_MATCH_ANY`).
pub(crate) const ANY: u32 = u32::MAX;

/// The bitset of waiters that no wake reaches.
pub(crate) const NO_WAKE: u32 = 0;

/// What waits behind a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeKind {
    /// The thread whose parker stands in the node.
    Thread,
    /// One of the nodes of a wait on many words, whose head has the claim and the parker.
    Member { head: &'static Waiter, index: u32, counts: Counts },
    /// A future or a file descriptor.
    Task(&'static Thread),
}

impl NodeKind {
    /// Whether what waits isn't a thread: when it will look is unknown.
    pub(in crate::lot) fn is_polled(self) -> bool {
        matches!(self, NodeKind::Task(_) | NodeKind::Member { counts: Counts::Polled, .. })
    }
}

/// Where and by which bitset a node was chosen: for a thread that has to pass the wake on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(in crate::lot) key: Key,
    pub(in crate::lot) bitset: u32,
}

/// A node. Lives in type-stable memory: references to it are valid for ever, what it stands for is
/// not.
///
/// Fields marked (B) belong to the holder of the lock of the bucket that the node is queued in.
/// Those marked (W) pass to the waker that chose it, and with its notification back to the thread.
///
/// In order of use: a cache line for walking the queue, one for choosing and notifying, and the
/// rarely used rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Waiter {
    /// The address it is queued at; `Key::NOWHERE` when it isn't. Written under the bucket lock
    /// (when moved: under both); read by its owner to find the bucket.
    key: AtomicU64,
    /// (B) neighbours in the bucket's queue.
    pub(in crate::lot) next: CheckedCell<Option<&'static Waiter>>,
    pub(in crate::lot) previous: CheckedCell<Option<&'static Waiter>>,
    /// (B) what waits here.
    pub(in crate::lot) kind: CheckedCell<NodeKind>,
    /// (B) what the waiter wants a waker to know: a condvar's mutex, the kind of a rwlock's waiter,
    /// or 0.
    token: CheckedCell<usize>,
    /// (B) the wakes that it listens to.
    pub(in crate::lot) bitset: CheckedCell<u32>,
    /// (B) the kernel's id of its thread, for a lock word that names its owner.
    tid: CheckedCell<u32>,
    /// (B) its thread's real-time priority, 0 if it has none: higher ranks go first.
    pub(in crate::lot) rank: CheckedCell<u32>,
    /// (B) the processor it last ran on, and how often a later one was preferred for its processor.
    pub(in crate::lot) cpu: CheckedCell<u32>,
    pub(in crate::lot) passed_by: CheckedCell<u32>,

    pub(in crate::lot) parker: Parker,
    /// Where its owner queued itself, as the owner notes; `Key::NOWHERE` once the wait is over.
    queued_at: AtomicU64,
    /// Its owner's, too: what it owes if it leaves the wait without returning from it.
    pub(in crate::lot) debt: CheckedCell<Option<Debt>>,
    /// Room for a lock's use, which the engine never writes.
    pub(crate) room: Room,
    /// (W) what became of it. Complete once `key` is `Key::NOWHERE`.
    pub(in crate::lot) verdict: CheckedCell<Verdict>,
    /// (W) chosen waiters that this one has to notify on its way out, and the next in such a chain.
    pub(in crate::lot) fan_out: CheckedCell<Option<&'static Waiter>>,
    pub(in crate::lot) next_chosen: CheckedCell<Option<&'static Waiter>>,
    /// (W) of a task: where it was chosen. Complete once `key` is `Key::NOWHERE`.
    pub(in crate::lot) chosen: CheckedCell<Chosen>,
    /// Of the head of a wait on many words: whether it can be chosen, and which member was.
    pub(in crate::lot) claim: Claim,

    /// (B) what to call or write to, of a task's node.
    pub(in crate::lot) sink: SinkCell,
}

impl Waiter {
    pub(crate) fn new() -> Self {
        Self {
            key: AtomicU64::new(Key::NOWHERE.to_bits()),
            kind: CheckedCell::new(NodeKind::Thread),
            bitset: CheckedCell::new(ANY),
            next: CheckedCell::new(None),
            previous: CheckedCell::new(None),
            token: CheckedCell::new(0),
            tid: CheckedCell::new(0),
            rank: CheckedCell::new(0),
            cpu: CheckedCell::new(0),
            passed_by: CheckedCell::new(0),
            verdict: CheckedCell::new(Verdict::WOKEN),
            chosen: CheckedCell::new(Chosen { key: Key::NOWHERE, bitset: 0 }),
            fan_out: CheckedCell::new(None),
            next_chosen: CheckedCell::new(None),
            parker: Parker::new(),
            queued_at: AtomicU64::new(Key::NOWHERE.to_bits()),
            debt: CheckedCell::new(None),
            room: Room::new(),
            claim: Claim::new(),
            sink: SinkCell::new(),
        }
    }

    /// The address it waits at, `Key::NOWHERE` if none. Stable only under that address's bucket
    /// lock.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        Key::from_bits(self.key.load(Ordering::Relaxed))
    }

    /// Whether it has been chosen; if so, `verdict` and `chosen` may be read (T-1).
    ///
    /// Only for the node's owner, which knows that it was queued.
    #[inline]
    pub(in crate::lot) fn is_chosen(&self) -> bool {
        self.key.load(Ordering::Acquire) == Key::NOWHERE.to_bits()
    }

    /// Releases what the waker wrote before it set the key to `Key::NOWHERE` (T-1).
    #[inline]
    pub(in crate::lot) fn set_key_locked(&self, key: Key) {
        let ordering = if mutant::active(Mutant::ChosenUnpublished) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        self.key.store(key.to_bits(), ordering);
    }

    /// The owner's note that it queued itself at `key`; under that bucket's lock.
    #[inline]
    pub(in crate::lot) fn set_queued_at(&self, key: Key) {
        self.queued_at.store(key.to_bits(), Ordering::Relaxed);
    }

    /// Where the owner queued itself, by its own note.
    #[inline]
    pub(in crate::lot) fn queued_at(&self) -> Key {
        Key::from_bits(self.queued_at.load(Ordering::Relaxed))
    }

    /// The owner's note that the wait is over: under the lock of the bucket that it left, or after
    /// it has been notified.
    #[inline]
    pub(crate) fn set_queued_nowhere(&self) {
        self.queued_at.store(Key::NOWHERE.to_bits(), Ordering::Relaxed);
    }

    /// Ends the wait that a signal handler interrupted to fork, if there is one: for the child its
    /// queue is gone, and so is a waker that chose it but hasn't notified it.
    ///
    /// # Safety
    /// The node's thread is the only one, in a forked child.
    #[cfg(not(any(loom, shuttle)))]
    pub(in crate::lot) unsafe fn end_wait_in_child(&self) {
        let chosen = self.key() == Key::NOWHERE;
        self.set_key_locked(Key::NOWHERE);
        // SAFETY: by this function's contract.
        unsafe {
            if !chosen {
                self.verdict.set(Verdict::WOKEN);
            }
            self.fan_out.set(None);
        }
        self.parker.notify(&mut Wakes::default());
    }

    /// # Safety
    /// The caller's own node, not queued.
    #[inline]
    pub(in crate::lot) unsafe fn prepare(
        &self,
        tid: u32,
        token: usize,
        kind: NodeKind,
        bitset: u32,
        rank: u32,
    ) {
        self.parker.prepare();
        // SAFETY: a node that isn't queued belongs to its owner.
        unsafe {
            self.kind.set(kind);
            self.bitset.set(bitset);
            self.tid.set(tid);
            self.rank.set(rank);
            self.cpu.set(prim::current_cpu());
            self.passed_by.set(0);
            self.token.set(token);
            self.debt.set(None);
        }
    }

    /// # Safety
    /// The caller holds the lock of the bucket that the node is queued in.
    #[inline]
    pub(in crate::lot) unsafe fn token_locked(&self) -> usize {
        // SAFETY: by this function's contract.
        unsafe { self.token.get() }
    }

    /// # Safety
    /// The caller holds the lock of the bucket that the node is queued in.
    #[inline]
    pub(in crate::lot) unsafe fn tid_locked(&self) -> u32 {
        // SAFETY: by this function's contract.
        unsafe { self.tid.get() }
    }
}

/// One thread's record. Lives in type-stable memory and serves another thread once this one has
/// ended.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Thread {
    pub(in crate::lot) waiter: Waiter,
    /// An address in the frame of the wait that the node serves, 0 if it serves none. A signal
    /// handler that waits meanwhile takes another.
    pub(super) frame: AtomicUsize,
    /// pthread's name for the thread, for others that want to interrupt it. A new thread may have
    /// the name of one that has ended, whose node hasn't been collected.
    pub(super) pthread: AtomicUsize,
    /// The thread. Of spare nodes: the thread whose wait it serves, which it is lent to.
    pub(in crate::lot) owner: Owner,
    /// What the thread's locks keep of it.
    pub(crate) notes: Notes,
    /// The pool's, under the pool's lock; a spare node's holder uses it too.
    pub(in crate::lot) next_free: CheckedCell<Option<&'static Thread>>,
}

/// Where in a [`Thread`] a reader in another process finds what it asks for.
#[cfg(not(any(loom, shuttle)))]
#[derive(Debug)]
pub(crate) struct ThreadLayout {
    /// The word that the thread sleeps on.
    pub(crate) parker: usize,
    /// The key that it is queued at.
    pub(crate) key: usize,
    pub(crate) token: usize,
    /// The kernel's id of the thread that waits.
    pub(crate) tid: usize,
}

#[cfg(not(any(loom, shuttle)))]
impl ThreadLayout {
    pub(crate) const OURS: Self = {
        let waiter = core::mem::offset_of!(Thread, waiter);
        Self {
            parker: waiter + core::mem::offset_of!(Waiter, parker) + Parker::WORD_AT,
            key: waiter + core::mem::offset_of!(Waiter, key),
            token: waiter + core::mem::offset_of!(Waiter, token),
            tid: waiter + core::mem::offset_of!(Waiter, tid),
        }
    };
}

impl Thread {
    pub(super) fn new() -> Self {
        Self {
            waiter: Waiter::new(),
            frame: AtomicUsize::new(0),
            pthread: AtomicUsize::new(0),
            owner: Owner::none(),
            notes: Notes::new(),
            next_free: CheckedCell::new(None),
        }
    }

    /// Notes whose wait a spare node serves, by pthread's name and thread id, for a child that a
    /// signal handler forks meanwhile.
    pub(in crate::lot) fn serve(&self, (pthread, tid): (usize, u32)) {
        self.pthread.store(pthread, Ordering::Relaxed);
        self.owner.lend(tid);
    }

    /// It serves no wait any more.
    pub(in crate::lot) fn stop_serving(&self) {
        self.serve((0, 0));
    }

    /// The caller's wait begins.
    #[inline]
    pub(in crate::lot) fn begin_wait(&self) {
        let here = 0_u8;
        self.frame.store(core::ptr::from_ref(&here).addr(), Ordering::Relaxed);
    }

    #[inline]
    pub(in crate::lot) fn end_wait(&self) {
        self.frame.store(0, Ordering::Relaxed);
    }

    /// An address in the frame of the wait that it serves.
    pub(in crate::lot) fn frame(&self) -> Option<usize> {
        let frame = self.frame.load(Ordering::Relaxed);
        (frame != 0).then_some(frame)
    }

    #[inline]
    pub(in crate::lot) fn is_waiting(&self) -> bool {
        self.frame.load(Ordering::Relaxed) != 0
    }
}
