//! Which waker ends a wait on many words: a claim in the head of its nodes (ORDERING.md, A-2).
//!
//! | state | meaning | set by |
//! |---|---|---|
//! | IDLE | no thread waits: members, if queued, are passed over | the owner |
//! | ARMED | may be claimed | the owner, before it looks at the words |
//! | CLAIMED + n | member n was chosen; its notification is on the way | the one waker |

use crate::prim::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::prim::mutant::{self, Mutant};

const IDLE: u32 = 0;
const ARMED: u32 = 1;
const CLAIMED: u32 = 2;

/// Members that a claim can tell apart.
pub(crate) const MOST_MEMBERS: usize = (u32::MAX - CLAIMED) as usize;

/// Which wakes a member takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// One for all the members of its wait, after which it leaves the queue.
    Once,
    /// One for each member, as futex_waitv(2) has it: those after the first are counted, and wake
    /// no thread.
    Each,
    /// One a wait. It stays queued for the next, behind all others.
    Registered,
    /// The same; the head has a descriptor, which becomes readable.
    Polled,
}

impl Counts {
    /// Whether a member that was chosen stays queued.
    pub(crate) fn stay(self) -> bool {
        matches!(self, Counts::Registered | Counts::Polled)
    }
}

/// The head's state.
#[derive(Debug)]
pub(crate) struct Claim {
    state: AtomicU32,
    /// The highest member that was chosen, where each counts.
    highest: AtomicU32,
    /// A registered member was requeued and isn't where it was registered.
    moved: AtomicBool,
}

impl Claim {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(IDLE),
            highest: AtomicU32::new(0),
            moved: AtomicBool::new(false),
        }
    }

    /// Claims the wait for `member`. Called under the lock of that member's bucket.
    #[inline]
    pub(crate) fn try_claim(&self, member: u32, counts: Counts) -> Claimed {
        if mutant::active(Mutant::ClaimWithoutCompare) {
            self.state.store(CLAIMED + member, Ordering::Relaxed);
            return Claimed::First;
        }
        // Acquire: the head's parker was made ready before ARMED.
        let claimed = self.state.compare_exchange(
            ARMED,
            CLAIMED + member,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        match claimed {
            Ok(_) => Claimed::First,
            Err(CLAIMED..) if counts == Counts::Each => {
                self.highest.fetch_max(member, Ordering::Relaxed);
                Claimed::Again
            }
            Err(_) => Claimed::Not,
        }
    }

    pub(crate) fn takes_wakes(&self, counts: Counts) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state == ARMED || (state >= CLAIMED && counts == Counts::Each)
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ARMED
    }

    pub(crate) fn note_move(&self) {
        self.moved.store(true, Ordering::Relaxed);
    }

    /// From here on wakers may claim it. The head's parker has been made ready.
    pub(crate) fn arm(&self) {
        self.state.store(ARMED, Ordering::Release);
    }

    /// `false` if a waker claimed first, and its notification has to be waited for.
    pub(crate) fn disarm(&self) -> bool {
        self.state.compare_exchange(ARMED, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn claimed_member(&self) -> Option<usize> {
        self.state.load(Ordering::Relaxed).checked_sub(CLAIMED).map(|member| member as usize)
    }

    /// The highest member that was chosen after the first, where each counts; otherwise 0.
    pub(crate) fn highest(&self) -> usize {
        self.highest.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn has_moved(&self) -> bool {
        self.moved.load(Ordering::Relaxed)
    }

    /// The wait is over: wakers pass the members by.
    pub(crate) fn end(&self) {
        self.state.store(IDLE, Ordering::Relaxed);
    }

    /// Ready for another group: no waker knows of this one any more.
    pub(crate) fn reset(&self) {
        self.highest.store(0, Ordering::Relaxed);
        self.moved.store(false, Ordering::Relaxed);
    }
}

/// What came of claiming a wait on many words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The wait is over, by this member.
    First,
    /// It was over already; this member counts all the same.
    Again,
    /// It was over already, or no thread waits.
    Not,
}
