//! Functions that a program made while it ran, if it lists them for perf in /tmp/perf-PID.map.

use std::fs;

use crate::symbols::image::Place;
use crate::who::process::Process;

#[derive(Debug, Default)]
pub struct Generated(Vec<(u64, u64, String)>);

impl Generated {
    pub fn of(process: &Process) -> Self {
        let path = format!("/tmp/perf-{}.map", process.inner_of(process.pid));
        let text = fs::read(process.path(&path)).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Self {
        let parse = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let start = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
            let size = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
            Some((start, start.checked_add(size)?, words.next()?.trim().to_owned()))
        };
        let mut functions: Vec<_> = text.lines().filter_map(parse).collect();
        functions.sort_by_key(|function| function.0);
        Self(functions)
    }

    pub fn place(&self, code: u64) -> Option<Place> {
        let after = self.0.partition_point(|(start, _, _)| *start <= code);
        let (_, end, name) = self.0[..after].last()?;
        (code < *end).then(|| Place { function: name.clone(), ..Place::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_function_that_contains_an_address() {
        let list = Generated::parse("2000 10 py::g:/a b.py\nnonsense\n1000 20 py::f:/a.py\n");
        let name = |code| list.place(code).map(|place| place.function);
        assert_eq!(name(0x101f).as_deref(), Some("py::f:/a.py"));
        assert_eq!(name(0x2000).as_deref(), Some("py::g:/a b.py"));
        assert_eq!([0xfff, 0x1020, 0x2010].map(name), [None, None, None]);
    }
}
