//! Who takes part in a run, who would but isn't here, and what sets their processes apart:
//! LD_PRELOAD.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

use super::contestant::Contestant;
use crate::failure::Failure;
use crate::measuring::workload_run::{Run, Workloads};
use crate::obstacle;
use crate::preload::Preload;

pub struct Roster {
    pub contestants: Vec<Contestant>,
    pub absent: Vec<Absent>,
    preload: Option<Preload>,
}

#[derive(Serialize)]
pub struct Absent {
    contestant: Contestant,
    reason: String,
}

impl Roster {
    /// Those asked for, or all. Without furwock's library nobody can be on it: a failure if it was
    /// asked for by name.
    pub fn of(asked: &[Contestant], workloads: &Workloads) -> Result<Self, Failure> {
        let wanted = if asked.is_empty() { &Contestant::ALL[..] } else { asked };
        let (preload, missing) = match Preload::find() {
            Ok(preload) => (Some(preload), None),
            Err(error) if asked.contains(&Contestant::FurwockPreload) => return Err(error.into()),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut roster = Roster { contestants: Vec::new(), absent: Vec::new(), preload };
        for contestant in wanted.iter().copied() {
            let absent = match contestant {
                Contestant::FurwockPreload => missing.clone(),
                _ => contestant.implementation().absent(),
            };
            match absent {
                Some(reason) => roster.absent.push(Absent { contestant, reason }),
                // Named twice, it is measured once.
                None if roster.contestants.contains(&contestant) => {}
                None => roster.contestants.push(contestant),
            }
        }
        if roster.preload_path().is_some() {
            obstacle::check(workloads.executable())?;
        }
        Ok(roster)
    }

    /// LD_PRELOAD for a contestant's process; what others have put there is kept.
    pub fn ld_preload(&self, contestant: Contestant) -> OsString {
        let inherited = env::var_os("LD_PRELOAD").unwrap_or_default();
        match &self.preload {
            None => inherited,
            Some(preload) if contestant == Contestant::FurwockPreload => {
                preload.prepended_to(Some(&inherited))
            }
            Some(preload) => preload.removed_from(&inherited),
        }
    }

    /// The library, if anybody ran on it.
    pub fn preload_path(&self) -> Option<&Path> {
        let used = self.contestants.contains(&Contestant::FurwockPreload);
        self.preload.as_ref().filter(|_| used).map(Preload::path)
    }

    /// Lines on who was not measured.
    pub fn absences(&self) -> String {
        let line = |absent: &Absent| format!("absent: {}: {}\n", absent.contestant, absent.reason);
        self.absent.iter().map(line).collect()
    }

    /// A library that replaces nothing would make furwock-preload another glibc.
    pub fn not_replaced<'a>(&self, runs_on_it: impl IntoIterator<Item = &'a Run>) -> String {
        let Some(preload) = self.preload_path() else { return String::new() };
        let mut runs = runs_on_it.into_iter();
        let stray = runs.find(|run| Path::new(&run.report.locks_from) != preload);
        stray.map_or_else(String::new, |run| {
            format!(
                "Warning: furwock-preload's locks came from {}, not from {}.\n",
                run.report.locks_from,
                preload.display()
            )
        })
    }
}
