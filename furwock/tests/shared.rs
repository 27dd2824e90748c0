//! Words that several processes share: what the operations return, which waiters they wake, and in
//! which order.

mod common;
mod process;

use common::{Random, bounded, deadlines, eventually, let_interrupt, past, soon};
use furwock::Deadline;
use furwock::futex::{Comparison, Operation, OutOfRange, Requeued, Unknown, WakeOp};
use furwock::shared::{
    Error, NumaWord, Scope, Waited, Word, compare_requeue, requeue, wait, wait_bitset, wake,
    wake_all, wake_bitset, wake_op,
};
use process::{Child, child, shared};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

const WOKEN: i32 = 10;

/// A wait's end as a child's exit code.
fn code(waited: Result<Waited, Error>) -> i32 {
    match waited {
        Ok(Waited::Woken) => WOKEN,
        Ok(Waited::Mismatch) => 11,
        Ok(Waited::TimedOut) => 12,
        Ok(Waited::Interrupted) => 13,
        Err(_) => 14,
    }
}

/// How many waiters are queued at `word`: a requeue to where they are counts them.
fn waiting<W: Word>(word: &W) -> usize {
    requeue(word, word, 0, usize::MAX).unwrap().moved
}

/// Starts children that wait on `word`, one after another, so that they queue in order.
fn queue_up<W: Word<Value = u32>>(word: &W, count: usize) -> Vec<Child> {
    let before = waiting(word);
    (1..=count)
        .map(|queued| {
            let waiter = child(|| code(wait(word, 0, None)));
            eventually("the waiter is queued", || waiting(word) == before + queued);
            waiter
        })
        .collect()
}

#[test]
fn every_kind_of_word_reaches_another_process() {
    fn reaches<W: Word>(word: &W, holds: W::Value, other: W::Value) {
        assert_eq!(wait(word, other, None), Ok(Waited::Mismatch));
        assert_eq!(wait(word, holds, Some(&soon())), Ok(Waited::TimedOut));
        assert_eq!(wake_all(word), Ok(0));
        let mut waiter = child(|| code(wait(word, holds, None)));
        eventually("woken", || wake(word, 1) == Ok(1));
        assert_eq!(waiter.end(), WOKEN);
    }
    bounded(|| {
        let (unsigned, signed) = (shared::<AtomicU32>(), shared::<AtomicI32>());
        signed.store(-1, Ordering::Relaxed);
        reaches(&*unsigned, 0, 1);
        reaches(&*signed, -1, 1);
        reaches(&Scope::SHARED.by_memory_policy().of(&*unsigned), 0, 1);
        // All zeroes: a word on node 0.
        let numa = shared::<NumaWord>();
        reaches(&*numa, 0, 1);
        reaches(&Scope::SHARED.by_memory_policy().of(&*numa), 0, 1);
    });
}

#[test]
fn a_private_word_is_another_word() {
    bounded(|| {
        let word = shared::<AtomicU32>();
        let private = Scope::PRIVATE.of(&*word);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| wait(&private, 0, None));
            eventually("queued", || waiting(&private) == 1);
            assert_eq!(wake_all(&*word), Ok(0));
            assert_eq!(wake_all(&private), Ok(1));
            assert_eq!(waiter.join().unwrap(), Ok(Waited::Woken));
        });
    });
}

#[test]
fn a_numa_word_gets_a_node_and_keeps_it() {
    bounded(|| {
        let word = NumaWord::new(3);
        assert_eq!(word.node(), None);
        assert_eq!(wait(&word, 4, None), Ok(Waited::Mismatch));
        assert_eq!(wait(&word, 3, Some(&soon())), Ok(Waited::TimedOut));
        let node = word.node();
        assert!(node.is_some());
        assert_eq!(wake_all(&word), Ok(0));
        assert_eq!(word.node(), node);
        assert_eq!(word.value().load(Ordering::Relaxed), 3);
        let nowhere = NumaWord::on_node(0, 1 << 20);
        let invalid = Error::Os { call: "futex_wake", errno: libc::EINVAL };
        assert_eq!(wake_all(&nowhere), Err(invalid));
    });
}

#[test]
fn a_mismatch_comes_before_a_deadline_that_has_passed() {
    bounded(|| {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0, Some(&past())), Ok(Waited::Mismatch));
        assert_eq!(wait(&word, 1, Some(&past())), Ok(Waited::TimedOut));
    });
}

