//! The terminal: looks at intervals, keys between them. It is restored at every end: ratatui does
//! so in a panic, and signals end the loop.

use std::io;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::rates::{Look, Meter};
use super::screen;
use super::view::{Next, View};
use crate::failure::{Failure, STATUS_FAILED};
use crate::signals::Signals;

const TAKEN: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// How soon a signal is seen.
const TICK: Duration = Duration::from_millis(100);

pub fn run(mut meter: Meter, interval: Duration) -> Result<i32, Failure> {
    let look = meter.look()?;
    let signals = Signals::take(TAKEN);
    let mut terminal = ratatui::try_init().map_err(|error| failed(&error))?;
    let ended = watch(&mut terminal, meter, look, interval, &signals);
    ratatui::restore();
    ended
}

fn watch(
    terminal: &mut DefaultTerminal,
    mut meter: Meter,
    mut look: Look,
    interval: Duration,
    signals: &Signals,
) -> Result<i32, Failure> {
    let mut view = View::new();
    let mut next = Instant::now() + interval;
    loop {
        let draw = |frame: &mut ratatui::Frame<'_>| screen::draw(frame, &look, &view);
        terminal.draw(draw).map_err(|error| failed(&error))?;
        let left = next.saturating_duration_since(Instant::now());
        if event::poll(left.min(TICK)).map_err(|error| failed(&error))?
            && let Event::Key(key) = event::read().map_err(|error| failed(&error))?
            && key.kind != KeyEventKind::Release
            && view.key(key, &look) == Next::Quit
        {
            return Ok(0);
        }
        if let Some(signal) = signals.next(Duration::ZERO) {
            return Ok(128 + signal.number);
        }
        if Instant::now() >= next {
            next = Instant::now() + interval;
            if !view.is_frozen && look.is_running {
                look = meter.look()?;
            }
        }
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(STATUS_FAILED, format!("the terminal: {error}"))
}
