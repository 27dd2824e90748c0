//! Waits for locks whose holders waited themselves, from the last waits that the record keeps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::record::Part;
use crate::record::entries::Event;

/// Longer chains are cut off.
const LONGEST: usize = 8;

/// One wait, and what its holder waited for meanwhile, and so on.
#[derive(Debug)]
pub struct Chain<'p> {
    pub waits: Vec<&'p Event>,
    /// How much of the first wait the second one took, in ticks.
    pub overlap: u64,
}

/// The longest waits, at most `most`, where the holder waited too; by the pair of locks.
pub fn chains(part: &Part, most: usize) -> Vec<Chain<'_>> {
    let mut by_thread: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for event in &part.events {
        by_thread.entry(event.thread).or_default().push(event);
    }
    by_thread.values_mut().for_each(|events| events.sort_by_key(|event| event.began));
    let mut found: BTreeMap<(u32, u32), Chain<'_>> = BTreeMap::new();
    for event in &part.events {
        let chain = follow(event, &by_thread);
        let Some(second) = chain.waits.get(1) else { continue };
        let known = found.get(&(event.lock, second.lock));
        if known.is_none_or(|known| known.overlap < chain.overlap) {
            found.insert((event.lock, second.lock), chain);
        }
    }
    let mut chains: Vec<Chain<'_>> = found.into_values().collect();
    chains.sort_by_key(|chain| Reverse(chain.overlap));
    chains.truncate(most);
    chains
}

fn follow<'p>(first: &'p Event, by_thread: &BTreeMap<u32, Vec<&'p Event>>) -> Chain<'p> {
    let (mut waits, mut overlap) = (vec![first], 0);
    let (mut from, mut to) = span(first);
    let mut last = first;
    while waits.len() < LONGEST {
        let of_holder = by_thread.get(&last.holder).filter(|_| last.holder != 0);
        let Some(events) = of_holder else { break };
        // A thread's waits don't overlap: those that began before the end, from the last one back.
        let before = events.partition_point(|event| event.began < to);
        let shared = |event: &&&'p Event| {
            let (began, ended) = span(event);
            ended.min(to).saturating_sub(began.max(from))
        };
        let near = events[..before].iter().rev().take_while(|event| span(event).1 > from);
        let Some(next) = near.filter(|event| event.lock != last.lock).max_by_key(shared) else {
            break;
        };
        if waits.iter().any(|known| known.thread == next.thread) {
            break;
        }
        let (began, ended) = span(next);
        (from, to) = (from.max(began), to.min(ended));
        if waits.len() == 1 {
            overlap = to.saturating_sub(from);
        }
        waits.push(next);
        last = next;
    }
    Chain { waits, overlap }
}

fn span(event: &Event) -> (u64, u64) {
    (event.began, event.began.saturating_add(event.took))
}