#[test]
fn deadlines_are_kept_on_both_clocks() {
    bounded(|| {
        let (word, numa) = (AtomicU32::new(0), NumaWord::new(0));
        for deadline in deadlines(Duration::from_millis(30)) {
            assert_eq!(wait(&word, 0, Some(&deadline)), Ok(Waited::TimedOut));
            assert!(deadline.has_passed());
        }
        for deadline in deadlines(Duration::from_millis(30)) {
            assert_eq!(wait(&numa, 0, Some(&deadline)), Ok(Waited::TimedOut));
            assert!(deadline.has_passed());
        }
    });
}

#[test]
fn wake_wakes_as_many_as_it_says_in_order() {
    bounded(|| {
        let word = shared::<AtomicU32>();
        let mut waiters = queue_up(&*word, 4);
        assert_eq!(wake(&*word, 0), Ok(0));
        for waiter in &mut waiters[..2] {
            assert_eq!(wake(&*word, 1), Ok(1));
            assert_eq!(waiter.end(), WOKEN);
        }
        assert_eq!(wake(&*word, usize::MAX), Ok(2));
        waiters[2..].iter_mut().for_each(|waiter| assert_eq!(waiter.end(), WOKEN));
    });
}

#[test]
fn a_bitset_selects() {
    bounded(|| {
        let word = shared::<AtomicU32>();
        let mut waiters: Vec<Child> = [0b001, 0b010, 0b110]
            .into_iter()
            .enumerate()
            .map(|(queued, bitset)| {
                let waiter = child(|| code(wait_bitset(&*word, 0, bitset, None)));
                eventually("queued", || waiting(&*word) == queued + 1);
                waiter
            })
            .collect();
        assert_eq!(wake_bitset(&*word, usize::MAX, 0b1000), Ok(0));
        assert_eq!(wake_bitset(&*word, usize::MAX, 0b0100), Ok(1));
        assert_eq!(waiters[2].end(), WOKEN);
        assert_eq!(wake_bitset(&*word, 1, u32::MAX), Ok(1));
        assert_eq!(waiters[0].end(), WOKEN);
        assert_eq!(wake_bitset(&*word, usize::MAX, 0b0010), Ok(1));
        assert_eq!(waiters[1].end(), WOKEN);
        assert_eq!(wake_bitset(&*word, 1, 0), Err(Error::EmptyBitset));
        assert_eq!(wait_bitset(&*word, 0, 0, None), Err(Error::EmptyBitset));
    });
}

#[test]
fn a_bitset_selects_on_a_numa_word() {
    bounded(|| {
        let word = shared::<NumaWord>();
        let mut waiter = child(|| code(wait_bitset(&*word, 0, 0b10, None)));
        eventually("queued", || waiting(&*word) == 1);
        assert_eq!(wake_bitset(&*word, 1, 0b01), Ok(0));
        assert_eq!(wake_bitset(&*word, 1, 0b11), Ok(1));
        assert_eq!(waiter.end(), WOKEN);
    });
}

/// A requeue wakes one waiter, moves two behind one that waits there, and leaves one.
fn requeues<F: Word<Value = u32>, T: Word<Value = u32>>(from: &F, to: &T, compare: bool) {
    let mut there = queue_up(to, 1);
    let mut waiters = queue_up(from, 4);
    let done = Requeued { woken: 1, moved: 2 };
    if compare {
        assert_eq!(compare_requeue(from, 1, to, 1, 2), Err(Error::Mismatch));
        assert_eq!(compare_requeue(from, 0, to, 1, 2), Ok(done));
    } else {
        assert_eq!(requeue(from, to, 1, 2), Ok(done));
    }
    assert_eq!(waiters[0].end(), WOKEN);
    for waiter in there.iter_mut().chain(&mut waiters[1..3]) {
        assert_eq!(wake(to, 1), Ok(1));
        assert_eq!(waiter.end(), WOKEN);
    }
    assert_eq!(wake_all(to), Ok(0));
    assert_eq!(wake_all(from), Ok(1));
    assert_eq!(waiters[3].end(), WOKEN);
}

