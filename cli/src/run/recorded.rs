//! A program that is recorded. furwock stays as its parent.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

use super::holders::Holders;
use super::monitor::Monitor;
use super::parent::{self, Beside, Ended};
use super::place::Place;
use crate::args::RunArguments;
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::order::{self, Options};
use crate::program::Changes;
use crate::record::{File, Part, State};
use crate::stats;
use crate::streams::{say, width_of};

/// What is recorded, and where.
pub struct Wants {
    file: OsString,
    stats: bool,
    order: Option<Options>,
    /// A possible deadlock changes the status.
    fails: bool,
}

impl Wants {
    pub fn of(arguments: &RunArguments) -> Result<Option<Self>, Failure> {
        let named = |name: &&OsString| !name.is_empty();
        let files = [arguments.lock_order.as_ref(), arguments.stats.as_ref()];
        let named: Vec<&OsString> = files.into_iter().flatten().filter(named).collect();
        if let [one, other] = named[..]
            && one != other
        {
            let says = "--stats and --lock-order are kept in one file: name it once";
            return Err(Failure::new(STATUS_OWN_FAILURE, says));
        }
        if arguments.stats.is_none() && arguments.lock_order.is_none() {
            return Ok(None);
        }
        let order = match &arguments.lock_order {
            Some(_) => Some(
                order::options(arguments.suppressions.as_deref(), arguments.by_place)
                    .map_err(|failure| Failure::new(STATUS_OWN_FAILURE, failure.to_string()))?,
            ),
            None => None,
        };
        let file = named.first().map_or(OsString::new(), |&name| name.clone());
        let stats = arguments.stats.is_some();
        Ok(Some(Self { file, stats, order, fails: arguments.fail }))
    }
}

pub fn run(
    path: &Path,
    command: &[OsString],
    changes: &Changes<'_>,
    wants: &Wants,
    monitor: Option<Monitor>,
) -> Result<i32, Failure> {
    let place = Place::make(&wants.file)?;
    let mut changes = changes.to_vec();
    if wants.order.is_some() {
        changes.push((furwock_record::ORDER_VARIABLE, OsStr::new("1")));
    }
    changes.push((furwock_record::VARIABLE, place.path.as_os_str()));
    let holders = Some(&place.path).filter(|_| wants.stats).and_then(|path| Holders::of(path));
    let mut recording = Recording { place: &place, wants, holders, next_look: Instant::now() };
    let ended = parent::run(path, command, &changes, monitor.as_ref(), &mut recording)?;
    drop(monitor);
    let may_deadlock = print(&place, wants);
    if let Some(left) = left_running(&place) {
        say(&left);
    }
    // Before this process may be killed.
    drop(place);
    match ended {
        Ended::Exited(_) if may_deadlock && wants.fails => Ok(order::STATUS_FOUND),
        ended => Ok(ended.status()),
    }
}

/// What is done beside a program that is recorded.
struct Recording<'a> {
    place: &'a Place,
    wants: &'a Wants,
    holders: Option<Holders>,
    next_look: Instant,
}

impl Beside for Recording<'_> {
    fn look(&mut self) -> Option<Duration> {
        let holders = self.holders.as_mut()?;
        if Instant::now() >= self.next_look {
            holders.look();
            self.next_look = Instant::now() + holders.pause();
        }
        Some(self.next_look.saturating_duration_since(Instant::now()))
    }

    /// Prints the table.
    fn usr2(&mut self) -> bool {
        print(self.place, self.wants);
        true
    }
}

/// Says that processes which the program has started run on, and whether they are recorded still.
fn left_running(place: &Place) -> Option<String> {
    let record = File::open(&place.path).and_then(|file| file.look()).ok()?;
    let runs = |part: &&Part| part.state == State::Running;
    let (process, them) = match record.parts.iter().filter(runs).count() {
        0 => return None,
        1 => ("1 process still runs".to_owned(), "it"),
        count => (format!("{count} processes still run"), "them"),
    };
    let shown = if place.is_temporary() {
        format!("nothing more of {them} will be shown: --stats=FILE keeps the record")
    } else {
        format!("`furwock report` will show what comes of {them}")
    };
    Some(format!("\n{process}; {shown}\n"))
}

/// The table and the order, on stderr. The program's end matters more than a record that can't be
/// read. Returns whether something could deadlock.
fn print(place: &Place, wants: &Wants) -> bool {
    let looked = File::open(&place.path).and_then(|file| stats::whole(&file));
    match looked {
        Ok(record) => {
            if wants.stats {
                say(&stats::text(&record, width_of(std::io::stderr())));
            }
            let width = width_of(std::io::stderr());
            let report = wants.order.as_ref().map(|known| order::report(&record, known, width));
            let (text, may_deadlock) = report.unwrap_or_default();
            say(&text);
            stats::warn(&record, &place.path.display().to_string());
            may_deadlock
        }
        Err(failure) => {
            say(&format!("furwock: {failure}\n"));
            false
        }
    }
}
