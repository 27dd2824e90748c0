//! Locks by the names of the functions that threads wait in.

use super::Stack;

/// Functions inside a lock's own are few: a lock's name further out isn't of this wait.
const NEAR: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    Mutex,
    Read,
    Write,
    Condvar,
    Semaphore,
    Barrier,
    Join,
    Once,
    Park,
}

/// Whose lock it is: what its words mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// pthread's and C11's.
    C,
    RustStd,
    ParkingLot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub maker: Maker,
    pub lock: Lock,
    /// Its place in the stack's frames.
    pub frame: usize,
}

impl Function {
    /// Whether an address is in the function's own part of the stack, or in its callees'.
    pub fn has_on_stack(&self, stack: &Stack, address: u64) -> bool {
        let start = stack.frames.first().map_or(0, |frame| frame.stack.0);
        stack.frames.get(self.frame).is_some_and(|frame| (start..frame.stack.1).contains(&address))
    }
}

const IN_C: [(&str, Lock); 25] = [
    ("pthread_mutex_", Lock::Mutex),
    ("mtx_lock", Lock::Mutex),
    ("mtx_timedlock", Lock::Mutex),
    ("pthread_cond_wait", Lock::Condvar),
    ("pthread_cond_timedwait", Lock::Condvar),
    ("pthread_cond_clockwait", Lock::Condvar),
    ("cnd_wait", Lock::Condvar),
    ("cnd_timedwait", Lock::Condvar),
    ("pthread_rwlock_rdlock", Lock::Read),
    ("pthread_rwlock_timedrdlock", Lock::Read),
    ("pthread_rwlock_clockrdlock", Lock::Read),
    ("pthread_rwlock_wrlock", Lock::Write),
    ("pthread_rwlock_timedwrlock", Lock::Write),
    ("pthread_rwlock_clockwrlock", Lock::Write),
    ("sem_wait", Lock::Semaphore),
    ("new_sem_wait", Lock::Semaphore),
    ("sem_timedwait", Lock::Semaphore),
    ("sem_clockwait", Lock::Semaphore),
    ("pthread_barrier_wait", Lock::Barrier),
    ("pthread_join", Lock::Join),
    ("pthread_timedjoin_np", Lock::Join),
    ("pthread_clockjoin_", Lock::Join),
    ("thrd_join", Lock::Join),
    ("pthread_once", Lock::Once),
    ("cxa_guard_acquire", Lock::Once),
];

const IN_RUST: [(&str, Maker, Lock); 15] = [
    ("sync::mutex::futex::Mutex::lock_contended", Maker::RustStd, Lock::Mutex),
    ("sync::rwlock::futex::RwLock::read_contended", Maker::RustStd, Lock::Read),
    ("sync::rwlock::futex::RwLock::write_contended", Maker::RustStd, Lock::Write),
    ("sync::condvar::futex::Condvar::wait", Maker::RustStd, Lock::Condvar),
    ("sync::once::futex::Once::", Maker::RustStd, Lock::Once),
    ("thread_parking::futex::Parker::park", Maker::RustStd, Lock::Park),
    ("std::thread::park", Maker::RustStd, Lock::Park),
    ("parking_lot::raw_mutex::RawMutex::lock_slow", Maker::ParkingLot, Lock::Mutex),
    ("parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", Maker::ParkingLot, Lock::Read),
    ("parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow", Maker::ParkingLot, Lock::Write),
    ("parking_lot::raw_rwlock::RawRwLock::lock_upgradable_slow", Maker::ParkingLot, Lock::Write),
    ("parking_lot::raw_rwlock::RawRwLock::upgrade_slow", Maker::ParkingLot, Lock::Write),
    ("parking_lot::raw_rwlock::RawRwLock::wait_for_readers", Maker::ParkingLot, Lock::Write),
    ("parking_lot::condvar::Condvar::wait_until_internal", Maker::ParkingLot, Lock::Condvar),
    ("parking_lot::once::Once::call_once_slow", Maker::ParkingLot, Lock::Once),
];

/// furwock's own types and C functions: their waits are found by the engine's records.
const IN_FURWOCK: [(&str, Lock); 11] = [
    ("furwock::sync::mutex::", Lock::Mutex),
    ("furwock::sync::rwlock::", Lock::Write),
    ("furwock::sync::condvar::", Lock::Condvar),
    ("furwock::sync::semaphore::", Lock::Semaphore),
    ("furwock::sync::barrier::", Lock::Barrier),
    (ENGINE, Lock::Mutex),
    ("furwock_mutex_", Lock::Mutex),
    ("furwock_rwlock_", Lock::Write),
    ("furwock_cond", Lock::Condvar),
    ("furwock_sem", Lock::Semaphore),
    ("furwock_barrier_", Lock::Barrier),
];

/// The engine's raw locks: what calls them says more.
const ENGINE: &str = "furwock::lock::";

/// The lock's function that a thread is in.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The innermost.
    pub function: Function,
    /// The frame of the one that the program called.
    pub outermost: usize,
    /// A condvar's function is further out: the thread locks its mutex again.
    pub in_condvar: bool,
    /// Its name says that it waits for a limited time.
    pub is_timed: bool,
    /// Only the engine's inside is known: the function that was called may have a limit or not.
    pub is_inside_only: bool,
}