#[test]
fn requeue_moves_to_the_end_in_order() {
    bounded(|| {
        let words = shared::<[AtomicU32; 2]>();
        let numa = shared::<[NumaWord; 2]>();
        for compare in [false, true] {
            requeues(&words[0], &words[1], compare);
            // Only futex2 can say these.
            requeues(&numa[0], &numa[1], compare);
            let by_policy = Scope::SHARED.by_memory_policy();
            requeues(&by_policy.of(&words[0]), &by_policy.of(&words[1]), compare);
        }
        assert_eq!(requeue(&words[0], &numa[0], 1, 1), Err(Error::ScopesDiffer));
        let private = Scope::PRIVATE.of(&words[1]);
        assert_eq!(compare_requeue(&words[0], 0, &private, 1, 1), Err(Error::ScopesDiffer));
    });
}

#[test]
fn a_moved_waiter_keeps_its_deadline() {
    bounded(|| {
        let words = shared::<[AtomicU32; 2]>();
        // On a busy machine it may have left before it was moved.
        let is_moved = [100, 200, 400, 800, 1600].into_iter().any(|ms| {
            let deadline = Deadline::after(Duration::from_millis(ms));
            let mut waiter = child(|| code(wait(&words[0], 0, Some(&deadline))));
            let mut moved = 0;
            eventually("moved", || {
                moved = requeue(&words[0], &words[1], 0, 1).unwrap().moved;
                moved == 1 || waiter.has_ended()
            });
            assert_eq!(waiter.end(), code(Ok(Waited::TimedOut)));
            assert_eq!(wake_all(&words[1]), Ok(0));
            moved == 1
        });
        assert!(is_moved);
    });
}

const OPERATIONS: [Operation; 5] =
    [Operation::Set, Operation::Add, Operation::Or, Operation::AndNot, Operation::Xor];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Each operation, shifted and not, with each comparison, true and false: what the kernel leaves in
/// the word and how many it wakes are as `WakeOp` says.
#[test]
fn wake_op_does_what_its_model_says() {
    bounded(|| {
        let words = shared::<[AtomicU32; 2]>();
        let [word, changed] = &*words;
        let mut cases = 0;
        for operation in OPERATIONS {
            for comparison in COMPARISONS {
                for (operand, before) in [(-5, 7), (i32::MIN, -7), (1 << 12, 6)] {
                    for comparand in [before - 1, before, before + 1] {
                        let op = WakeOp { operation, operand, comparison, comparand };
                        let model = op.applied_to(before);
                        let holds = comparison.holds(before, comparand);
                        // With a waiter only for every seventh case: they take time.
                        let waits = cases % 7 == 0;
                        cases += 1;
                        let mut waiters = Vec::new();
                        if waits {
                            changed.store(0, Ordering::SeqCst);
                            waiters = queue_up(word, 1);
                            waiters.extend(queue_up(changed, 1));
                        }
                        changed.store(before as u32, Ordering::SeqCst);
                        let woken = wake_op(word, 1, changed, 1, op);
                        let expected = if waits { 1 + usize::from(holds) } else { 0 };
                        assert_eq!(woken, Ok(expected), "{op:?}");
                        assert_eq!(
                            changed.load(Ordering::SeqCst),
                            model as u32,
                            "{op:?} on {before}"
                        );
                        if waits && !holds {
                            assert_eq!(wake_all(changed), Ok(1));
                        }
                        waiters.iter_mut().for_each(|waiter| assert_eq!(waiter.end(), WOKEN));
                    }
                }
            }
        }
    });
}

/// The kernel does with codes of every kind what `decode` and `applied_to` say, and refuses what
/// `decode` refuses.
#[test]
fn a_code_means_to_decode_what_it_means_to_the_kernel() {
    bounded(|| {
        let words = [AtomicU32::new(0), AtomicU32::new(0)];
        let mut random = Random(0x1234_5678_9abc_def1);
        for _ in 0..200_000 {
            let seed = random.next();
            let (mut code, before) = (seed as u32, (seed >> 32) as u32);
            if code & 1 << 31 != 0 {
                // The kernel logs a bit above 31; it takes it modulo 32, as decode does.
                code &= !(0xfe0 << 12);
            }
            words[1].store(before, Ordering::Relaxed);
            // SAFETY: both words are alive, and the second may be changed.
            let answer = unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    words[0].as_ptr(),
                    libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
                    1,
                    1usize,
                    words[1].as_ptr(),
                    code,
                )
            };
            let after = words[1].load(Ordering::Relaxed);
            match WakeOp::decode(code) {
                Ok(op) => {
                    let model = op.applied_to(before as i32) as u32;
                    assert_eq!((answer, after), (0, model), "{op:?}, seed {seed:#x}");
                }
                Err(unknown) => {
                    assert_eq!(answer, -1, "{code:#x}");
                    let untouched = matches!(unknown, Unknown::Operation(_));
                    assert!(!untouched || after == before, "{code:#x}");
                }
            }
        }
    });
}

