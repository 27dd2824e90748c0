//! Can a preload act on a program? Only through the dynamic loader of the same libc, only if the
//! kernel does not start the program in secure mode, and not together with tools that have to be
//! loaded first.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{getgid, getuid};

use crate::elf::{self, Elf, Sanitizer};
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::program;

/// How often the kernel follows `#!` from one interpreter to the next.
const INTERPRETERS_MAX: usize = 5;
/// How much of a script the kernel reads for its `#!` line.
const SHEBANG_BYTES_MAX: u64 = 256;

const SETUID: u32 = libc::S_ISUID;
const SETGID: u32 = libc::S_ISGID;
const GROUP_EXECUTES: u32 = libc::S_IXGRP;

const STATIC: &str = "it is statically linked and has no dynamic loader";
const MUSL: &str = "it is linked with musl, whose locks have other layouts: furwock serves programs \
                    of glibc's only";
const CHANGES_USER: &str = "it is setuid, so the loader ignores LD_PRELOAD";
const CHANGES_GROUP: &str = "it is setgid, so the loader ignores LD_PRELOAD";
const CAPABILITIES: &str = "it has file capabilities, so the loader ignores LD_PRELOAD";
const THREAD_SANITIZER: &str = "it is built with ThreadSanitizer, which has to see glibc's own \
                                locks: run it without furwock";
const VALGRIND: &str = "it has to see glibc's own locks, and those of the program that it runs: \
                        run it without furwock";

/// Fails if a preload cannot act on `program`, with the file in the way (the program, or the
/// interpreter of its script) and the reason. An unclear file (unreadable, of an unknown format)
/// gets the benefit of the doubt.
pub fn check(program: &Path) -> Result<(), Failure> {
    let mut file = program.to_owned();
    for _ in 0..INTERPRETERS_MAX {
        if file.file_name() == Some(OsStr::new("valgrind")) {
            return Err(blocked(&file, VALGRIND));
        }
        match look_at(&file) {
            Some(Finding::Script(interpreter)) => file = interpreter,
            Some(Finding::Blocked(reason)) => return Err(blocked(&file, &reason)),
            None => break,
        }
    }
    Ok(())
}

fn blocked(file: &Path, reason: &str) -> Failure {
    let file = file.display();
    let message =
        format!("{file}: a preload cannot act on it: {reason} (--force runs it all the same)");
    Failure::new(STATUS_OWN_FAILURE, message)
}

enum Finding {
    Script(PathBuf),
    Blocked(String),
}

fn look_at(path: &Path) -> Option<Finding> {
    let Ok(mut file) = File::open(path) else {
        // Nothing but an ELF file runs without being readable, so its mode bits count.
        return secure_mode(path).map(|reason| Finding::Blocked(reason.to_owned()));
    };
    if let Some(elf) = elf::read(&file) {
        let reason = secure_mode(path).map(str::to_owned).or_else(|| unreachable_loader(elf));
        return reason.map(Finding::Blocked);
    }
    script_interpreter(&mut file).map(Finding::Script)
}

fn unreachable_loader(elf: Elf) -> Option<String> {
    if elf::own_platform().is_some_and(|own| own != elf.platform) {
        return Some(format!("it is built for {}", elf.platform));
    }
    match (elf.interpreter, elf.sanitizer) {
        (None, _) => Some(STATIC.to_owned()),
        (Some(loader), _) if loader.contains("ld-musl") => Some(MUSL.to_owned()),
        (Some(_), None) => None,
        (Some(_), Some(Sanitizer::Thread)) => Some(THREAD_SANITIZER.to_owned()),
        (Some(_), Some(Sanitizer::Address(library))) => Some(format!(
            "it is built with AddressSanitizer, whose library has to be the first: run it with \
             LD_PRELOAD={library}:PATH/libfurwock_preload.so"
        )),
    }
}

/// Secure mode as the kernel decides on it: the program gains an identity or capabilities that
/// its caller lacks. The loader then ignores paths in LD_PRELOAD.
fn secure_mode(path: &Path) -> Option<&'static str> {
    let metadata = path.metadata().ok()?;
    let user = getuid().as_raw();
    changed_identity(&metadata, user, getgid().as_raw()).or_else(|| {
        // Root holds every capability already.
        let capable = rustix::fs::getxattr(path, "security.capability", &mut [0u8; 64][..]).is_ok();
        (capable && user != 0).then_some(CAPABILITIES)
    })
}

fn changed_identity(metadata: &Metadata, user: u32, group: u32) -> Option<&'static str> {
    let mode = metadata.mode();
    if mode & SETUID != 0 && metadata.uid() != user {
        return Some(CHANGES_USER);
    }
    // Without the group's execute bit, setgid once meant mandatory locking and changes no group.
    let setgid = mode & (SETGID | GROUP_EXECUTES) == SETGID | GROUP_EXECUTES;
    (setgid && metadata.gid() != group).then_some(CHANGES_GROUP)
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
        assert_eq!(found(0o4755, 1, 0).unwrap(), Some(CHANGES_USER));
        assert_eq!(found(0o2755, 0, 1).unwrap(), Some(CHANGES_GROUP));
        assert_eq!(found(0o2745, 0, 1).unwrap(), None);
    }
}
