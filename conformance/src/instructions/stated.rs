//! What the changelog states.
//!
//! An entry lists counts up to its first full stop; what follows says why. Newer entries stand above
//! older ones: of several counts of a path the uppermost one holds.
//!
//! ```text
//! - Instructions without contention: crate: mutex 12, rwlock read 14; preload: mutex 30. An owner
//!   is checked now.
//! ```

use super::count::{Counts, path};
use std::collections::BTreeMap;

const BEGIN: &str = "- Instructions without contention:";

/// The changelog's.
const WIDTH: usize = 105;

/// The count that holds for each path.
#[derive(Debug, Default)]
pub struct Stated(Counts);

impl Stated {
    /// # Errors
    /// An entry that begins like those with counts, but can't be read on.
    pub fn read(changelog: &str) -> Result<Self, String> {
        let mut stated = Counts::new();
        for entry in entries(changelog) {
            let counts = parse(&entry).map_err(|what| {
                format!("CHANGELOG.md: {what} in \"{BEGIN}{entry}\". {}", form())
            })?;
            for (path, count) in counts {
                stated.entry(path).or_insert(count);
            }
        }
        Ok(Self(stated))
    }

    /// The count that holds for `path`.
    pub fn of(&self, path: &str) -> Option<u64> {
        self.0.get(path).copied()
    }

    /// All that are stated.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

fn form() -> String {
    format!("An entry goes: {BEGIN} FACE: NAME COUNT, NAME COUNT; FACE: NAME COUNT.")
}

/// An entry that states `counts`.
pub fn entry<'c>(counts: impl IntoIterator<Item = (&'c String, u64)>) -> String {
    let mut faces = BTreeMap::<&str, Vec<String>>::new();
    for (path, count) in counts {
        let (face, name) = path.split_once(": ").expect("a path is a face's");
        faces.entry(face).or_default().push(format!("{name} {count}"));
    }
    let mut parts = Vec::new();
    for (face, mut items) in faces {
        items[0].insert_str(0, &format!("{face}: "));
        let last = items.pop();
        parts.extend(items.into_iter().map(|item| item + ","));
        parts.extend(last.map(|item| item + ";"));
    }
    let list = wrapped(BEGIN, &parts);
    format!("{}.", list.trim_end_matches(';'))
}

/// The parts behind the beginning, on as many lines as they need.
fn wrapped(begin: &str, parts: &[String]) -> String {
    let mut lines = begin.to_owned();
    let mut width = begin.len();
    for part in parts {
        let fits = width + 1 + part.len() <= WIDTH;
        let between = if fits { " " } else { "\n  " };
        lines += between;
        lines += part;
        width = if fits { width + 1 } else { 2 } + part.len();
    }
    lines
}

/// What follows the beginning in each entry, each on one line.
fn entries(changelog: &str) -> Vec<String> {
    let mut entries = Vec::<String>::new();
    let mut inside = false;
    for line in changelog.lines() {
        if let Some(rest) = line.strip_prefix(BEGIN) {
            entries.push(rest.to_owned());
            inside = true;
        } else if inside && line.starts_with("  ") {
            let entry = entries.last_mut().expect("one has begun");
            entry.push(' ');
            entry.push_str(line.trim());
        } else {
            inside = false;
        }
    }
    entries
}

fn parse(entry: &str) -> Result<Counts, String> {
    let (list, _why) = entry.split_once('.').ok_or("no full stop")?;
    let mut counts = Counts::new();
    for of_face in list.split(';') {
        let (face, items) =
            of_face.split_once(':').ok_or_else(|| format!("no face before \"{of_face}\""))?;
        for item in items.split(',') {
            let (name, count) = parse_item(item).ok_or_else(|| format!("no count: \"{item}\""))?;
            let path = path(face.trim(), name);
            if counts.insert(path, count).is_some() {
                return Err(format!("\"{}\" twice", item.trim()));
            }
        }
    }
    Ok(counts)
}

fn parse_item(item: &str) -> Option<(&str, u64)> {
    let (name, count) = item.trim().rsplit_once(' ')?;
    Some((name.trim(), count.parse().ok()?))
}