#[test]
fn wake_op_refuses_what_the_kernel_cannot_do() {
    let (word, other, numa) = (AtomicU32::new(0), AtomicU32::new(0), NumaWord::new(0));
    let op = WakeOp {
        operation: Operation::Set,
        operand: 1,
        comparison: Comparison::Equal,
        comparand: 0,
    };
    assert_eq!(wake_op(&word, 0, &other, 1, op), Err(Error::ZeroCount));
    assert_eq!(wake_op(&word, 1, &other, 0, op), Err(Error::ZeroCount));
    assert_eq!(wake_op(&numa, 1, &other, 1, op), Err(Error::NotPlain));
    let private = Scope::PRIVATE.of(&other);
    assert_eq!(wake_op(&word, 1, &private, 1, op), Err(Error::ScopesDiffer));
    let far = WakeOp { comparand: 2048, ..op };
    let range = Error::OutOfRange(OutOfRange::Comparand(2048));
    assert_eq!(wake_op(&word, 1, &other, 1, far), Err(range));
    assert_eq!(other.load(Ordering::Relaxed), 0);
}

#[test]
fn a_killed_waiter_takes_no_wake_along() {
    bounded(|| {
        let word = shared::<AtomicU32>();
        let mut waiters = queue_up(&*word, 3);
        waiters[1].signal(libc::SIGKILL);
        assert_eq!(waiters[1].end(), -libc::SIGKILL);
        assert_eq!(wake(&*word, 1), Ok(1));
        assert_eq!(waiters[0].end(), WOKEN);
        assert_eq!(wake(&*word, 1), Ok(1));
        assert_eq!(waiters[2].end(), WOKEN);
    });
}

#[test]
fn a_signal_interrupts() {
    bounded(|| {
        let word = shared::<AtomicU32>();
        let mut waiter = child(|| {
            let_interrupt(libc::SIGUSR1);
            code(wait(&*word, 0, None))
        });
        eventually("queued", || waiting(&*word) == 1);
        waiter.signal(libc::SIGUSR1);
        assert_eq!(waiter.end(), code(Ok(Waited::Interrupted)));
    });
}

/// Two processes pass a token to and fro: if a wake is lost at any hand-over, both hang.
#[test]
fn a_token_goes_round_between_processes() {
    bounded(|| {
        const ROUNDS: u32 = 20_000;
        let token = shared::<AtomicU32>();
        let player = |mine: u32| {
            for round in (mine..ROUNDS).step_by(2) {
                loop {
                    let now = token.load(Ordering::Acquire);
                    if now == round {
                        break;
                    }
                    let deadline = Deadline::after(Duration::from_secs(5));
                    match wait(&*token, now, Some(&deadline)) {
                        Ok(Waited::Woken | Waited::Mismatch) => {}
                        other => return code(other),
                    }
                }
                token.store(round + 1, Ordering::Release);
                if wake(&*token, 1).is_err() {
                    return 1;
                }
            }
            0
        };
        let mut other = child(|| player(1));
        assert_eq!(player(0), 0);
        assert_eq!(other.end(), 0);
    });
}

#[test]
fn errors_say_what_to_do() {
    let error = Error::Unsupported { call: "futex_waitv", since: "Linux 5.16" };
    let text = error.to_string();
    assert!(text.contains("futex_waitv") && text.contains("Linux 5.16 or newer"), "{text}");
    assert_eq!(error.errno(), libc::ENOSYS);
    let error = Error::Os { call: "futex", errno: libc::ENOMEM };
    assert!(error.to_string().contains(&format!("{}", libc::ENOMEM)));
    assert_eq!(error.errno(), libc::ENOMEM);
    assert_eq!(Error::Mismatch.errno(), libc::EAGAIN);
    assert_eq!(Error::EmptyBitset.errno(), libc::EINVAL);
}
