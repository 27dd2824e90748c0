//! What the queue locks ask of the machine: here the real one. The simulator has its own.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicU32, Ordering};

pub use crate::harness::Padded;

use crate::contestants::words::kernel;

/// Returns at once if the word isn't `value`, and may return spuriously.
pub fn kernel_wait(word: &AtomicU32, value: u32) {
    kernel::wait(word, value);
}

/// Wakes one thread that waits on the word.
pub fn kernel_wake(word: &AtomicU32) {
    kernel::wake(word, 1);
}

/// Looks at the word again and again until `is` holds for it. Acquire.
#[inline]
pub fn spin_until(word: &AtomicU32, is: impl Fn(u32) -> bool) -> u32 {
    loop {
        let seen = word.load(Ordering::Acquire);
        if is(seen) {
            return seen;
        }
        spin_loop();
    }
}

/// A length of time that began when it was made.
pub struct Spell {
    began: Instant,
    length: Duration,
    asked: u32,
}

impl Spell {
    /// The clock takes as long to read as a pause or two, and so is read once in so many questions:
    /// a waiter is to see soon that it was granted its turn.
    const QUESTIONS: u32 = 16;

    pub fn of_ns(length_ns: u64) -> Self {
        Spell { began: Instant::now(), length: Duration::from_nanos(length_ns), asked: 0 }
    }

    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(Self::QUESTIONS) && self.began.elapsed() >= self.length
    }
}

/// Which numbers living threads have.
static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

const UNNUMBERED: usize = usize::MAX;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(UNNUMBERED) };
    static LOAN: Cell<Option<Loan>> = const { Cell::new(None) };
}

/// A number that its thread gives back when it ends.
struct Loan(usize);

impl Drop for Loan {
    fn drop(&mut self) {
        taken()[self.0] = false;
    }
}

fn taken() -> MutexGuard<'static, Vec<bool>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's number: the least that no other thread had when it first asked.
#[inline]
pub fn thread_index() -> usize {
    match NUMBER.get() {
        UNNUMBERED => take_number(),
        number => number,
    }
}

#[cold]
fn take_number() -> usize {
    let mut taken = taken();
    let free = taken.iter().position(|taken| !taken);
    let number = free.unwrap_or(taken.len());
    match free {
        Some(free) => taken[free] = true,
        None => taken.push(true),
    }
    drop(taken);
    NUMBER.set(number);
    LOAN.set(Some(Loan(number)));
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn threads_that_live_at_a_time_have_different_numbers() {
        const THREADS: usize = 20;
        let (together, barrier) = (Mutex::new(Vec::new()), Barrier::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let number = thread_index();
                    assert_eq!(number, thread_index());
                    together.lock().unwrap().push(number);
                    barrier.wait();
                });
            }
        });
        let mut numbers = together.into_inner().unwrap();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), THREADS);
    }

    #[test]
    fn numbers_are_given_back() {
        // Other tests' threads have numbers too, but not so many.
        let numbers = (0..1000).map(|_| thread::spawn(thread_index).join().unwrap());
        let greatest = numbers.max().unwrap();
        assert!(greatest < 500, "{greatest}");
    }

    #[test]
    fn a_spell_ends() {
        // (Before the spell: this thread may be held up in between.)
        let begin = Instant::now();
        let mut spell = Spell::of_ns(1_000_000);
        while !spell.is_over() {}
        assert!(begin.elapsed() >= Duration::from_millis(1));
    }
}