/// None if no function of the stack is a lock's.
pub fn find(stack: &Stack) -> Option<Found> {
    let (mut found, mut engine): (Option<Found>, Option<Found>) = (None, None);
    for (at, frame) in stack.frames.iter().enumerate().take(NEAR) {
        for place in frame.places.iter() {
            let Some((maker, lock)) = of(&place.function) else { continue };
            let new = Found {
                function: Function { maker, lock, frame: at },
                outermost: at,
                in_condvar: false,
                is_timed: false,
                is_inside_only: false,
            };
            if place.function.starts_with(ENGINE) {
                engine.get_or_insert(new).outermost = at;
                continue;
            }
            let found = found.get_or_insert(new);
            if at <= found.outermost + 2 {
                found.outermost = at;
                found.is_timed |= says_limit(&place.function);
                found.in_condvar |= lock == Lock::Condvar && found.function.lock == Lock::Mutex;
            }
        }
    }
    let inside = engine.map(|engine| Found { is_inside_only: true, ..engine });
    let mut found = found.or(inside)?;
    // The preload's functions call each other, and some are jumped out of.
    for (at, frame) in stack.frames.iter().enumerate().take(NEAR) {
        if frame.file_name().starts_with(PRELOAD) {
            found.outermost = found.outermost.max(at);
            found.is_inside_only = false;
            let names = frame.places.iter().map(|place| place.function.as_str());
            found.is_timed |= names.clone().any(is_timed_in_preload);
        }
    }
    Some(found)
}

const PRELOAD: &str = "libfurwock_preload";

/// These two take an optional limit.
fn is_timed_in_preload(function: &str) -> bool {
    let name = function.rsplit("::").next().unwrap_or(function);
    let is_its = function.starts_with("furwock_preload::") || !function.contains("::");
    is_its && !["read_until", "write_until"].contains(&name) && says_limit(function)
}

/// Its place in the stack.
pub fn lock_frame(stack: &Stack) -> Option<usize> {
    find(stack).map(|found| found.outermost)
}

fn of(function: &str) -> Option<(Maker, Lock)> {
    let bare = function.trim_start_matches('_');
    let in_c = IN_C.iter().find(|(name, _)| bare.starts_with(name));
    if let Some((_, lock)) = in_c {
        return Some((Maker::C, *lock));
    }
    if !function.contains("::") && !bare.starts_with("furwock_") {
        return None;
    }
    // Newer compilers write `<a::B>::c` where older ones wrote `a::B::c`.
    let plain = function.replace("<_>", "").replace(['<', '>'], "");
    let bare = plain.trim_start_matches('_');
    let in_rust = IN_RUST.iter().find(|(name, ..)| plain.contains(name));
    let in_rust = in_rust.map(|(_, maker, lock)| (*maker, *lock));
    let in_furwock = || IN_FURWOCK.iter().find(|(name, _)| bare.starts_with(name));
    in_rust.or_else(|| in_furwock().map(|(_, lock)| (Maker::C, *lock)))
}

fn says_limit(function: &str) -> bool {
    let name = function.rsplit("::").next().unwrap_or(function);
    ["timed", "clock", "timeout"].iter().any(|part| name.contains(part))
        || name.ends_with("_for")
        || name.ends_with("_until")
}

/// Whether the lock is wanted for reading, by the names of the functions around.
pub fn is_read(stack: &Stack) -> bool {
    let near = stack.frames.iter().take(NEAR).flat_map(|frame| frame.places.iter());
    let names = near.map(|place| place.function.as_str());
    let name = |function: &str| {
        let last = function.rsplit("::").next().unwrap_or(function).to_owned();
        last.contains("rdlock") || last.contains("lock_shared") || last == "read"
    };
    names.take_while(|function| !is_start(function)).any(name)
}

/// Functions in which threads begin: no reader needs to see them.
pub fn is_start(function: &str) -> bool {
    const STARTS: [&str; 8] = [
        "start_thread",
        "clone",
        "clone3",
        "_start",
        "libc_start_main",
        "libc_start_main_impl",
        "libc_start_call_main",
        "thread_start",
    ];
    STARTS.contains(&function.trim_start_matches('_'))
        || function == "_start"
        || function.ends_with("::thread_start")
}

/// Whether a function is a library's or a language's, rather than the program's.
pub fn is_of_a_library(function: &str, image: &str) -> bool {
    const IMAGES: [&str; 8] =
        ["libc.", "libc-", "libpthread", "ld-linux", "libstdc++", "libfurwock", "vdso", "libgcc"];
    const PREFIXES: [&str; 9] = [
        "std::",
        "core::",
        "alloc::",
        "<",
        "__gthread",
        "parking_lot",
        "lock_api::",
        "furwock::",
        "__pthread",
    ];
    IMAGES.iter().any(|name| image.starts_with(name))
        || PREFIXES.iter().any(|prefix| function.starts_with(prefix))
        || of(function).is_some()
        || is_start(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locks_function_is_known_by_any_of_its_names() {
        assert_eq!(of("___pthread_mutex_lock"), Some((Maker::C, Lock::Mutex)));
        assert_eq!(of("pthread_mutex_lock_slow"), Some((Maker::C, Lock::Mutex)));
        assert_eq!(of("__new_sem_wait_slow64.constprop.0"), Some((Maker::C, Lock::Semaphore)));
        let std = "std::sys::sync::mutex::futex::Mutex::lock_contended";
        assert_eq!(of(std), Some((Maker::RustStd, Lock::Mutex)));
        let newer = "<std::sys::sync::mutex::futex::Mutex>::lock_contended";
        assert_eq!(of(newer), Some((Maker::RustStd, Lock::Mutex)));
        assert_eq!(of("transfer"), None);
        assert_eq!(of("__lll_lock_wait"), None);
    }

    #[test]
    fn a_limit_is_said_by_the_functions_name() {
        for limited in ["pthread_mutex_timedlock", "pthread_cond_clockwait", "a::M::try_lock_for"] {
            assert!(says_limit(limited), "{limited}");
        }
        for unlimited in ["pthread_mutex_lock", "a::RawMutex::lock_contended", "a::C::wait"] {
            assert!(!says_limit(unlimited), "{unlimited}");
        }
    }
}
