//! Standing aside from a word that several threads pull from one another.
//!
//! A lock built on futex(2) marks its word as contended and then waits, if the word still holds the
//! mark. If it doesn't, the kernel refuses the wait, which takes a while, and another thread takes
//! and releases the lock undisturbed meanwhile. Here the refusal takes some nanoseconds, and a
//! thread that tries again at once only takes the word's cache line from the others, and has each
//! of their releases call for a waiter to wake.
//!
//! So a thread that is refused at a word again and again, and that wakes waiters there in between,
//! as a thread does that locks and unlocks, pauses before it tries again. How long it pauses is
//! learnt from what it comes to: a thread that is refused again before it has had the lock pauses
//! twice as long, up to a bound; one that has had it several times in a row half as long. A thread
//! that only waits at a word (for an event, or for another thread's permit) never pauses.
//!
//! A pause before a refusal changes nothing but the time of the call. The word may change
//! meanwhile; the caller finds out when it looks again, as it must after any refusal.

use crate::lot;
use crate::prim::spin_loop;
use crate::sys::thread::slot;

/// Pauses (of the processor's instruction) at first.
const FIRST: u32 = 32;

/// How often that may double: to about as many as a spinner at a mutex with short sections makes.
const MOST_DOUBLED: u32 = 4;

/// So many pauses in a row after which the thread had the lock show that shorter ones may do.
const SURE: u32 = 8;

/// So many refusals without a wake show that the thread doesn't lock and unlock there.
const TRUST: u32 = 16;

/// What a thread has learnt of the word that it was last refused at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Learnt {
    /// How often the pause has doubled.
    doubled: u32,
    /// So many pauses in a row have paid.
    paid: u32,
    /// So many refusals without a wake are still to come before pauses end; 0 without a wake yet.
    trust: u32,
    /// It has woken waiters there since its last refusal.
    has_woken: bool,
}

impl Learnt {
    const fn from_bits(bits: u32) -> Self {
        Self {
            doubled: bits & 0xf,
            paid: (bits >> 4) & 0xf,
            trust: (bits >> 8) & 0xff,
            has_woken: bits >> 16 != 0,
        }
    }

    const fn to_bits(self) -> u32 {
        self.doubled | self.paid << 4 | self.trust << 8 | (self.has_woken as u32) << 16
    }

    /// Once the thread wakes waiters at the word.
    const fn after_wake(self) -> Self {
        Self { trust: TRUST, has_woken: true, ..self }
    }

    /// Once it is refused there again. Without trust it doesn't pause.
    const fn after_refusal(self) -> Self {
        let Self { doubled, paid, trust, has_woken } = self;
        match has_woken {
            true if paid + 1 < SURE => Self { doubled, paid: paid + 1, trust, has_woken: false },
            true => Self { doubled: doubled.saturating_sub(1), paid: 0, trust, has_woken: false },
            false if doubled < MOST_DOUBLED && trust > 0 => {
                Self { doubled: doubled + 1, paid: 0, trust: trust - 1, has_woken }
            }
            false => Self { doubled, paid: 0, trust: trust.saturating_sub(1), has_woken },
        }
    }

    /// How many pauses to make.
    const fn pauses(self) -> u32 {
        if self.trust == 0 { 0 } else { FIRST << self.doubled }
    }
}

/// Notes that a wait is refused since `word` has another value than expected; pauses if that was so
/// in the thread's last refusal too, and it locks and unlocks there.
#[inline(always)]
pub(super) fn refused_at(word: *const u32) {
    let refused = &slot().refused;
    let noted = refused.get();
    if noted as u32 != name(word) {
        refused.set(name(word).into());
    } else if noted >> 32 != 0 {
        // It has woken waiters there.
        refused_again();
    }
}

/// Notes that the thread is to wake waiters of `word`.
#[inline(always)]
pub(super) fn wakes_at(word: *const u32) {
    if slot().refused.get() as u32 == name(word) {
        learn(Learnt::after_wake);
    }
}

/// The lower half of what is noted. Two words that share it share what is learnt.
#[inline(always)]
fn name(word: *const u32) -> u32 {
    (word.addr() >> 2) as u32
}

/// Notes in the upper half what becomes of what was learnt.
#[inline(always)]
fn learn(step: impl FnOnce(Learnt) -> Learnt) -> Learnt {
    let refused = &slot().refused;
    let noted = refused.get();
    let learnt = step(Learnt::from_bits((noted >> 32) as u32));
    refused.set(u64::from(learnt.to_bits()) << 32 | u64::from(noted as u32));
    learnt
}

#[cold]
#[inline(never)]
fn refused_again() {
    let pauses = learn(Learnt::after_refusal).pauses();
    // On one processor the others don't run meanwhile.
    if pauses != 0 && !lot::is_single() {
        for _ in 0..pauses {
            spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learnt_survives_in_a_word() {
        for doubled in 0..=MOST_DOUBLED {
            for paid in 0..SURE {
                for trust in 0..=TRUST {
                    for has_woken in [false, true] {
                        let learnt = Learnt { doubled, paid, trust, has_woken };
                        assert_eq!(Learnt::from_bits(learnt.to_bits()), learnt);
                    }
                }
            }
        }
    }

    fn refusals(count: u32, wakes_every: u32, learnt: &mut Learnt) -> u32 {
        (0..count)
            .map(|at| {
                if wakes_every != 0 && at % wakes_every == 0 {
                    *learnt = learnt.after_wake();
                }
                *learnt = Learnt::from_bits(learnt.after_refusal().to_bits());
                learnt.pauses()
            })
            .sum()
    }

    #[test]
    fn a_thread_that_only_waits_never_pauses() {
        assert_eq!(refusals(100_000, 0, &mut Learnt::from_bits(0)), 0);
    }

    #[test]
    fn a_thread_that_has_stopped_locking_soon_stops_pausing() {
        let mut learnt = Learnt::from_bits(0);
        refusals(1_000, 2, &mut learnt);
        refusals(TRUST + 1, 0, &mut learnt);
        assert_eq!(refusals(100_000, 0, &mut learnt), 0);
    }

    #[test]
    fn pauses_grow_while_the_lock_is_not_had_and_shrink_while_it_is() {
        let mut learnt = Learnt::from_bits(0);
        refusals(100, 4, &mut learnt);
        assert_eq!(learnt.pauses(), FIRST << MOST_DOUBLED);
        refusals(SURE * (MOST_DOUBLED + 1), 1, &mut learnt);
        assert_eq!(learnt.pauses(), FIRST);
    }
}
