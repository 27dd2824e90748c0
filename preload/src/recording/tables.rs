//! The sections that all threads write: hash tables whose entries are claimed, filled and then
//! shown. A thread that finds an entry claimed and not yet shown goes on to the next one: two
//! entries may then stand for the same, and waits for neither. An object has one lock, though: what
//! claims it shows whose it is.

use super::part::{self, Lost, PROCESS, lost};
use super::{Kind, count, made};
use core::sync::atomic::{AtomicU64, Ordering};
use furwock_record::{ADDRESS, Event, FRAMES, Lock, Section, Sections, Site, Spell, Stack};

/// A section of which any part may be touched. Empty as long as the part hasn't grown.
pub(super) fn entries<T>(section: impl FnOnce(&Sections) -> &Section) -> &'static [T] {
    if part::is_grown() { part::entries(section) } else { &[] }
}

/// The entries that something with this hash may be at, in order.
pub(super) fn places<T>(
    section: &'static [T],
    hash: u64,
) -> impl Iterator<Item = (usize, &'static T)> {
    const LONGEST: usize = 64;
    let start = hash as usize % section.len().max(1);
    let (before, after) = section.split_at(start);
    let all = after.iter().zip(start..).chain(before.iter().zip(0..));
    all.map(|(entry, at)| (at, entry)).take(LONGEST)
}

pub(super) fn mix(value: u64) -> u64 {
    let mixed = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

/// The lock of an object, as in `Lock::object`, if it has an entry: the one that isn't destroyed,
/// or else the last.
pub(super) fn find(object: u64) -> Option<&'static Lock> {
    let mut found = None;
    for (_, lock) in of(object) {
        found = Some(lock);
        if !is_destroyed(lock) {
            break;
        }
    }
    found
}

/// Where locks at its address are, and their indices.
fn locks_from(object: u64) -> impl Iterator<Item = (usize, &'static Lock)> {
    places(entries::<Lock>(|sections| &sections.locks), mix(object & ADDRESS))
}

/// Its locks: the one that isn't destroyed, and those that lay there before.
fn of(object: u64) -> impl Iterator<Item = (usize, &'static Lock)> {
    locks_from(object)
        .map(|(at, lock)| (at, lock, lock.object.load(Ordering::Relaxed)))
        .take_while(|&(_, _, of)| of != 0)
        .filter(move |&(_, _, of)| of == object)
        .map(|(at, lock, _)| (at, lock))
}

fn is_destroyed(lock: &Lock) -> bool {
    lock.is_destroyed.load(Ordering::Relaxed) != 0
}

/// The index of the lock of the object that is at `address` now, if it has an entry.
pub(super) fn find_live(address: u64, kind: Kind) -> Option<u32> {
    let mut all = of(count::key(address as usize, kind));
    all.find(|(_, lock)| !is_destroyed(lock)).map(|(at, _)| at as u32)
}

/// The same; enters it if it has none.
pub(super) fn find_or_enter(address: u64, kind: Kind) -> Option<u32> {
    let (free, order) = (0, Ordering::Relaxed);
    let object = count::key(address as usize, kind);
    for (at, lock) in locks_from(object) {
        let mut known = lock.object.load(order);
        if known == free {
            match lock.object.compare_exchange(free, object, order, order) {
                Ok(_) => {
                    lock.made_by.store(made::by(address as usize, kind as u32), order);
                    part::part().changes.fetch_add(1, order);
                    return Some(at as u32);
                }
                Err(others) => known = others,
            }
        }
        if known == object && !is_destroyed(lock) {
            return Some(at as u32);
        }
    }
    lost(Lost::Lock);
    None
}

/// The lock at an index that `find_or_enter` has returned.
pub(super) fn lock(index: u32) -> Option<&'static Lock> {
    entries::<Lock>(|sections| &sections.locks).get(index as usize)
}

/// Whether that is the lock of `object` still, and not of one that lay there before.
pub(super) fn is_of(index: u32, object: usize) -> bool {
    lock(index).is_some_and(|lock| {
        lock.object.load(Ordering::Relaxed) & ADDRESS == object as u64 && !is_destroyed(lock)
    })
}

/// Notes that what lay at `object` is gone.
pub(super) fn mark_destroyed(object: usize, kind: Kind) {
    if !part::is_grown() {
        return;
    }
    if let Some(lock) = find_live(object as u64, kind).and_then(lock) {
        lock.is_destroyed.store(1, Ordering::Relaxed);
    }
}

/// Of a stack's frames; never 0.
pub(super) fn hash_of(frames: &[u64], is_cut: bool) -> u64 {
    frames.iter().fold(u64::from(is_cut) + 1, |hash, &frame| mix(hash ^ frame)) | 1
}

