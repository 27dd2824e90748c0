//! `FURWOCK_WARN_AFTER`: a thread that has waited for a lock for so long says so on stderr, once:
//! which thread holds the lock, and what that thread waits for in turn.
//!
//! All of this runs in the thread that waits, from inside its lock function, while other threads
//! may hold any lock of the program's: the allocator's, the loader's. So it allocates nothing and
//! takes no lock but the engine's own, and looks for symbols by itself instead of by `dladdr`,
//! which waits for the loader's lock.

use crate::say::{self, Line};
use crate::{loaded, object};
use core::ffi::CStr;
use core::fmt::Write;
use core::time::Duration;
use furwock::inspect::{Kind, LongWait, Wait};

/// The limit that `value` names: a number with `ms`, `s`, `m` or `h`, or seconds.
fn limit(value: &str) -> Option<Duration> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let ms = match unit {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return None,
    };
    let limit = Duration::from_millis(number.checked_mul(ms)?);
    (!limit.is_zero()).then_some(limit)
}

/// At the start, with the variable's value.
pub(crate) fn start(value: &CStr) {
    if value.is_empty() {
        return;
    }
    match value.to_str().ok().and_then(limit) {
        Some(limit) => {
            loaded::look_up();
            furwock::unstable::inspect::watch_long_waits(limit, warn);
        }
        None => say::say(
            "FURWOCK_WARN_AFTER isn't a time such as 10s, 500ms or 2m: long waits aren't reported",
        ),
    }
}

fn warn(long: &LongWait) {
    // Threads wait for the others as long as there is nothing to do: that is no news.
    if !matches!(long.wait.kind, Kind::Mutex | Kind::RwLock) || say::is_quiet() {
        return;
    }
    // SAFETY: the thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let mut text = Line::new();
    write_chain(&mut text, long);
    text.print();
    // SAFETY: as above.
    unsafe { *errno = before };
}

fn write_chain(text: &mut Line, long: &LongWait) {
    let tenths = long.waited.as_millis() / 100;
    let mut is_first = true;
    let mut seen = [0; 8];
    for (wait, place) in long.chain().zip(0..) {
        if let Some(place) = seen.get_mut::<usize>(place) {
            *place = wait.thread;
        }
        _ = text.write_str(if is_first { "furwock: " } else { "furwock:   " });
        write_thread(text, wait.thread);
        _ = if is_first {
            write!(text, " has waited {}.{} s for ", tenths / 10, tenths % 10)
        } else {
            text.write_str(" waits for ")
        };
        write_lock(text, &wait);
        write_holders(text, &wait, &seen);
        _ = text.write_str("\n");
        is_first = false;
    }
}

fn write_thread(text: &mut Line, tid: u32) {
    _ = write!(text, "thread {tid}");
    let mut name = [0; 16];
    let name = name_of(tid, &mut name);
    if !name.is_empty() {
        _ = write!(text, " ({name})");
    }
}

fn write_lock(text: &mut Line, wait: &Wait) {
    _ = write!(text, "{} ", wait.kind.as_str());
    if let Some(name) = &wait.name {
        _ = write!(text, "{} ", name.as_str());
    }
    _ = write!(text, "{:#x}", wait.address);
    object::write_place(text, wait.address);
}

fn write_holders(text: &mut Line, wait: &Wait, seen: &[u32]) {
    let holders = wait.holders;
    if holders.is_empty() {
        _ = text.write_str(", held by no thread at this moment");
    }
    for (holder, place) in holders.threads().iter().zip(0..) {
        _ = text.write_str(if place == 0 { ", held by " } else { " and " });
        if *holder == wait.thread {
            _ = text.write_str("itself");
        } else {
            write_thread(text, *holder);
            if seen.contains(holder) {
                _ = text.write_str(": they wait for each other");
            }
        }
    }
    if holders.unnamed() != 0 {
        let plural = if holders.unnamed() == 1 { "" } else { "s" };
        let joint = if holders.threads().is_empty() { ", held by" } else { " and" };
        _ = write!(text, "{joint} {} reader{plural} that it doesn't name", holders.unnamed());
    }
}

/// The thread's name, from the kernel.
fn name_of(tid: u32, name: &mut [u8; 16]) -> &str {
    let mut path = Line::new();
    _ = write!(path, "/proc/self/task/{tid}/comm\0");
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a C string; reads into the array. By number: libc's own functions are cancellation
    // points.
    let read = unsafe {
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_bytes().as_ptr(), flags);
        if file < 0 {
            return "";
        }
        let read = libc::syscall(libc::SYS_read, file, name.as_mut_ptr(), name.len());
        libc::syscall(libc::SYS_close, file);
        usize::try_from(read).unwrap_or(0)
    };
    core::str::from_utf8(&name[..read.min(name.len())]).unwrap_or("").trim_end()
}
