//! Who takes part in a run, who would but isn't here, and what sets their processes apart:
//! LD_PRELOAD.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

use super::benchmark::Benchmark;
use super::contestant::Contestant;
use crate::failure::Failure;
use crate::measuring::workload_run::{Run, Workloads};
use crate::obstacle;
use crate::preload::Preload;

/// furwock's library, if it is here, and whoever is asked for.
pub struct Roster {
    asked: Vec<Contestant>,
    preload: Option<Preload>,
    /// Why it isn't here.
    missing: Option<String>,
}

#[derive(Serialize, Clone)]
pub struct Absent {
    pub contestant: Contestant,
    pub reason: String,
}

impl Roster {
    /// Those asked for, or all. Without furwock's library nobody can be on it: a failure if it was
    /// asked for by name.
    pub fn of(asked: &[Contestant], workloads: &Workloads) -> Result<Self, Failure> {
        let (preload, missing) = match Preload::find() {
            Ok(preload) => (Some(preload), None),
            Err(error) if asked.contains(&Contestant::FurwockPreload) => return Err(error.into()),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut each_once: Vec<Contestant> = Vec::new();
        for contestant in asked {
            if !each_once.contains(contestant) {
                each_once.push(*contestant);
            }
        }
        if preload.is_some() {
            obstacle::check(workloads.executable())?;
        }
        Ok(Roster { asked: each_once, preload, missing })
    }

    /// Who takes part in a benchmark, and who would but can't.
    pub fn for_benchmark(&self, benchmark: &Benchmark) -> (Vec<Contestant>, Vec<Absent>) {
        let offered = benchmark.able.iter().copied().filter(|able| *able != Contestant::Broken);
        let wanted = if self.asked.is_empty() { offered.collect() } else { self.asked.clone() };
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for contestant in wanted {
            let reason = if benchmark.able.contains(&contestant) {
                match contestant {
                    Contestant::FurwockPreload => self.missing.clone(),
                    _ => contestant.implementation().absent(),
                }
            } else {
                Some(format!("it has no {}", benchmark.lacking))
            };
            match reason {
                Some(reason) => absent.push(Absent { contestant, reason }),
                None => present.push(contestant),
            }
        }
        (present, absent)
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

    /// The library.
    pub fn preload_path(&self) -> Option<&Path> {
        self.preload.as_ref().map(Preload::path)
    }

    /// Another copy of furwock's library, or whatever else LD_PRELOAD named already, would make glibc
    /// something else.
    pub fn not_glibc<'a>(runs_on_it: impl IntoIterator<Item = &'a Run>) -> String {
        let from = |run: &'a Run| Path::new(&run.report.locks_from);
        let is_glibc = |file: &Path| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("libpthread")
        };
        let stray = runs_on_it.into_iter().map(from).find(|file| !is_glibc(file));
        stray.map_or_else(String::new, |file| {
            format!("Warning: glibc's locks came from {}.\n", file.display())
        })
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
