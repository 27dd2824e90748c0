//! glibc's objects, and where they hold furwock's state.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use furwock::lock::{Policy, RawBarrier, RawCondvar, RawMutex, RawRwLock, RawSemaphore};

/// `pthread_mutex_t` (and `mtx_t`), on 64-bit machines. aarch64's is larger.
#[repr(C)]
pub(crate) struct Mutex {
    /// glibc's `__lock`.
    pub(crate) raw: RawMutex,
    /// How often a recursive mutex is held.
    pub(crate) count: AtomicU32,
    /// The holder, where debuggers look for it.
    pub(crate) owner: AtomicU32,
    /// glibc counts holders and condvars' waiters here; furwock counts the latter.
    users: AtomicU32,
    kind: AtomicI32,
    _spins_and_elision: [i16; 2],
    _list: [usize; 2],
}

const _: () = assert!(size_of::<Mutex>() <= size_of::<libc::pthread_mutex_t>());
const _: () = assert!(align_of::<Mutex>() <= align_of::<libc::pthread_mutex_t>());

/// What kind of mutex it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MutexKind {
    /// Normal, default or adaptive: nothing is checked.
    Plain,
    Recursive,
    ErrorCheck,
    /// Left to glibc: shared, robust, PI, protected, destroyed, or furwock is off.
    Glibc,
}

/// Robust, priority inheritance, priority protection, process-shared.
const GLIBC_BITS: i32 = 0x10 | 0x20 | 0x40 | 0x80;

/// No kind's: with it none is plain, so that the fast path needn't ask whether the order of locks
/// is recorded.
const ORDERED: i32 = if cfg!(feature = "recording") { 1 << 30 } else { 0 };

/// ORed into every kind: 0, `ORDERED`, or bits that make every kind glibc's.
static OFF: AtomicI32 = AtomicI32::new(0);

/// Leaves every object that furwock hasn't touched yet to glibc.
pub(crate) fn turn_off() {
    OFF.store(GLIBC_BITS, Ordering::Relaxed);
    COND_FLAGS_AT.store(COND_OFF, Ordering::Relaxed);
    turn_off_rwlocks();
    turn_off_semaphores();
    turn_off_barriers();
}

/// Makes no mutex plain.
#[cfg(feature = "recording")]
pub(crate) fn order() {
    OFF.fetch_or(ORDERED, Ordering::Relaxed);
}

/// Whether furwock is off, for functions whose objects don't show it.
#[inline(always)]
pub(crate) fn is_off() -> bool {
    OFF.load(Ordering::Relaxed) & GLIBC_BITS != 0
}

impl Mutex {
    /// # Safety
    /// `mutex` points to a `pthread_mutex_t`, as POSIX asks of the program.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr<'m>(mutex: *mut libc::pthread_mutex_t) -> &'m Self {
        // SAFETY: all fields are atomics or unused, and the layout is glibc's.
        unsafe { &*mutex.cast::<Self>() }
    }

    pub(crate) fn as_ptr(&self) -> *mut libc::pthread_mutex_t {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// Whether furwock serves the mutex and its kind checks nothing: the fast path's only check.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        let kind = self.kind.load(Ordering::Relaxed) | OFF.load(Ordering::Relaxed);
        // Normal or adaptive: the two type bits are alike.
        kind == 0 || (kind & (GLIBC_BITS | ORDERED) == 0 && (kind ^ (kind >> 1)) & 1 == 0)
    }

    pub(crate) fn kind(&self) -> MutexKind {
        let kind = self.kind.load(Ordering::Relaxed) | OFF.load(Ordering::Relaxed);
        match kind & 3 {
            _ if kind & GLIBC_BITS != 0 => MutexKind::Glibc,
            libc::PTHREAD_MUTEX_RECURSIVE => MutexKind::Recursive,
            libc::PTHREAD_MUTEX_ERRORCHECK => MutexKind::ErrorCheck,
            _ => MutexKind::Plain,
        }
    }

    /// Counts a condvar's waiter, which will lock the mutex again. Called by the holder.
    pub(crate) fn expect_waiter(&self) {
        self.users.fetch_add(1, Ordering::Relaxed);
    }

    /// Uncounts it. Called by the holder.
    pub(crate) fn waiter_is_back(&self) {
        self.users.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it is held, or a condvar's waiter will lock it.
    pub(crate) fn is_in_use(&self) -> bool {
        self.raw.is_locked() || self.users.load(Ordering::Relaxed) != 0
    }

    /// What glibc's `pthread_mutex_destroy` leaves: a kind that no operation accepts.
    pub(crate) fn mark_destroyed(&self) {
        self.kind.store(-1, Ordering::Relaxed);
    }
}

