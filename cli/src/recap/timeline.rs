//! The last waits as lanes, one for each thread.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::contention::{Contention, words};
use crate::record::entries::Event;
use crate::report::model::{Lane, Span, Timeline};

/// Locks with a colour of their own; the others share the last.
const COLOURS: usize = 5;
/// Threads that have a lane.
const LANES: usize = 32;
/// How finely time is divided.
const STEPS: usize = 500;

/// None if the record keeps no wait for a lock.
pub fn timeline(of: &Contention<'_>) -> Option<Timeline> {
    let part = of.part;
    let colours = colours(of);
    let events: Vec<&Event> =
        part.events.iter().filter(|event| colours.contains_key(&event.lock)).collect();
    let end = |event: &&&Event| event.began.saturating_add(event.took);
    let first = events.iter().map(|event| event.began).min()?;
    let last = events.iter().map(|event| end(&event)).max()?;
    let length = last.saturating_sub(first).max(1);
    let mut lanes: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for event in &events {
        lanes.entry(event.thread).or_default().push(event);
    }
    let total = |events: &[&Event]| crate::contention::sum(events.iter().map(|event| event.took));
    let mut lanes: Vec<(u32, Vec<&Event>)> = lanes.into_iter().collect();
    lanes.sort_by_key(|(_, events)| Reverse(total(events)));
    let more = lanes.len().saturating_sub(LANES);
    let lane = |(thread, events): (u32, Vec<&Event>)| Lane {
        name: part.thread_name(thread),
        spans: spans(&events, (first, length), &colours),
    };
    let at = |ticks: u64| words::time(part, ticks.saturating_sub(part.began));
    let mut notes = vec![
        "Filled: the thread waits for the lock of that colour; paler where it waits only a part of \
         the time."
            .to_owned(),
    ];
    let began = first.saturating_sub(part.began);
    if began > part.length / 10 {
        notes.push(format!("The record keeps the last waits only: those since {}.", at(first)));
    }
    if more > 0 {
        notes.push(format!("{more} more threads waited less."));
    }
    Some(Timeline {
        caption: "When threads waited for locks".to_owned(),
        key: key(of),
        lanes: lanes.into_iter().take(LANES).map(lane).collect(),
        ends: [at(first), at(last)],
        notes,
    })
}

/// The colour of each lock.
fn colours(of: &Contention<'_>) -> BTreeMap<u32, usize> {
    let groups = of.locks.iter().enumerate();
    let all = groups.flat_map(|(at, group)| group.locks.iter().map(move |key| (*key, at)));
    all.map(|(key, at)| (key, at.min(COLOURS))).collect()
}

fn key(of: &Contention<'_>) -> Vec<String> {
    let mut key: Vec<String> = of.locks.iter().take(COLOURS).map(|group| group.called()).collect();
    if of.locks.len() > COLOURS {
        key.push("others".to_owned());
    }
    key
}

/// Steps of time, each with the lock that took most of it; neighbours that are alike are one.
fn spans(
    events: &[&Event],
    (first, length): (u64, u64),
    colours: &BTreeMap<u32, usize>,
) -> Vec<Span> {
    let mut steps = vec![[0.0; COLOURS + 1]; STEPS];
    let place = |ticks: u64| ticks.saturating_sub(first) as f64 / length as f64 * STEPS as f64;
    for event in events {
        let colour = colours.get(&event.lock).copied().unwrap_or(COLOURS);
        let (from, to) = (place(event.began), place(event.began.saturating_add(event.took)));
        let (begin, end) = (from as usize, to.ceil() as usize);
        for (step, shares) in steps.iter_mut().enumerate().take(end).skip(begin) {
            let shared = to.min(step as f64 + 1.0) - from.max(step as f64);
            shares[colour] += shared.max(0.0);
        }
    }
    let mut spans: Vec<Span> = Vec::new();
    for (step, shares) in steps.iter().enumerate() {
        let all: f64 = shares.iter().sum();
        let most = (0..=COLOURS).max_by(|one, other| shares[*one].total_cmp(&shares[*other]));
        let Some(colour) = most.filter(|_| all > 0.0) else { continue };
        // A tenth is as fine as the eye sees.
        let fill = (all.min(1.0) * 10.0).ceil() / 10.0;
        let from = step as f64 / STEPS as f64;
        let share = 1.0 / STEPS as f64;
        match spans.last_mut() {
            Some(last)
                if last.colour == colour
                    && last.fill == fill
                    && from - (last.from + last.share) < share / 2.0 =>
            {
                last.share += share;
            }
            _ => spans.push(Span { from, share, fill, colour }),
        }
    }
    spans
}
