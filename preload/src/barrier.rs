//! `pthread_barrier_wait` and `_destroy` of private barriers.

use crate::layout::Barrier;
use crate::recording::{self, Ended, Kind, Wait};
use crate::{glibc, named};
use core::ffi::c_int;
use furwock::unstable::signals::closed;
use libc::pthread_barrier_t;

/// POSIX `pthread_barrier_wait`. No cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the program's barrier.
    let this = unsafe { Barrier::from_ptr(barrier) };
    if !this.is_ours() {
        recording::left_to_glibc();
        // SAFETY: the program's barrier.
        return unsafe { glibc::pthread_barrier_wait(barrier) };
    }
    if recording::orders() {
        recording::wakes(this, Kind::Barrier);
        recording::waits_for(this, Kind::Barrier, 0, false);
    }
    let wait = Wait::begin(this, Kind::Barrier, || 0);
    let leads = closed(|| this.raw.wait(this.count()));
    wait.end(|| if leads { Ended::Not } else { Ended::Over });
    if leads { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

/// POSIX `pthread_barrier_destroy`. A released thread doesn't touch the barrier again, so that
/// there is nothing to wait for.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: the program's barrier.
    unsafe {
        if Barrier::from_ptr(barrier).is_ours() {
            named::forget(barrier);
            recording::destroyed(barrier, Kind::Barrier);
            0
        } else {
            glibc::pthread_barrier_destroy(barrier)
        }
    }
}
