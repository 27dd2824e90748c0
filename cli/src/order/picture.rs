//! The findings for people.

use super::findings::{Finding, Findings, Kind};
use super::{Edge, Frame, Names, Order};
use crate::lines::{Lines, TIED};
use furwock_record::{HELD_READ, MANY_THREADS, TAKEN_READ, WAITED, WAKES};

/// Functions of a stack that are shown.
const FRAMES: usize = 8;
/// Findings that are shown with their stacks.
const SHOWN: usize = 20;

/// The report; empty if nothing was found and nothing has to be said.
pub fn text(found: &Findings, order: &Order, names: &dyn Names, width: usize) -> String {
    let mut picture = Picture { order, names, lines: Lines::within(width) };
    let (counting, hints): (Vec<_>, Vec<_>) =
        found.findings.iter().partition(|finding| finding.counts);
    for finding in counting.iter().take(SHOWN) {
        picture.finding(finding);
    }
    picture.more(counting.len(), "possible deadlock");
    for finding in hints.iter().take(SHOWN) {
        picture.finding(finding);
    }
    picture.more(hints.len(), "hint");
    picture.foot(found);
    picture.lines.into_text()
}

struct Picture<'o> {
    order: &'o Order,
    names: &'o dyn Names,
    lines: Lines,
}

impl Picture<'_> {
    fn finding(&mut self, finding: &Finding) {
        self.lines.empty();
        self.lines.plain(&head(finding));
        for (at, step) in finding.steps.iter().enumerate() {
            let closes = at + 1 == finding.steps.len() && at > 0;
            self.lines.empty();
            self.step(step, closes);
        }
        if finding.kind == Kind::ByPlace {
            self.lines.empty();
            self.lines.plain(
                "Locks that were made at one place count as one: no two threads are known to have \
                 done it with the same.",
            );
        }
        if finding.alike > 0 {
            self.lines.empty();
            let is_thread = |step: &Edge| {
                [step.held, step.taken].iter().any(|&at| self.order.locks[at].is_thread)
            };
            let (one, many) = if finding.steps.iter().any(is_thread) {
                ("thread", "threads")
            } else {
                ("group of locks", "groups of locks")
            };
            let more = match finding.alike {
                1 => format!("1 more {one}"),
                count => format!("{count} more {many}"),
            };
            self.lines.plain(&format!("The same code does this with {more}."));
        }
    }

    fn step(&mut self, step: &Edge, closes: bool) {
        let (held, taken) = (&self.order.locks[step.held].text, &self.order.locks[step.taken].text);
        let thread = self.thread(step);
        if step.is(WAKES) {
            if self.order.locks[step.held].is_thread {
                self.lines.plain(&format!("{held} took {taken}"));
                self.stack(step.taken_stack);
                self.lines.add("  ", "    ", "before it ended");
                return;
            }
            self.lines.plain(&format!("{thread} took {taken}"));
            self.stack(step.taken_stack);
            self.lines.add("  ", "    ", &format!("before it woke a waiter of {held}"));
            self.stack(step.held_stack);
            return;
        }
        let holding = if step.is(HELD_READ) { "read" } else { "held" };
        let taking = match (step.is(WAITED), step.is(TAKEN_READ)) {
            (true, _) => "waited for",
            (_, true) => "took, for reading,",
            _ => "took",
        };
        self.lines.plain(&format!("{thread} {holding} {held}"));
        self.stack(step.held_stack);
        let again = if closes { ", where the circle closes" } else { "" };
        self.lines.add("  ", "    ", &format!("and {taking} {taken}{again}"));
        self.stack(step.taken_stack);
        if !step.gates.is_empty() {
            let gates: Vec<&str> =
                step.gates.iter().map(|gate| &*self.order.locks[gate.lock].text).collect();
            self.lines.add("  ", "    ", &format!("while it held {} as well", gates.join(", ")));
        }
    }

    fn thread(&self, step: &Edge) -> String {
        let thread = self.names.thread(step.thread);
        if step.is(MANY_THREADS) { format!("{thread} and others") } else { thread }
    }

    fn stack(&mut self, number: u32) {
        let frames = self.names.stack(number);
        if number == 0 || frames.is_empty() {
            self.lines.add("      ", "        ", "at an unknown place");
            return;
        }
        for Frame { function, place } in frames.iter().take(FRAMES) {
            let function = function.replace(' ', &TIED.to_string());
            self.lines.add("      ", "        ", format!("{function}  {place}").trim_end());
        }
        if frames.len() > FRAMES {
            let more = frames.len() - FRAMES;
            self.lines.add("      ", "        ", &format!("... and {more} more"));
        }
    }

    fn more(&mut self, count: usize, what: &str) {
        if count > SHOWN {
            self.lines.empty();
            let more = count - SHOWN;
            let plural = if more == 1 { "" } else { "s" };
            self.lines.plain(&format!("{more} more {what}{plural}: --json has all."));
        }
    }

    fn foot(&mut self, found: &Findings) {
        for (name, count) in &found.suppressed {
            self.lines.empty();
            self.lines.plain(&format!("Suppressed by [{name}]: {count}"));
        }
        if found.is_cut {
            self.lines.empty();
            self.lines.plain("Not all circles were looked at: there are too many.");
        }
        if self.order.lost > 0 {
            self.lines.empty();
            let lost = self.order.lost;
            self.lines.plain(&format!(
                "{lost} entries found no room: there may be more that was not recorded."
            ));
        }
        if self.order.lost_stacks > 0 {
            self.lines.empty();
            let lost = self.order.lost_stacks;
            self.lines.plain(&format!("{lost} stacks found no room: their places are unknown."));
        }
    }
}

fn head(finding: &Finding) -> String {
    let count = finding.steps.len();
    match finding.kind {
        Kind::Itself => "POSSIBLE DEADLOCK: a thread takes a lock that it holds".to_owned(),
        Kind::Inversion => {
            format!("POSSIBLE DEADLOCK: {count} threads take {count} locks in different orders")
        }
        Kind::Wait => {
            "POSSIBLE DEADLOCK: a thread waits with a lock that those need which wake it".to_owned()
        }
        Kind::Join => {
            "POSSIBLE DEADLOCK: a thread joins another with a lock that the other takes".to_owned()
        }
        Kind::ByPlace => {
            let says = if finding.counts { "POSSIBLE DEADLOCK" } else { "HINT" };
            format!("{says}: locks of {} are taken in different orders", places(count))
        }
        Kind::HeldWhileWaiting => "HINT: a thread waits while it holds a lock".to_owned(),
    }
}

fn places(count: usize) -> String {
    if count == 1 { "one make".to_owned() } else { format!("{count} makes") }
}
