//! The counts that docs/instruction-counts.txt states: a line `FACE: NAME COUNT` for each path.
//! Empty lines and those that begin with `#` are skipped.

use super::count::{Counts, path};

/// Where the counts stand.
pub const FILE: &str = "docs/instruction-counts.txt";

/// The count that is stated for each path.
#[derive(Debug, Default)]
pub struct Stated(Counts);

impl Stated {
    /// # Errors
    /// A line that can't be read, or a path that is stated twice.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut stated = Counts::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = |what| format!("{FILE}:{}: {what} in \"{line}\"; {FORM}", index + 1);
            let (path, count) = parse(line).map_err(error)?;
            if stated.insert(path, count).is_some() {
                return Err(error("a path that is stated above"));
            }
        }
        Ok(Self(stated))
    }

    /// The count that is stated for `path`.
    pub fn of(&self, path: &str) -> Option<u64> {
        self.0.get(path).copied()
    }

    /// All paths that are stated.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

const FORM: &str = "a line goes FACE: NAME COUNT";

/// The line that states `count`.
pub fn line(path: &str, count: u64) -> String {
    format!("{path} {count}")
}

fn parse(line: &str) -> Result<(String, u64), &'static str> {
    let (face, rest) = line.split_once(':').ok_or("no face")?;
    let (name, count) = rest.trim().rsplit_once(' ').ok_or("no count")?;
    let count = count.parse().map_err(|_| "no count")?;
    Ok((path(face.trim(), name.trim()), count))
}
