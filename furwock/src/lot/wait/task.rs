//! Waiters that aren't threads: a future's task, and a file descriptor.
//!
//! Their nodes stand in the same queues. A waker that chose one calls the task's `Waker`, or writes
//! to the eventfd, where it would let a thread's parker go. The node isn't bound to a thread, and
//! its owner may lose interest at any moment: between the choice and the notification the parker's
//! state decides whose the node is (T-2).

use super::one::Place;
use crate::lot::bucket::{self, Locked};
use crate::lot::node::{self, ANY, Chosen, Key, NodeKind, Sink, Thread, Verdict, Waiter};
use crate::prim::checker_has_failed;
use crate::prim::mutant::{self, Mutant};
use crate::sys::{eventfd, fork, thread};
use core::ffi::c_int;
use core::task::Waker;

/// How a task queues: what it tells wakers of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stands {
    /// What a lock's word says of the owner, if the lock is handed to it.
    pub(crate) owner: u32,
    pub(crate) token: usize,
    pub(crate) place: Place,
    pub(crate) bitset: u32,
}

impl Stands {
    /// Behind the others, for any wake.
    pub(crate) const LAST: Self = Self { owner: 0, token: 0, place: Place::Back, bitset: ANY };
}

/// A queued task. Dropped, it leaves the queue; a wake that it got and didn't use goes on to the
/// next.
#[derive(Debug)]
pub(crate) struct TaskWait {
    /// `None` once the node is no longer the task's.
    thread: Option<&'static Thread>,
    /// The eventfd, if that is what is written to.
    fd: Option<c_int>,
    woken: bool,
    /// What the waker that chose it said, once it has been found chosen.
    verdict: Verdict,
    generation: u32,
}

impl TaskWait {
    /// Queues a node at `key`, in the bucket that `announce(key)` locked. `Err` gives the sink back
    /// when the kernel has no memory for a node.
    pub(crate) fn enqueue(
        locked: &mut Locked<'_>,
        node: TaskNode,
        key: Key,
        stands: Stands,
        sink: Sink,
    ) -> Self {
        let thread = node.take();
        let fd = match sink {
            Sink::Fd(fd) => Some(fd),
            Sink::Waker(_) => None,
        };
        // SAFETY: a spare node that isn't queued yet.
        unsafe {
            let kind = NodeKind::Task(thread);
            thread.waiter.prepare(stands.owner, stands.token, kind, stands.bitset, 0);
            thread.waiter.sink.replace(Some(sink));
            match stands.place {
                Place::Front => locked.push_front(&thread.waiter, key),
                Place::Back => locked.push_back(&thread.waiter, key),
            }
        }
        let (woken, verdict, generation) = (false, Verdict::WOKEN, fork::generation());
        Self { thread: Some(thread), fd, woken, verdict, generation }
    }

    /// The verdict if it was chosen, which is then its caller's to act on. Otherwise `waker` will
    /// be called. In a forked child a parent's was woken, and no more.
    pub(crate) fn poll_verdict(&mut self, waker: &Waker) -> Option<Verdict> {
        self.poll(waker).then_some(self.verdict)
    }

    /// Leaves the queue, or finds itself chosen: then the verdict is the caller's to act on, and no
    /// wake goes on by itself. `on_leave` is called under the lock of the bucket that it leaves
    /// unchosen, with whether it was the last at its address.
    pub(crate) fn leave(mut self, on_leave: impl FnOnce(bool)) -> Option<Verdict> {
        let waiter = self.waiter()?;
        if bucket::remove_if_queued_and(waiter, on_leave) {
            self.leave_unchosen(waiter);
            return None;
        }
        self.leave_chosen();
        Some(self.verdict)
    }

    /// Whether it was woken; if so, the wake is used. Otherwise `waker` will be called.
    pub(crate) fn poll(&mut self, waker: &Waker) -> bool {
        let Some(waiter) = self.waiter() else {
            self.woken = true;
            return true;
        };
        // A waker's clone and drop are foreign code: neither is called under the lock.
        let mut replacement = None;
        while !waiter.is_chosen() {
            let key = waiter.key();
            let locked = (key != Key::NOWHERE).then(|| bucket::lock(key));
            if locked.is_none() || waiter.key() != key {
                continue;
            }
            // SAFETY: queued, under its bucket's lock.
            unsafe {
                if waiter.sink.is_woken_by(waker) {
                    return false;
                }
                if replacement.is_some() {
                    let old = waiter.sink.replace(replacement.take());
                    drop(locked);
                    drop(old);
                    return false;
                }
            }
            drop(locked);
            replacement = Some(Sink::Waker(waker.clone()));
        }
        // Before the wake is used: if this panics, the wake is there for the next poll, or goes on.
        drop(replacement);
        self.woken = true;
        self.leave_chosen();
        true
    }

