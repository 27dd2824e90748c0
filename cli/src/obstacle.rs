//! Can a preload act on a program? Only through the dynamic loader of the same libc, only if the
//! kernel does not start the program in secure mode, and not together with tools that have to be
//! the first beneath a program.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{getgid, getuid};

use crate::elf::{self, Elf, Platform, Sanitizer};
use crate::program;

/// How often the kernel follows `#!` from one interpreter to the next.
const INTERPRETERS_MAX: usize = 5;
/// How much of a script the kernel reads for its `#!` line.
const SHEBANG_BYTES_MAX: u64 = 256;

const SETUID: u32 = libc::S_ISUID;
const SETGID: u32 = libc::S_ISGID;
const GROUP_EXECUTES: u32 = libc::S_IXGRP;

#[derive(Debug, PartialEq)]
pub enum Obstacle {
    Static,
    Musl,
    Foreign(Platform),
    ChangesUser,
    ChangesGroup,
    Capabilities,
    ThreadSanitizer,
    /// The name of the runtime's library.
    AddressSanitizer(String),
    Valgrind,
}

/// The file that is in the way (the program, or the interpreter of its script), and why.
pub struct Blocked {
    file: PathBuf,
    obstacle: Obstacle,
}

/// Why a preload cannot act on `program`, if so; an unclear file (unreadable, of an unknown
/// format) gets the benefit of the doubt.
pub fn check(program: &Path) -> Result<(), Blocked> {
    let mut file = program.to_owned();
    for _ in 0..INTERPRETERS_MAX {
        if file.file_name() == Some(OsStr::new("valgrind")) {
            return Err(Blocked { file, obstacle: Obstacle::Valgrind });
        }
        match look_at(&file) {
            Some(Finding::Script(interpreter)) => file = interpreter,
            Some(Finding::Blocked(obstacle)) => return Err(Blocked { file, obstacle }),
            None => break,
        }
    }
    Ok(())
}

enum Finding {
    Script(PathBuf),
    Blocked(Obstacle),
}

fn look_at(path: &Path) -> Option<Finding> {
    let Ok(mut file) = File::open(path) else {
        // Nothing but an ELF file runs without being readable, so its mode bits count.
        return secure_mode(path).map(Finding::Blocked);
    };
    if let Some(elf) = elf::read(&file) {
        return secure_mode(path).or_else(|| unreachable_loader(elf)).map(Finding::Blocked);
    }
    script_interpreter(&mut file).map(Finding::Script)
}

fn unreachable_loader(elf: Elf) -> Option<Obstacle> {
    if elf::own_platform().is_some_and(|own| own != elf.platform) {
        return Some(Obstacle::Foreign(elf.platform));
    }
    match elf.interpreter {
        None => Some(Obstacle::Static),
        Some(loader) if loader.contains("ld-musl") => Some(Obstacle::Musl),
        Some(_) => elf.sanitizer.map(|sanitizer| match sanitizer {
            Sanitizer::Thread => Obstacle::ThreadSanitizer,
            Sanitizer::Address(library) => Obstacle::AddressSanitizer(library),
        }),
    }
}

/// Secure mode as the kernel decides on it: the program gains an identity or capabilities that
/// its caller lacks. The loader then ignores paths in LD_PRELOAD.
fn secure_mode(path: &Path) -> Option<Obstacle> {
    let metadata = path.metadata().ok()?;
    let user = getuid().as_raw();
    changed_identity(&metadata, user, getgid().as_raw()).or_else(|| {
        // Root holds every capability already.
        let capable = rustix::fs::getxattr(path, "security.capability", &mut [0u8; 64][..]).is_ok();
        (capable && user != 0).then_some(Obstacle::Capabilities)
    })
}

fn changed_identity(metadata: &Metadata, user: u32, group: u32) -> Option<Obstacle> {
    let mode = metadata.mode();
    if mode & SETUID != 0 && metadata.uid() != user {
        return Some(Obstacle::ChangesUser);
    }
    // Without the group's execute bit, setgid once meant mandatory locking and changes no group.
    let setgid = mode & (SETGID | GROUP_EXECUTES) == SETGID | GROUP_EXECUTES;
    (setgid && metadata.gid() != group).then_some(Obstacle::ChangesGroup)
}

fn script_interpreter(file: &mut File) -> Option<PathBuf> {
    file.rewind().ok()?;
    let mut start = Vec::new();
    file.take(SHEBANG_BYTES_MAX).read_to_end(&mut start).ok()?;
    match shebang(&start)? {
        Interpreter::Path(path) => Some(path),
        Interpreter::Name(name) => program::find(&name).ok(),
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

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: a preload cannot act on it: {}", self.file.display(), self.obstacle)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Static => f.write_str("it is statically linked and has no dynamic loader"),
            Obstacle::Musl => f.write_str(
                "it is linked with musl, whose locks have other layouts: furwock serves programs \
                 of glibc's only",
            ),
            Obstacle::Foreign(platform) => write!(f, "it is built for {platform}"),
            Obstacle::ChangesUser => f.write_str("it is setuid, so the loader ignores LD_PRELOAD"),
            Obstacle::ChangesGroup => f.write_str("it is setgid, so the loader ignores LD_PRELOAD"),
            Obstacle::Capabilities => {
                f.write_str("it has file capabilities, so the loader ignores LD_PRELOAD")
            }
            Obstacle::ThreadSanitizer => f.write_str(
                "it is built with ThreadSanitizer, which has to see glibc's own locks: run it \
                 without furwock",
            ),
            Obstacle::AddressSanitizer(library) => write!(
                f,
                "it is built with AddressSanitizer, whose library has to be the first: run it with \
                 LD_PRELOAD={library}:PATH/libfurwock_preload.so"
            ),
            Obstacle::Valgrind => f.write_str(
                "it has to see glibc's own locks, and those of the program that it runs: run it \
                 without furwock",
            ),
        }
    }
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

    #[test]
    fn an_ordinary_program_can_be_reached() {
        assert!(check(Path::new("/bin/sh")).is_ok());
    }

    #[test]
    fn only_a_changed_identity_is_secure_mode() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("furwock-mode-{}", std::process::id()));
        let found = |mode, user_step, group_step| {
            File::create(&path)?.set_permissions(PermissionsExt::from_mode(mode))?;
            let metadata = path.metadata()?;
            let (user, group) = (metadata.uid() + user_step, metadata.gid() + group_step);
            std::fs::remove_file(&path)?;
            std::io::Result::Ok(changed_identity(&metadata, user, group))
        };
        assert_eq!(found(0o755, 1, 1).unwrap(), None);
        assert_eq!(found(0o4755, 0, 1).unwrap(), None);
        assert_eq!(found(0o4755, 1, 0).unwrap(), Some(Obstacle::ChangesUser));
        assert_eq!(found(0o2755, 0, 1).unwrap(), Some(Obstacle::ChangesGroup));
        assert_eq!(found(0o2745, 0, 1).unwrap(), None);
    }
}