/// `pthread_cond_t` (and `cnd_t`).
#[repr(C)]
pub(crate) struct Cond {
    /// glibc counts its waiters here; zero in a new object.
    pub(crate) raw: RawCondvar,
    words: [AtomicU32; 11],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());
const _: () = assert!(align_of::<Cond>() <= align_of::<libc::pthread_cond_t>());

const COND_SHARED: u32 = 1;
const COND_MONOTONIC: u32 = 2;

/// Which word of a condvar holds its flags (glibc's `__wrefs`). It has moved between versions, so
/// `start` finds out from glibc itself.
static COND_FLAGS_AT: AtomicUsize = AtomicUsize::new(COND_FLAGS_UNTIL_2_40);
const COND_FLAGS_UNTIL_2_40: usize = 9;
const COND_OFF: usize = 0;

/// Sets which 32-bit word of a condvar holds the flags. The first is furwock's own.
pub(crate) fn set_cond_flags_at(word: usize) {
    COND_FLAGS_AT.store(word, Ordering::Relaxed);
}

impl Cond {
    /// # Safety
    /// `cond` points to a `pthread_cond_t`, as POSIX asks of the program.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr<'c>(cond: *mut libc::pthread_cond_t) -> &'c Self {
        // SAFETY: all fields are atomics, and the layout is glibc's.
        unsafe { &*cond.cast::<Self>() }
    }

    #[inline(always)]
    fn flags(&self) -> u32 {
        match COND_FLAGS_AT.load(Ordering::Relaxed) {
            at @ 1..12 => self.words[at - 1].load(Ordering::Relaxed),
            _ => COND_SHARED,
        }
    }

    /// Whether it is furwock's: not shared between processes, and furwock isn't off.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.flags() & COND_SHARED == 0
    }

    /// The clock of `pthread_cond_timedwait`'s deadlines.
    pub(crate) fn clock(&self) -> libc::clockid_t {
        if self.flags() & COND_MONOTONIC != 0 {
            libc::CLOCK_MONOTONIC
        } else {
            libc::CLOCK_REALTIME
        }
    }
}

/// `pthread_rwlock_t`, on 64-bit machines.
#[repr(C)]
pub(crate) struct RwLock {
    /// glibc's `__readers` and `__writers`.
    pub(crate) raw: RawRwLock,
    _futexes: [u32; 4],
    /// The writer, where debuggers look for it.
    writer: AtomicU32,
    shared: AtomicU32,
    _elision: [u32; 4],
    kind: AtomicU32,
}

const _: () = assert!(size_of::<RwLock>() <= size_of::<libc::pthread_rwlock_t>());
const _: () = assert!(align_of::<RwLock>() <= align_of::<libc::pthread_rwlock_t>());

/// Set when all rwlocks are glibc's.
static RWLOCKS_OFF: AtomicU32 = AtomicU32::new(0);

/// Leaves every rwlock to glibc.
pub(crate) fn turn_off_rwlocks() {
    RWLOCKS_OFF.store(1, Ordering::Relaxed);
}