    /// Whether it was woken; if so, the wake is used.
    pub(crate) fn is_woken(&mut self) -> bool {
        self.woken |= self.waiter().is_none_or(Waiter::is_chosen);
        self.woken
    }

    /// Whether it is queued still, at `key`, and `look` has no objection under the bucket's lock.
    pub(crate) fn is_queued_and(&self, key: Key, look: impl FnOnce() -> bool) -> bool {
        let Some(waiter) = self.waiter().filter(|waiter| waiter.key() == key) else { return false };
        let _locked = bucket::lock(key);
        waiter.key() == key && look()
    }

    /// Ends the wait and keeps its descriptor, which is readable no more. A wake that it got is
    /// used. `Err` gives the wait back if the kernel has no descriptor for a forked child, whose is
    /// its parent's.
    pub(crate) fn into_fd(mut self) -> Result<c_int, (Self, i32)> {
        let Some(fd) = self.fd else { unreachable!("a descriptor's wait") };
        let Some(waiter) = self.waiter() else {
            return match eventfd::renew(fd) {
                Ok(()) => Ok(self.fd.take().unwrap_or(fd)),
                Err(errno) => Err((self, errno)),
            };
        };
        if bucket::remove_if_queued(waiter) {
            self.fd = None;
            self.leave_unchosen(waiter);
            return Ok(fd);
        }
        // The descriptor and the node are the waker's until it has notified, which it is about to.
        while !waiter.parker.is_notified() {
            thread::yield_now();
        }
        self.leave_chosen();
        self.fd = None;
        eventfd::drain(fd);
        Ok(fd)
    }

    pub(crate) fn fd(&self) -> Option<c_int> {
        self.fd
    }

    /// The node, unless it has gone: used up, or left behind by a fork.
    fn waiter(&self) -> Option<&'static Waiter> {
        self.thread.filter(|_| self.generation == fork::generation()).map(|thread| &thread.waiter)
    }

    /// Gives the chosen node up: to the pool if it has been notified, to the notifier if not.
    fn leave_chosen(&mut self) -> Option<Chosen> {
        let thread = self.thread.take()?;
        // SAFETY: chosen, which the acquiring load of the key has shown: complete (T-1).
        let chosen = unsafe {
            self.verdict = thread.waiter.verdict.get();
            thread.waiter.chosen.get()
        };
        if thread.waiter.parker.abandon() && !mutant::active(Mutant::TaskGivenBackByBoth) {
            // The notifier closes it.
            self.fd = None;
        } else {
            node::give_back(thread);
        }
        Some(chosen)
    }

    /// Gives back a node that was taken out of its queue unchosen.
    fn leave_unchosen(&mut self, waiter: &'static Waiter) {
        // SAFETY: in no queue any more, and never chosen: the owner's alone.
        let sink = unsafe { waiter.sink.replace(None) };
        if let Some(thread) = self.thread.take() {
            node::give_back(thread);
        }
        drop(sink);
    }
}

impl Drop for TaskWait {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        match self.waiter() {
            Some(waiter) if !bucket::remove_if_queued(waiter) => {
                let chosen = self.leave_chosen();
                let keeps = self.woken || mutant::active(Mutant::DroppedTaskKeepsWake);
                if let Some(chosen) = chosen.filter(|_| !keeps) {
                    pass_on(chosen);
                }
            }
            Some(waiter) => self.leave_unchosen(waiter),
            None => {}
        }
        if let Some(fd) = self.fd {
            eventfd::close(fd);
        }
    }
}

/// Wakes the next waiter instead of a task that was dropped.
fn pass_on(Chosen { key, bitset }: Chosen) {
    bucket::lock(key).choose_many(key, 1, bitset);
}

/// A node for a task, not yet queued.
pub(crate) struct TaskNode(Option<&'static Thread>);

impl TaskNode {
    /// `None` when the kernel has no memory.
    pub(crate) fn new() -> Option<Self> {
        node::spares(1).map(|thread| Self(Some(thread)))
    }

    fn take(mut self) -> &'static Thread {
        self.0.take().expect("a node is taken once, by value")
    }
}

impl Drop for TaskNode {
    fn drop(&mut self) {
        if let Some(thread) = self.0 {
            node::give_back(thread);
        }
    }
}
