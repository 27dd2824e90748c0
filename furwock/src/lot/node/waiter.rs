//! One node in a queue: a thread's, one of several of a wait on many words, or a task's.

use super::claim::{Claim, Counts};
use super::gate::Gate;
use super::key::Key;
use super::parker::Parker;
use super::thread::Thread;
use crate::lot::wait::task;
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{self, CheckedCell};

/// What a waker tells the waiter it chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Its waker gave it the lock that it waits for.
    pub(crate) granted: Option<Granted>,
    /// The wake was claimed in a lock word's WAKE bit, which is now the waiter's to clear.
    pub(crate) holds_wake: bool,
    /// Nobody else waited at the address when it was chosen.
    pub(crate) was_last: bool,
}

/// What came with a choice, for a waiter that doesn't return from its wait: how to give it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    address: usize,
    /// Called with the address, by the waiter's thread, in its call on what lies there.
    give_back: unsafe fn(usize),
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl Eq for Granted {}

impl Verdict {
    pub(crate) const WOKEN: Verdict = Verdict { granted: None, holds_wake: false, was_last: false };

    /// Given the lock at `address`, which `give_back` releases again.
    pub(crate) fn granted(address: usize, give_back: unsafe fn(usize)) -> Verdict {
        Verdict { granted: Some(Granted { address, give_back }), ..Verdict::WOKEN }
    }

    /// Woken by a claim in a lock's word, which the waiter takes back.
    pub(crate) const CLAIMED: Verdict = Verdict { holds_wake: true, ..Verdict::WOKEN };
}

/// What a waiter owes beyond its place in the queue, if a signal handler leaves the wait for good: `settle`
/// is called with `address` on its way out. It holds no lock then, and its own call is not over: what lies
/// at `address` is still there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debt {
    pub(crate) settle: fn(usize, From),
    pub(crate) address: usize,
}

/// Where a waiter stood that leaves for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// In the queue that it had joined.
    Queue,
    /// In another, to which it had been moved.
    OtherQueue,
    /// In none: it had been chosen. What it had been given has been given back.
    Chosen,
}

/// Matches every waiter (futex(2): `FUTEX_BITSET_MATCH_ANY`).
pub(crate) const ANY: u32 = u32::MAX;

/// The bitset of those whom no wake reaches.
pub(in crate::lot) const NO_WAKE: u32 = 0;

/// What waits behind a node.
#[derive(Clone, Copy, Debug)]
pub(in crate::lot) enum Kind {
    /// The thread whose parker stands in the node.
    Thread,
    /// One of the nodes of a wait on many words, whose head has the claim and the parker.
    Member { head: &'static Waiter, index: u32, counts: Counts },
    /// A future or a file descriptor.
    Task(&'static Thread),
}

/// Where and by which bitset a node was chosen: for whoever has to pass the wake on.
#[derive(Clone, Copy, Debug)]
pub(in crate::lot) struct Chosen {
    pub(in crate::lot) key: Key,
    pub(in crate::lot) bitset: u32,
}

/// A node. Lives in type-stable memory: references to it are valid for ever, what it stands for is
/// not.
///
/// Fields marked (B) belong to whoever holds the lock of the bucket that the node is queued in.
/// Those marked (W) pass to the waker that chose it, and with its notification back to the thread.
///
/// In order of use: a cache line for whoever looks through the queue, one for whoever chooses and
/// notifies, and what few need.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Waiter {
    /// The address it is queued at; `Key::NOWHERE` when it isn't. Written under the bucket lock (when moved:
    /// under both); read by its owner to find the bucket.
    key: AtomicU64,
    /// (B) neighbours in the bucket's queue.
    pub(in crate::lot) next: CheckedCell<Option<&'static Waiter>>,
    pub(in crate::lot) previous: CheckedCell<Option<&'static Waiter>>,
    /// (B) what waits here.
    pub(in crate::lot) kind: CheckedCell<Kind>,
    /// (B) what the waiter wants a waker to know: a condvar's mutex, or 0.
    token: CheckedCell<usize>,
    /// (B) the wakes that it listens to.
    pub(in crate::lot) bitset: CheckedCell<u32>,
    /// (B) the kernel's id of its thread, for a lock word that names its owner.
    tid: CheckedCell<u32>,
    /// (B) its thread's real-time priority, 0 if it has none: who goes before whom.
    pub(in crate::lot) rank: CheckedCell<u32>,
    /// (B) the processor it last ran on, and how often a later one was preferred for its processor.
    pub(in crate::lot) cpu: CheckedCell<u32>,
    pub(in crate::lot) passed_by: CheckedCell<u32>,

    pub(in crate::lot) parker: Parker,
    /// Its owner's own note of where it queued itself, `Key::NOWHERE` once the wait is over.
    stands_at: AtomicU64,
    /// Its owner's, too: what it owes if it leaves the wait without returning from it.
    pub(in crate::lot) debt: CheckedCell<Option<Debt>>,
    /// Where those wait who came after it, until all are let go at once.
    pub(crate) gate: Gate,
    /// (W) what became of it. Complete once `key` is `Key::NOWHERE`.
    pub(in crate::lot) verdict: CheckedCell<Verdict>,
    /// (W) chosen waiters that this one has to notify on its way out, and the next in such a chain.
    pub(in crate::lot) heirs: CheckedCell<Option<&'static Waiter>>,
    pub(in crate::lot) next_chosen: CheckedCell<Option<&'static Waiter>>,
    /// (W) of a task: where it was chosen. Complete once `key` is `Key::NOWHERE`.
    pub(in crate::lot) chosen: CheckedCell<Chosen>,
    /// Of the head of a wait on many words: whether it can be chosen, and which member was.
    pub(in crate::lot) claim: Claim,

    /// (B) what to call or write to, of a task's node.
    pub(in crate::lot) sink: task::Cell,
}

impl Waiter {
    pub(in crate::lot) fn new() -> Self {
        Self {
            key: AtomicU64::new(Key::NOWHERE.to_bits()),
            kind: CheckedCell::new(Kind::Thread),
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
            heirs: CheckedCell::new(None),
            next_chosen: CheckedCell::new(None),
            parker: Parker::new(),
            stands_at: AtomicU64::new(Key::NOWHERE.to_bits()),
            debt: CheckedCell::new(None),
            gate: Gate::new(),
            claim: Claim::new(),
            sink: task::Cell::new(),
        }
    }

