//! Abseil's Mutex, which is mutex and rwlock in one, and its CondVar, from Abseil's shared library.
//!
//! The functions' names contain a version, an inline namespace that each build of the library
//! chooses. So they are searched for among the library's symbols.

use std::ffi::{CString, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol};

use super::foreign::{self, Functions};
use super::loading::Loaded;

#[derive(Clone, Copy)]
pub struct Library;

const FOLDERS: [&str; 5] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];
const PREFIX: &[u8] = b"libabsl_synchronization.so";
/// Debian 12's name for it; in other releases the date differs.
const PACKAGE: &str = "libabsl20220623";

impl foreign::Library for Library {
    fn functions() -> Result<Functions, String> {
        static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
        LOADED.get_or_init(load).clone()
    }
}

/// The file's name has a version too.
fn find() -> Option<PathBuf> {
    let files = FOLDERS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut found: Vec<PathBuf> = files
        .filter(|file| file.file_name().as_bytes().starts_with(PREFIX))
        .map(|file| file.path())
        .collect();
    found.sort();
    found.pop()
}

fn load() -> Result<Functions, String> {
    let path = find().ok_or_else(|| {
        format!("libabsl_synchronization.so is not here; Debian's package is {PACKAGE}")
    })?;
    let c_path = CString::new(path.as_os_str().as_bytes()).expect("a path of a folder's entry");
    let absl = Loaded::open(&c_path, PACKAGE)?;
    let image = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file =
        object::File::parse(&*image).map_err(|error| format!("{}: {error}", path.display()))?;
    let names: Vec<&str> = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok()).collect();
    // `_ZN4absl`, perhaps a namespace, the member's name.
    let address = |member: &str| {
        let name = names.iter().find(|name| name.starts_with("_ZN4absl") && name.ends_with(member));
        let name = name.ok_or_else(|| format!("{} has no {member}", path.display()))?;
        absl.function(name)
    };
    // SAFETY: methods without arguments and results take `this` alone, an object of one word, which
    // is zero while it is free and has no waiters.
    let function = |member| address(member).map(|address| unsafe { foreign::function(address) });
    let wait = condvar_wait(&names, &absl)?;
    // SAFETY: CondVar::Wait takes a Mutex's address beside `this`.
    let wait = unsafe { foreign::wait(wait) };
    Ok(Functions {
        lock: function("5Mutex4LockEv")?,
        unlock: function("5Mutex6UnlockEv")?,
        read_lock: function("5Mutex10ReaderLockEv")?,
        read_unlock: function("5Mutex12ReaderUnlockEv")?,
        wait,
        signal: function("7CondVar6SignalEv")?,
        broadcast: function("7CondVar9SignalAllEv")?,
    })
}

/// CondVar::Wait's name ends with its argument's mangled type, which depends on the namespace.
fn condvar_wait(names: &[&str], absl: &Loaded) -> Result<*mut c_void, String> {
    let is_wait = |name: &&&str| name.starts_with("_ZN4absl") && name.contains("7CondVar4WaitEP");
    let name = names.iter().find(is_wait).ok_or("Abseil's library has no CondVar::Wait")?;
    absl.function(name)
}
