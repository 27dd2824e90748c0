//! What is to be run: the command, once for each combination of its parameters' values.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::arguments::CompareArguments;
use crate::failure::{Failure, STATUS_USAGE};

/// More would be a mistake.
const VALUES_MAX: usize = 1000;

/// A parameter's name and value.
pub type Setting = (String, String);

#[derive(Debug, Clone)]
pub struct Variation {
    /// None without parameters.
    pub settings: Vec<Setting>,
    /// From the program's own name on.
    pub command: Vec<OsString>,
    /// What it is called in a sentence: the program, or the shell's line.
    pub title: String,
}

impl Variation {
    /// `threads=4, level=1`
    pub fn name(&self) -> String {
        let named = |(name, value): &Setting| format!("{name}={value}");
        self.settings.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    /// `text` with the parameters' values.
    pub fn fill(&self, text: &str) -> String {
        filled(OsStr::new(text), &self.settings).to_string_lossy().into_owned()
    }

    pub fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// In the order of the parameters' values, the last parameter's fastest.
pub fn of(arguments: &CompareArguments) -> Result<Vec<Variation>, Failure> {
    let mut all: Vec<Vec<Setting>> = vec![Vec::new()];
    let step = arguments.parameter_step_size.as_deref();
    let mut parameters = Vec::new();
    for scan in arguments.parameter_scan.chunks(3) {
        let values = scanned(&scan[1], &scan[2], step.unwrap_or("1"))
            .map_err(|why| bad(format!("--parameter-scan {}: {why}", scan.join(" "))))?;
        parameters.push((&scan[0], values));
    }
    for list in arguments.parameter_list.chunks(2) {
        parameters.push((&list[0], list[1].split(',').map(str::to_owned).collect()));
    }
    for (name, values) in parameters {
        if all.iter().any(|settings| settings.iter().any(|(known, _)| known == name)) {
            return Err(bad(format!("{name}: this parameter is given twice")));
        }
        if !is_used(name, arguments) {
            return Err(bad(format!("{name}: nothing has {{{name}}} in it")));
        }
        let with = |settings: &Vec<Setting>, value: &String| {
            let own = std::iter::once((name.clone(), value.clone()));
            settings.iter().cloned().chain(own).collect()
        };
        all =
            all.iter().flat_map(|each| values.iter().map(move |value| with(each, value))).collect();
        if all.len() > VALUES_MAX {
            return Err(bad(format!("more than {VALUES_MAX} combinations of parameters")));
        }
    }
    all.into_iter().map(|settings| variation(arguments, settings)).collect()
}

fn bad(why: String) -> Failure {
    Failure::new(STATUS_USAGE, why)
}

fn is_used(name: &str, arguments: &CompareArguments) -> bool {
    let CompareArguments { setup, prepare, conclude, cleanup, command, .. } = arguments;
    let steps = [setup, prepare, conclude, cleanup].into_iter().flatten().map(OsStr::new);
    let placeholder = format!("{{{name}}}");
    let has = |text: &OsStr| find(text.as_bytes(), placeholder.as_bytes()).is_some();
    command.iter().map(OsString::as_os_str).chain(steps).any(has)
}

fn variation(arguments: &CompareArguments, settings: Vec<Setting>) -> Result<Variation, Failure> {
    let mut command: Vec<OsString> =
        arguments.command.iter().map(|word| filled(word, &settings)).collect();
    let title = match &arguments.shell {
        Some(_) => arguments.command[0].to_string_lossy().into_owned(),
        None => {
            let name = Path::new(&command[0]).file_name().unwrap_or(&command[0]);
            name.to_string_lossy().into_owned()
        }
    };
    let shell = arguments.shell.as_deref().filter(|shell| *shell != "none");
    if let Some(shell) = shell {
        if command.len() != 1 {
            return Err(bad("with --shell, give the whole command line as one word".to_owned()));
        }
        let shell = if shell == "default" { "sh" } else { shell };
        let words: Vec<OsString> = shell.split_whitespace().map(OsString::from).collect();
        if words.is_empty() {
            return Err(bad("--shell: no shell is named".to_owned()));
        }
        command = [words, vec!["-c".into()], command].concat();
    }
    Ok(Variation { settings, command, title })
}

/// The numbers from `from` to `to`, with as many decimals as the three have.
fn scanned(from: &str, to: &str, step: &str) -> Result<Vec<String>, String> {
    let number = |text: &str| match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("{text} is no number")),
    };
    let (first, last, by) = (number(from)?, number(to)?, number(step)?);
    if by <= 0.0 || last < first {
        return Err("MIN must be at most MAX, and the step more than 0".to_owned());
    }
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let decimals = [from, to, step].map(decimals).into_iter().max().unwrap_or(0);
    let count = ((last - first) / by + 1e-9).floor();
    if count >= VALUES_MAX as f64 {
        return Err(format!("more than {VALUES_MAX} values"));
    }
    let value = |index: usize| format!("{:.decimals$}", first + index as f64 * by);
    Ok((0..=count as usize).map(value).collect())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

/// `text`, in which each `{NAME}` is the value. A value isn't looked through for another name.
fn filled(text: &OsStr, settings: &[Setting]) -> OsString {
    let mut rest = text.as_bytes();
    let mut done = Vec::new();
    let first = |rest: &[u8]| {
        let found = settings.iter().filter_map(|(name, value)| {
            let placeholder = format!("{{{name}}}");
            Some((find(rest, placeholder.as_bytes())?, placeholder.len(), value))
        });
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, length, value)) = first(rest) {
        done.extend_from_slice(&rest[..at]);
        done.extend_from_slice(value.as_bytes());
        rest = &rest[at + length..];
    }
    done.extend_from_slice(rest);
    OsString::from_vec(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn all(words: &[&str]) -> Result<Vec<Variation>, String> {
        let command = CompareArguments::augment_args(clap::Command::new("compare"));
        let words = std::iter::once(&"compare").chain(words);
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        of(&CompareArguments::from_arg_matches(&matches).unwrap())
            .map_err(|error| error.to_string())
    }

    fn lines(words: &[&str]) -> Vec<String> {
        all(words).unwrap().iter().map(|each| each.words().join(" ")).collect()
    }

    #[test]
    fn parameters_are_combined() {
        assert_eq!(lines(&["pigz", "-k"]), ["pigz -k"]);
        let words = ["-L", "t", "1,4", "-L", "how", "a,b", "--", "x", "-p{t}", "{how}{t}"];
        assert_eq!(lines(&words), ["x -p1 a1", "x -p1 b1", "x -p4 a4", "x -p4 b4"]);
        assert_eq!(all(&words).unwrap()[1].name(), "t=1, how=b");
        // A value is no place for another.
        assert_eq!(lines(&["-L", "a", "{b}", "-L", "b", "1", "x{a}{b}"]), ["x{b}1"]);
    }

    #[test]
    fn numbers_are_scanned_in_steps() {
        assert_eq!(lines(&["-P", "n", "1", "3", "x{n}"]), ["x1", "x2", "x3"]);
        let words = ["-P", "n", "0.3", "0.7", "-D", "0.2", "x{n}"];
        assert_eq!(lines(&words), ["x0.3", "x0.5", "x0.7"]);
        assert_eq!(lines(&["-P", "n", "-1", "0", "x{n}"]), ["x-1", "x0"]);
        for bad in [["3", "1"], ["a", "2"], ["1", "1e9"]] {
            assert!(all(&["-P", "n", bad[0], bad[1], "x{n}"]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_shell_takes_one_word() {
        assert_eq!(lines(&["--shell", "sh", "a | b"]), ["sh -c a | b"]);
        assert_eq!(lines(&["-S", "bash --norc", "a"]), ["bash --norc -c a"]);
        assert_eq!(lines(&["--shell", "none", "a", "b"]), ["a b"]);
        assert!(all(&["--shell", "sh", "a", "b"]).unwrap_err().contains("one word"));
        assert!(all(&["-N", "--shell", "sh", "a"]).is_err());
    }

    #[test]
    fn parameters_must_mean_something() {
        assert!(all(&["-L", "n", "1,2", "x"]).unwrap_err().contains("nothing has {n} in it"));
        assert!(all(&["-L", "n", "1", "-L", "n", "2", "x{n}"]).unwrap_err().contains("twice"));
        assert_eq!(lines(&["-L", "n", "1,2", "--prepare", "make {n}", "x"]), ["x", "x"]);
    }
}
