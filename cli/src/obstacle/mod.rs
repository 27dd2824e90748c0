//! Can a preload act on a program? Only through the dynamic loader of the same libc, only if the
//! kernel does not start the program in secure mode, and not together with tools that have to be
//! loaded first.

mod changed_root;
mod loader;
mod root;
mod script;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{getgid, getuid};

use crate::elf::{self, Elf, Sanitizer};
use crate::failure::{Failure, STATUS_OWN_FAILURE};
use crate::preload::Preload;
use root::Root;

/// How often the kernel follows `#!` from one interpreter to the next.
const INTERPRETERS_MAX: usize = 5;

const SETUID: u32 = libc::S_ISUID;
const SETGID: u32 = libc::S_ISGID;
const GROUP_EXECUTES: u32 = libc::S_IXGRP;

const STATIC: &str = "it is statically linked and has no dynamic loader";
const CHANGES_USER: &str = "it is setuid, so the loader ignores LD_PRELOAD";
const CHANGES_GROUP: &str = "it is setgid, so the loader ignores LD_PRELOAD";
const CAPABILITIES: &str = "it has file capabilities, so the loader ignores LD_PRELOAD";
const THREAD_SANITIZER: &str = "it is built with ThreadSanitizer, which has to see glibc's own \
                                locks: run it without furwock";
const VALGRIND: &str = "it has to see glibc's own locks, and those of the program that it runs: \
                        run it without furwock";

/// Fails if the preload cannot act on `program`, with the file in the way (the program, the
/// interpreter of its script, or the program that chroot(8) becomes) and the reason. An unclear
/// file (unreadable, of an unknown format) gets the benefit of the doubt.
pub fn check(program: &Path, arguments: &[OsString], preload: &Preload) -> Result<(), Failure> {
    check_in(&Root::OWN, program, preload.path())?;
    if program.file_name() != Some(OsStr::new("chroot")) {
        return Ok(());
    }
    let Some(changed) = changed_root::of(arguments) else { return Ok(()) };
    let Some(root) = Root::of(changed.folder) else { return Ok(()) };
    let Some(program) = root.program(changed.program) else { return Ok(()) };
    match root.outside(preload.path()) {
        Ok(library) => check_in(&root, &program, &library),
        Err(Errno::NOENT) => Err(blocked(&program, &not_below(changed.folder, preload.path()))),
        Err(_) => Ok(()),
    }
}

fn not_below(root: &Path, library: &Path) -> String {
    format!(
        "below {} there is no {}: install furwock there, or bind its folder to that place",
        root.display(),
        library.display()
    )
}

/// `program` and `library` as this process sees them, and the root that the program will have.
fn check_in(root: &Root, program: &Path, library: &Path) -> Result<(), Failure> {
    let mut file = program.to_owned();
    for _ in 0..INTERPRETERS_MAX {
        if file.file_name() == Some(OsStr::new("valgrind")) {
            return Err(blocked(&file, VALGRIND));
        }
        match look_at(&file, root, library) {
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

fn look_at(path: &Path, root: &Root, library: &Path) -> Option<Finding> {
    let Ok(mut file) = File::open(path) else {
        // Nothing but an ELF file runs without being readable, so its mode bits count.
        return secure_mode(path).map(|reason| Finding::Blocked(reason.to_owned()));
    };
    if let Some(elf) = elf::read(&file) {
        let reason = secure_mode(path)
            .map(str::to_owned)
            .or_else(|| unreachable_loader(path, elf, root, library));
        return reason.map(Finding::Blocked);
    }
    script::interpreter(&mut file, root).map(Finding::Script)
}

fn unreachable_loader(path: &Path, elf: Elf, root: &Root, library: &Path) -> Option<String> {
    if elf::own_platform().is_some_and(|own| own != elf.platform) {
        return Some(format!("it is built for {}", elf.platform));
    }
    let found = match &elf.interpreter {
        Some(loader) => loader::obstacle(Path::new(loader), root, library),
        // A loader that is called by its name, with a program as its argument.
        None if elf.is_loader => loader::obstacle_of(path, path, library),
        None => Some(STATIC.to_owned()),
    };
    found.or_else(|| match elf.sanitizer? {
        Sanitizer::Thread => Some(THREAD_SANITIZER.to_owned()),
        Sanitizer::Address(first) => Some(format!(
            "it is built with AddressSanitizer, whose library has to be the first: run it with \
             LD_PRELOAD={first}:PATH/libfurwock_preload.so"
        )),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_program_can_be_reached() {
        let library = std::env::current_exe().unwrap();
        assert!(check_in(&Root::OWN, Path::new("/bin/sh"), &library).is_ok());
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
