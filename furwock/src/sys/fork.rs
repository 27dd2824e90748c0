//! fork: what a child has to forget.

#[cfg(all(test, any(loom, shuttle)))]
pub(crate) use super::pretend;

use super::slot::{known_tid, refresh_tid};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Whether the handlers are registered.
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Whether a handler has run in this child.
static TOLD: AtomicBool = AtomicBool::new(false);
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// What `on_child` registered.
static FORGET: [AtomicPtr<()>; 8] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 8];

/// Whether this process is the child of one that used furwock before it forked: lock words may then
/// carry the bits of threads that don't exist here.
#[inline]
pub(crate) fn is_child() -> bool {
    #[cfg(all(test, any(loom, shuttle)))]
    if pretend::CHILD.get() {
        return true;
    }
    generation() != 0
}

/// Counts this process's forks among its ancestors: who finds another number than before is in a
/// child, whose wait-queue table started empty.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Registers `forget` for what a child has to forget beyond its thread's id. Each child calls all that
/// are registered, in any order, with the id that its thread had in the parent; that is 0 if nothing had
/// asked for the id. A function may be registered again, and may then be called twice. The caller calls
/// `watch` too, before a child can have anything to forget.
pub(crate) fn on_child(forget: fn(u32)) {
    let new = forget as *mut ();
    let is_free = |place: &AtomicPtr<()>| {
        let seen = place.load(Ordering::Relaxed);
        let order = Ordering::Release;
        seen == new
            || (seen.is_null()
                && place.compare_exchange(seen, new, order, Ordering::Relaxed).is_ok())
    };
    assert!(FORGET.iter().any(is_free), "more to forget in a child than there is room for");
}

/// Registers the handlers. Returns when they are registered, whoever did it: a caller may fork next.
pub(crate) fn watch() {
    if !WATCHED.load(Ordering::Acquire) {
        register();
    }
}

/// Whoever comes first registers, and so does everybody else who comes before that is done: a child
/// that was forked meanwhile has no thread left that would do it. Registered twice is told once.
#[cold]
fn register() {
    // SAFETY: the handlers are functions of the right type that live as long as the process. Failure
    // (no memory) leaves a process whose children must not use what their parent held.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    WATCHED.store(true, Ordering::Release);
}

extern "C" fn before_fork() {
    TOLD.store(false, Ordering::Relaxed);
}

extern "C" fn in_child() {
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    GENERATION.fetch_add(1, Ordering::Relaxed);
    let in_parent = known_tid();
    refresh_tid();
    for place in &FORGET {
        let forget = place.load(Ordering::Acquire);
        if forget.is_null() {
            continue;
        }
        // SAFETY: the pointer was a `fn(u32)` in `on_child`.
        let forget: fn(u32) = unsafe { core::mem::transmute(forget) };
        forget(in_parent);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The code with which a child of this one's child ends, each having run `check`.
    fn in_two_generations(check: fn(u32) -> bool) -> i32 {
        let mut status = 0;
        // SAFETY: the children only count and wait, and end at once.
        unsafe {
            match libc::fork() {
                0 => {
                    let told = check(1);
                    match libc::fork() {
                        0 => libc::_exit(if told && check(2) { 7 } else { 1 }),
                        child => libc::waitpid(child, &mut status, 0),
                    };
                    libc::_exit(libc::WEXITSTATUS(status));
                }
                child => libc::waitpid(child, &mut status, 0),
            };
        }
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
    }

    #[test]
    fn a_child_is_told_once_however_often_it_is_watched() {
        watch();
        register();
        register();
        assert_eq!(generation(), 0);
        let ended = in_two_generations(|depth| {
            // SAFETY: no arguments.
            let tid = unsafe { libc::gettid() } as u32;
            generation() == depth && known_tid() == tid
        });
        assert_eq!(ended, 7);
    }

    /// A child of a process in which another thread was about to register.
    #[test]
    fn a_child_that_nobody_watches_yet_registers_itself() {
        watch();
        let ended = in_two_generations(|_| {
            WATCHED.store(false, Ordering::Relaxed);
            watch();
            WATCHED.load(Ordering::Relaxed)
        });
        assert_eq!(ended, 7);
    }
}
