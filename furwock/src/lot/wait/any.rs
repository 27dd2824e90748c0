//! A wait on many words: one node a word, and one claim for them all.
//!
//! Each word's node (a *member*) is queued like a thread's, but a waker that wants to choose it has
//! to claim its *head* first: so one wake chooses one member, and a wake that comes second goes on
//! to the next waiter of its word (`claim`).
//!
//! Members are queued for one wait (`once`), or stay registered between waits (`register`), which
//! makes the next wait a store, a fence and a load for each word. No thread waits with those that
//! are polled (`register_polled`): a descriptor becomes readable.

use super::lease::{Node, node as own_node};
use crate::lot::bucket::{self, Locked, notify_fan_out};
use crate::lot::node::{
    self, ANY, Counts, Key, MOST_MEMBERS, NodeKind, Sink, Thread, Until, Waiter, Woke,
};
use crate::prim::mutant::{self, Mutant};
use crate::prim::{checker_has_failed, full_fence};
use crate::sys::fork;
use core::ffi::c_int;

/// How a wait on many words ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnyEnded<E> {
    /// A waker chose the member with this index. After a fork in a signal handler: any.
    Chosen(usize),
    /// What looked at the words said not to wait.
    Refused(E),
    TimedOut,
    Signalled,
}

/// Nodes for a wait on many words, given back when dropped.
pub(crate) struct Group {
    head: Head,
    /// Linked through `Thread::next_free`.
    members: Option<&'static Thread>,
    /// A wake that chose a member and wasn't taken goes on.
    is_polled: bool,
    generation: u32,
}

enum Head {
    /// The calling thread's own node, for one wait.
    Own(Node),
    Spare(&'static Thread),
}

impl Group {
    /// Waits once: queues a member at each word of `words` in turn, after `look` has agreed to its
    /// waiting there under the bucket's lock. With `each_counts`, wakes at several of them count
    /// each, and the highest is returned. `None` when the kernel has no memory for the nodes.
    pub(crate) fn once<E>(
        words: impl ExactSizeIterator<Item = Key>,
        mut look: impl FnMut(usize) -> Result<(), E>,
        each_counts: bool,
        until: Until<'_>,
    ) -> Option<AnyEnded<E>> {
        let counts = if each_counts { Counts::Each } else { Counts::Once };
        let group = Self::of(Head::Own(own_node()?), words.len())?;
        let head = group.head();
        // For a child forked by a signal handler during the wait: this thread is in one.
        head.set_key_locked(Key::MANY);
        group.arm();
        let mut refused = None;
        for (index, (member, key)) in group.members().zip(words).enumerate() {
            let mut locked = bucket::announce(key);
            if let Err(why) = look(index) {
                locked.retract();
                refused = Some(why);
                break;
            }
            group.enqueue(&mut locked, member, index, key, counts);
            drop(locked);
            if !head.claim.is_armed() {
                break;
            }
        }
        let mut ended = match refused {
            Some(why) => group.refuse(why),
            None => group.sleep(until),
        };
        head.set_key_locked(Key::NOWHERE);
        if let AnyEnded::Chosen(index) = &mut ended {
            // Wakes that come until the last member has left count, too.
            group.unqueue();
            *index = (*index).max(head.claim.highest());
        }
        Some(ended)
    }

    /// Queues a member at each word of `words`, to stay. `None` when the kernel has no memory.
    pub(crate) fn register(words: impl ExactSizeIterator<Item = Key>) -> Option<Self> {
        let group = Self::of(Head::Spare(node::spares(1)?), words.len())?;
        group.enqueue_all(words, Counts::Registered);
        Some(group)
    }

    /// The same for `arm` and `claimed`. If a descriptor is given, it becomes readable as a member
    /// is chosen; it stays the caller's, and open until the group has been dropped.
    pub(crate) fn register_polled(
        words: impl ExactSizeIterator<Item = Key>,
        fd: Option<c_int>,
    ) -> Option<Self> {
        let mut group = Self::of(Head::Spare(node::spares(1)?), words.len())?;
        group.is_polled = true;
        // SAFETY: no waker knows of the head yet.
        unsafe { group.head().sink.replace(fd.map(Sink::Fd)) };
        group.enqueue_all(words, Counts::Polled);
        Some(group)
    }

    fn enqueue_all(&self, words: impl ExactSizeIterator<Item = Key>, counts: Counts) {
        for (index, (member, key)) in self.members().zip(words).enumerate() {
            self.enqueue(&mut bucket::announce(key), member, index, key, counts);
        }
    }

    /// From here on a wake chooses a member, unless `look` finds a reason not to wait for that.
    /// The order is that of `wait`. The caller has asked `disarm` before.
    pub(crate) fn arm_unless<E>(
        &mut self,
        look: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), AnyEnded<E>> {
        self.arm();
        if !mutant::active(Mutant::ArmWithoutFence) {
            full_fence();
        }
        look().map_err(|why| match self.disarm() {
            None => AnyEnded::Refused(why),
            Some(index) => AnyEnded::Chosen(index),
        })
    }

    /// The member that was chosen, if one was. It is the caller's to act on, and no other will be
    /// until the group is armed again.
    pub(crate) fn take_chosen(&mut self) -> Option<usize> {
        if self.head().claim.is_armed() { None } else { self.disarm() }
    }

