//! Operations on words: what they return, which waiters they wake, and in which order.

mod common;

use common::{bounded, deadlines, eventually, join_all, kept, past, soon, waiting_at};
use furwock::Deadline;
use furwock::futex::{
    Comparison, IntegerWord, Mismatch, Operation, Requeued, Waited, WakeOp, WokenBoth, Word,
    compare_requeue, requeue, wait, wait_bitset, wake, wake_all, wake_bitset, wake_op,
};
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

fn zero() -> &'static AtomicU32 {
    kept(AtomicU32::new(0))
}

/// Starts threads that wait on `word` while it is 0, one after another, so that they queue in
/// order. Each counts itself in `woken` as it wakes, and returns how many came before it.
fn queue_up(
    word: &'static AtomicU32,
    count: usize,
    woken: &'static AtomicUsize,
) -> Vec<JoinHandle<(Waited, usize)>> {
    (0..count)
        .map(|queued| {
            let waiter = thread::spawn(move || {
                let waited = wait(word, 0, None);
                (waited, woken.fetch_add(1, Ordering::SeqCst))
            });
            eventually("the waiter is queued", || {
                assert_eq!(requeue(word, zero(), 0, 0), Requeued::default());
                waiting_at(word) == queued + 1
            });
            waiter
        })
        .collect()
}

fn assert_woken(waiters: Vec<JoinHandle<(Waited, usize)>>) {
    assert!(join_all(waiters).into_iter().all(|(waited, _)| waited == Waited::Woken));
}

fn mismatch_and_timeout<W: Word>(word: &W, holds: W::Value, other: W::Value) {
    assert_eq!(wait(word, other, None), Waited::Mismatch);
    assert_eq!(wait(word, holds, Some(&soon())), Waited::TimedOut);
    assert_eq!(wake_all(word), 0);
}

#[test]
fn every_width_is_compared_whole() {
    bounded(|| {
        mismatch_and_timeout(&AtomicBool::new(true), true, false);
        mismatch_and_timeout(&AtomicU8::new(200), 200, 100);
        mismatch_and_timeout(&AtomicI8::new(-1), -1, 1);
        mismatch_and_timeout(&AtomicU16::new(0x0101), 0x0101, 0x0001);
        mismatch_and_timeout(&AtomicI16::new(-300), -300, 300);
        mismatch_and_timeout(&AtomicU32::new(7), 7, 8);
        mismatch_and_timeout(&AtomicI32::new(-1), -1, 1);
        mismatch_and_timeout(&AtomicUsize::new(7), 7, 8);
        mismatch_and_timeout(&AtomicIsize::new(-7), -7, 7);
        // One half at a time agrees with the expected value.
        mismatch_and_timeout(&AtomicU64::new(1 << 32 | 5), 1 << 32 | 5, 5);
        mismatch_and_timeout(&AtomicU64::new(1 << 32 | 5), 1 << 32 | 5, 1 << 32);
        mismatch_and_timeout(&AtomicI64::new(i64::MIN), i64::MIN, 0);
        let (mut a, mut b) = (0u8, 0u8);
        mismatch_and_timeout(&AtomicPtr::new(&raw mut a), &raw mut a, &raw mut b);
        mismatch_and_timeout(&AtomicPtr::<u8>::new(ptr::null_mut()), ptr::null_mut(), &raw mut b);
    });
}

#[test]
fn a_64_bit_word_is_waited_on_and_woken() {
    bounded(|| {
        let word = kept(AtomicU64::new(1 << 40));
        let waiter = thread::spawn(|| {
            while word.load(Ordering::Acquire) == 1 << 40 {
                wait(word, 1 << 40, None);
            }
        });
        thread::sleep(Duration::from_millis(5));
        // Only the upper half changes.
        word.store(1 << 41, Ordering::Release);
        wake(word, 1);
        waiter.join().unwrap();
    });
}

#[test]
fn a_mismatch_comes_before_a_deadline_that_has_passed() {
    bounded(|| {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0, Some(&past())), Waited::Mismatch);
        assert_eq!(wait(&word, 1, Some(&past())), Waited::TimedOut);
    });
}

#[test]
fn deadlines_are_kept_on_both_clocks() {
    bounded(|| {
        let word = AtomicU32::new(0);
        for deadline in deadlines(Duration::from_millis(30)) {
            let started = Instant::now();
            assert_eq!(wait(&word, 0, Some(&deadline)), Waited::TimedOut);
            assert!(deadline.has_passed(), "woke {:?} after the start", started.elapsed());
        }
    });
}

#[test]
fn wake_wakes_as_many_as_it_says_in_order() {
    bounded(|| {
        let (word, woken) = (zero(), kept(AtomicUsize::new(0)));
        let waiters = queue_up(word, 5, woken);
        assert_eq!(wake(word, 0), 0);
        for (turn, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(wake(word, 1), 1);
            assert_eq!(waiter.join().unwrap(), (Waited::Woken, turn));
        }
        assert_eq!(wake(word, 1), 0);
    });
}

