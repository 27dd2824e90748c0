//! One process's table, 80 columns wide.

use crate::contention::{Contention, Group, sentences, words};
use crate::lines::Lines;
use crate::record::entries::Spell;
use crate::symbols;

/// Locks that have a line, and locks with stacks below.
const LINES: usize = 20;
const STACKS: usize = 4;
/// The width of names.
const NAMES: usize = 21;

pub fn text(of: &mut Contention<'_>) -> String {
    let mut lines = Lines::default();
    lines.plain(&format!("furwock: {}", sentences::headline(of)));
    lines.plain(&sentences::verdict(of));
    if !of.locks.is_empty() {
        lines.empty();
        locks(of, &mut lines);
    }
    if !of.events.is_empty() {
        lines.empty();
        events(of, &mut lines);
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

fn locks(of: &Contention<'_>, lines: &mut Lines) {
    lines.row(&format!("{:NAMES$} {:26} {:>15} {:>15}", "", "", "waits      ", "holds      "));
    lines.row(&format!(
        "{:NAMES$} {:6} {:>5} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}",
        "lock", "kind", "ops", "cont.", "sleeps", "total", "longest", "total", "longest"
    ));
    let time = |ticks| words::time(of.part, ticks);
    for group in of.locks.iter().take(LINES) {
        // A hold that wasn't measured isn't 0.
        let held = |ticks| if group.figures.hold.count == 0 { "-".to_owned() } else { time(ticks) };
        lines.row(&format!(
            "{:NAMES$} {:6} {:>5} {:>6} {:>6} {:>7} {:>7} {:>7} {:>7}",
            words::fitted(&words::brief(&group.name), NAMES),
            words::kind(group.kind),
            words::count(group.figures.operations),
            words::percent(group.share()),
            words::count(group.figures.sleeps),
            time(group.figures.wait.total),
            time(group.figures.wait.longest),
            held(group.figures.hold.total),
            held(group.figures.hold.longest),
        ));
    }
    more(of.locks.len(), lines);
}

fn events(of: &Contention<'_>, lines: &mut Lines) {
    lines.row("Waits for events, which aren't contention:");
    lines.row(&format!(
        "{:28} {:10} {:>6} {:>6} {:>8} {:>8} {:>8}",
        "", "kind", "waits", "sleeps", "timeouts", "total", "longest"
    ));
    for group in of.events.iter().take(LINES) {
        lines.row(&format!(
            "{:28} {:10} {:>6} {:>6} {:>8} {:>8} {:>8}",
            words::fitted(&words::brief(&group.name), 28),
            words::kind(group.kind),
            words::count(group.figures.contended),
            words::count(group.figures.sleeps),
            words::count(group.figures.timeouts),
            words::time(of.part, group.figures.wait.total),
            words::time(of.part, group.figures.wait.longest),
        ));
    }
    more(of.events.len(), lines);
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
    if let Some(did) = sentences::holders_did(group) {
        lines.add("  ", "    ", &did);
    }
    stack(of, "longest wait", &wait, lines);
    stack(of, "longest hold", &hold, lines);
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
