//! The semaphore.

use crate::deadline::{deadline, errno_of, furwock_deadline};
use crate::word;
use core::ffi::c_int;
use engine::lock::RawSemaphore;
use libc::{EAGAIN, EINVAL, EOVERFLOW, ETIMEDOUT};

/// The most permits that a semaphore has.
pub const FURWOCK_SEMAPHORE_MOST: u32 = 0x7fff_ffff;

const _: () = assert!(FURWOCK_SEMAPHORE_MOST == RawSemaphore::MOST);

/// A counting semaphore: any thread takes permits and gives them back.
/// FURWOCK_SEMAPHORE_INIT(permits) makes one, and zero bytes are one without permits; it needs no
/// clean-up.
///
/// For threads of one process. Its memory may be freed as soon as no thread waits and none is going
/// to, even while a release is still returning in another thread.
#[repr(C)]
pub struct furwock_semaphore {
    /// furwock's own: the permits, and from bit 32 on the waiters.
    pub word: u64,
    /// Zero.
    pub reserved: u64,
}

/// Initialises a semaphore with that many permits. Returns 0, or EINVAL for one that is NULL or not
/// aligned, and for more than FURWOCK_SEMAPHORE_MOST permits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_init(
    semaphore: *mut furwock_semaphore,
    permits: u32,
) -> c_int {
    let make = || match permits {
        ..=FURWOCK_SEMAPHORE_MOST => Ok(furwock_semaphore { word: permits.into(), reserved: 0 }),
        _ => Err(EINVAL),
    };
    // SAFETY: the caller's memory.
    unsafe { word::initialise(semaphore, make) }
}

/// Takes a permit, waiting as long as it takes. Returns 0, or EINVAL for a semaphore that is NULL
/// or not aligned. Signals don't end the wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_acquire(semaphore: *mut furwock_semaphore) -> c_int {
    // SAFETY: the caller's semaphore.
    errno_of(unsafe { raw(semaphore) }.map(RawSemaphore::acquire))
}

/// Takes a permit if there is one. Returns 0, EINVAL, or EAGAIN, as sem_trywait(3) has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_tryacquire(semaphore: *mut furwock_semaphore) -> c_int {
    // SAFETY: the caller's semaphore.
    let semaphore = unsafe { raw(semaphore) };
    errno_of(semaphore.and_then(|raw| raw.try_acquire().then_some(()).ok_or(EAGAIN)))
}

/// Takes a permit, or gives up at the deadline. Returns 0, ETIMEDOUT, or EINVAL, also for a
/// malformed deadline. Takes a permit that is there even if the deadline has passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_acquire_until(
    semaphore: *mut furwock_semaphore,
    until: *const furwock_deadline,
) -> c_int {
    // SAFETY: the caller's semaphore and deadline.
    let arguments = unsafe { raw(semaphore).and_then(|raw| Ok((raw, deadline(until)?))) };
    errno_of(arguments.and_then(|(raw, until)| match until {
        None => {
            raw.acquire();
            Ok(())
        }
        Some(until) => raw.acquire_until(&until).then_some(()).ok_or(ETIMEDOUT),
    }))
}

/// Gives back a permit, or makes one, and wakes a waiter if there is one. Returns 0; EINVAL;
/// EOVERFLOW, with the semaphore unchanged, if it has FURWOCK_SEMAPHORE_MOST permits already. It
/// may be called from any signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_release(semaphore: *mut furwock_semaphore) -> c_int {
    // SAFETY: the caller's semaphore.
    unsafe { furwock_semaphore_release_many(semaphore, 1) }
}

/// furwock_semaphore_release of that many permits, which wakes as many waiters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_release_many(
    semaphore: *mut furwock_semaphore,
    permits: u32,
) -> c_int {
    // SAFETY: the caller's semaphore.
    let semaphore = unsafe { raw(semaphore) };
    errno_of(semaphore.and_then(|raw| raw.release_many(permits).map_err(|_| EOVERFLOW)))
}

/// How many permits there are: 0 while threads wait, and for NULL. The answer may be out of date at
/// once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_semaphore_available(semaphore: *const furwock_semaphore) -> u32 {
    // SAFETY: the caller's semaphore.
    unsafe { raw(semaphore) }.map_or(0, RawSemaphore::available)
}

const _: () = assert!(size_of::<furwock_semaphore>() >= size_of::<RawSemaphore>());
const _: () = assert!(align_of::<furwock_semaphore>() >= align_of::<RawSemaphore>());

/// # Safety
/// The semaphore is null, or there.
#[inline]
pub(crate) unsafe fn raw<'s>(
    semaphore: *const furwock_semaphore,
) -> Result<&'s RawSemaphore, c_int> {
    // SAFETY: by this function's contract; a raw semaphore is its first word.
    unsafe { word::at(semaphore.cast()) }
}
