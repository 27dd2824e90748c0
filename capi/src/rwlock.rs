//! The rwlock.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::options::{answer, furwock_lock_options, furwock_lock_status, read_options};
use crate::word;
use core::ffi::c_int;
use engine::lock::{Options, Policy, RawRwLock, Status};
use engine::unstable::inspect::remove_name;
use engine::unstable::rwlock::forget_readers;
use libc::{EBUSY, EINVAL, EPERM, ETIMEDOUT, pid_t};

/// A policy of a furwock_rwlock, that of FURWOCK_RWLOCK_INIT: neither side starves. Readers wait
/// for waiting writers, and the longer a writer waits, the longer they do; when a writer leaves,
/// all waiting readers enter together, before the next writer.
pub const FURWOCK_RWLOCK_PHASE_FAIR: c_int = 0;

/// A policy: FURWOCK_RWLOCK_PHASE_FAIR, except that no reader waits for waiting writers for more
/// than a few milliseconds, so that a thread may read what it, or a thread that it waits for, reads
/// already. POSIX requires this of a rwlock.
pub const FURWOCK_RWLOCK_RECURSIVE: c_int = 1;

/// A policy: readers never wait for waiting writers. Writers starve if there are always readers
/// inside.
pub const FURWOCK_RWLOCK_PREFER_READERS: c_int = 2;

/// A policy: readers wait as long as any writer waits. They starve if there are always writers.
pub const FURWOCK_RWLOCK_PREFER_WRITERS: c_int = 3;

/// A policy: FURWOCK_RWLOCK_RECURSIVE, but when a writer leaves, the next writer goes first.
pub const FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE: c_int = 4;

/// A reader-writer lock of eight bytes: shared by readers, or held by one writer. Besides the
/// readers one upgradable reader may be inside, which can become the writer without releasing the
/// lock. The policy decides which of readers and writers go first. Readers of a lock that is mostly
/// read enter by a slot in their own thread's memory.
///
/// FURWOCK_RWLOCK_INIT, or zero bytes, make one that is free and phase-fair;
/// FURWOCK_RWLOCK_RECURSIVE_INIT, FURWOCK_RWLOCK_PREFER_READERS_INIT,
/// FURWOCK_RWLOCK_PREFER_WRITERS_INIT and FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE_INIT the others.
/// It needs no clean-up once all readers and writers have left: see furwock_rwlock_destroy.
///
/// For threads of one process; the thread that enters must be the one that leaves. It may not be
/// moved while it is in use. Its memory may be freed as soon as it has been unlocked for the last
/// time, even while that unlock is still returning in another thread.
#[repr(C)]
pub struct furwock_rwlock {
    /// furwock's own. A free lock's is not always 0.
    pub word: u64,
}

/// Initialises a free lock with a policy: FURWOCK_RWLOCK_PHASE_FAIR, FURWOCK_RWLOCK_RECURSIVE,
/// FURWOCK_RWLOCK_PREFER_READERS, FURWOCK_RWLOCK_PREFER_WRITERS or
/// FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE. Returns 0, or EINVAL for any other policy, or a lock
/// that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_init(lock: *mut furwock_rwlock, policy: c_int) -> c_int {
    // SAFETY: the caller's memory, which a raw rwlock fits.
    unsafe { word::initialise(lock.cast(), || policy_of(policy).map(RawRwLock::with_policy)) }
}

/// Forgets readers that entered and never left, for example because their threads ended inside.
/// Returns 0 or EINVAL.
///
/// Their threads' memory may still hold the lock's address, and writers of a lock that is made
/// there later would wait for them. If all readers have left, there is nothing to forget, and this
/// need not be called. The lock may not be used any more, except by furwock_rwlock_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_destroy(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| {
        forget_readers(raw);
        remove_name(lock.addr());
    }))
}

/// The policy; -1 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_policy(lock: *const furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(-1, |raw| match raw.policy() {
        Policy::PhaseFair => FURWOCK_RWLOCK_PHASE_FAIR,
        Policy::Recursive => FURWOCK_RWLOCK_RECURSIVE,
        Policy::PreferReaders => FURWOCK_RWLOCK_PREFER_READERS,
        Policy::PreferWriters => FURWOCK_RWLOCK_PREFER_WRITERS,
        Policy::PreferWritersRecursive => FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE,
    })
}