/// The index of the stack with these frames, innermost first; 0 if there is no room, or none.
pub(super) fn stack(frames: &[u64], is_cut: bool) -> u32 {
    let frames = &frames[..frames.len().min(FRAMES)];
    if frames.is_empty() {
        return 0;
    }
    let hash = hash_of(frames, is_cut);
    let section = entries::<Stack>(|sections| &sections.stacks);
    let same = |stack: &Stack| {
        stack.hash.load(Ordering::Acquire) == hash
            && stack.len.load(Ordering::Relaxed) as usize == frames.len()
            && stack.frames.iter().zip(frames).all(|(a, &b)| a.load(Ordering::Relaxed) == b)
    };
    let find_or_enter = |(at, stack): (usize, &Stack)| {
        if same(stack) {
            return Some(at as u32);
        }
        let (length, order) = (frames.len() as u32, Ordering::Relaxed);
        stack.len.compare_exchange(0, length, order, order).ok()?;
        for (to, &frame) in stack.frames.iter().zip(frames) {
            to.store(frame, Ordering::Relaxed);
        }
        stack.is_cut.store(is_cut.into(), Ordering::Relaxed);
        stack.hash.store(hash, Ordering::Release);
        Some(at as u32)
    };
    let (first, later) = section.split_at(part::first_stacks().min(section.len()));
    let mut in_first = places(first, hash >> 1).filter(|&(at, _)| at != 0);
    if let Some(at) = in_first.find_map(find_or_enter) {
        return at;
    }
    if !first.is_empty() && part::grow_stacks() {
        let in_later = places(later, hash >> 1).map(|(at, stack)| (first.len() + at, stack));
        if let Some(at) = { in_later }.find_map(find_or_enter) {
            return at;
        }
    }
    lost(Lost::Stack);
    0
}

/// Adds to the site of a lock with a stack.
pub(super) fn add_to_site(lock: u32, stack: u32, holds: u32, count: u64, total: u64, longest: u64) {
    let section = entries::<Site>(|sections| &sections.sites);
    let hash = mix(u64::from(lock) << 33 | u64::from(stack) << 1 | u64::from(holds));
    let add = |site: &Site| {
        site.count.fetch_add(count, Ordering::Relaxed);
        site.total.fetch_add(total, Ordering::Relaxed);
        site.longest.fetch_max(longest, Ordering::Relaxed);
    };
    for (_, site) in places(section, hash) {
        if site.lock.load(Ordering::Acquire) == lock + 1
            && site.stack.load(Ordering::Relaxed) == stack
            && site.holds.load(Ordering::Relaxed) == holds
        {
            return add(site);
        }
        let order = Ordering::Relaxed;
        if site.claimed.compare_exchange(0, 1, order, order).is_ok() {
            site.stack.store(stack, order);
            site.holds.store(holds, order);
            add(site);
            site.lock.store(lock + 1, Ordering::Release);
            return;
        }
    }
    lost(Lost::Site);
}

/// Times to add to a `Spell`.
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) longest: u64,
    pub(super) longest_began: u64,
    pub(super) stack: u32,
    pub(super) thread: u32,
}

/// Adds to a spell. (Two threads that have a longest each at the same time may mix them up.)
pub(super) fn add_to_spell(spell: &Spell, times: &Times) {
    spell.count.fetch_add(times.count, Ordering::Relaxed);
    spell.total.fetch_add(times.total, Ordering::Relaxed);
    if spell.longest.fetch_max(times.longest, Ordering::Relaxed) < times.longest {
        spell.longest_began.store(times.longest_began, Ordering::Relaxed);
        spell.longest_stack.store(times.stack, Ordering::Relaxed);
        spell.longest_thread.store(times.thread, Ordering::Relaxed);
    }
}

/// A wait that is over.
pub(super) struct Wait {
    pub(super) began: u64,
    pub(super) took: u64,
    pub(super) lock: u32,
    pub(super) stack: u32,
    pub(super) thread: u32,
    pub(super) holder: u32,
    pub(super) got: u32,
}

/// Enters an event.
pub(super) fn enter_event(wait: &Wait) {
    let events = entries::<Event>(|sections| &sections.events);
    if events.is_empty() {
        return;
    }
    let number = PROCESS.events.fetch_add(1, Ordering::Relaxed) + 1;
    let event = &events[(number - 1) as usize % events.len()];
    event.number.store(0, Ordering::Relaxed);
    core::sync::atomic::fence(Ordering::Release);
    let numbers: [(&AtomicU64, u64); 2] = [(&event.began, wait.began), (&event.took, wait.took)];
    for (to, value) in numbers {
        to.store(value, Ordering::Relaxed);
    }
    for (to, value) in [
        (&event.lock, wait.lock + 1),
        (&event.stack, wait.stack),
        (&event.thread, wait.thread),
        (&event.holder, wait.holder),
        (&event.got, wait.got),
    ] {
        to.store(value, Ordering::Relaxed);
    }
    event.number.store(number, Ordering::Release);
    part::part().changes.fetch_add(1, Ordering::Relaxed);
}
