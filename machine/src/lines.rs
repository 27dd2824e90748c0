//! Cache lines: who has them, and what an access costs.
//!
//! A line is in one core's cache, which may write it, or in the caches of several, which may only
//! read it, or in memory. A core that lacks it asks for it. Requests for one line are served one
//! after another: each that moves the line keeps the next waiting until it is done, one that only
//! adds a reader for a shorter time, the directory's. (Boyd-Wickizer, Kaashoek, Morris and
//! Zeldovich, "Non-scalable locks are dangerous", 2012, find that this is what makes ticket locks
//! collapse.) A line on its way stays usable to the core that had it until the request gets there.

use crate::description::{Costs, Time};
use crate::random::Random;
use crate::topology::{Distance, ProcessorSet, Topology};
use std::collections::VecDeque;

/// What an access does to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Store,
    /// A read-modify-write, or an attempt at one.
    Rmw,
}

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Here,
    /// In another core's cache, at that distance.
    In(Distance),
    /// Here, but others, the farthest at that distance, had to give it up.
    Shared(Distance),
    Memory,
}

const NO_CORE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Holders {
    /// The core that may write it.
    owner: u16,
    /// Those that may read it, if none may write it.
    readers: ProcessorSet,
}

impl Holders {
    const NONE: Self = Self { owner: NO_CORE, readers: ProcessorSet::EMPTY };

    #[inline]
    fn may(&self, core: usize, access: Access) -> bool {
        self.owner == core as u16 || (access == Access::Read && self.readers.contains(core))
    }
}

#[derive(Debug)]
struct Line {
    /// Once all requests so far are served.
    held: Holders,
    /// When that is.
    free_at: Time,
    /// For each request that hasn't got to the line yet, the holders before it, and until when they
    /// are. In the order of time.
    leaving: VecDeque<(Holders, Time)>,
}

/// All lines that have been touched, numbered in the order of their first touch.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// Open addressing: line addresses plus one and numbers; 0 is a free place.
    places: Vec<(u64, u32)>,
    bits: u32,
}

impl Lines {
    pub(crate) fn new() -> Self {
        const BITS: u32 = 12;
        Self { lines: Vec::new(), places: vec![(0, 0); 1 << BITS], bits: BITS }
    }

    /// The number of the line at `address`.
    #[inline]
    pub(crate) fn number(&mut self, address: usize) -> u32 {
        let key = (address >> 6) as u64 + 1;
        let at = self.place(key);
        if self.places[at].0 == key { self.places[at].1 } else { self.add(key) }
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits)) as usize;
        while self.places[at].0 != key && self.places[at].0 != 0 {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    #[cold]
    fn add(&mut self, key: u64) -> u32 {
        if self.lines.len() * 2 >= self.places.len() {
            self.bits += 1;
            let old = std::mem::replace(&mut self.places, vec![(0, 0); 1 << self.bits]);
            for (key, number) in old.into_iter().filter(|place| place.0 != 0) {
                let at = self.place(key);
                self.places[at] = (key, number);
            }
        }
        let number = self.lines.len() as u32;
        let (held, leaving) = (Holders::NONE, VecDeque::new());
        self.lines.push(Line { held, free_at: 0, leaving });
        let at = self.place(key);
        self.places[at] = (key, number);
        number
    }

    /// Whether `core` may read the line until another access writes to it.
    pub(crate) fn stays_at(&mut self, number: u32, core: usize, now: Time) -> bool {
        let line = &mut self.lines[number as usize];
        while line.leaving.front().is_some_and(|(_, until)| *until <= now) {
            line.leaving.pop_front();
        }
        line.leaving.is_empty() && line.held.may(core, Access::Read)
    }

    /// `core` accesses a line now. Returns when that is done, and where it found the line.
    #[inline]
    pub(crate) fn access(
        &mut self,
        number: u32,
        core: usize,
        access: Access,
        now: Time,
        machine: (&Costs, &Topology, &mut Random),
    ) -> (Time, Found) {
        let (costs, topology, random) = machine;
        let line = &mut self.lines[number as usize];
        let own = match access {
            Access::Read => costs.hit,
            Access::Store => costs.store,
            Access::Rmw => costs.rmw,
        };
        if line.held.may(core, access) || line.is_still_at(core, access, now) {
            return (now + own, Found::Here);
        }
        line.request(core, access, own, now, (costs, topology, random))
    }
}

impl Line {
    /// Whether `core` may still access the line, though others have asked for it since.
    #[inline]
    fn is_still_at(&mut self, core: usize, access: Access, now: Time) -> bool {
        while let Some((holders, until)) = self.leaving.front() {
            if *until > now {
                return holders.may(core, access);
            }
            self.leaving.pop_front();
        }
        false
    }

    fn request(
        &mut self,
        core: usize,
        access: Access,
        own: Time,
        now: Time,
        (costs, topology, random): (&Costs, &Topology, &mut Random),
    ) -> (Time, Found) {
        let Holders { owner, mut readers } = self.held;
        let was_reader = readers.contains(core);
        readers.remove(core);
        let found = if owner != NO_CORE {
            Found::In(topology.core_distance(core, owner as usize))
        } else if readers.is_empty() {
            if was_reader { Found::Here } else { Found::Memory }
        } else if was_reader {
            Found::Shared(topology.farthest(core, &readers))
        } else if access == Access::Read {
            Found::In(topology.nearest(core, &readers))
        } else {
            Found::In(topology.farthest(core, &readers))
        };
        let cost = match found {
            Found::Here => own,
            Found::Memory => costs.memory,
            Found::Shared(distance) => costs.upgrade[distance as usize],
            Found::In(distance) if access == Access::Read => costs.read[distance as usize],
            Found::In(distance) => costs.write[distance as usize],
        };
        let cost = random.about(cost, costs.jitter);
        let start = now.max(self.free_at);
        if access != Access::Read || owner != NO_CORE {
            let takes = (cost as f64 * costs.leave) as Time;
            // Where a request waits for the line already, it goes soon after it has come. (If it
            // were always equally soon, cores would stay in step.)
            let takes = if start > now { takes.min(random.about(costs.hold, 1.0)) } else { takes };
            self.leaving.push_back((self.held, start + takes));
        }
        let end = start + cost;
        if access != Access::Read || found == Found::Memory {
            self.held = Holders { owner: core as u16, readers: ProcessorSet::EMPTY };
            self.free_at = end;
        } else if owner != NO_CORE {
            self.held = Holders { owner: NO_CORE, readers };
            self.held.readers.insert(owner as usize);
            self.held.readers.insert(core);
            self.free_at = end;
        } else {
            self.held.readers.insert(core);
            self.free_at = start + costs.serve.min(cost);
        }
        (end, found)
    }
}

#[cfg(test)]
mod tests;
