//! Which threads have a processor, where a program in the kernel notes that (docs/monitor.md).
//!
//! `furwock run --monitor` attaches a BPF program to the scheduler's switches. At each switch it
//! writes one byte for the thread that leaves the processor and one for the thread that gets it,
//! into a map that processes may map, but not write.
//!
//! The bytes are hints: a thread may lose its processor right after a look. They go stale when the
//! program is detached, and mean other threads in another namespace of process ids. A look finds
//! that out by itself: the calling thread runs, so its own byte must say so. Since some kernels
//! don't report each switch, it may say so after the caller's next ones only.

#![cfg_attr(any(loom, shuttle, simulated), allow(dead_code))]

use core::sync::atomic::AtomicU8;
#[cfg(not(any(loom, shuttle, simulated)))]
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How such a map begins. The threads' bytes follow, each at its thread's id.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Header {
    /// Says that it is one, and of this version.
    pub magic: [u8; 16],
    /// How many bytes follow.
    pub size: u32,
}

/// What maps of this version begin with.
pub const MAGIC: [u8; 16] = *b"furwock monitor1";

/// The byte of a thread that has a processor. A thread that was in no switch so far has 0.
pub const ON: u8 = 1;
/// The byte of a thread that has none: it sleeps, has ended, or waits for a processor.
pub const OFF: u8 = 2;

/// How often a thread is switched, at most, before its byte is held to be wrong. (One switch in a
/// thousand was not reported where that was seen.)
pub const SWITCHES: u32 = 3;

/// The environment variable that holds the map's file descriptor.
pub const VARIABLE: &str = "FURWOCK_MONITOR";

/// The map's header, once there is one and as long as it is believed.
#[cfg(not(any(loom, shuttle, simulated)))]
static MAP: AtomicPtr<Header> = AtomicPtr::new(core::ptr::null_mut());
/// How many bytes were mapped behind it.
#[cfg(not(any(loom, shuttle, simulated)))]
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Whether the thread `tid` has a processor. `None` if that isn't known. `own` returns the caller's
/// thread id.
#[cfg(not(any(loom, shuttle, simulated)))]
#[inline]
pub(crate) fn has_processor(tid: u32, own: impl FnOnce() -> u32) -> Option<bool> {
    // Acquire: `MAPPED` is this map's.
    let map = MAP.load(Ordering::Acquire);
    if map.is_null() {
        return None;
    }
    look(map, tid, own())
}

