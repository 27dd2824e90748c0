//! Findings that the user knows and doesn't want to see.
//!
//! A file of sections. Each begins with its name in brackets and has lines `KEY = PATTERN`; `*` in
//! a pattern stands for anything. A finding is left out if each line of a section fits it.

use super::{Finding, Names, Order};

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// The finding's kind.
    Kind,
    /// The name of one of its locks.
    Lock,
    /// A function in one of its stacks.
    Function,
    /// The source line, or the file, of a function in one of its stacks.
    Place,
    /// A thread's name.
    Thread,
}

#[derive(Clone, Debug)]
struct Section {
    name: String,
    lines: Vec<(Key, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    sections: Vec<Section>,
}

impl Suppressions {
    /// Reads a file's text. The error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sections: Vec<Section> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let error = |what: &str| Err(format!("line {}: {what}: {line}", number + 1));
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let Some(name) = name.strip_suffix(']') else {
                    return error("a section's name has no closing bracket");
                };
                sections.push(Section { name: name.trim().to_owned(), lines: Vec::new() });
                continue;
            }
            let Some((key, pattern)) = line.split_once('=') else {
                return error("neither a section's name in brackets nor KEY = PATTERN");
            };
            let key = match key.trim() {
                "kind" => Key::Kind,
                "lock" => Key::Lock,
                "function" => Key::Function,
                "place" => Key::Place,
                "thread" => Key::Thread,
                _ => return error("the key is none of kind, lock, function, place and thread"),
            };
            let pattern = pattern.trim().to_owned();
            if pattern.is_empty() {
                return error("the pattern is missing");
            }
            match sections.last_mut() {
                Some(section) => section.lines.push((key, pattern)),
                None => return error("it stands before the first section's name"),
            }
        }
        match sections.iter().find(|section| section.lines.is_empty()) {
            Some(section) => Err(format!("the section [{}] has no pattern", section.name)),
            None => Ok(Self { sections }),
        }
    }

    /// The name of the first section that a finding fits.
    pub fn covering(&self, finding: &Finding, order: &Order, names: &dyn Names) -> Option<String> {
        let words = |key: Key| -> Vec<String> {
            let steps = finding.steps.iter();
            let frames = || {
                let stacks = steps.clone().flat_map(|step| [step.held_stack, step.taken_stack]);
                stacks.flat_map(|stack| names.stack(stack))
            };
            match key {
                Key::Kind => vec![finding.kind.word().to_owned()],
                Key::Lock => steps
                    .flat_map(|step| [step.held, step.taken])
                    .map(|lock| order.locks[lock].name.clone())
                    .collect(),
                Key::Function => frames().map(|frame| frame.function).collect(),
                Key::Place => frames().map(|frame| frame.place).collect(),
                Key::Thread => steps.map(|step| names.thread(step.thread)).collect(),
            }
        };
        let fits =
            |(key, pattern): &(Key, String)| words(*key).iter().any(|word| matches(pattern, word));
        let section = self.sections.iter().find(|section| section.lines.iter().all(fits))?;
        Some(section.name.clone())
    }
}

/// Whether all of `text` fits the pattern, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("abc", "abc") && !matches("abc", "abcd") && !matches("abc", "xabc"));
        assert!(matches("a*", "abc") && matches("*c", "abc") && matches("a*c", "ac"));
        assert!(matches("*b*", "abc") && matches("*", "") && !matches("*d*", "abc"));
        assert!(!matches("ab*bc", "abc") && matches("ab*bc", "abbc"));
        assert!(matches("std::*<*>::lock", "std::mutex<int>::lock"));
    }

    #[test]
    fn a_file_with_an_error_names_the_line() {
        let error = |text: &str| Suppressions::parse(text).expect_err("an error");
        assert!(error("[known]\nlock = a\nstack = b\n").starts_with("line 3: the key is none"));
        assert!(error("lock = a\n").contains("before the first section"));
        assert!(error("[known\nlock = a").starts_with("line 1: a section's name"));
        assert!(error("# only\n[known]\n").contains("[known] has no pattern"));
        assert!(error("[known]\nlock =\n").contains("pattern is missing"));
        assert!(error("[known]\nlock\n").contains("nor KEY = PATTERN"));
        assert!(Suppressions::parse("").is_ok());
    }
}
