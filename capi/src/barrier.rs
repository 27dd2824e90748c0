//! The barrier.

use crate::deadline::errno_of;
use crate::word;
use core::ffi::c_int;
use engine::lock::RawBarrier;
use libc::EINVAL;

/// A barrier, at which a number of threads wait for each other, round after round.
/// FURWOCK_BARRIER_INIT(count) makes one; it needs no clean-up.
///
/// For threads of one process. Its memory may be freed as soon as a round is complete and no other
/// has begun, even while the threads of that round are still returning.
#[repr(C)]
pub struct furwock_barrier {
    /// furwock's own: how many threads have arrived.
    pub word: u32,
    /// How many threads a round takes. It stays as it is.
    pub count: u32,
    /// Zero.
    pub reserved: u64,
}

/// Initialises a barrier for `count` threads. Returns 0, or EINVAL for a barrier that is NULL or
/// not aligned, and for a count of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_barrier_init(barrier: *mut furwock_barrier, count: u32) -> c_int {
    let make = || match count {
        0 => Err(EINVAL),
        _ => Ok(furwock_barrier { word: 0, count, reserved: 0 }),
    };
    // SAFETY: the caller's memory.
    unsafe { word::initialise(barrier, make) }
}

/// Waits until as many threads have called this as a round takes. Stores in `*last`, unless that is
/// NULL, whether the caller was the last to arrive, which one thread of each round is.
///
/// What the threads of a round did before is visible to all of them afterwards. Returns 0, or
/// EINVAL for a barrier that is NULL, not aligned, or for 0 threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furwock_barrier_wait(
    barrier: *mut furwock_barrier,
    last: *mut bool,
) -> c_int {
    /// # Safety
    /// The barrier is null, or there.
    unsafe fn wait(barrier: *mut furwock_barrier) -> Result<bool, c_int> {
        // SAFETY: by this function's contract. The count is read before the caller arrives: then
        // the barrier is there.
        let (raw, count) = unsafe { (raw(barrier)?, (*barrier).count) };
        if count == 0 { Err(EINVAL) } else { Ok(raw.wait(count)) }
    }
    // SAFETY: the caller's barrier, and its place for the answer.
    unsafe {
        errno_of(wait(barrier).map(|leads| {
            if !last.is_null() {
                last.write(leads);
            }
        }))
    }
}

const _: () = assert!(size_of::<furwock_barrier>() >= size_of::<RawBarrier>());
const _: () = assert!(align_of::<furwock_barrier>() >= align_of::<RawBarrier>());

/// # Safety
/// The barrier is null, or there.
pub(crate) unsafe fn raw<'b>(barrier: *const furwock_barrier) -> Result<&'b RawBarrier, c_int> {
    // SAFETY: by this function's contract; a raw barrier is its first word. The whole is aligned if
    // the caller can read its count, so that this asks for the alignment of the whole.
    if !barrier.is_aligned() {
        return Err(EINVAL);
    }
    // SAFETY: the same.
    unsafe { word::at(barrier.cast()) }
}
