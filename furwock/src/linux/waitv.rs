//! `futex_waitv(2)`.

use super::operation::{Refused, WAITING_IN_KERNEL, deadline};
use super::user_memory;
use crate::lot::{AnyEnded, Group, Key, Signals, Until, may_not_lock};
use crate::sys::clock::{Clock, Deadline};
use crate::sys::futex2::{PRIVATE, WAITV_MOST, Waitv};
use crate::sys::signals;
use crate::sys::syscall::syscall_that_may_be_left;
use core::sync::atomic::Ordering;

const SIZE: u32 = 3;

/// The most words that are copied to the stack; more are allocated.
const FEW: usize = WAITV_MOST;

/// `futex_waitv(waiters, count, flags, timeout, clock)`. `Err` holds the errno.
///
/// With private words only, any number of them, and of 8, 16, 32 and 64 bits (sizes 0 to 3 in
/// `flags`). With shared words among them the kernel waits, for at most 128 words of 32 bits;
/// private ones are then woken by [`futex`](super::futex), but not by the typed operations.
///
/// # Safety
/// As for the system call: addresses need not be valid.
pub unsafe fn waitv(
    waiters: *const Waitv,
    count: u32,
    flags: u32,
    timeout: *const libc::timespec,
    clock: libc::clockid_t,
) -> Result<usize, i32> {
    let call = Call { waiters, count, flags, timeout, clock };
    // SAFETY: by this function's contract.
    unsafe { call.run() }
}

#[derive(Clone, Copy)]
struct Call {
    waiters: *const Waitv,
    count: u32,
    flags: u32,
    timeout: *const libc::timespec,
    clock: libc::clockid_t,
}

impl Call {
    /// # Safety
    /// As for [`waitv`].
    #[inline(never)]
    unsafe fn run(self) -> Result<usize, i32> {
        signals::closed(|| self.run_whole())
    }

    fn run_whole(self) -> Result<usize, i32> {
        let done = if may_not_lock() { Err(Refused::Malformed) } else { self.run_here() };
        match done {
            Ok(index) => Ok(index),
            Err(Refused::Errno(errno)) => Err(errno),
            Err(Refused::Malformed) => self.run_in_kernel(),
        }
    }

    fn run_in_kernel(self) -> Result<usize, i32> {
        let arguments = [
            self.waiters.expose_provenance(),
            self.count as usize,
            self.flags as usize,
            self.timeout.expose_provenance(),
            self.clock as usize,
            0,
        ];
        WAITING_IN_KERNEL.fetch_add(1, Ordering::SeqCst);
        // SAFETY: reads what it is pointed to, as far as it can be read.
        let call = || unsafe { syscall_that_may_be_left(libc::SYS_futex_waitv, &arguments) };
        let result = signals::open_for(call);
        WAITING_IN_KERNEL.fetch_sub(1, Ordering::Relaxed);
        result.map_err(|errno| errno.0)
    }

    fn run_here(self) -> Result<usize, Refused> {
        if self.flags != 0 || self.count == 0 || self.waiters.is_null() {
            return Err(Refused::Malformed);
        }
        let deadline = self.deadline()?;
        let count = self.count as usize;
        if count <= FEW {
            let mut few = [Waitv::default(); FEW];
            let words = &mut few[..count];
            for (index, word) in words.iter_mut().enumerate() {
                *word = self.waiter(index)?;
            }
            return wait(words, deadline.as_ref());
        }
        let mut words = Vec::new();
        // Not one allocation of an unchecked size.
        words.try_reserve_exact(count).map_err(|_| Refused::Errno(libc::ENOMEM))?;
        for index in 0..count {
            words.push(self.waiter(index)?);
        }
        wait(&words, deadline.as_ref())
    }

    fn deadline(self) -> Result<Option<Deadline>, Refused> {
        if self.timeout.is_null() {
            return Ok(None);
        }
        let clock = match self.clock {
            libc::CLOCK_MONOTONIC => Clock::Monotonic,
            libc::CLOCK_REALTIME => Clock::Realtime,
            _ => return Err(Refused::Malformed),
        };
        deadline(user_memory::load_timespec(self.timeout)?, clock).map(Some)
    }

    fn waiter(self, index: usize) -> Result<Waitv, Refused> {
        let waiter = user_memory::copy(self.waiters.wrapping_add(index))?;
        let size = waiter.flags & SIZE;
        let bits = 8u32 << size;
        let fits = bits == 64 || waiter.val >> bits == 0;
        let address = waiter.uaddr as usize;
        let whole = address % (bits as usize / 8) == 0;
        let word: *const u32 = core::ptr::without_provenance(address & !7);
        let private = waiter.flags & !SIZE == PRIVATE;
        if private && waiter.reserved == 0 && fits && whole && user_memory::is_word(word) {
            Ok(waiter)
        } else {
            Err(Refused::Malformed)
        }
    }
}

fn wait(words: &[Waitv], deadline: Option<&Deadline>) -> Result<usize, Refused> {
    words.iter().try_for_each(look)?;
    let keys = words.iter().map(|word| Key::word(word.uaddr as usize));
    let until = Until { deadline, signals: Signals::AsWaitv, ..Until::default() };
    match Group::once(keys, |index| look(&words[index]), true, until) {
        Some(AnyEnded::Chosen(index)) => Ok(index),
        Some(AnyEnded::Refused(why)) => Err(why),
        Some(AnyEnded::TimedOut) => Err(Refused::Errno(libc::ETIMEDOUT)),
        Some(AnyEnded::Signalled) => Err(Refused::Errno(libc::EINTR)),
        None => Err(Refused::Errno(libc::ENOMEM)),
    }
}

fn look(waiter: &Waitv) -> Result<(), Refused> {
    let address = waiter.uaddr as usize;
    let held = match waiter.flags & SIZE {
        0 => user_memory::load::<u8>(core::ptr::with_exposed_provenance(address))?.into(),
        1 => user_memory::load::<u16>(core::ptr::with_exposed_provenance(address))?.into(),
        2 => user_memory::load::<u32>(core::ptr::with_exposed_provenance(address))?.into(),
        _ => user_memory::load::<u64>(core::ptr::with_exposed_provenance(address))?,
    };
    if held == waiter.val { Ok(()) } else { Err(Refused::Errno(libc::EAGAIN)) }
}