#[cfg(not(any(loom, shuttle, simulated)))]
#[cold]
fn look(map: *const Header, tid: u32, own: u32) -> Option<bool> {
    // SAFETY: `watch` stored it, with `MAPPED` bytes behind it, and it is never unmapped after.
    let states = unsafe {
        core::slice::from_raw_parts(map.add(1).cast::<AtomicU8>(), MAPPED.load(Ordering::Relaxed))
    };
    let (known, stale) = judged(states, tid, own);
    if stale && !is_noted_soon(states, own) {
        MAP.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
    known
}

/// Whether the calling thread's byte says that it runs.
#[cfg(not(any(loom, shuttle, simulated)))]
fn is_noted(states: &[AtomicU8], own: u32) -> bool {
    judged(states, own, own).0 == Some(true)
}

/// The same, after a few switches at the latest.
#[cfg(not(any(loom, shuttle, simulated)))]
fn is_noted_soon(states: &[AtomicU8], own: u32) -> bool {
    (0..SWITCHES).any(|_| {
        // It comes back by a switch.
        _ = super::thread::nap_for(1);
        is_noted(states, own)
    })
}

/// Models have no such hints, and simulated machines no such kernel.
#[cfg(any(loom, shuttle, simulated))]
pub(crate) fn has_processor(_tid: u32, _own: impl FnOnce() -> u32) -> Option<bool> {
    None
}

/// What the bytes say of the thread `tid`, and whether they can't be true, since thread `own` runs.
fn judged(states: &[AtomicU8], tid: u32, own: u32) -> (Option<bool>, bool) {
    let state = |tid: u32| {
        states.get(tid as usize).map(|state| state.load(core::sync::atomic::Ordering::Relaxed))
    };
    match (state(own), state(tid)) {
        // There is no byte for this thread: the system allows more ids than it did.
        (None, _) => (None, false),
        (Some(ON), Some(ON)) => (Some(true), false),
        (Some(ON), Some(OFF)) => (Some(false), false),
        (Some(ON), _) => (None, false),
        (Some(_), _) => (None, true),
    }
}

/// Believes the map behind `descriptor` from now on. False, and nothing is changed, if it is no
/// such map, or its bytes aren't those of this process's threads. `own` is the caller's thread id.
#[cfg(not(any(loom, shuttle, simulated)))]
pub(crate) fn watch(descriptor: libc::c_int, own: u32) -> bool {
    let Some(size) = map(descriptor, size_of::<Header>()).and_then(|header| {
        // SAFETY: as long as a header, and nothing refers to it after.
        unsafe {
            let is_one = (*header).magic == MAGIC;
            let size = (*header).size as usize;
            libc::munmap(header.cast(), size_of::<Header>());
            is_one.then_some(size)
        }
    }) else {
        return false;
    };
    let Some(map) = map(descriptor, size_of::<Header>() + size) else { return false };
    // SAFETY: so many bytes were mapped behind the header.
    let states = unsafe { core::slice::from_raw_parts(map.add(1).cast::<AtomicU8>(), size) };
    // Of itself, this thread knows that it runs. A thread that has become the process's only one by
    // exec took over another's id, and is known by it from its next switch on.
    if !is_noted(states, own) && !is_noted_soon(states, own) {
        // SAFETY: nothing refers to it any more.
        unsafe { libc::munmap(map.cast(), size_of::<Header>() + size) };
        return false;
    }
    MAPPED.store(size, Ordering::Relaxed);
    // Release: with `MAPPED`.
    MAP.store(map, Ordering::Release);
    true
}

/// The first `size` bytes behind `descriptor`, to be read.
///
/// The number may be another file's by now. BPF maps have no file type. Files that have one are
/// refused: one that is shorter than the mapping couldn't be read.
#[cfg(not(any(loom, shuttle, simulated)))]
fn map(descriptor: libc::c_int, size: usize) -> Option<*mut Header> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: writes one `stat` if it succeeds.
    let mode = unsafe {
        (libc::fstat(descriptor, status.as_mut_ptr()) == 0).then(|| status.assume_init().st_mode)
    }?;
    if mode & libc::S_IFMT != 0 {
        return None;
    }
    let none = core::ptr::null_mut();
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe { libc::mmap(none, size, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// Held by tests for which the map has to stay what it is.
#[cfg(all(test, not(any(loom, shuttle, simulated))))]
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// As if all threads were known to have a processor but `off`, while `test` runs.
#[cfg(all(test, not(any(loom, shuttle, simulated))))]
pub(crate) fn pretend(off: u32, test: impl FnOnce()) {
    const SIZE: usize = 1 << 22;
    let _turn = TURN.lock();
    #[repr(C)]
    struct Map(Header, [AtomicU8; SIZE]);
    let map = Box::<Map>::new_uninit();
    let map: *mut Map = Box::into_raw(map).cast();
    // SAFETY: memory of a `Map`, of whose fields all bytes may be anything. It is never freed:
    // other tests' threads may look at it.
    unsafe {
        (&raw mut (*map).0).write(Header { magic: MAGIC, size: SIZE as u32 });
        (&raw mut (*map).1).cast::<u8>().write_bytes(ON, SIZE);
        (*map).1[off as usize].store(OFF, Ordering::Relaxed);
    }
    MAPPED.store(SIZE, Ordering::Relaxed);
    MAP.store(map.cast(), Ordering::Release);
    test();
    MAP.store(core::ptr::null_mut(), Ordering::Relaxed);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const OWN: u32 = 1;

    fn judged_at(own: u8, other: u8) -> (Option<bool>, bool) {
        judged(&[0, own, other].map(AtomicU8::new), 2, OWN)
    }

    #[test]
    fn a_thread_that_was_switched_is_known() {
        assert_eq!(judged_at(ON, ON), (Some(true), false));
        assert_eq!(judged_at(ON, OFF), (Some(false), false));
        assert_eq!(judged_at(ON, 0), (None, false), "it was in no switch so far");
    }

    #[test]
    fn bytes_that_deny_that_the_caller_runs_are_not_believed() {
        for own in [0, OFF, 77] {
            for other in [0, ON, OFF] {
                assert_eq!(judged_at(own, other), (None, true), "{own} {other}");
            }
        }
    }

    #[test]
    #[cfg(not(simulated))]
    fn bytes_are_wrong_only_if_switches_dont_mend_them() {
        let states = [0, OFF].map(AtomicU8::new);
        assert!(!is_noted_soon(&states, OWN));
        states[1].store(ON, Ordering::Relaxed);
        assert!(is_noted_soon(&states, OWN));
    }

    #[test]
    fn threads_without_a_byte_are_unknown() {
        let states = [0, ON].map(AtomicU8::new);
        assert_eq!(judged(&states, 2, OWN), (None, false));
        assert_eq!(judged(&states, OWN, 2), (None, false));
        assert_eq!(judged(&states, 0, OWN), (None, false), "no owner");
    }

    #[test]
    #[cfg(not(simulated))]
    fn what_is_no_such_map_is_refused() {
        use std::os::fd::AsRawFd;

        let _turn = TURN.lock();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let (end, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        for descriptor in [file.as_raw_fd(), end.as_raw_fd(), -1] {
            assert!(!watch(descriptor, OWN));
        }
        assert_eq!(has_processor(OWN, || OWN), None);
    }
}
