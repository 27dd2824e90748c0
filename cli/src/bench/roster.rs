//! The contestants of a run, those that are missing, and LD_PRELOAD of their processes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Serialize;

use super::benchmark::Benchmark;
use crate::contestants::Contestant;
use crate::failure::Failure;
use crate::measuring::workload_run::{Run, Workloads};
use crate::obstacle;
use crate::preload::Preload;
use crate::run::place::Place;

/// furwock's library, if it is installed, and the contestants that are asked for.
pub struct Roster {
    asked: Vec<Contestant>,
    preload: Option<Preload>,
    /// The library that records, for furwock-recording.
    recording: Option<Preload>,
    /// Why the library isn't there.
    missing: Option<String>,
}

#[derive(Serialize, Clone)]
pub struct Absent {
    pub contestant: Contestant,
    pub reason: String,
}

impl Roster {
    /// The contestants asked for, or all. Without furwock's library furwock-preload is absent; if
    /// it was asked for by name, that is a failure.
    pub fn of(asked: &[Contestant], workloads: &Workloads, force: bool) -> Result<Self, Failure> {
        let (preload, missing) = match Preload::find() {
            Ok(preload) => (Some(preload), None),
            Err(error) if asked.contains(&Contestant::FurwockPreload) => return Err(error),
            Err(error) => (None, Some(error.to_string())),
        };
        let records = asked.contains(&Contestant::FurwockRecording);
        let recording = records.then(Preload::find_recording).transpose()?;
        let mut each_once: Vec<Contestant> = Vec::new();
        for contestant in asked {
            if !each_once.contains(contestant) {
                each_once.push(*contestant);
            }
        }
        if let Some(preload) = preload.as_ref().filter(|_| !force) {
            obstacle::check(workloads.executable(), &[], preload)?;
        }
        Ok(Roster { asked: each_once, preload, recording, missing })
    }

    /// The contestants of a benchmark, and those that can't take part.
    pub fn for_benchmark(&self, benchmark: &Benchmark) -> (Vec<Contestant>, Vec<Absent>) {
        let offered = benchmark.able.iter().copied().filter(|able| able.is_offered());
        let wanted = if self.asked.is_empty() { offered.collect() } else { self.asked.clone() };
        let (mut present, mut absent) = (Vec::new(), Vec::new());
        for contestant in wanted {
            let reason = if benchmark.able.contains(&contestant) {
                match contestant {
                    Contestant::FurwockPreload => self.missing.clone(),
                    _ => contestant.absent(),
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

    /// LD_PRELOAD for a contestant's process. Other libraries in it are kept.
    pub fn ld_preload(&self, contestant: Contestant) -> OsString {
        let without = match &self.preload {
            None => env::var_os("LD_PRELOAD").unwrap_or_default(),
            Some(preload) => preload.environment(contestant == Contestant::FurwockPreload),
        };
        match &self.recording {
            Some(recording) if contestant == Contestant::FurwockRecording => {
                recording.prepended_to(Some(&without))
            }
            _ => without,
        }
    }

    /// Where a contestant's next process leaves its record, if it does.
    pub fn place(&self, contestant: Contestant) -> Result<Option<Place>, Failure> {
        let records = contestant == Contestant::FurwockRecording;
        records.then(|| Place::make(OsStr::new(""))).transpose()
    }

    pub fn preload_path(&self) -> Option<&Path> {
        self.preload.as_ref().map(Preload::path)
    }

    /// Warns if glibc's side used another library, such as another copy of furwock's.
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

    /// Warns if furwock's library replaced nothing: that would compare glibc with itself.
    pub fn not_replaced<'a>(
        &self,
        contestant: Contestant,
        runs_on_it: impl IntoIterator<Item = &'a Run>,
    ) -> String {
        let library = match contestant {
            Contestant::FurwockRecording => &self.recording,
            _ => &self.preload,
        };
        let Some(preload) = library.as_ref().map(Preload::path) else { return String::new() };
        let mut runs = runs_on_it.into_iter();
        let stray = runs.find(|run| Path::new(&run.report.locks_from) != preload);
        stray.map_or_else(String::new, |run| {
            format!(
                "Warning: {contestant}'s locks came from {}, not from {}.\n",
                run.report.locks_from,
                preload.display()
            )
        })
    }
}
