//! Processes that share robust locks, and what they do with them.

#![allow(dead_code, reason = "not every test file uses everything")]

pub mod victim;

use crate::common::Random;
use crate::process::map;
use furwock::{RobustError, RobustMutex, RobustMutexGuard};
use furwock::{RobustRwLock, RobustRwLockReadGuard, RobustRwLockWriteGuard};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

pub const CHILDREN: usize = 5;
pub const READERS: usize = 3;

pub type Mutex = RobustMutex<Data>;
pub type RwLock = RobustRwLock<Data, READERS>;

/// What a lock protects: four equal numbers, and the process that wrote last.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Data {
    equal: [u64; 4],
    writer: u32,
}

impl Data {
    pub const NEW: Self = Data { equal: [0; 4], writer: 0 };

    pub fn is_whole(&self) -> bool {
        self.equal.iter().all(|&number| number == self.equal[0])
    }

    /// The data isn't whole meanwhile. Fails if another process writes, too.
    pub fn write(&mut self, random: &mut Random, shared: &Shared) {
        let this: *mut Data = self;
        let before = self.equal[0];
        // SAFETY: the lock's data; volatile, so that every step is there when the process dies.
        unsafe {
            (&raw mut (*this).writer).write_volatile(std::process::id());
            for place in 0..4 {
                (&raw mut (*this).equal[place]).write_volatile(before + 1);
                pause(random);
            }
            let now = this.read_volatile();
            if !now.is_whole() || now.equal[0] != before + 1 || now.writer != std::process::id() {
                shared.violation("another process wrote", now);
            }
        }
    }

    pub fn read(&self, random: &mut Random, shared: &Shared) {
        let this: *const Data = self;
        // SAFETY: the lock's data.
        let (before, after) = unsafe {
            let before = this.read_volatile();
            pause(random);
            (before, this.read_volatile())
        };
        if !before.is_whole() || before != after {
            shared.violation("a reader saw half a write", after);
        }
    }

    pub fn repair(&mut self) {
        let most = self.equal.into_iter().max().unwrap_or(0);
        self.equal = [most; 4];
    }
}

pub fn pause(random: &mut Random) {
    for _ in 0..random.next() % 200 {
        std::hint::spin_loop();
    }
}

/// What the processes share.
#[repr(C)]
pub struct Shared {
    pub mutex: Mutex,
    pub lock: RwLock,
    pub pthread: MaybeUninit<libc::pthread_mutex_t>,
    pub progress: [AtomicU64; CHILDREN],
    pub violations: AtomicU64,
    /// Deaths that were reported: by the mutex, to readers, to writers, and by glibc's mutex.
    pub told: [AtomicU64; 4],
    /// How many reads, writes and uses of the mutex were completed.
    pub done: [AtomicU64; 3],
}

impl Shared {
    /// In memory that children share.
    pub fn new() -> &'static Shared {
        // SAFETY: a new mapping, big enough, zero; pthread's own functions initialise its mutex.
        unsafe {
            let place = map(size_of::<Shared>(), -1).cast::<Shared>();
            (&raw mut (*place).mutex).write(RobustMutex::new(Data::NEW));
            (&raw mut (*place).lock).write(RobustRwLock::new(Data::NEW));
            let mut attributes = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
            let pthread = (&raw mut (*place).pthread).cast();
            assert_eq!(libc::pthread_mutex_init(pthread, &attributes), 0);
            &*place
        }
    }

    pub fn mutex(&self) -> Pin<&Mutex> {
        // SAFETY: mapped as long as the process lives.
        unsafe { Mutex::at((&raw const self.mutex).cast_mut()) }
    }

    pub fn lock(&self) -> Pin<&RwLock> {
        // SAFETY: mapped as long as the process lives.
        unsafe { RwLock::at((&raw const self.lock).cast_mut()) }
    }

    pub fn pthread(&self) -> *mut libc::pthread_mutex_t {
        self.pthread.as_ptr().cast_mut()
    }

    #[cold]
    pub fn violation(&self, what: &str, data: Data) {
        self.violations.fetch_add(1, Ordering::SeqCst);
        eprintln!("process {}: {what}: {data:?}", std::process::id());
    }
}

pub fn lock_glibcs(shared: &Shared) -> bool {
    // SAFETY: initialised, mapped for good.
    unsafe {
        match libc::pthread_mutex_trylock(shared.pthread()) {
            0 => true,
            libc::EOWNERDEAD => {
                shared.told[3].fetch_add(1, Ordering::Relaxed);
                libc::pthread_mutex_consistent(shared.pthread()) == 0
            }
            libc::EBUSY => false,
            other => panic!("pthread_mutex_trylock: {other}"),
        }
    }
}

pub type MutexResult<'a> =
    Result<RobustMutexGuard<'a, Data>, RobustError<RobustMutexGuard<'a, Data>>>;
pub type WriteGuard<'a> = RobustRwLockWriteGuard<'a, Data, READERS>;

pub fn with_mutex(shared: &Shared, random: &mut Random, result: MutexResult<'_>) {
    let mut guard = match result {
        Ok(guard) => guard,
        Err(RobustError::OwnerDied(mut guard)) => {
            shared.told[0].fetch_add(1, Ordering::Relaxed);
            guard.repair();
            RobustMutexGuard::make_consistent(&mut guard);
            guard
        }
        Err(RobustError::WouldBlock | RobustError::TimedOut) => return,
        Err(other) => return shared.violation(&format!("mutex: {other}"), Data::NEW),
    };
    if !guard.is_whole() {
        shared.violation("mutex: acquired what a dead one left", *guard);
    }
    guard.write(random, shared);
    shared.done[2].fetch_add(1, Ordering::Relaxed);
}

/// The guard, if the lock was acquired, with what a dead writer left repaired.
pub fn repaired<'a, G>(
    shared: &Shared,
    place: usize,
    result: Result<G, RobustError<WriteGuard<'a>>>,
) -> Option<Result<G, WriteGuard<'a>>> {
    match result {
        Ok(guard) => Some(Ok(guard)),
        Err(RobustError::OwnerDied(mut guard)) => {
            shared.told[place].fetch_add(1, Ordering::Relaxed);
            guard.repair();
            RobustRwLockWriteGuard::make_consistent(&mut guard);
            Some(Err(guard))
        }
        Err(RobustError::WouldBlock | RobustError::TimedOut) => None,
        Err(other) => {
            shared.violation(&format!("rwlock: {other}"), Data::NEW);
            None
        }
    }
}

pub fn writing(
    shared: &Shared,
    random: &mut Random,
    result: Result<WriteGuard<'_>, RobustError<WriteGuard<'_>>>,
) {
    if let Some(Ok(mut guard) | Err(mut guard)) = repaired(shared, 2, result) {
        if !guard.is_whole() {
            shared.violation("writer: acquired what a dead one left", *guard);
        }
        guard.write(random, shared);
        shared.done[1].fetch_add(1, Ordering::Relaxed);
    }
}

pub fn reading(
    shared: &Shared,
    random: &mut Random,
    result: Result<RobustRwLockReadGuard<'_, Data, READERS>, RobustError<WriteGuard<'_>>>,
) {
    match repaired(shared, 1, result) {
        Some(Ok(guard)) => guard.read(random, shared),
        Some(Err(guard)) => guard.read(random, shared),
        None => return,
    }
    shared.done[0].fetch_add(1, Ordering::Relaxed);
}
