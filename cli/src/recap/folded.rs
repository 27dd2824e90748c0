//! Stacks of waits with their time, a line each, as flame graph tools read them.

use std::fmt::Write as _;

use crate::contention::{Contention, Group, words};
use crate::symbols::{Stack, words::functions};

/// One stack, the outermost function first, the lock last; and its time in microseconds.
pub struct Line {
    pub frames: Vec<String>,
    pub microseconds: u64,
}

pub fn text(all: &mut [Contention<'_>]) -> String {
    let mut text = String::new();
    for of in all {
        for line in lines(of) {
            let plain = |frame: &String| frame.replace([';', '\n'], ":");
            let frames: Vec<String> = line.frames.iter().map(plain).collect();
            let _ = writeln!(text, "{} {}", frames.join(";"), line.microseconds);
        }
    }
    text
}

/// Waits for locks, beneath the process's name.
pub fn lines(of: &mut Contention<'_>) -> Vec<Line> {
    let root = format!("{} ({})", of.part.name(), of.part.pid);
    let mut lines = Vec::new();
    for at in 0..of.locks.len() {
        let group = &of.locks[at];
        let (last, sites) = (leaf(group), group.waits.clone());
        // What had no room for its own stack.
        let known = crate::contention::sum(sites.iter().map(|site| site.total));
        let rest = group.figures.wait.total.saturating_sub(known);
        for site in &sites {
            let stack = of.code.stack(site.stack);
            lines.push(line(of, &root, Some(&stack), &last, site.total));
        }
        lines.push(line(of, &root, None, &last, rest));
    }
    lines.retain(|line| line.microseconds > 0);
    lines
}

fn leaf(group: &Group) -> String {
    format!("[{} {}]", words::kind_in_full(group.kind), group.name)
}

fn line(of: &Contention<'_>, root: &str, stack: Option<&Stack>, last: &str, ticks: u64) -> Line {
    let mut frames = vec![root.to_owned()];
    match stack.map(functions).filter(|functions| !functions.is_empty()) {
        Some(functions) => frames.extend(functions.into_iter().rev()),
        None => frames.push("[unknown]".to_owned()),
    }
    frames.push(last.to_owned());
    Line { frames, microseconds: (of.part.seconds(ticks) * 1e6).round() as u64 }
}
