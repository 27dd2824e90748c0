//! fork: the state that a child has to discard.

#[cfg(all(test, any(loom, shuttle)))]
pub(crate) use super::pretend;

use super::slot::{known_tid, refresh_tid};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Whether the handlers are registered.
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Whether a handler has run in this child.
static CALLED: AtomicBool = AtomicBool::new(false);
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// What `on_child` registered.
static HOOKS: [AtomicPtr<Hook>; 8] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 8];

/// What a child has to forget beyond its thread's id. It gets the id that its thread had in the
/// parent, 0 if nothing had asked for the id.
///
/// A hook is known by its own address: a function need not have one address only.
pub(crate) struct Hook(pub(crate) fn(u32));

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

/// Counts the forks among this process's ancestors: code that finds another number than before runs
/// in a child, whose wait-queue table started empty.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Registers `hook`, unless it is registered already. Each child calls all that are, in any order.
/// The caller calls `watch` too, before a child can have anything to forget.
pub(crate) fn on_child(hook: &'static Hook) {
    let new: *const Hook = hook;
    let is_there = |place: &AtomicPtr<Hook>| {
        let seen = place.load(Ordering::Relaxed);
        if !seen.is_null() {
            return ptr::eq(seen, new);
        }
        let (order, failure) = (Ordering::Release, Ordering::Relaxed);
        match place.compare_exchange(seen, new.cast_mut(), order, failure) {
            Ok(_) => true,
            // Another thread was faster, perhaps with the same hook.
            Err(now) => ptr::eq(now, new),
        }
    };
    assert!(HOOKS.iter().any(is_there), "more to forget in a child than there is room for");
}

/// Registers the handlers. Returns when they are registered, by whichever thread: a caller may fork
/// next.
#[inline(always)]
pub(crate) fn watch() {
    if !WATCHED.load(Ordering::Acquire) {
        register();
    }
}

/// The first caller registers, and so does every other that comes before that is done: a child that
/// was forked meanwhile has no other thread to do it. Handlers registered twice act once.
#[cold]
#[inline(never)]
extern "C" fn register() {
    // SAFETY: the handlers are functions of the right type that live as long as the process.
    // Failure (no memory) leaves a process whose children must not use what their parent held.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    WATCHED.store(true, Ordering::Release);
}

extern "C" fn before_fork() {
    // A store costs a process that forks again and again a copy of the page each time.
    if CALLED.load(Ordering::Relaxed) {
        CALLED.store(false, Ordering::Relaxed);
    }
}

extern "C" fn in_child() {
    if CALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    GENERATION.fetch_add(1, Ordering::Relaxed);
    let in_parent = known_tid();
    refresh_tid();
    for place in &HOOKS {
        // SAFETY: null, or a `&'static Hook` that `on_child` stored.
        if let Some(hook) = unsafe { place.load(Ordering::Acquire).as_ref() } {
            (hook.0)(in_parent);
        }
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

    /// Threads that register it at the same time and again take up one place, and the child calls
    /// it once.
    #[test]
    fn a_hook_takes_up_one_place() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        static HOOK: Hook = Hook(|_| _ = CALLS.fetch_add(1, Ordering::Relaxed));
        watch();
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| (0..100).for_each(|_| on_child(&HOOK)));
            }
        });
        let is_it = |place: &&AtomicPtr<Hook>| ptr::eq(place.load(Ordering::Relaxed), &HOOK);
        assert_eq!(HOOKS.iter().filter(is_it).count(), 1);
        assert_eq!(in_two_generations(|depth| CALLS.load(Ordering::Relaxed) == depth), 7);
    }

    /// A child of a process in which another thread was about to register.
    #[test]
    fn a_child_without_a_watch_registers_itself() {
        watch();
        let ended = in_two_generations(|_| {
            WATCHED.store(false, Ordering::Relaxed);
            watch();
            WATCHED.load(Ordering::Relaxed)
        });
        assert_eq!(ended, 7);
    }
}