/// Sets the policy, for calls that begin from now on; the lock may be in use. Returns 0 or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_set_policy(
    lock: *mut furwock_rwlock,
    policy: c_int,
) -> c_int {
    // SAFETY: the caller's lock.
    let arguments = unsafe { raw(lock) }.and_then(|raw| Ok((raw, policy_of(policy)?)));
    errno_of(arguments.map(|(raw, policy)| raw.set_policy(policy)))
}

/// Enters as a reader, waiting as long as it takes. Returns 0, or EINVAL for a lock that is NULL or
/// not aligned.
///
/// Under FURWOCK_RWLOCK_PHASE_FAIR and FURWOCK_RWLOCK_PREFER_WRITERS, a thread that reads already
/// may deadlock with itself if a writer waits: see furwock_rwlock_rdlock_recursive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(RawRwLock::lock_shared))
}

/// Enters as a reader unless it would have to wait. Returns 0, EBUSY or EINVAL. Where readers wait
/// for waiting writers, this may also give up because of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_tryrdlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { tried(raw(lock), RawRwLock::try_lock_shared) }
}

/// Enters as a reader, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
/// malformed deadline. Enters a lock that is open even if the deadline has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdlock_until(
    lock: *mut furwock_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock and deadline.
    unsafe { timed(raw(lock), until, RawRwLock::lock_shared_with) }
}

/// Enters as a reader with `options` (NULL: as furwock_rwlock_rdlock), and stores how in `*status`,
/// unless that is NULL.
///
/// Returns 0; ETIMEDOUT; EINVAL, also for an unknown flag; EOWNERDEAD: the caller is inside as a
/// reader, in place of a writer that has ended without leaving (FURWOCK_OWNER_DEATH). Other readers
/// don't get this error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdlock_with(
    lock: *mut furwock_rwlock,
    options: *const furwock_lock_options,
    status: *mut furwock_lock_status,
) -> c_int {
    // SAFETY: the caller's lock and options, and its place for the answer.
    unsafe { with(lock, options, status, RawRwLock::lock_shared_with) }
}

/// Enters as a reader unless a writer is inside, ahead of all waiting writers: for threads that
/// read already, and mustn't wait for a writer that waits for them. Leave with
/// furwock_rwlock_rdunlock. Returns 0 or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdlock_recursive(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { furwock_rwlock_rdlock_recursive_until(lock, core::ptr::null()) }
}

/// furwock_rwlock_rdlock_recursive that doesn't wait: EBUSY if a writer is inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_tryrdlock_recursive(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { tried(raw(lock), RawRwLock::try_lock_shared_recursive) }
}

/// furwock_rwlock_rdlock_recursive with a deadline: ETIMEDOUT once it has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdlock_recursive_until(
    lock: *mut furwock_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    let enter =
        |lock: &RawRwLock, options: &Options| lock.lock_shared_with(&options.recursive(true));
    // SAFETY: the caller's lock and deadline.
    unsafe { timed(raw(lock), until, enter) }
}

/// Leaves as a reader, which the calling thread must be: otherwise the lock is corrupted. Returns 0
/// or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdunlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| _ = raw.unlock_shared()))
}

/// furwock_rwlock_rdunlock that returns how many waiters it admitted or woke. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdunlock_counting(lock: *mut furwock_rwlock) -> usize {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, RawRwLock::unlock_shared)
}

/// furwock_rwlock_rdunlock after which no thread overtakes the waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_rdunlock_fair(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| {
        raw.ask_for_hand_off();
        raw.unlock_shared();
    }))
}

/// Enters as the writer, waiting as long as it takes. Returns 0 or EINVAL. A thread that is inside
/// already waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(RawRwLock::lock_exclusive))
}

/// Enters as the writer unless it would have to wait. Returns 0, EBUSY or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_trywrlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { tried(raw(lock), RawRwLock::try_lock_exclusive) }
}

