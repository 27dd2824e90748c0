//! Whether something pays that saves more where it comes off than it costs where it doesn't, and
//! that changes how a lock's threads run: waking a signalled thread before its mutex is free.
//!
//! Threads that meet at a lock fall into step, and stay in it: either those that run find the lock
//! free, or most sleep in its queue and each release wakes one. A single trial tells little of the
//! other way. So a bucket keeps a balance of what all occasions came to, in a word of its advice,
//! which no short run of bad luck ends; and where it has ended, the next trial is a run of many.
//!
//! Each is charged in advance, so that no more are under way at a time than the balance allows: a
//! thread that signals a thousand others while it holds their mutex wakes some of them.

use crate::prim::atomic::{AtomicU32, Ordering};

/// A model has no outcomes to learn from: in one both ways happen, one after the other.
const IS_MODEL: bool = cfg!(any(loom, shuttle));

/// What one that came off makes up for. (Of those at a queue with one place three in four are in
/// vain, and it is better to do without; with 16 places one in two is, and it isn't:
/// docs/experiments.md, "A signal wakes at once".)
const WORTH: u32 = 2;

/// So many in vain that nothing has made up for show that it doesn't pay.
const ENOUGH: u32 = 64;

/// So many occasions later it is tried again, until half of `ENOUGH` more are in vain.
const AGAIN_AFTER: u32 = 1 << 10;

/// In the word: how many are under way, or were in vain and nothing has made up for them; above
/// that, the occasions since those were enough; and the mark of a thread that will tell.
const CHARGED: u32 = 0xff;
const ONE_OCCASION: u32 = CHARGED + 1;
const OCCASIONS: u32 = 0xfff * ONE_OCCASION;
const TELLER: u32 = !(CHARGED | OCCASIONS);
/// In that mark: it hasn't told yet.
const WILL_TELL: u32 = 1 << 31;
const _: () = assert!(ENOUGH < CHARGED && AGAIN_AFTER < OCCASIONS / ONE_OCCASION);

/// Whether to do it, on this occasion. If so, it counts as in vain until `came_off` or
/// `said_nothing`, or until a thread that will tell (`will_tell`) does so.
pub(super) fn pays(learnt: &AtomicU32) -> bool {
    if IS_MODEL {
        return learnt.fetch_xor(1, Ordering::Relaxed) != 0;
    }
    let (pays, new) = after_occasion(learnt.load(Ordering::Relaxed) & !TELLER);
    learnt.store(new, Ordering::Relaxed);
    pays
}

/// One that was done comes off if the thread `tid` tells so (`tell`) before the next occasion, and
/// before it is too late. Of several such threads only the last tells.
pub(super) fn will_tell(learnt: &AtomicU32, tid: u32) {
    let word = learnt.load(Ordering::Relaxed);
    learnt.store(word & !TELLER | mark(tid), Ordering::Relaxed);
}

/// What the thread `tid` was to tell of has come off, unless it is too late.
pub(super) fn tell(learnt: &AtomicU32, tid: u32) {
    let word = learnt.load(Ordering::Relaxed);
    if word & TELLER == mark(tid) {
        learnt.store(paid_back(word & !WILL_TELL, 1 + WORTH), Ordering::Relaxed);
    }
}

/// Whether the thread `tid` has told. If it hasn't, it won't.
pub(super) fn has_told(learnt: &AtomicU32, tid: u32) -> bool {
    let word = learnt.load(Ordering::Relaxed);
    if word & TELLER | WILL_TELL != mark(tid) {
        return false;
    }
    learnt.store(word & !TELLER, Ordering::Relaxed);
    word & WILL_TELL == 0
}

/// The mark of a thread that will tell. (One in 2,048 other threads has the same.)
fn mark(tid: u32) -> u32 {
    let lowest = OCCASIONS + ONE_OCCASION;
    tid.wrapping_mul(lowest) | WILL_TELL
}

/// One that was done came off.
pub(super) fn came_off(learnt: &AtomicU32) {
    pay_back(learnt, 1 + WORTH);
}

/// One that was done doesn't tell whether it paid.
pub(super) fn said_nothing(learnt: &AtomicU32) {
    pay_back(learnt, 1);
}

fn pay_back(learnt: &AtomicU32, charges: u32) {
    if !IS_MODEL {
        let word = learnt.load(Ordering::Relaxed);
        learnt.store(paid_back(word, charges), Ordering::Relaxed);
    }
}

/// The word with so many charges less, and none of the occasions since those were enough.
fn paid_back(word: u32, charges: u32) -> u32 {
    word & TELLER | (word & CHARGED).saturating_sub(charges)
}

