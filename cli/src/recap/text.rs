//! The report in sentences, for a terminal.

use crate::contention::chains::{Chain, chains};
use crate::contention::{Contention, sentences, words};
use crate::lines::Lines;
use crate::symbols;

/// Locks and chains that have a sentence each.
const LOCKS: usize = 10;
const CHAINS: usize = 5;

/// In lines of `width` letters.
pub fn text(all: &mut [Contention<'_>], width: usize) -> String {
    let mut lines = Lines::within(width);
    let quiet = all.iter().filter(|of| of.locks.is_empty()).count();
    let shown = (all.len() - quiet).max(1);
    for of in all.iter_mut().take(shown) {
        lines.empty();
        process(of, &mut lines);
    }
    if all.len() > shown {
        lines.empty();
        let more = words::plural((all.len() - shown) as u64, "process", "processes");
        lines.plain(&format!("{more} more, in which no thread waited for a lock"));
    }
    lines.into_text()
}

fn process(of: &mut Contention<'_>, lines: &mut Lines) {
    lines.plain(&format!("{}.", sentences::headline(of)));
    lines.plain(&sentences::verdict(of));
    let count = of.locks.len();
    if count > 0 {
        lines.empty();
    }
    for at in 0..count.min(LOCKS) {
        let sentence = sentences::lock(of, at);
        lines.add(&format!("{:2}. ", at + 1), "    ", &sentence);
        let mostly = mostly(of, at);
        mostly.iter().for_each(|place| lines.add("    ", "      ", place));
    }
    if count > LOCKS {
        lines.plain(&format!("... and {} more", count - LOCKS));
    }
    let chains = chains(of.part, CHAINS);
    if !chains.is_empty() {
        lines.empty();
        lines.plain("Holders that waited themselves:");
        for chain in &chains {
            lines.add("  - ", "    ", &sentence(of, chain));
        }
    }
    lines.empty();
    lines.plain(&sentences::whole(of));
    if let Some(lost) = sentences::lost(of) {
        lines.plain(&lost);
    }
}

/// Where most of a lock's waits come from.
fn mostly(of: &mut Contention<'_>, at: usize) -> Option<String> {
    let group = &of.locks[at];
    let (total, worst) = (group.figures.wait.total, *group.waits.first()?);
    let place = symbols::words::place(&of.code.stack(worst.stack))?;
    let share = words::percent(words::ratio(worst.total, total).min(1.0));
    Some(format!("{share} of it in {place}"))
}

/// "a (1) waited 12.0 ms for cache, held by b (2), which waited 4.00 ms of it for table".
pub fn sentence(of: &Contention<'_>, chain: &Chain<'_>) -> String {
    let part = of.part;
    let mut text = String::new();
    let mut before: Option<(u64, u64)> = None;
    for (at, wait) in chain.waits.iter().enumerate() {
        let span = (wait.began, wait.began.saturating_add(wait.took));
        let name = of.spoken(wait.lock);
        let thread = part.thread_name(wait.thread);
        match before {
            None => {
                let took = words::time(part, wait.took);
                text += &format!("{thread} waited {took} for {name}");
            }
            Some((from, to)) => {
                let shared = span.1.min(to).saturating_sub(span.0.max(from));
                let shared = words::time(part, shared);
                text += &format!(", held by {thread}, which waited {shared} of it for {name}");
            }
        }
        before = Some(before.map_or(span, |(from, to)| (from.max(span.0), to.min(span.1))));
        if at + 1 == chain.waits.len() && wait.holder != 0 {
            text += &format!(", held by {}", part.thread_name(wait.holder));
        }
    }
    text
}
