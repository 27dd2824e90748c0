//! Finding a program as execvp(3) does, and becoming it.

use std::env;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::failure::{Failure, STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND, STATUS_OWN_FAILURE};

/// Where execvp looks when PATH is not set.
pub const DEFAULT_PATH: &str = "/bin:/usr/bin";

fn not_found(name: &OsStr) -> Failure {
    let whence = match name.as_bytes().contains(&b'/') {
        true => "no such file",
        false => "in none of PATH's folders; a program elsewhere needs its path, as in ./NAME",
    };
    Failure::new(STATUS_NOT_FOUND, format!("{}: not found: {whence}", name.display()))
}

fn refused(path: &Path, reason: &str) -> Failure {
    Failure::new(STATUS_NOT_EXECUTABLE, format!("{}: {reason}", path.display()))
}

/// The file that `name` stands for. A name with a slash is a path; any other is looked up in PATH,
/// where an entry that cannot be executed is passed over, but remembered as the reason.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        return candidate(PathBuf::from(name), name);
    }
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    find_in(name, &path)
}

fn find_in(name: &OsStr, path: &OsStr) -> Result<PathBuf, Failure> {
    let mut refusal = not_found(name);
    if name.is_empty() {
        return Err(refusal);
    }
    for folder in env::split_paths(path) {
        // An empty entry is the current folder.
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        match candidate(folder.join(name), name) {
            Ok(found) => return Ok(found),
            Err(failure) if failure.status == STATUS_NOT_FOUND => {}
            Err(failure) => refusal = failure,
        }
    }
    Err(refusal)
}

fn candidate(path: PathBuf, name: &OsStr) -> Result<PathBuf, Failure> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(refused(&path, "is a directory, and no program")),
        Ok(_) if accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS).is_err() => {
            Err(refused(&path, "permission denied: not executable for this user"))
        }
        Ok(_) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(refused(&path, "permission denied"))
        }
        Err(_) => Err(not_found(name)),
    }
}

/// The variables in which a program's environment differs from this process's.
pub type Changes<'a> = [(&'a str, &'a OsStr)];

/// Becomes the program at `path`; returns only if that fails. Unlike `Command::exec` of the
/// standard library it leaves SIGPIPE as it was inherited.
pub fn become_program(path: &Path, arguments: &[OsString], changes: &Changes<'_>) -> Failure {
    match exec(path, arguments, changes) {
        Ok(error) => not_executable(path, &error),
        Err(_) => Failure::new(STATUS_OWN_FAILURE, "an argument holds a NUL byte"),
    }
}

fn exec(path: &Path, arguments: &[OsString], changes: &Changes<'_>) -> Result<io::Error, NulError> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let arguments = strings(arguments.iter().cloned())?;
    let environment = strings(environment(changes))?;
    let (arguments, environment) = (pointers(&arguments), pointers(&environment));
    // SAFETY: the path and all strings end in NUL, both arrays end in a null pointer, and all of
    // them outlive the call.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Ok(io::Error::last_os_error())
}

fn environment(changes: &Changes<'_>) -> impl Iterator<Item = OsString> {
    let assignment = |name: &OsStr, value: &OsStr| [name, value].join(OsStr::new("="));
    let kept = env::vars_os().filter(|(name, _)| changes.iter().all(|(other, _)| name != other));
    kept.map(move |(name, value)| assignment(&name, &value))
        .chain(changes.iter().map(move |(name, value)| assignment(OsStr::new(name), value)))
}

fn strings(words: impl Iterator<Item = OsString>) -> Result<Vec<CString>, NulError> {
    words.map(|word| CString::new(word.into_vec())).collect()
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Why exec failed on a file that exists.
pub fn not_executable(path: &Path, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ENOENT) => refused(path, "its interpreter or dynamic loader is missing"),
        Some(libc::ENOEXEC) => refused(path, "not in a format that can be executed"),
        Some(libc::EACCES) => refused(path, "permission denied"),
        _ => refused(path, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_through_path_in_order() {
        let found = find_in(OsStr::new("sh"), OsStr::new("/nonexistent:/bin:/usr/bin"));
        assert_eq!(found.unwrap(), PathBuf::from("/bin/sh"));
    }

    #[test]
    fn remembers_what_it_could_not_execute() {
        let refused = find_in(OsStr::new("bin"), OsStr::new("/usr:/nonexistent"));
        assert_eq!(refused.unwrap_err().status, STATUS_NOT_EXECUTABLE);
    }

    #[test]
    fn an_empty_name_is_no_program() {
        let missing = find_in(OsStr::new(""), OsStr::new("/bin"));
        assert_eq!(missing.unwrap_err().status, STATUS_NOT_FOUND);
    }
}
