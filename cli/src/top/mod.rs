//! `furwock top`: what a recorded program's locks cost at this moment.

mod rates;
mod screen;
mod terminal;
mod view;

use std::io::{IsTerminal, Write};
use std::thread;
use std::time::Duration;

use crate::args::TopArguments;
use crate::contention::words;
use crate::failure::Failure;
use crate::measuring::number::digits;
use crate::record;
use rates::{Look, Meter};

const INTERVAL: Duration = Duration::from_secs(1);
/// Locks that have a line at each interval.
const LINES: usize = 10;

pub fn top(arguments: &TopArguments) -> Result<i32, Failure> {
    let file = record::of_process(arguments.pid)?;
    let meter = Meter::new(file, arguments.pid);
    let interval = arguments.interval.unwrap_or(INTERVAL);
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
    if arguments.lines || is_dumb || !std::io::stdout().is_terminal() {
        return lines(meter, interval, arguments.count);
    }
    terminal::run(meter, interval)
}

/// A few lines at each interval, until the process ends or the reader goes.
fn lines(mut meter: Meter, interval: Duration, count: Option<u32>) -> Result<i32, Failure> {
    let mut left = count;
    meter.look()?;
    let mut head = format!(
        "  {:24} {:9} {:>8} {:>6} {:>8} {:>7} {:>5}\n",
        "lock", "kind", "ops/s", "cont.", "waits/s", "waiting", "now"
    );
    loop {
        thread::sleep(interval);
        let look = meter.look()?;
        let text = std::mem::take(&mut head) + &text(&look);
        if std::io::stdout().lock().write_all(text.as_bytes()).is_err() {
            return Ok(0);
        }
        left = left.map(|left| left - 1);
        if !look.is_running || left == Some(0) {
            return Ok(0);
        }
    }
}

/// 80 columns: the locks that threads waited for since the last look, the most costly first.
fn text(look: &Look) -> String {
    let mut text = format!("{}\n", look.head);
    let busy: Vec<_> = look.rows.iter().filter(|row| row.is_busy()).collect();
    if busy.is_empty() {
        text += "  no thread waited for a lock\n";
    }
    for row in busy.iter().take(LINES) {
        text += &format!(
            "  {:24} {:9} {:>8} {:>6} {:>8} {:>7} {:>5}\n",
            words::cell(&row.name, 24),
            words::kind(row.kind),
            rates::rate(row.operations),
            words::percent(row.share),
            rates::rate(row.waits),
            digits(row.waiting),
            row.waiters.len(),
        );
    }
    if busy.len() > LINES {
        text += &format!("  ... and {} more\n", busy.len() - LINES);
    }
    text
}
