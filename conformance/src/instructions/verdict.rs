//! What was counted against what is stated.

use super::count::Counts;
use super::stated::{Stated, entry};
use std::fmt;

/// How much more or less than stated is no matter, in percent.
const SLACK: u64 = 5;

/// The paths whose counts the changelog doesn't cover, and those whose counts it could lower.
#[derive(Debug, Default)]
pub struct Verdict {
    paths: usize,
    grown: Vec<Finding>,
    shrunk: Vec<Finding>,
    unstated: Vec<Finding>,
    /// Stated, but counted no more.
    gone: Vec<String>,
}

#[derive(Debug)]
struct Finding {
    path: String,
    counted: u64,
    /// 0 if nothing is.
    stated: u64,
}

impl Verdict {
    /// Compares each path.
    pub fn new(counted: &Counts, stated: &Stated) -> Self {
        let mut verdict = Self { paths: counted.len(), ..Self::default() };
        for (path, &counted) in counted {
            let finding = |stated| Finding { path: path.clone(), counted, stated };
            match stated.of(path) {
                None => verdict.unstated.push(finding(0)),
                Some(stated) if counted * 100 > stated * (100 + SLACK) => {
                    verdict.grown.push(finding(stated));
                }
                Some(stated) if counted * 100 < stated * (100 - SLACK) => {
                    verdict.shrunk.push(finding(stated));
                }
                Some(_) => {}
            }
        }
        verdict.gone =
            stated.paths().filter(|path| !counted.contains_key(*path)).cloned().collect();
        verdict
    }

    /// Whether no path has grown beyond what is stated, and none is left unstated.
    pub fn is_good(&self) -> bool {
        self.grown.is_empty() && self.unstated.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { path, counted, stated } in &self.grown {
            let percent = (counted - stated) as f64 * 100.0 / *stated as f64;
            writeln!(
                f,
                "{path}: {counted} instructions, stated are {stated}: {percent:.1} % more"
            )?;
        }
        for Finding { path, counted, .. } in &self.unstated {
            writeln!(f, "{path}: {counted} instructions, and CHANGELOG.md states no count")?;
        }
        let failures: Vec<_> = self.grown.iter().chain(&self.unstated).collect();
        if !failures.is_empty() {
            let line = line(&failures);
            writeln!(f, "If that is meant, add to CHANGELOG.md, on top of Unreleased:\n{line}")?;
        }
        for Finding { path, counted, stated } in &self.shrunk {
            writeln!(f, "{path}: only {counted} instructions, stated are {stated}")?;
        }
        if !self.shrunk.is_empty() {
            let shrunk: Vec<_> = self.shrunk.iter().collect();
            let line = line(&shrunk);
            writeln!(f, "For it to stay so, add to CHANGELOG.md, on top of Unreleased:\n{line}")?;
        }
        for path in &self.gone {
            writeln!(
                f,
                "{path}: CHANGELOG.md states a count, but nothing of that name is counted"
            )?;
        }
        if failures.is_empty() && self.shrunk.is_empty() && self.gone.is_empty() {
            writeln!(f, "all {} within {SLACK} % of what CHANGELOG.md states", self.paths)?;
        }
        Ok(())
    }
}

fn line(findings: &[&Finding]) -> String {
    entry(findings.iter().map(|finding| (&finding.path, finding.counted)))
}