/// Whether to do it, and the new word. (In `word` no thread will tell.)
fn after_occasion(word: u32) -> (bool, u32) {
    if word & CHARGED < ENOUGH {
        (true, word + 1)
    } else if word / ONE_OCCASION < AGAIN_AFTER {
        (false, word + ONE_OCCASION)
    } else {
        (true, ENOUGH / 2 + 1)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A thread's id.
    const SIGNALLER: u32 = 0x1_2345;

    /// How many of so many occasions are taken, if one in `each` comes off.
    fn taken_of(occasions: u32, each: u32, learnt: &AtomicU32) -> u32 {
        let mut taken = 0;
        for _ in 0..occasions {
            if pays(learnt) {
                if taken % each == 0 {
                    came_off(learnt);
                }
                taken += 1;
            }
        }
        taken
    }

    #[test]
    fn it_goes_on_where_one_in_three_comes_off() {
        for each in [1, 2, 3] {
            assert_eq!(taken_of(100_000, each, &AtomicU32::new(0)), 100_000);
        }
    }

    #[test]
    fn it_ends_where_fewer_do_and_is_tried_in_runs() {
        for each in [4, 100] {
            let learnt = AtomicU32::new(0);
            let first = taken_of(1_000, each, &learnt);
            assert!((ENOUGH..8 * ENOUGH).contains(&first), "{first}, one in {each}");
            let taken = taken_of(100_000, each, &learnt);
            assert!((2_000..13_000).contains(&taken), "{taken} of 100,000, one in {each}");
        }
    }

    #[test]
    fn a_run_of_bad_luck_does_not_end_it() {
        let learnt = AtomicU32::new(0);
        taken_of(1_000, 2, &learnt);
        assert_eq!(taken_of(ENOUGH - 2, u32::MAX, &learnt), ENOUGH - 2);
        assert!(pays(&learnt));
    }

    #[test]
    fn a_run_of_trials_brings_it_back() {
        let learnt = AtomicU32::new(0);
        taken_of(5_000, u32::MAX, &learnt);
        assert!(taken_of(10_000, 2, &learnt) > 10_000 - 2 * AGAIN_AFTER);
    }

    #[test]
    fn no_more_are_under_way_than_would_be_too_many_in_vain() {
        let learnt = AtomicU32::new(0);
        assert_eq!((0..1_000).filter(|_| pays(&learnt)).count(), ENOUGH as usize);
        (0..ENOUGH).for_each(|_| said_nothing(&learnt));
        assert_eq!(learnt.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn any_word_waits_for_so_many_occasions_at_most() {
        let marked = mark(SIGNALLER) | ENOUGH | (500 * ONE_OCCASION);
        let others =
            [u32::MAX, u32::MAX - CHARGED, ENOUGH + ONE_OCCASION, marked, marked | CHARGED];
        for word in (0..1 << 12).chain(others) {
            let learnt = AtomicU32::new(word);
            let waited = (0..=AGAIN_AFTER).take_while(|_| !pays(&learnt)).count();
            assert!(waited <= AGAIN_AFTER as usize, "{word:#x}");
        }
    }

    #[test]
    fn a_mark_is_apart_from_the_counts() {
        for tid in [0, 1, 0x7ff, 0x800, u32::MAX] {
            let mark = mark(tid);
            assert!(mark != 0 && mark & (CHARGED | OCCASIONS) == 0, "{tid:#x}");
        }
    }

    /// How many of 10,000 occasions of one thread are taken, if that tells each time, `in_time` or
    /// too late.
    fn taken_if_told(in_time: bool) -> u32 {
        let learnt = AtomicU32::new(0);
        let taken = (0..10_000).filter(|_| {
            let pays = pays(&learnt);
            if pays {
                will_tell(&learnt, SIGNALLER);
            }
            if !in_time {
                assert!(!has_told(&learnt, SIGNALLER));
            }
            tell(&learnt, SIGNALLER);
            pays
        });
        taken.count().try_into().unwrap()
    }

    #[test]
    fn one_comes_off_if_its_thread_tells_in_time() {
        assert_eq!(taken_if_told(true), 10_000);
        let never = taken_if_told(false);
        assert!((ENOUGH..10 * ENOUGH).contains(&never), "{never}");
    }

    #[test]
    fn a_thread_tells_once_and_of_the_last_only() {
        let learnt = AtomicU32::new(20);
        let charged = || learnt.load(Ordering::Relaxed) & CHARGED;
        will_tell(&learnt, SIGNALLER);
        will_tell(&learnt, SIGNALLER + 1);
        tell(&learnt, SIGNALLER);
        assert!(!has_told(&learnt, SIGNALLER));
        assert_eq!(charged(), 20, "another thread's was the last");
        tell(&learnt, SIGNALLER + 1);
        tell(&learnt, SIGNALLER + 1);
        assert_eq!(charged(), 20 - 3);
        assert!(has_told(&learnt, SIGNALLER + 1));
        assert!(!has_told(&learnt, SIGNALLER + 1), "asked for already");
        will_tell(&learnt, SIGNALLER);
        assert!(pays(&learnt));
        tell(&learnt, SIGNALLER);
        assert_eq!(charged(), 20 - 3 + 1, "the next occasion has come");
        will_tell(&learnt, SIGNALLER);
        came_off(&learnt);
        tell(&learnt, SIGNALLER);
        assert_eq!(charged(), 20 - 3 + 1 - 3 - 3);
    }
}
