//! The interpreter that the kernel starts for a script.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::root::Root;

/// How much of a script the kernel reads for its `#!` line.
const SHEBANG_BYTES_MAX: u64 = 256;

/// As this process sees it.
pub fn interpreter(file: &mut File, root: &Root) -> Option<PathBuf> {
    file.rewind().ok()?;
    let mut start = Vec::new();
    file.take(SHEBANG_BYTES_MAX).read_to_end(&mut start).ok()?;
    match shebang(&start)? {
        Interpreter::Path(path) => root.outside(&path).ok(),
        Interpreter::Name(name) => root.program(&name),
    }
}

#[derive(Debug, PartialEq)]
enum Interpreter {
    Path(PathBuf),
    /// `#!/usr/bin/env NAME`: looked up in PATH.
    Name(OsString),
}

fn shebang(start: &[u8]) -> Option<Interpreter> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let path = Path::new(OsStr::from_bytes(words.next()?));
    if path.file_name() != Some(OsStr::new("env")) {
        return Some(Interpreter::Path(path.to_owned()));
    }
    let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    Some(match name {
        Some(name) => Interpreter::Name(OsStr::from_bytes(name).to_owned()),
        None => Interpreter::Path(path.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_shebang_lines() {
        let path = |path: &str| Some(Interpreter::Path(path.into()));
        let name = |name: &str| Some(Interpreter::Name(name.into()));
        assert_eq!(shebang(b"#!/bin/sh\necho"), path("/bin/sh"));
        assert_eq!(shebang(b"#! /bin/sh -e\n"), path("/bin/sh"));
        assert_eq!(shebang(b"#!/usr/bin/env python3\n"), name("python3"));
        assert_eq!(shebang(b"#!/usr/bin/env -S A=1 perl -w\n"), name("perl"));
        assert_eq!(shebang(b"#!/usr/bin/env\n"), path("/usr/bin/env"));
        assert_eq!(shebang(b"#!\n"), None);
        assert_eq!(shebang(b"\x7fELF"), None);
    }
}
