//! furwock's pthread interface: replaces glibc's locks beneath a program that was not built for it.
//!
//! `LD_PRELOAD=libfurwock_preload.so PROGRAM`, or `furwock run PROGRAM`. The locks live inside the
//! program's own `pthread_mutex_t`, `pthread_rwlock_t` and `pthread_cond_t`, in glibc's sizes and
//! with glibc's static initialisers, so that it doesn't matter which code initialised an object.
//! Objects that other processes may share, and those that need the kernel (process-shared,
//! priority-inheriting, priority-protected and robust ones), go to glibc's own code.
//!
//! `syscall(SYS_futex, ...)` on private words goes to the engine as well.
//!
//! Functions that aren't here need no replacement: `pthread_mutex_init` writes what `layout` reads,
//! and `pthread_mutex_consistent` or `_setprioceiling` concern glibc's own kinds alone. The library
//! that records has the init functions, to note where objects are made (`recording/made`).

#![allow(clippy::missing_safety_doc, reason = "the functions' contracts are POSIX's")]

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))
)))]
compile_error!("the preload knows glibc's object layouts on x86-64 and aarch64 Linux only");

#[cfg(all(target_os = "linux", not(target_env = "gnu")))]
compile_error!(
    "the preload replaces glibc's pthread functions: programs on musl can't use it, but may be \
     built with the crate furwock or with libfurwock.a"
);

#[cfg(all(feature = "recording", not(target_arch = "x86_64")))]
compile_error!("the library that records knows x86-64's clock and registers only");

mod barrier;
mod c11;
mod cancel;
mod clone;
mod cond;
mod entrances;
mod environment;
mod glibc;
mod handlers;
mod layout;
mod loaded;
mod longjmp;
mod mutex;
mod named;
mod object;
mod once;
mod priority;
mod probes;
#[cfg_attr(not(feature = "recording"), path = "unrecorded.rs")]
mod recording;
mod rwlock;
mod sandbox;
mod say;
mod sem;
mod shared_cond;
mod spin;
mod start;
mod symbols;
mod syscall;
mod time;
mod tools;
mod unwinder;
mod warn;
