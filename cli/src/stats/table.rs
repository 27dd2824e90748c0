//! One process's table, 80 columns wide, or as narrow as the terminal: then with fewer columns.

mod columns;

use crate::contention::{Contention, Group, sentences, words};
use crate::lines::Lines;
use crate::record::entries::Spell;
use crate::symbols;
use columns::{Column, Columns};

/// Locks that have a line, and locks with stacks below.
const LINES: usize = 20;
const STACKS: usize = 4;

/// In lines of at most `width` letters.
pub fn text(of: &mut Contention<'_>, width: usize) -> String {
    let mut lines = Lines::within(width);
    lines.plain(&format!("furwock: {}", sentences::headline(of)));
    lines.plain(&sentences::verdict(of));
    if !of.locks.is_empty() {
        lines.empty();
        locks(of, &mut lines, width);
    }
    if !of.events.is_empty() {
        lines.empty();
        events(of, &mut lines, width);
    }
    for at in 0..of.locks.len().min(STACKS) {
        lines.empty();
        details(of, at, &mut lines);
    }
    lines.empty();
    lines.plain(&sentences::whole(of));
    if let Some(lost) = sentences::lost(of) {
        lines.plain(&lost);
    }
    lines.into_text()
}

/// What a lock costs stays longest where there is less room.
const LOCKS: [Column; 8] = [
    Column { title: "kind", of: "", width: 6, rank: 7 },
    Column { title: "ops", of: "", width: 5, rank: 5 },
    Column { title: "cont.", of: "", width: 6, rank: 3 },
    Column { title: "sleeps", of: "", width: 6, rank: 6 },
    Column { title: "total", of: "waits", width: 7, rank: 0 },
    Column { title: "longest", of: "waits", width: 7, rank: 1 },
    Column { title: "total", of: "holds", width: 7, rank: 4 },
    Column { title: "longest", of: "holds", width: 7, rank: 2 },
];

fn locks(of: &Contention<'_>, lines: &mut Lines, width: usize) {
    let columns = Columns::fitting(&LOCKS, 21, width);
    lines.row(&columns.groups());
    lines.row(&columns.titles("lock"));
    let time = |ticks| words::time(of.part, ticks);
    for group in of.locks.iter().take(LINES) {
        // A hold that wasn't measured isn't 0.
        let held = |ticks| if group.figures.hold.count == 0 { "-".to_owned() } else { time(ticks) };
        let name = name(group, columns.names, lines, width);
        let cells = [
            words::kind(group.kind).to_owned(),
            words::count(group.figures.operations),
            words::percent(group.share()),
            words::count(group.figures.sleeps),
            time(group.figures.wait.total),
            time(group.figures.wait.longest),
            held(group.figures.hold.total),
            held(group.figures.hold.longest),
        ];
        lines.row(&columns.row(&name, &cells));
    }
    more(of.locks.len(), lines);
}

const EVENTS: [Column; 6] = [
    Column { title: "kind", of: "", width: 10, rank: 3 },
    Column { title: "waits", of: "", width: 6, rank: 0 },
    Column { title: "sleeps", of: "", width: 6, rank: 5 },
    Column { title: "timeouts", of: "", width: 8, rank: 4 },
    Column { title: "total", of: "", width: 8, rank: 1 },
    Column { title: "longest", of: "", width: 8, rank: 2 },
];

fn events(of: &Contention<'_>, lines: &mut Lines, width: usize) {
    let columns = Columns::fitting(&EVENTS, 28, width);
    lines.plain("Waits for events, which aren't contention:");
    lines.row(&columns.titles(""));
    for group in of.events.iter().take(LINES) {
        let name = name(group, columns.names, lines, width);
        let cells = [
            words::kind(group.kind).to_owned(),
            words::count(group.figures.contended),
            words::count(group.figures.sleeps),
            words::count(group.figures.timeouts),
            words::time(of.part, group.figures.wait.total),
            words::time(of.part, group.figures.wait.longest),
        ];
        lines.row(&columns.row(&name, &cells));
    }
    more(of.events.len(), lines);
}

/// A lock's name in its cell. One that has no room there gets a line of its own.
fn name(group: &Group, room: usize, lines: &mut Lines, width: usize) -> String {
    let name = words::brief(&group.name);
    if name.chars().count() <= room {
        return name;
    }
    lines.row(&words::fitted(&words::brief(&group.called()), width));
    String::new()
}

fn more(count: usize, lines: &mut Lines) {
    if count > LINES {
        lines.row(&format!("... and {} more", count - LINES));
    }
}

/// Where a lock was made, how it was got, and the stacks of its longest wait and hold.
fn details(of: &mut Contention<'_>, at: usize, lines: &mut Lines) {
    let group = &of.locks[at];
    let (wait, hold) = (group.figures.wait, group.figures.hold);
    lines.plain(&format!("{}{}", group.called(), whereabouts(group)));
    let waits = words::plural(group.figures.contended, "wait", "waits");
    lines.add("  ", "    ", &format!("{waits}: {}", sentences::endings(group)));
    if let Some(worst) = worst(of, at) {
        lines.add("  ", "    ", &worst);
    }
    if let Some(did) = sentences::holders_did(group) {
        lines.add("  ", "    ", &did);
    }
    stack(of, "longest wait", &wait, lines);
    stack(of, "longest hold", &hold, lines);
}

/// Which of several threads waited for most.
fn worst(of: &Contention<'_>, at: usize) -> Option<String> {
    let group = &of.locks[at];
    let (address, waited) = group.worst.filter(|_| group.locks.len() > 1)?;
    let share = words::percent(words::ratio(waited, group.figures.wait.total));
    Some(format!("{share} of the waiting was for one of them, at {address:#x}"))
}

fn whereabouts(group: &Group) -> String {
    let address =
        group.address.map(|at| format!(" at {at:#x}")).filter(|at| !at.ends_with(&group.name));
    let made = group.made.as_ref().filter(|made| !group.name.contains(*made));
    let made = made.map_or(String::new(), |made| format!(", made in {made}"));
    format!("{}{made}", address.unwrap_or_default())
}

fn stack(of: &mut Contention<'_>, what: &str, spell: &Spell, lines: &mut Lines) {
    if spell.longest == 0 {
        return;
    }
    let stack = of.code.stack(spell.longest_stack);
    let (time, by) =
        (words::time(of.part, spell.longest), of.part.thread_name(spell.longest_thread));
    let when = words::time(of.part, spell.longest_began.saturating_sub(of.part.began));
    lines.add("  ", "    ", &format!("{what}: {time}, by {by}, {when} after the start"));
    for line in symbols::words::stack(&stack) {
        lines.add("    ", "      ", &line);
    }
}