    /// No member will be chosen from here on. Returns the one that was, as `take_chosen` does.
    pub(crate) fn disarm(&mut self) -> Option<usize> {
        let claim = &self.head().claim;
        if claim.disarm() || claim.claimed_member().is_none() {
            return None;
        }
        // (A member that waits for its notification waits for a waker that has chosen it.)
        let AnyEnded::Chosen(index) = self.notification::<()>() else { return None };
        claim.end();
        Some(index)
    }

    /// Whether the members are queued where they were registered: not if one was requeued, and not
    /// in a forked child.
    pub(crate) fn is_in_place(&self) -> bool {
        self.generation == fork::generation() && !self.head().claim.has_moved()
    }

    /// Waits, with registered members, unless `look` finds a reason not to.
    ///
    /// ARMED, a full fence, and then the look at the words: against a waker's store, fence and look
    /// at the claim.
    pub(crate) fn wait<E>(
        &mut self,
        look: impl FnOnce() -> Result<(), E>,
        until: Until<'_>,
    ) -> AnyEnded<E> {
        // As the head of `once`.
        self.head().set_key_locked(Key::MANY);
        if let Head::Spare(thread) = &self.head {
            thread.serve(node::names());
        }
        self.arm();
        if !mutant::active(Mutant::ArmWithoutFence) {
            full_fence();
        }
        let ended = match look() {
            Err(why) => self.refuse(why),
            Ok(()) => self.sleep(until),
        };
        if let Head::Spare(thread) = &self.head {
            thread.stop_serving();
        }
        self.head().set_key_locked(Key::NOWHERE);
        ended
    }

    fn of(head: Head, count: usize) -> Option<Self> {
        // Complete before the members are asked for, so that dropping it gives the head back.
        let generation = fork::generation();
        let mut group = Self { head, members: None, is_polled: false, generation };
        if count > MOST_MEMBERS {
            return None;
        }
        if count != 0 {
            group.members = Some(node::spares(count)?);
        }
        Some(group)
    }

    fn head(&self) -> &'static Waiter {
        match &self.head {
            Head::Own(node) => node.waiter(),
            Head::Spare(thread) => &thread.waiter,
        }
    }

    fn members(&self) -> impl Iterator<Item = &'static Thread> + use<> {
        // SAFETY: the chain is the group's own.
        core::iter::successors(self.members, |member| unsafe { member.next_free.get() })
    }

    fn arm(&self) {
        let head = self.head();
        head.parker.prepare();
        head.claim.arm();
    }

    fn enqueue(
        &self,
        locked: &mut Locked<'_>,
        member: &'static Thread,
        index: usize,
        key: Key,
        counts: Counts,
    ) {
        let kind = NodeKind::Member { head: self.head(), index: index as u32, counts };
        // SAFETY: a spare node, not queued yet.
        unsafe {
            member.waiter.prepare(node::tid(), 0, kind, ANY, node::rank());
            locked.push_back(&member.waiter, key);
        }
    }

    fn sleep<E>(&self, until: Until<'_>) -> AnyEnded<E> {
        let head = self.head();
        match head.parker.sleep(until) {
            Woke::Notified => self.chosen(),
            Woke::TimedOut if head.claim.disarm() => AnyEnded::TimedOut,
            Woke::Signalled if head.claim.disarm() => AnyEnded::Signalled,
            _ => self.notification(),
        }
    }

    fn unqueue(&self) {
        if self.generation == fork::generation() {
            for member in self.members() {
                bucket::remove_if_queued(&member.waiter);
            }
        }
    }

    fn refuse<E>(&self, why: E) -> AnyEnded<E> {
        if self.head().claim.disarm() { AnyEnded::Refused(why) } else { self.notification() }
    }

    /// Claimed: the notification is on the way.
    fn notification<E>(&self) -> AnyEnded<E> {
        while self.head().parker.sleep(Until::default()) != Woke::Notified {}
        self.chosen()
    }

    fn chosen<E>(&self) -> AnyEnded<E> {
        let Some(index) = self.head().claim.claimed_member() else {
            return AnyEnded::Chosen(0);
        };
        if let Some(member) = self.members().nth(index) {
            // SAFETY: notified, once for this wait: the member's (W) fields are the owner's again.
            unsafe { notify_fan_out(&member.waiter) };
        }
        AnyEnded::Chosen(index)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if checker_has_failed() {
            return;
        }
        if self.generation != fork::generation() {
            self.head().claim.end();
            return;
        }
        let untaken = if self.is_polled { self.disarm() } else { None };
        self.head().claim.end();
        let untaken = untaken.and_then(|index| self.members().nth(index));
        let key = untaken.map(|member| member.waiter.key());
        self.unqueue();
        // No waker knows of the head any more.
        self.head().claim.reset();
        // SAFETY: as said.
        unsafe { self.head().sink.replace(None) };
        if let Some(key) = key.filter(|_| !mutant::active(Mutant::DroppedTaskKeepsWake)) {
            bucket::lock(key).choose_many(key, 1, ANY);
        }
        if let Some(members) = self.members {
            node::give_back(members);
        }
        if let Head::Spare(head) = self.head {
            node::give_back(head);
        }
    }
}
