//! What locks cost a process, from its record: by locks or groups of them, worst first.

pub mod chains;
pub mod code;
mod group;
pub mod sentences;
pub mod words;

use std::cmp::Reverse;

use crate::record::entries::Thread;
use crate::record::{Part, State};
use code::{Code, Images};
pub use group::Group;

/// One process's record, with names.
pub struct Contention<'p> {
    pub part: &'p Part,
    pub code: Code<'p>,
    /// Contended locks, those that cost most time first.
    pub locks: Vec<Group>,
    /// Condvars, semaphores, barriers and futex words that were waited for.
    pub events: Vec<Group>,
}

impl<'p> Contention<'p> {
    pub fn of(part: &'p Part, images: &mut Images) -> Self {
        let mut code = Code::of(part, images);
        let mut groups = group::groups(part, &mut code);
        groups.sort_by_key(|group| {
            (Reverse(group.figures.wait.total), Reverse(group.figures.contended))
        });
        let (locks, events) = groups.into_iter().partition(|group| words::is_lock(group.kind));
        Self { part, code, locks, events }
    }

    /// How long threads waited for locks, in ticks.
    pub fn waited(&self) -> u64 {
        sum(self.locks.iter().map(|group| group.figures.wait.total))
    }

    pub fn waited_for_events(&self) -> u64 {
        sum(self.events.iter().map(|group| group.figures.wait.total))
    }

    /// The part of the threads' time, between 0 and 1. A thread counts from the process's beginning
    /// to its end, so this is a lower bound.
    pub fn share(&self, ticks: u64) -> f64 {
        let all = self.part.length as f64 * self.part.threads.len().max(1) as f64;
        if all > 0.0 { (ticks as f64 / all).min(1.0) } else { 0.0 }
    }

    /// What a lock of the record is called.
    pub fn name(&self, key: u32) -> String {
        self.group(key).map_or_else(|| format!("lock {key}"), |group| group.name.clone())
    }

    /// The same in a sentence.
    pub fn spoken(&self, key: u32) -> String {
        self.group(key).map_or_else(|| format!("lock {key}"), Group::spoken)
    }

    fn group(&self, key: u32) -> Option<&Group> {
        self.locks.iter().chain(&self.events).find(|group| group.locks.contains(&key))
    }

    /// Operations on all objects.
    pub fn operations(&self) -> u64 {
        let known = self.part.locks.values().map(|lock| lock.figures.operations);
        sum(known).saturating_add(self.part.other_operations)
    }

    /// Threads that wait for one of a group's objects now.
    pub fn waiters<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'p Thread> + 'a {
        let runs = self.part.state == State::Running;
        let threads = self.part.threads.iter().filter(move |_| runs);
        threads.filter(move |thread| {
            let is_its = |key| {
                let lock = self.part.locks.get(key);
                lock.is_some_and(|lock| !lock.is_destroyed && lock.address == thread.waits_for)
            };
            thread.waits_for != 0
                && thread.waits_kind == Some(group.kind)
                && group.locks.iter().any(is_its)
        })
    }
}

pub fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
