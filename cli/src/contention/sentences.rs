//! What the figures say.

use super::{Contention, Group, words};
use crate::record::State;
use crate::symbols;

/// "bank (4711) ran for 2.00 s with 4 threads, ..."
pub fn headline(of: &Contention<'_>) -> String {
    let part = of.part;
    let length = words::time(part, part.length);
    let ran = match part.state {
        State::Running => format!("has run for {length}"),
        State::Ended => format!("ran for {length}"),
        State::Replaced => format!("ran for {length} and became another program"),
        State::Killed if part.length == 0 => "was killed".to_owned(),
        State::Killed => format!("ran for at least {length} and was killed"),
    };
    // A process that used no lock has no threads in its record.
    let threads = match part.threads.len() as u64 {
        0 => String::new(),
        count => format!(", with {}", words::plural(count, "thread", "threads")),
    };
    format!("{} ({}) {ran}{threads}", part.name(), part.pid)
}

/// What costs most, in one sentence.
pub fn verdict(of: &Contention<'_>) -> String {
    let waited = of.waited();
    let Some(worst) = of.locks.first().filter(|_| waited > 0) else {
        // A full disk or record may hide waits.
        let is_known = lost(of).is_none();
        let says = if is_known { "waited" } else { "is known to have waited" };
        return format!("No thread {says} for a lock.");
    };
    let share = words::percent(of.share(waited));
    let all = words::time(of.part, waited);
    let most = words::percent(words::ratio(worst.figures.wait.total, waited));
    format!(
        "Threads waited {all} for locks, {share} of their time; {most} of that for {}.",
        worst.called()
    )
}

/// One lock in a sentence.
pub fn lock(of: &mut Contention<'_>, at: usize) -> String {
    let group = &of.locks[at];
    let share = words::percent(of.share(group.figures.wait.total));
    let first = format!(
        "{}: {share} of thread time waits here ({} in {}, the longest {})",
        group.spoken(),
        words::time(of.part, group.figures.wait.total),
        words::plural(group.figures.contended, "wait", "waits"),
        words::time(of.part, group.figures.wait.longest),
    );
    let held = holder(of, at).map_or(String::new(), |holder| format!("; {holder}"));
    let did = holders_did(&of.locks[at]).map_or(String::new(), |did| format!("; {did}"));
    format!("{first}{held}{did}.")
}

/// "while others waited, its holders were writing a file (61.0 %) or running (35.0 %)": what takes
/// a tenth of the looks or more, of enough of them.
pub fn holders_did(group: &Group) -> Option<String> {
    const ENOUGH: u64 = 5;
    let did = group.figures.holder_did;
    let all = super::sum(did.iter().copied());
    if all < ENOUGH {
        return None;
    }
    let mut most: Vec<(u64, &str)> = did.into_iter().zip(words::DID).collect();
    most.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let say = |(count, words): &(u64, &str)| {
        format!("{words} ({})", words::percent(words::ratio(*count, all)))
    };
    let most = most.iter().filter(|(count, _)| count * 10 >= all).map(say);
    Some(format!("while others waited, its holders were {}", most.collect::<Vec<_>>().join(" or ")))
}

/// "held longest, for 8.00 ms, by worker (4713) in evict (cache.cc:88)".
pub fn holder(of: &mut Contention<'_>, at: usize) -> Option<String> {
    let hold = of.locks[at].figures.hold;
    if hold.longest == 0 {
        return None;
    }
    let place = symbols::words::place(&of.code.stack(hold.longest_stack));
    let place = place.map_or(String::new(), |place| format!(" in {place}"));
    let by = of.part.thread_name(hold.longest_thread);
    Some(format!("held longest, for {}, by {by}{place}", words::time(of.part, hold.longest)))
}

/// "stolen 40.0 %, spun 30.6 %".
pub fn endings(group: &Group) -> String {
    let endings = group.endings();
    let all = super::sum(endings.iter().map(|(_, count)| *count));
    let say = |(name, count): &(&str, u64)| {
        format!("{name} {}", words::percent(words::ratio(*count, all)))
    };
    endings.iter().map(say).collect::<Vec<_>>().join(", ")
}

/// The whole process in a line.
pub fn whole(of: &Contention<'_>) -> String {
    let part = of.part;
    let sleeps = super::sum(of.locks.iter().map(|group| group.figures.sleeps));
    let locks = of.locks.iter().map(|group| group.locks.len() as u64).sum();
    let is_contended = if locks == 1 { "was" } else { "were" };
    let events = match of.waited_for_events() {
        0 => String::new(),
        ticks => format!(", {} for condvars and the like", words::time(part, ticks)),
    };
    format!(
        "In all: {} operations; {} {is_contended} contended; {}; {} waited for locks{events}; {} \
         left to glibc.",
        words::count(of.operations()),
        words::plural(locks, "lock", "locks"),
        words::plural(sleeps, "sleep", "sleeps"),
        words::time(part, of.waited()),
        words::plural(part.left_to_glibc, "call", "calls"),
    )
}

/// What the record had no room for.
pub fn lost(of: &Contention<'_>) -> Option<String> {
    // In the order of the layout's sections; a ring loses nothing worth telling.
    let names = [
        ("lock", "locks"),
        ("thread", "threads"),
        ("stack", "stacks"),
        ("place", "places"),
        ("wait", "waits"),
        ("module", "modules"),
        ("pair of locks", "pairs of locks"),
    ];
    let lost = names.iter().zip(of.part.lost).filter(|(_, count)| *count > 0);
    let lost: Vec<String> =
        lost.map(|((one, many), count)| words::plural(count, one, many)).collect();
    (!lost.is_empty()).then(|| format!("The record had no room for {}.", lost.join(", ")))
}