#[test]
fn wake_all_reaches_hundreds() {
    bounded(|| {
        let (word, woken) = (zero(), kept(AtomicUsize::new(0)));
        for count in [1, 7, 8, 9, 10, 33, 300] {
            let waiters = queue_up(word, count, woken);
            assert_eq!(wake_all(word), count);
            assert_woken(waiters);
        }
    });
}

#[test]
fn requeue_wakes_the_first_and_moves_the_next() {
    bounded(|| {
        let (word, woken) = (zero(), kept(AtomicUsize::new(0)));
        let other = AtomicU64::new(0);
        let waiters = queue_up(word, 5, woken);
        assert_eq!(requeue(word, &other, 1, 2), Requeued { woken: 1, moved: 2 });
        eventually("one woken", || woken.load(Ordering::SeqCst) == 1);
        assert_eq!(wake_all(word), 2);
        eventually("three woken", || woken.load(Ordering::SeqCst) == 3);
        assert_eq!(wake_all(&other), 2);
        let turns: Vec<usize> = join_all(waiters).into_iter().map(|(_, turn)| turn).collect();
        assert_eq!(turns[0], 0);
        assert!(turns[1] >= 3 && turns[2] >= 3, "the second and third were moved: {turns:?}");
    });
}

#[test]
fn compare_requeue_does_nothing_on_a_mismatch() {
    bounded(|| {
        let (word, woken) = (zero(), kept(AtomicUsize::new(0)));
        let other = AtomicU32::new(0);
        let waiters = queue_up(word, 2, woken);
        assert_eq!(compare_requeue(word, 1, &other, 1, 1), Err(Mismatch));
        assert_eq!(
            compare_requeue(word, 0, &other, 0, usize::MAX),
            Ok(Requeued { woken: 0, moved: 2 })
        );
        assert_eq!(wake_all(word), 0);
        assert_eq!(wake_all(&other), 2);
        assert_woken(waiters);
    });
}

#[test]
fn a_moved_waiter_keeps_its_deadline() {
    bounded(|| {
        let (word, other) = (zero(), AtomicU32::new(0));
        // On a busy machine it may have left before it was moved.
        let is_moved = [100, 200, 400, 800, 1600].into_iter().any(|ms| {
            let deadline = Deadline::after(Duration::from_millis(ms));
            let waiter = thread::spawn(move || wait(word, 0, Some(&deadline)));
            let mut moved = 0;
            eventually("moved", || {
                moved = requeue(word, &other, 0, 1).moved;
                moved == 1 || waiter.is_finished()
            });
            assert_eq!(waiter.join().unwrap(), Waited::TimedOut);
            assert_eq!(wake_all(&other), 0);
            moved == 1
        });
        assert!(is_moved);
    });
}

/// Two threads pass a token to and fro: if a wake is lost at any of many thousand hand-overs, both
/// hang.
#[test]
fn a_token_goes_round_without_a_lost_wakeup() {
    bounded(|| {
        const ROUNDS: u32 = 100_000;
        let token = zero();
        let player = |mine: u32| {
            thread::spawn(move || {
                for round in (mine..ROUNDS).step_by(2) {
                    loop {
                        let now = token.load(Ordering::Acquire);
                        if now == round {
                            break;
                        }
                        wait(token, now, None);
                    }
                    token.store(round + 1, Ordering::Release);
                    wake(token, 1);
                }
            })
        };
        join_all([player(0), player(1)]);
        assert_eq!(token.load(Ordering::Relaxed), ROUNDS);
    });
}

/// Deadlines of about the time that the wakes take: as many waiters must return as woken as the
/// wakes report.
#[test]
fn wakes_and_deadlines_add_up() {
    bounded(|| {
        let (word, stop) = (zero(), zero());
        let waiters: Vec<_> = (0..8)
            .map(|number| {
                thread::spawn(move || {
                    let mut woken = 0;
                    while stop.load(Ordering::Relaxed) == 0 {
                        let deadline = Deadline::after(Duration::from_micros(20 + 7 * number));
                        woken += usize::from(wait(word, 0, Some(&deadline)) == Waited::Woken);
                    }
                    woken
                })
            })
            .collect();
        let other = AtomicU32::new(0);
        let started = Instant::now();
        let mut said = 0;
        while started.elapsed() < Duration::from_secs(1) {
            said += wake(word, 2);
            let requeued = requeue(word, &other, 1, 3);
            said += requeued.woken + wake_all(&other);
        }
        stop.store(1, Ordering::Relaxed);
        assert_eq!(join_all(waiters).into_iter().sum::<usize>(), said);
    });
}

