//! A thread's parking place, in one word.
//!
//! | word | meaning | to |
//! |---|---|---|
//! | `EMPTY`, 0 | no token, no thread | `PARKED` by park, `TOKEN` by unpark |
//! | `TOKEN`, 1 | the next park returns at once | `EMPTY` by park |
//! | `PARKED`, 2^32 - 1 | a thread sleeps, or is about to | `TOKEN` by unpark, which wakes it; `EMPTY` at the deadline |
//!
//! One thread parks at a time, so each step is one exchange that can't fail: a park subtracts one,
//! an unpark swaps, a park that has slept takes what is there. What came before an unpark is
//! visible after the park that took its token (ORDERING.md, PK-1); sleeping is the futex protocol
//! (O-1).

use super::yields::{self, Balance};
use crate::futex;
use crate::lot;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::const_unless_model;
use crate::prim::mutant::{self, Mutant};
use crate::sys::clock::Deadline;

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;
const PARKED: u32 = u32::MAX;

/// What yields before a sleep came to.
static BALANCE: Balance = Balance::new();

/// A place for one thread to sleep until another lets it go on.
///
/// Zero is one without a token. Its memory may be freed as soon as a park has returned and no
/// unpark is to come, also while the unpark that ended it hasn't returned yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct RawParker {
    word: AtomicU32,
}

impl RawParker {
    const_unless_model! {
        /// One without a token.
        pub fn new() -> Self {
            Self { word: AtomicU32::new(EMPTY) }
        }
    }

    /// Takes the token, once there is one, or gives up at `deadline`. Returns whether it took it.
    /// Acquire, if it did.
    ///
    /// One thread at a time calls this. A second one that does so at the same time is not let go
    /// reliably.
    #[inline]
    pub fn park(&self, deadline: Option<&Deadline>) -> bool {
        self.word.fetch_sub(1, Ordering::Acquire) == TOKEN || self.sleep(deadline)
    }

    #[cold]
    fn sleep(&self, deadline: Option<&Deadline>) -> bool {
        if deadline.is_none() && yields::once(&BALANCE, || self.take()) {
            return true;
        }
        loop {
            let waited = futex::wait(&self.word, PARKED, deadline);
            if waited == futex::Waited::TimedOut {
                // An unpark may have come at the last moment.
                return self.word.swap(EMPTY, Ordering::Acquire) == TOKEN;
            }
            if mutant::active(Mutant::TokenTakenInTwoSteps) {
                if self.word.load(Ordering::Acquire) == TOKEN {
                    self.word.store(EMPTY, Ordering::Relaxed);
                    return true;
                }
            } else if self.take() {
                return true;
            }
        }
    }

    /// Takes the token if there is one, of all that have made it since: in one step, so that what
    /// the last of them did is visible, too.
    fn take(&self) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.word.compare_exchange(TOKEN, EMPTY, success, failure).is_ok()
    }

    /// Makes the token, unless there is one, and wakes the thread that is parked. Release.
    ///
    /// May be called from a signal handler.
    #[inline]
    pub fn unpark(&self) {
        let publish = if mutant::active(Mutant::UnparkRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        let address = core::ptr::from_ref(&self.word).cast::<()>();
        if self.word.swap(TOKEN, publish) == PARKED && !mutant::active(Mutant::UnparkWithoutWake) {
            // It may be gone.
            futex::wake_address(address, 1, lot::ANY);
        }
    }
}

impl Default for RawParker {
    fn default() -> Self {
        Self::new()
    }
}