    /// One that goes when its wait ends: the type-stable memory has run out.
    pub(crate) fn for_one_wait() -> Self {
        Self { gate: Gate::for_one_wait(), ..Self::new() }
    }

    /// The address it waits at, `Key::NOWHERE` if none. Stable only under that address's bucket lock.
    #[inline]
    pub(crate) fn key(&self) -> Key {
        Key::from_bits(self.key.load(Ordering::Relaxed))
    }

    /// Whether it has been chosen; if so, `verdict` and `chosen` may be read (T-1).
    ///
    /// Only for the node's owner, who knows that it was queued.
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

    /// Tells whoever waits behind a chosen node. The last permitted touch.
    ///
    /// # Safety
    /// The caller chose the node, or was given it to notify; nobody has notified it.
    #[inline]
    pub(in crate::lot) unsafe fn notify(&'static self) {
        // SAFETY: not yet notified, so that the node's kind is stable.
        match unsafe { self.kind.get() } {
            Kind::Thread => self.parker.notify(),
            Kind::Member { head, .. } => head.parker.notify(),
            // SAFETY: by this function's contract.
            Kind::Task(thread) => unsafe { task::notify(thread) },
        }
    }

    /// The owner's note that it queued itself at `key`; under that bucket's lock.
    #[inline]
    pub(in crate::lot) fn stands_at(&self, key: Key) {
        self.stands_at.store(key.to_bits(), Ordering::Relaxed);
    }

    /// The owner's note that the wait is over: under the lock of the bucket that it left, or after it
    /// has been notified.
    #[inline]
    pub(crate) fn stands_nowhere(&self) {
        self.stands_at.store(Key::NOWHERE.to_bits(), Ordering::Relaxed);
    }

    /// Whether the owner's wait is over, as it has to be when the node is given back; sees to it where an
    /// unwind takes the node along, which is a cancellation's that a signal handler acted on, or an
    /// exception's that it threw. `false` if the node has to stay where it is.
    #[inline]
    pub(in crate::lot) fn has_left(&'static self) -> bool {
        self.stands_at.load(Ordering::Relaxed) == Key::NOWHERE.to_bits() || self.leave_unwound()
    }

    #[cfg(not(any(loom, shuttle)))]
    #[cold]
    fn leave_unwound(&'static self) -> bool {
        use crate::sys::{signals, thread};
        !thread::holds() && signals::closed(|| self.abandon())
    }

    /// Models don't unwind.
    #[cfg(any(loom, shuttle))]
    fn leave_unwound(&'static self) -> bool {
        unreachable!("a wait ended with its node queued")
    }

    /// Ends the wait of a thread that won't come back to it, and wakes all others that wait there. `false`
    /// if it has to stay as it is: others stand at its gate, or members of a wait on many words know it.
    #[cfg(not(any(loom, shuttle)))]
    pub(in crate::lot) fn abandon(&'static self) -> bool {
        let stood_at = Key::from_bits(self.stands_at.load(Ordering::Relaxed));
        if self.key() == Key::MANY {
            // Its members stay queued, and know it: wakers are to pass them by for good.
            self.claim.disarm();
            self.stands_at(Key::MANY);
            return false;
        }
        if stood_at == Key::NOWHERE {
            return true;
        }
        loop {
            let key = self.key();
            if self.is_chosen() {
                while !self.parker.is_notified() {
                    crate::sys::thread::yield_now();
                }
                // SAFETY: notified: the (W) fields are this thread's again.
                unsafe { crate::lot::bucket::wake_list::notify_heirs(self) };
                crate::lot::lock(stood_at).choose_many(stood_at, usize::MAX, ANY);
                // SAFETY: as above.
                if let Some(Granted { address, give_back }) = unsafe { self.verdict.get() }.granted
                {
                    // SAFETY: the thread is in its call on the lock that was granted, which it leaves.
                    unsafe { give_back(address) };
                }
                self.settle_debt(From::Chosen);
                break;
            }
            let mut locked = crate::lot::lock(key);
            if self.key() != key {
                continue;
            }
            // SAFETY: under the lock of the bucket that it is queued in.
            if unsafe { self.bitset.get() } == NO_WAKE {
                return false;
            }
            locked.remove(self);
            locked.choose_many(key, usize::MAX, ANY);
            drop(locked);
            self.settle_debt(if key == stood_at { From::Queue } else { From::OtherQueue });
            break;
        }
        self.stands_nowhere();
        true
    }

    #[cfg(not(any(loom, shuttle)))]
    fn settle_debt(&self, from: From) {
        // SAFETY: the owner's, which calls this.
        if let Some(debt) = unsafe { self.debt.replace(None) } {
            (debt.settle)(debt.address, from);
        }
    }

    /// Ends the wait that a signal handler interrupted to fork, if there is one: for the child its queue
    /// is gone, and whoever chose it but hasn't notified it.
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
            self.heirs.set(None);
        }
        self.parker.notify();
    }

    /// # Safety
    /// The caller's own node, not queued.
    #[inline]
    pub(in crate::lot) unsafe fn prepare(
        &self,
        tid: u32,
        token: usize,
        kind: Kind,
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
