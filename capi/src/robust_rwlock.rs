//! The reader-writer lock that survives the death of its users.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::robust_mutex::{held, number_of};
use crate::word;
use core::ffi::c_int;
use engine::lock::robust::{ReadHeld, Refused};
use engine::unstable::robust_rwlock::{unlock_read_of_caller, writer};
use libc::{EINVAL, EOWNERDEAD, EPERM, pid_t};

/// How many readers of a furwock_robust_rwlock may be inside at once.
pub const FURWOCK_ROBUST_READERS: usize = 64;

/// cbindgen:ignore
type RawRobustRwLock = engine::lock::robust::RawRobustRwLock<FURWOCK_ROBUST_READERS>;

/// A reader-writer lock for threads and processes that may die inside. FURWOCK_ROBUST_RWLOCK_INIT,
/// or zero bytes, make a free one; it needs no clean-up once no thread is inside.
///
/// The lock forgets a reader that dies. After a writer's death the next thread, reader or writer,
/// gets the lock exclusively, by EOWNERDEAD. FURWOCK_ROBUST_READERS readers may be inside at once;
/// one more waits until one of them leaves.
///
/// It is aligned to 64 bytes: each reader writes a cache line of its own. It may lie in memory that
/// several processes of one PID namespace map. While a thread is inside, its memory stays mapped
/// and in place. A forked child is not inside.
#[repr(C, align(64))]
pub struct furwock_robust_rwlock {
    /// furwock's own.
    pub own: [u64; 528],
}

/// Initialises a free lock. Returns 0, or EINVAL for one that is NULL or not aligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_init(lock: *mut furwock_robust_rwlock) -> c_int {
    if lock.is_null() || !lock.is_aligned() {
        return EINVAL;
    }
    // SAFETY: the caller's memory; zero bytes are a free lock.
    unsafe { lock.write_bytes(0, 1) };
    0
}

/// Enters as a reader, waiting as long as it takes. Returns 0; or EOWNERDEAD if a writer died: then
/// the caller is the *writer*, repairs what the lock protects, calls
/// furwock_robust_rwlock_consistent, and leaves by furwock_robust_rwlock_wrunlock.
///
/// Otherwise the caller isn't inside: ENOTRECOVERABLE if a writer left without having called
/// furwock_robust_rwlock_consistent after EOWNERDEAD; ENOTSUP, as furwock_robust_mutex_lock; EINVAL
/// for a lock that is NULL or not aligned. A thread may enter again unless a writer waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_rdlock(lock: *mut furwock_robust_rwlock) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside.
    errno_of(unsafe { raw(lock).and_then(|raw| entered(raw.read())) })
}

/// Enters as a reader unless it would have to wait: then EBUSY. Otherwise returns what
/// furwock_robust_rwlock_rdlock does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_tryrdlock(
    lock: *mut furwock_robust_rwlock,
) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside.
    errno_of(unsafe { raw(lock).and_then(|raw| entered(raw.try_read())) })
}

/// furwock_robust_rwlock_rdlock with a deadline: ETIMEDOUT once it has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_rdlock_until(
    lock: *mut furwock_robust_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside, and its deadline.
    errno_of(unsafe {
        let arguments = raw(lock).and_then(|raw| Ok((raw, deadline(until)?)));
        arguments.and_then(|(raw, until)| match until {
            Some(until) => entered(raw.read_until(&until)),
            None => entered(raw.read()),
        })
    })
}

/// Leaves as a reader. Returns 0; EPERM if the caller isn't inside as a reader; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_rdunlock(lock: *mut furwock_robust_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    let lock = unsafe { raw(lock) };
    errno_of(lock.and_then(|raw| unlock_read_of_caller(raw).then_some(()).ok_or(EPERM)))
}

