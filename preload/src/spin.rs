//! `pthread_spin_lock`: glibc's word, and glibc's own `_trylock` and `_unlock`.
//!
//! glibc spins until it has the lock. If the holder isn't running, it spins for the rest of a time
//! slice, which may keep the holder from running. Here a thread sleeps after a while, for longer
//! each time, so that a holder of lower priority gets to run; where no other thread wants its
//! processor, only after a longer while. It can't queue: the lock doesn't say whether other
//! processes share it.

use crate::recording::{self, Ended, Kind, Wait};
use crate::{glibc, layout};
use core::ffi::c_int;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicI32, Ordering};

/// What glibc writes: on x86-64 a free lock holds 1, on other processors 0.
const FREE: i32 = if cfg!(target_arch = "x86_64") { 1 } else { 0 };
const TAKEN: i32 = 1 - FREE;

/// Probes before a thread gives up its processor, some 10 us: longer than the sections that
/// spinlocks are for.
const PROBES: u32 = 400;

/// So often it goes on to probe, since no other thread wants the processor: a sleep lasts longer
/// than most sections that are longer than that. (One that does but isn't seen, as one of lower
/// priority, or of another control group, has to get it in the end: after 1 to 2 ms.)
const TIMES_ALONE: u32 = 100;

/// POSIX `pthread_spin_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut libc::pthread_spinlock_t) -> c_int {
    if layout::is_off() {
        // SAFETY: the program's lock.
        return unsafe { glibc::pthread_spin_lock(lock) };
    }
    // SAFETY: the program's lock, an int.
    let word = unsafe { &*lock.cast::<AtomicI32>() };
    if word.swap(TAKEN, Ordering::Acquire) != FREE {
        let wait = Wait::begin(word, Kind::Spin, || 0);
        contend(word);
        wait.end(|| Ended::Over);
    } else {
        recording::count(word, Kind::Spin);
    }
    0
}

#[cold]
#[inline(never)]
fn contend(word: &AtomicI32) {
    let (mut times_alone, mut rounds) = (0, 0_u32);
    loop {
        for _ in 0..PROBES {
            // Any other value is taken: on x86-64, glibc's own waiters, in another process, count
            // down.
            if word.load(Ordering::Relaxed) == FREE && word.swap(TAKEN, Ordering::Acquire) == FREE {
                return;
            }
            spin_loop();
        }
        if times_alone < TIMES_ALONE && furwock::unstable::has_processor_alone() {
            times_alone += 1;
        } else {
            furwock::unstable::give_way(rounds);
            rounds = rounds.saturating_add(1);
        }
    }
}