/// Enters as the writer, or gives up at the deadline. Returns 0, ETIMEDOUT or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrlock_until(
    lock: *mut furwock_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock and deadline.
    unsafe { timed(raw(lock), until, RawRwLock::lock_exclusive_with) }
}

/// Enters as the writer with `options` (NULL: as furwock_rwlock_wrlock), and stores how in
/// `*status`, unless that is NULL.
///
/// Returns 0; ETIMEDOUT; EINVAL; EOWNERDEAD: the caller is the writer, in place of a writer or an
/// upgradable reader that has ended without leaving (FURWOCK_OWNER_DEATH).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrlock_with(
    lock: *mut furwock_rwlock,
    options: *const furwock_lock_options,
    status: *mut furwock_lock_status,
) -> c_int {
    // SAFETY: the caller's lock and options, and its place for the answer.
    unsafe { with(lock, options, status, RawRwLock::lock_exclusive_with) }
}

/// Leaves as the writer. Returns 0 or EINVAL. Does nothing if there is no writer; doesn't check
/// that the writer is the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrunlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| _ = raw.unlock_exclusive()))
}

/// furwock_rwlock_wrunlock that returns how many waiters it admitted or woke. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrunlock_counting(lock: *mut furwock_rwlock) -> usize {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, RawRwLock::unlock_exclusive)
}

/// furwock_rwlock_wrunlock after which no thread overtakes the waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_wrunlock_fair(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| {
        raw.ask_for_hand_off();
        raw.unlock_exclusive();
    }))
}

/// Enters as the upgradable reader, waiting as long as it takes. It shares the lock with readers,
/// and excludes the writer and other upgradable readers. Returns 0 or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_uplock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(RawRwLock::lock_upgradable))
}

/// Enters as the upgradable reader unless it would have to wait. Returns 0, EBUSY or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_tryuplock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { tried(raw(lock), RawRwLock::try_lock_upgradable) }
}

/// Enters as the upgradable reader, or gives up at the deadline. Returns 0, ETIMEDOUT or EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_uplock_until(
    lock: *mut furwock_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock and deadline.
    unsafe { timed(raw(lock), until, RawRwLock::lock_upgradable_with) }
}

/// Leaves as the upgradable reader. Returns 0 or EINVAL. Does nothing if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_upunlock(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| {
        raw.unlock_upgradable();
    }))
}

/// furwock_rwlock_upunlock that returns how many waiters it admitted or woke. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_upunlock_counting(lock: *mut furwock_rwlock) -> usize {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, RawRwLock::unlock_upgradable)
}

/// furwock_rwlock_upunlock after which no thread overtakes the waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_upunlock_fair(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.map(|raw| {
        raw.ask_for_hand_off();
        raw.unlock_upgradable();
    }))
}

/// Turns the caller from the upgradable reader into the writer, once all readers have left;
/// meanwhile no reader enters, and no other writer gets in between. Returns 0; EPERM if there is no
/// upgradable reader; EINVAL. A thread that is also inside as a reader waits for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_upgrade(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { upgradable(lock) }.map(RawRwLock::upgrade))
}

/// furwock_rwlock_upgrade that doesn't wait: EBUSY if there are readers, and the caller remains the
/// upgradable reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_tryupgrade(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    unsafe { tried(upgradable(lock), RawRwLock::try_upgrade) }
}

/// furwock_rwlock_upgrade with a deadline: ETIMEDOUT once it has passed, and the caller remains the
/// upgradable reader.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_upgrade_until(
    lock: *mut furwock_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock and deadline.
    unsafe { timed(upgradable(lock), until, RawRwLock::upgrade_with) }
}

/// Turns the caller from the writer into a reader, without releasing the lock. Returns 0; EPERM if
/// there is no writer; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_downgrade(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { written(lock) }.map(RawRwLock::downgrade))
}

/// Turns the caller from the writer into the upgradable reader, without releasing the lock. Returns
/// 0; EPERM if there is no writer; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_downgrade_to_upgradable(
    lock: *mut furwock_rwlock,
) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { written(lock) }.map(RawRwLock::downgrade_to_upgradable))
}