impl RwLock {
    /// # Safety
    /// `lock` points to a `pthread_rwlock_t`, as POSIX asks of the program.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr<'l>(lock: *mut libc::pthread_rwlock_t) -> &'l Self {
        // SAFETY: all fields are atomics or unused, and the layout is glibc's.
        unsafe { &*lock.cast::<Self>() }
    }

    pub(crate) fn as_ptr(&self) -> *mut libc::pthread_rwlock_t {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// Whether it is furwock's: not shared between processes, and furwock isn't off.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.shared.load(Ordering::Relaxed) | RWLOCKS_OFF.load(Ordering::Relaxed) == 0
    }

    /// Sets the policy of a lock whose word has none yet: a new lock's word is zero, a policy that
    /// none of glibc's kinds maps to. Called before a thread waits; a thread that needn't wait
    /// doesn't depend on the policy.
    pub(crate) fn make_ready(&self) {
        if self.raw.policy() == Policy::PhaseFair {
            self.raw.set_policy(match self.kind.load(Ordering::Relaxed) {
                RWLOCK_PREFER_WRITER => Policy::PreferWritersRecursive,
                RWLOCK_PREFER_WRITER_NONRECURSIVE => Policy::PreferWriters,
                _ => Policy::Recursive,
            });
        }
    }

    #[inline(always)]
    pub(crate) fn note_writer(&self, tid: u32) {
        self.writer.store(tid, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn forget_writer(&self) {
        self.writer.store(0, Ordering::Relaxed);
    }

    /// Whether the shared flag says that processes share it; `None` for an unknown value.
    pub(crate) fn is_shared(&self) -> Option<bool> {
        match self.shared.load(Ordering::Relaxed) {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// The kind that the program asked for, for the check of the layout.
    pub(crate) fn kind(&self) -> u32 {
        self.kind.load(Ordering::Relaxed)
    }
}

/// `PTHREAD_RWLOCK_PREFER_WRITER_NP` and `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
pub(crate) const RWLOCK_PREFER_WRITER: u32 = 1;
pub(crate) const RWLOCK_PREFER_WRITER_NONRECURSIVE: u32 = 2;

/// `sem_t`, since glibc 2.21.
#[repr(C)]
pub(crate) struct Semaphore {
    pub(crate) raw: RawSemaphore,
    /// 0 unless processes share it.
    shared: AtomicI32,
}

const _: () = assert!(size_of::<Semaphore>() <= size_of::<libc::sem_t>());
const _: () = assert!(align_of::<Semaphore>() <= align_of::<libc::sem_t>());

/// ORed into semaphores' shared flags: not 0 when glibc serves all.
static SEMAPHORES_OFF: AtomicI32 = AtomicI32::new(0);

/// Leaves every semaphore to glibc.
pub(crate) fn turn_off_semaphores() {
    SEMAPHORES_OFF.store(1, Ordering::Relaxed);
}

impl Semaphore {
    /// # Safety
    /// `semaphore` points to a `sem_t`, as POSIX asks of the program.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr<'s>(semaphore: *mut libc::sem_t) -> &'s Self {
        // SAFETY: all fields are atomics, and the layout is glibc's.
        unsafe { &*semaphore.cast::<Self>() }
    }

    /// Whether it is furwock's: not shared between processes, and furwock isn't off.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.shared.load(Ordering::Relaxed) | SEMAPHORES_OFF.load(Ordering::Relaxed) == 0
    }
}

/// `pthread_barrier_t`, since glibc 2.23.
#[repr(C)]
pub(crate) struct Barrier {
    /// glibc's `in`.
    pub(crate) raw: RawBarrier,
    _current_round: u32,
    count: AtomicU32,
    /// 0 unless processes share it.
    shared: AtomicI32,
}

const _: () = assert!(size_of::<Barrier>() <= size_of::<libc::pthread_barrier_t>());
const _: () = assert!(align_of::<Barrier>() <= align_of::<libc::pthread_barrier_t>());

/// ORed into barriers' shared flags: not 0 when glibc serves all.
static BARRIERS_OFF: AtomicI32 = AtomicI32::new(0);

/// Leaves every barrier to glibc.
pub(crate) fn turn_off_barriers() {
    BARRIERS_OFF.store(1, Ordering::Relaxed);
}

impl Barrier {
    /// # Safety
    /// `barrier` points to a `pthread_barrier_t`, as POSIX asks of the program.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr<'b>(barrier: *mut libc::pthread_barrier_t) -> &'b Self {
        // SAFETY: all fields are atomics, and the layout is glibc's.
        unsafe { &*barrier.cast::<Self>() }
    }

    /// Whether it is furwock's: not shared between processes, and furwock isn't off.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        self.shared.load(Ordering::Relaxed) | BARRIERS_OFF.load(Ordering::Relaxed) == 0
    }

    /// How many threads meet.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }
}