/// Enters as the writer, waiting as long as it takes. Returns 0; EOWNERDEAD, inside as the writer,
/// if a writer died: the caller repairs what the lock protects, and calls
/// furwock_robust_rwlock_consistent before it leaves. Other errors are those of
/// furwock_robust_rwlock_rdlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_wrlock(lock: *mut furwock_robust_rwlock) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside.
    errno_of(unsafe { raw(lock).and_then(|raw| held(raw.write())) })
}

/// Enters as the writer unless it would have to wait: then EBUSY. Otherwise returns what
/// furwock_robust_rwlock_wrlock does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_trywrlock(
    lock: *mut furwock_robust_rwlock,
) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside.
    errno_of(unsafe { raw(lock).and_then(|raw| held(raw.try_write())) })
}

/// furwock_robust_rwlock_wrlock with a deadline: ETIMEDOUT once it has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_wrlock_until(
    lock: *mut furwock_robust_rwlock,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's lock, which stays while a thread is inside, and its deadline.
    errno_of(unsafe {
        let arguments = raw(lock).and_then(|raw| Ok((raw, deadline(until)?)));
        arguments.and_then(|(raw, until)| match until {
            Some(until) => held(raw.write_until(&until)),
            None => held(raw.write()),
        })
    })
}

/// Leaves as the writer. After EOWNERDEAD and without furwock_robust_rwlock_consistent no thread
/// ever enters again. Returns 0; EPERM if the caller isn't the writer; EINVAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_wrunlock(lock: *mut furwock_robust_rwlock) -> c_int {
    // SAFETY: the caller's lock.
    errno_of(unsafe { raw(lock) }.and_then(|raw| {
        if writer(raw) != engine::lock::thread_id() {
            return Err(EPERM);
        }
        // SAFETY: it names the caller as its writer.
        unsafe { raw.unlock_write() };
        Ok(())
    }))
}

/// Says that what the lock protects is in order again. Returns 0, or EINVAL if the caller isn't the
/// writer by EOWNERDEAD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_consistent(
    lock: *mut furwock_robust_rwlock,
) -> c_int {
    // SAFETY: the caller's lock.
    let lock = unsafe { raw(lock) };
    errno_of(lock.and_then(|raw| raw.make_consistent().then_some(()).ok_or(EINVAL)))
}

/// The kernel's id of the thread that is the writer, or the next one in; 0 if there is none. The
/// answer may be out of date at once, unless it names the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_owner(lock: *const furwock_robust_rwlock) -> pid_t {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, |raw| writer(raw) as pid_t)
}

/// How many readers are inside, or on their way in or out. The answer may be out of date at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_readers(
    lock: *const furwock_robust_rwlock,
) -> usize {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.map_or(0, RawRobustRwLock::readers)
}

/// Whether the lock is lost: every call returns ENOTRECOVERABLE, until furwock_robust_rwlock_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_robust_rwlock_is_lost(lock: *const furwock_robust_rwlock) -> bool {
    // SAFETY: the caller's lock.
    unsafe { raw(lock) }.is_ok_and(RawRobustRwLock::is_not_recoverable)
}

const _: () = assert!(size_of::<furwock_robust_rwlock>() >= size_of::<RawRobustRwLock>());
const _: () = assert!(align_of::<furwock_robust_rwlock>() >= align_of::<RawRobustRwLock>());

/// # Safety
/// The lock is null, or there.
#[inline]
pub(crate) unsafe fn raw<'l>(
    lock: *const furwock_robust_rwlock,
) -> Result<&'l RawRobustRwLock, c_int> {
    // SAFETY: by this function's contract; zero bytes are a raw robust rwlock.
    unsafe { word::at(lock.cast()) }
}

/// C's result of a call that entered as a reader, or didn't. The slot isn't kept: leaving finds it.
#[inline]
fn entered(result: Result<ReadHeld, Refused>) -> Result<(), c_int> {
    match result {
        Ok(ReadHeld::Shared(_slot)) => Ok(()),
        Ok(ReadHeld::OwnerDied) => Err(EOWNERDEAD),
        Err(refused) => Err(number_of(refused)),
    }
}