/// A thread that waits with `bitset` on `word` while that is 0, queued.
fn queue_bitset(word: &'static AtomicU8, bitset: u32) -> JoinHandle<Waited> {
    let before = waiting_at(word);
    let waiter = thread::spawn(move || wait_bitset(word, 0, None, bitset));
    eventually("the waiter is queued", || waiting_at(word) == before + 1);
    waiter
}

#[test]
fn a_bitset_chooses_among_the_waiters_in_order() {
    bounded(|| {
        let word = kept(AtomicU8::new(0));
        let [low, high, both, any] = [1, 2, 3, u32::MAX].map(|bitset| queue_bitset(word, bitset));
        assert_eq!(wake_bitset(word, usize::MAX, 4), 1, "only the waiter with all bits");
        assert_eq!(any.join().unwrap(), Waited::Woken);
        assert_eq!(wake_bitset(word, 1, 2), 1);
        assert_eq!(high.join().unwrap(), Waited::Woken);
        assert_eq!(wake_bitset(word, usize::MAX, 2), 1);
        assert_eq!(both.join().unwrap(), Waited::Woken);
        assert_eq!(wake_bitset(word, usize::MAX, 0), 0);
        assert_eq!(wake(word, 1), 1, "a wake without a bitset matches all waiters");
        assert_eq!(low.join().unwrap(), Waited::Woken);
    });
}

/// All operations and comparisons on one type, without waiters, against plain arithmetic.
fn wake_op_changes_the_word<W: IntegerWord>(word: &W, values: &[W::Value], model: Model<W::Value>)
where
    W::Value: std::fmt::Debug,
{
    let elsewhere = AtomicU32::new(0);
    for &old in values {
        for &operand in values {
            for (operation, change) in model {
                word.apply(Operation::Set, old);
                let op =
                    WakeOp { operation, operand, comparison: Comparison::Equal, comparand: old };
                assert_eq!(wake_op(&elsewhere, 1, word, 1, op), WokenBoth::default());
                let expected = change(old, operand);
                assert_eq!(
                    word.apply(Operation::Set, old),
                    expected,
                    "{operation:?} {operand:?} of {old:?}"
                );
            }
        }
    }
}

type Model<V> = [(Operation, fn(V, V) -> V); 5];

#[test]
fn wake_op_does_each_operation_on_each_width() {
    macro_rules! check {
        ($($atomic:ident $value:ident),*) => {$({
            let values = [0, 1, 2, 0x55, $value::MAX, $value::MIN];
            wake_op_changes_the_word(&$atomic::new(0), &values, [
                (Operation::Set, |_, operand| operand),
                (Operation::Add, $value::wrapping_add),
                (Operation::Or, |old, operand| old | operand),
                (Operation::AndNot, |old, operand| old & !operand),
                (Operation::Xor, |old, operand| old ^ operand),
            ]);
        })*};
    }
    check!(
        AtomicU8 u8, AtomicI8 i8, AtomicU16 u16, AtomicI16 i16, AtomicU32 u32, AtomicI32 i32,
        AtomicU64 u64, AtomicI64 i64, AtomicUsize usize, AtomicIsize isize
    );
}

#[test]
fn each_comparison_is_made_in_the_words_own_type() {
    use Comparison::*;
    let table = [
        (Equal, [false, true, false]),
        (NotEqual, [true, false, true]),
        (Less, [true, false, false]),
        (LessOrEqual, [true, true, false]),
        (Greater, [false, false, true]),
        (GreaterOrEqual, [false, true, true]),
    ];
    for (comparison, holds) in table {
        assert_eq!([-1i8, 0, 1].map(|old| comparison.holds(old, 0)), holds, "{comparison:?}");
        assert_eq!([1u64, 2, u64::MAX].map(|old| comparison.holds(old, 2)), holds);
    }
}

#[test]
fn wake_op_wakes_at_both_words() {
    bounded(|| {
        let (word, changed, woken) = (zero(), zero(), kept(AtomicUsize::new(0)));
        let mut waiters = queue_up(word, 2, woken);
        waiters.extend(queue_up(changed, 2, woken));
        let op =
            |comparison| WakeOp { operation: Operation::Add, operand: 5, comparison, comparand: 0 };
        let first = wake_op(word, 1, changed, 2, op(Comparison::Greater));
        assert_eq!(first, WokenBoth { woken: 1, woken_at_changed: 0 });
        assert_eq!(changed.load(Ordering::Relaxed), 5);
        let second = wake_op(word, 9, changed, 1, op(Comparison::Greater));
        assert_eq!(second, WokenBoth { woken: 1, woken_at_changed: 1 });
        assert_eq!(changed.load(Ordering::Relaxed), 10);
        assert_eq!(wake_all(changed), 1);
        assert_woken(waiters);
    });
}
