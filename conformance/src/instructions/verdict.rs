//! What was counted against what is stated.

use super::count::Counts;
use super::stated::{FILE, Stated, line};
use std::fmt;

/// A count may differ from the stated one by so many percent.
const SLACK: u64 = 5;

/// The paths with stated counts that no longer hold.
#[derive(Debug, Default)]
pub struct Verdict {
    paths: usize,
    grown: Vec<Finding>,
    shrunk: Vec<Finding>,
    unstated: Vec<Finding>,
    /// Paths that are stated, but no longer counted.
    gone: Vec<String>,
}

#[derive(Debug)]
struct Finding {
    path: String,
    counted: u64,
    /// 0 if none is stated.
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
            writeln!(f, "{path}: {counted} instructions, {percent:.1} % more than {stated}")?;
        }
        for Finding { path, counted, .. } in &self.unstated {
            writeln!(f, "{path}: {counted} instructions, and no count is stated")?;
        }
        if !self.is_good() {
            writeln!(f, "If this is meant, say why in CHANGELOG.md and state in {FILE}:")?;
            write_lines(f, self.grown.iter().chain(&self.unstated))?;
        }
        for Finding { path, counted, stated } in &self.shrunk {
            writeln!(f, "{path}: only {counted} instructions instead of {stated}")?;
        }
        if !self.shrunk.is_empty() {
            writeln!(f, "To keep it there, state in {FILE}:")?;
            write_lines(f, &self.shrunk)?;
        }
        for path in &self.gone {
            writeln!(f, "{path}: {FILE} states a count, but no such path is counted")?;
        }
        if self.is_good() && self.shrunk.is_empty() && self.gone.is_empty() {
            writeln!(f, "all {} within {SLACK} % of what {FILE} states", self.paths)?;
        }
        Ok(())
    }
}

fn write_lines<'v>(
    f: &mut fmt::Formatter<'_>,
    findings: impl IntoIterator<Item = &'v Finding>,
) -> fmt::Result {
    findings
        .into_iter()
        .try_for_each(|finding| writeln!(f, "{}", line(&finding.path, finding.counted)))
}
