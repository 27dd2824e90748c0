//! A release that more than one thread cares about: wakes, and hand-offs.

use super::RawMutex;
use super::state::{HANDOFF, OWNER, Release, asks_how_far_ahead, release, wakes_some};
use crate::lock::spin::{changes_hands, how_far_ahead, is_near_better};
use crate::lot::{self, Key, Queued, Verdict};
use crate::prim::atomic::Ordering;
use crate::prim::mutant::{self, Mutant};

impl RawMutex {
    /// Releases the lock, whose word was `seen`, if no waiter has to be woken: none is queued, or
    /// one will look at the lock again anyway.
    #[inline]
    pub(super) fn try_unlock_seen(&self, seen: u32) -> bool {
        if wakes_some(seen) {
            return false;
        }
        match release(seen, ahead(seen, self.key())) {
            Release::To { word, wakes: 0 } => self.exchange(seen, word, release_ordering()).is_ok(),
            _ => false,
        }
    }

    /// Releases the lock, whose word was `seen`.
    #[cold]
    pub(super) fn unlock_slow(&self, seen: u32) -> usize {
        let mut word = seen;
        // After the release the mutex may be gone (M-6); its address still names the queue.
        let key = self.key();
        changes_hands(key);
        loop {
            let (new, wakes) = match release(word, ahead(word, key)) {
                Release::NotHeld => return 0,
                Release::HandOff => return self.hand_off(),
                Release::To { word, wakes } => (word, wakes),
            };
            match self.exchange(word, new, release_ordering()) {
                Ok(_) if wakes != 0 => return wake_some(key, wakes),
                Ok(_) => return 0,
                Err(now) => word = now,
            }
        }
    }

    /// Gives the lock to the first waiter, if there is one. The bucket lock is taken before the
    /// release, while the caller still holds the mutex.
    #[cold]
    pub(super) fn hand_off(&self) -> usize {
        let key = self.key();
        let mut bucket = lot::lock(key);
        let first = bucket.first(key);
        let next_owner = first.map_or(0, Queued::tid);
        let ordering = if mutant::active(Mutant::HandOffRelaxed) {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        let mut word = self.word.load(Ordering::Relaxed);
        while let Err(now) = self.exchange(word, (word & !(OWNER | HANDOFF)) | next_owner, ordering)
        {
            word = now;
        }
        if first.is_none() {
            return 0;
        }
        let address = core::ptr::from_ref(self).expose_provenance();
        bucket.choose_first(key, Verdict::granted(address, give_back));
        1
    }
}

/// How many wakes should be on their way after a release of `word`, if that depends on it.
#[inline]
pub(super) fn ahead(word: u32, key: Key) -> u32 {
    if asks_how_far_ahead(word) { how_far_ahead(key) } else { 1 }
}

#[inline]
pub(super) fn release_ordering() -> Ordering {
    if mutant::active(Mutant::UnlockRelaxed) { Ordering::Relaxed } else { Ordering::Release }
}

/// Releases a mutex for a waiter that was given it and didn't return.
///
/// # Safety
/// The caller is that waiter's thread, in its call on the mutex at `address`.
unsafe fn give_back(address: usize) {
    // SAFETY: a call that waits for a mutex keeps it alive.
    unsafe { &*core::ptr::with_exposed_provenance::<RawMutex>(address) }.unlock();
}

/// Wakes the first waiters, for which so many wakes have been claimed. If there are fewer, the
/// waiter that left last has cleared the claims, or the next to queue will (M-4).
fn wake_some(key: Key, wakes: u32) -> usize {
    let near = is_near_better(key);
    let mut bucket = lot::lock(key);
    (0..wakes).take_while(|_| bucket.choose_placed(key, near, Verdict::CLAIMED)).count()
}

#[cfg(all(test, not(any(loom, shuttle, miri, simulated))))]
mod tests {
    use super::*;
    use crate::lock::{busy, spin};
    use crate::sys::binding::{allowed_processors, bind};
    use std::sync::Mutex;
    use std::thread;

    /// Which of two waiters a release on `here` wakes, by the processor on which it slept. The
    /// first in the queue slept on `elsewhere` if the release prefers `here`, and the other way
    /// round.
    fn first_woken(here: usize, elsewhere: usize, prefers_here: bool) -> usize {
        let (mutex, woken) = (RawMutex::new(), Mutex::new(Vec::new()));
        spin::learn_that_holders_are_off(mutex.key());
        let order = if prefers_here { [elsewhere, here] } else { [here, elsewhere] };
        let wait = |cpu| {
            assert!(bind(cpu));
            mutex.lock();
            woken.lock().unwrap().push(cpu);
            mutex.unlock();
        };
        thread::scope(|scope| {
            assert!(bind(here));
            mutex.lock();
            for (before, cpu) in order.into_iter().enumerate() {
                scope.spawn(move || wait(cpu));
                while lot::lock(mutex.key()).count(mutex.key()) == before {
                    thread::yield_now();
                }
            }
            mutex.unlock();
        });
        woken.into_inner().unwrap()[0]
    }

    #[test]
    fn a_near_waiter_is_woken_where_holders_are_off_and_no_processor_idles() {
        let [here, elsewhere, ..] = allowed_processors()[..] else {
            println!("not tried: there is one processor");
            return;
        };
        for busy in [false, true] {
            let test = move || {
                busy::SUPPOSED.set(Some(busy));
                first_woken(here, elsewhere, busy)
            };
            let first = thread::spawn(test).join().unwrap();
            assert_eq!(first == here, busy);
        }
    }
}
