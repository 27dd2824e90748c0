//! What a waker and a waiter leave for one another: the waker's verdict, the waiter's debt.

/// What a waker tells the waiter it chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Its waker gave it the lock that it waits for.
    pub(crate) granted: Option<Granted>,
    /// The wake was counted in a lock's word; the waiter has to take it off the count.
    pub(crate) holds_wake: bool,
    /// No other thread waited at the address when it was chosen.
    pub(crate) was_last: bool,
    /// A condvar's waiter was woken though its mutex was held.
    pub(crate) mutex_held: Option<Held>,
}

/// How a condvar's waiter was woken though its mutex was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// By which thread it was held.
    pub(crate) owner: u32,
    /// On which processor the thread ran that woke the waiter.
    pub(crate) waker_cpu: u32,
}

/// What came with a choice, for a waiter that doesn't return from its wait: how to give it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    address: usize,
    /// Called with the address, by the waiter's thread, in its call on what lies there.
    give_back: unsafe fn(usize),
}

impl Granted {
    /// # Safety
    /// The waiter's thread calls this once, in its call on what lies at the address, which it
    /// leaves.
    #[cfg(not(any(loom, shuttle)))]
    pub(in crate::lot) unsafe fn give_back(self) {
        // SAFETY: by this function's contract.
        unsafe { (self.give_back)(self.address) };
    }
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl Eq for Granted {}

impl Verdict {
    pub(crate) const WOKEN: Verdict =
        Verdict { granted: None, holds_wake: false, was_last: false, mutex_held: None };

    /// Woken at a condvar though the mutex, which the waiter will lock, is held.
    pub(crate) const fn woken_to_held(held: Held) -> Verdict {
        Verdict { mutex_held: Some(held), ..Verdict::WOKEN }
    }

    /// Given the lock at `address`, which `give_back` releases again.
    pub(crate) fn granted(address: usize, give_back: unsafe fn(usize)) -> Verdict {
        Verdict { granted: Some(Granted { address, give_back }), ..Verdict::WOKEN }
    }

    /// Woken by a claim in a lock's word, which the waiter takes back.
    pub(crate) const CLAIMED: Verdict = Verdict { holds_wake: true, ..Verdict::WOKEN };
}

/// What a waiter owes beyond its place in the queue, if a signal handler leaves the wait for good:
/// `settle` is called with `address` on its way out. It holds no lock then, and its own call is not
/// over: what lies at `address` is still there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debt {
    pub(crate) settle: fn(usize, From),
    pub(crate) address: usize,
}

/// Where a waiter was queued that leaves for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// In the queue that it had joined.
    Queue,
    /// In another, to which it had been moved.
    OtherQueue,
    /// In none: it had been chosen. What it had been given has been given back, but a wake that was
    /// counted for it in the lock's word is still its own.
    Chosen { holds_wake: bool },
}
