//! The environment that the loader gives to constructors: libc's `environ` isn't set yet, and no
//! other code has read or copied it.

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;

/// A null-terminated array of strings, as the kernel put it on the stack.
pub(crate) struct Environment(*mut *mut c_char);

impl Environment {
    /// # Safety
    /// `array` is such an array, which no other code uses while this lives.
    pub(crate) unsafe fn new(array: *mut *mut c_char) -> Self {
        Self(array)
    }

    /// What the user asks furwock for by `name`. A program with more rights than the user who
    /// started it (setuid, setgid, file capabilities) is asked for nothing: it would open files,
    /// write, or leave its children without furwock at the user's wish.
    pub(crate) fn asked(&self, name: &CStr) -> Option<&CStr> {
        // SAFETY: no arguments that could be wrong.
        let gains_rights = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        if gains_rights { None } else { self.get(name) }
    }

    /// The value of `name`.
    pub(crate) fn get(&self, name: &CStr) -> Option<&CStr> {
        let at = self.find(name, 0)?;
        // SAFETY: `find` found the name and `=` there.
        Some(unsafe { CStr::from_ptr(self.entry(at).add(name.count_bytes() + 1)) })
    }

    /// Removes this library from `LD_PRELOAD`, so that programs started by this one don't get it.
    /// Other entries stay; without any, the variable is removed.
    pub(crate) fn forget_this_library(&mut self) {
        const NAME: &CStr = c"LD_PRELOAD";
        let Some(own) = own_path() else { return };
        let mut from = 0;
        while let Some(at) = self.find(NAME, from) {
            // SAFETY: `find` found the name and `=` there; a C string may be written up to its end.
            let value = unsafe {
                let value = self.entry(at).add(NAME.count_bytes() + 1);
                core::slice::from_raw_parts_mut(value.cast::<u8>(), libc::strlen(value))
            };
            if remove_entries(value, |entry| names(entry, own)) == 0 {
                self.remove(at);
                from = at;
            } else {
                from = at + 1;
            }
        }
    }

    /// The index of the first entry for `name` from `from` on.
    fn find(&self, name: &CStr, from: usize) -> Option<usize> {
        if self.0.is_null() {
            return None;
        }
        let mut at = from;
        loop {
            let entry = self.entry(at);
            if entry.is_null() {
                return None;
            }
            // SAFETY: by the contract of `new`.
            let text = unsafe { CStr::from_ptr(entry) };
            let rest = text.to_bytes().strip_prefix(name.to_bytes());
            if rest.is_some_and(|rest| rest.starts_with(b"=")) {
                return Some(at);
            }
            at += 1;
        }
    }

    fn entry(&self, at: usize) -> *mut c_char {
        // SAFETY: callers never go past the null.
        unsafe { *self.0.add(at) }
    }

    /// Moves the entries behind `at`, and the null, one place down.
    fn remove(&mut self, mut at: usize) {
        loop {
            let next = self.entry(at + 1);
            // SAFETY: `at` is before the null.
            unsafe { *self.0.add(at) = next };
            if next.is_null() {
                return;
            }
            at += 1;
        }
    }
}

/// The bytes that end a path in `LD_PRELOAD`.
fn separates(byte: &u8) -> bool {
    matches!(byte, b' ' | b':')
}

/// Moves the entries that stay to the front of `list`, with a colon between them, and fills the
/// rest with zeroes. Returns the length of what stays.
fn remove_entries(list: &mut [u8], goes: impl Fn(&[u8]) -> bool) -> usize {
    let (mut read, mut written) = (0, 0);
    while read < list.len() {
        let end = list[read..].iter().position(separates).map_or(list.len(), |found| read + found);
        if end > read && !goes(&list[read..end]) {
            if written > 0 {
                list[written] = b':';
                written += 1;
            }
            list.copy_within(read..end, written);
            written += end - read;
        }
        read = end + 1;
    }
    list[written..].fill(0);
    written
}

/// Where the loader found this library.
fn own_path() -> Option<&'static CStr> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let inside = own_path as *const c_void;
    // SAFETY: writes one `Dl_info`, if the address is in a loaded library, as this function's is.
    // The name lives as long as the library.
    unsafe {
        if libc::dladdr(inside, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        (!name.is_null()).then(|| CStr::from_ptr(name))
    }
}

/// Whether an entry of `LD_PRELOAD` names the file at `own`. Entries that the loader searches for
/// or expands (`$LIB`) are compared by their last component.
fn names(entry: &[u8], own: &CStr) -> bool {
    let last = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().map(<[u8]>::len);
    let ends_alike = |length: usize| {
        let own = own.to_bytes();
        last(own) == Some(length) && own.ends_with(&entry[entry.len() - length..])
    };
    if !entry.contains(&b'/') || entry.contains(&b'$') {
        return last(entry).is_some_and(ends_alike);
    }
    entry == own.to_bytes() || file(entry).is_some_and(|file| Some(file) == file_at(own))
}

/// The file at a path.
fn file(path: &[u8]) -> Option<(libc::dev_t, libc::ino_t)> {
    let mut buffer = [0u8; libc::PATH_MAX as usize];
    buffer.get_mut(..path.len())?.copy_from_slice(path);
    file_at(CStr::from_bytes_until_nul(&buffer).ok()?)
}

fn file_at(path: &CStr) -> Option<(libc::dev_t, libc::ino_t)> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a C string; writes one `stat` if it succeeds.
    unsafe {
        (libc::stat(path.as_ptr(), status.as_mut_ptr()) == 0).then(|| {
            let status = status.assume_init();
            (status.st_dev, status.st_ino)
        })
    }
}
