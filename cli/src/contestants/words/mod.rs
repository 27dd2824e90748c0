//! Implementations that let threads wait on words, each behind the same small traits.

mod furwock;
pub mod kernel;
mod libc_call;
mod parking_lot;

use std::sync::atomic::AtomicU32;

/// The crate's `futex`, linked in.
pub struct Furwock;
/// The same, but each wait takes its bucket's lock before it looks at the word.
pub struct FurwockTable;
/// The crate's `shared`, on process-shared words.
pub struct FurwockShared;
/// futex(2), by a system call instruction of the program itself, which no preload can replace.
/// Process-shared words differ in a flag; here they are in the memory of one process.
pub struct KernelWords<const SHARED: bool>;
pub type Kernel = KernelWords<false>;
/// futex(2), by libc's `syscall`, which a preload can replace.
pub struct LibcWords<const SHARED: bool>;
pub type LibcCall = LibcWords<false>;
/// The crate parking_lot_core.
pub struct ParkingLot;

/// Waits and wakes.
pub trait Words: 'static {
    /// Sleeps until woken. May return spuriously; false if the word doesn't hold the value.
    fn wait(word: &AtomicU32, value: u32) -> bool;

    /// Returns how many were woken.
    fn wake(word: &AtomicU32, count: usize) -> usize;

    /// Moves up to `count` waiters, and wakes none; returns how many were moved.
    fn requeue(from: &AtomicU32, to: &AtomicU32, count: usize) -> usize;
}

/// Waits for any of many words.
pub trait ManyWords: Words {
    /// Waits again and again on the same words, until one of them isn't 0.
    type Waiter<'w>;

    /// Why it can't wait on so many words, if so.
    fn too_many(words: usize) -> Option<String>;

    fn waiter(words: &[AtomicU32]) -> Self::Waiter<'_>;

    /// Sleeps until woken, unless one of the words isn't 0. Returns which word it may be.
    fn wait_any(waiter: &mut Self::Waiter<'_>) -> Option<usize>;
}

/// The table of a function that is generic over waits on words.
macro_rules! words {
    ($function:ident $(, $contestant:ident => $type:ty)*) => {{
        use $crate::contestants::{table, words};
        table!($function:
            Furwock => words::Furwock,
            $($contestant => $type,)*
            FurwockPreload => words::LibcCall,
            Kernel => words::Kernel,
            ParkingLot => words::ParkingLot,
        )
    }};
}
pub(crate) use words;

/// The same on process-shared words.
macro_rules! shared_words {
    ($function:ident) => {{
        use $crate::contestants::{table, words};
        table!($function:
            Furwock => words::FurwockShared,
            FurwockPreload => words::LibcWords<true>,
            Kernel => words::KernelWords<true>,
        )
    }};
}
pub(crate) use shared_words;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;
    use std::thread;

    /// Whether a sleeper on one word is moved to the other and woken there.
    fn is_moved<W: Words>() -> bool {
        static WORDS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
        WORDS.iter().for_each(|word| word.store(0, SeqCst));
        assert!(!W::wait(&WORDS[0], 1));
        assert_eq!(W::wake(&WORDS[0], 1), 0);
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| W::wait(&WORDS[0], 0));
            while W::requeue(&WORDS[0], &WORDS[1], usize::MAX) == 0 {
                thread::yield_now();
            }
            let woken = [W::wake(&WORDS[0], 1), W::wake(&WORDS[1], usize::MAX)];
            while !sleeper.is_finished() {
                WORDS.iter().for_each(|word| _ = W::wake(word, 1));
                thread::yield_now();
            }
            woken == [0, 1]
        })
    }

    /// After a stop or a signal the kernel restarts a wait on the first word: then the sleeper
    /// isn't where it was moved to. So a few attempts are allowed.
    fn moves<W: Words>() {
        assert!((0..5).any(|_| is_moved::<W>()));
    }

    #[test]
    fn all_wait_wake_and_move() {
        moves::<Furwock>();
        moves::<FurwockTable>();
        moves::<Kernel>();
        moves::<LibcCall>();
        moves::<ParkingLot>();
        moves::<FurwockShared>();
        moves::<KernelWords<true>>();
        moves::<LibcWords<true>>();
    }

    fn waits_for_any<W: ManyWords>() {
        let words: Vec<AtomicU32> = (0..5).map(|_| AtomicU32::new(0)).collect();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut waiter = W::waiter(&words);
                while words[3].load(SeqCst) == 0 {
                    W::wait_any(&mut waiter);
                }
                // It is set, and so ends the wait at once.
                W::wait_any(&mut waiter);
            });
            words[3].store(1, SeqCst);
            while !waiting.is_finished() {
                W::wake(&words[3], 1);
                thread::yield_now();
            }
        });
    }

    #[test]
    fn waits_for_any_word() {
        waits_for_any::<Furwock>();
        if kernel::has_waitv() {
            waits_for_any::<Kernel>();
            waits_for_any::<LibcCall>();
        }
    }
}
