//! The C library nsync: its lock, which is mutex and rwlock in one, and its condition variable.

use std::ffi::CStr;
use std::sync::OnceLock;

use super::foreign::{self, Functions};
use super::loading::Loaded;

#[derive(Clone, Copy)]
pub struct Library;

const LIBRARY: &CStr = c"libnsync.so.1";
/// Debian's name for it.
const PACKAGE: &str = "libnsync1";

impl foreign::Library for Library {
    fn functions() -> Result<Functions, String> {
        static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
        LOADED.get_or_init(load).clone()
    }
}

fn load() -> Result<Functions, String> {
    let nsync = Loaded::open(LIBRARY, PACKAGE)?;
    // SAFETY: nsync declares each of the functions asked for below as `void f(nsync_mu *)` or `void
    // f(nsync_cv *)`. Both objects are a word and a pointer, and ready for use while zero.
    let function = |name| nsync.function(name).map(|address| unsafe { foreign::function(address) });
    let wait = nsync.function("nsync_cv_wait")?;
    // SAFETY: nsync declares it as `void f(nsync_cv *, nsync_mu *)`.
    let wait = unsafe { foreign::wait(wait) };
    Ok(Functions {
        lock: function("nsync_mu_lock")?,
        unlock: function("nsync_mu_unlock")?,
        read_lock: function("nsync_mu_rlock")?,
        read_unlock: function("nsync_mu_runlock")?,
        wait,
        signal: function("nsync_cv_signal")?,
        broadcast: function("nsync_cv_broadcast")?,
    })
}