/// Turns the caller from the upgradable reader into a reader, without releasing the lock. Returns
/// 0; EPERM if there is no upgradable reader; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_downgrade_upgradable(lock: *mut furwock_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { upgradable(lock) }.map(RawRwLock::downgrade_upgradable))
}

/// The kernel's id of the thread that is the writer or the upgradable reader, 0 if there is
/// neither. The answer may be out of date at once, unless it names the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_owner(lock: *const furwock_rwlock) -> pid_t {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, |raw| raw.owner() as pid_t)
}

/// Whether there are readers or a writer inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_is_locked(lock: *const furwock_rwlock) -> bool {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.is_ok_and(RawRwLock::is_locked)
}

/// Whether a writer is inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_rwlock_is_write_locked(lock: *const furwock_rwlock) -> bool {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.is_ok_and(RawRwLock::is_locked_exclusive)
}

const _: () = assert!(size_of::<furwock_rwlock>() == size_of::<RawRwLock>());

fn policy_of(policy: c_int) -> Result<Policy, c_int> {
    match policy {
        FURWOCK_RWLOCK_PHASE_FAIR => Ok(Policy::PhaseFair),
        FURWOCK_RWLOCK_RECURSIVE => Ok(Policy::Recursive),
        FURWOCK_RWLOCK_PREFER_READERS => Ok(Policy::PreferReaders),
        FURWOCK_RWLOCK_PREFER_WRITERS => Ok(Policy::PreferWriters),
        FURWOCK_RWLOCK_PREFER_WRITERS_RECURSIVE => Ok(Policy::PreferWritersRecursive),
        _ => Err(EINVAL),
    }
}

/// # Safety
/// The lock is null, or there.
#[inline]
pub(crate) unsafe fn raw<'l>(lock: *const furwock_rwlock) -> Result<&'l RawRwLock, c_int> {
    // SAFETY: by this function's contract; a raw rwlock is its word.
    unsafe { word::at(lock.cast()) }
}

/// A lock that has a writer, as far as can be seen.
///
/// # Safety
/// As for [`raw`].
unsafe fn written<'l>(lock: *const furwock_rwlock) -> Result<&'l RawRwLock, c_int> {
    // SAFETY: by this function's contract.
    let raw = unsafe { raw(lock) }?;
    if raw.is_locked_exclusive() { Ok(raw) } else { Err(EPERM) }
}

/// A lock that has an upgradable reader, as far as can be seen.
///
/// # Safety
/// As for [`raw`].
unsafe fn upgradable<'l>(lock: *const furwock_rwlock) -> Result<&'l RawRwLock, c_int> {
    // SAFETY: by this function's contract.
    let raw = unsafe { raw(lock) }?;
    if raw.owner() != 0 && !raw.is_locked_exclusive() { Ok(raw) } else { Err(EPERM) }
}

fn tried(lock: Result<&RawRwLock, c_int>, attempt: impl FnOnce(&RawRwLock) -> bool) -> c_int {
    errno_of(lock.and_then(|lock| attempt(lock).then_some(()).ok_or(EBUSY)))
}

/// # Safety
/// NULL, or a pointer to a deadline.
unsafe fn timed(
    lock: Result<&RawRwLock, c_int>,
    until: *const furwock_deadline,
    enter: impl FnOnce(&RawRwLock, &Options) -> Option<Status>,
) -> c_int {
    errno_of(lock.and_then(|lock| {
        // SAFETY: by this function's contract.
        let until = unsafe { deadline(until) }?;
        let options = until.map_or(Options::new(), |until| Options::new().until(until));
        enter(lock, &options).map(|_| ()).ok_or(ETIMEDOUT)
    }))
}

/// # Safety
/// The lock and the options are null, or there; `status` is NULL or may be written to.
unsafe fn with(
    lock: *mut furwock_rwlock,
    options: *const furwock_lock_options,
    status: *mut furwock_lock_status,
    enter: impl FnOnce(&RawRwLock, &Options) -> Option<Status>,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe {
        let arguments = raw(lock).and_then(|raw| Ok((raw, read_options(options)?)));
        answer(arguments.map(|(raw, options)| enter(raw, &options)), status)
    }
}
