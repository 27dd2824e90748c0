//! Programs on words: what futex(2) offers.
//!
//! Threads wait, wake, move waiters and change words. Meanwhile the main thread changes the words
//! for good, and wakes all waiters again and again, wherever they were moved, until the threads
//! have ended. The programs check that as many waits say that they were woken as wakes say that
//! they woke; that a wait or a comparison reports a mismatch only if the word differed; and that
//! every thread ends. A fourth word counts tokens: a thread that makes one wakes one waiter, and no
//! thread waits for ever while there is one.

use super::ground::{About, Note, Place, Seen, check_buckets, passed};
use super::random::Random;
use super::runner::{Object, Phase, Program};
pub(super) use super::words_program::Words;
use super::words_program::{By, Op, Start, tokens_needed};
use crate::futex::{
    AnyWaited, Comparison, Expected, Operation, Registration, WaitFuture, Waited, WakeOp,
    compare_requeue, requeue, wait_any, wait_async_bitset, wait_bitset, wake_bitset, wake_op,
};
use crate::lot;
use crate::prim::atomic::{AtomicU32, Ordering};
use shuttle::future::block_on;
use shuttle::thread;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

struct World {
    words: [Place<AtomicU32>; 3],
    tokens: Place<AtomicU32>,
    /// Those that change a word.
    changers: [About; 3],
    /// Waits that wakes counted, and waits that say that they were woken.
    counted: Note,
    woken: Note,
    /// Futures that were dropped: the wakes that they got went on to others, uncounted, or were
    /// the last.
    dropped: Note,
}

impl Object for Words {
    const NAME: &'static str = "words";
    type Start = Start;
    type Op = Op;

    fn generate(random: &mut Random) -> Program<Self> {
        super::words_program::generate(random)
    }

    fn run(program: &Arc<Program<Self>>) {
        let Phase { start, threads } = &program.phases[0];
        let tokens = tokens_needed(threads);
        let world = Arc::new(World {
            words: start.in_second_bucket.map(|second| Place::new(second, AtomicU32::new(0))),
            tokens: Place::new(start.in_second_bucket[0], AtomicU32::new(tokens)),
            changers: Default::default(),
            counted: Note::default(),
            woken: Note::default(),
            dropped: Note::default(),
        });
        let ended = Arc::new(Note::default());
        let count = threads.len();
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let (world, program) = (Arc::clone(&world), Arc::clone(program));
                let ended = Arc::clone(&ended);
                thread::spawn(move || {
                    program.phases[0].threads[number].iter().for_each(|op| world.act(*op));
                    ended.add(1);
                })
            })
            .collect();
        let over = |word: &Place<AtomicU32>| word.get().store(OVER, Ordering::SeqCst);
        world.changers.iter().for_each(About::come);
        world.words.iter().for_each(over);
        loop {
            (0..3).for_each(|at| world.wake(at, usize::MAX, lot::ANY));
            if ended.get() == count as i64 {
                break;
            }
            thread::yield_now();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let lost = world.counted.get() - world.woken.get();
        assert!(
            (0..=world.dropped.get()).contains(&lost),
            "wakes counted {} waits, {} say that they were woken",
            world.counted.get(),
            world.woken.get()
        );
        check_buckets();
    }
}

/// What the words hold in the end, whatever is done to them besides.
const OVER: u32 = 1 << 31;

impl World {
    fn word(&self, at: usize) -> &AtomicU32 {
        self.words[at].get()
    }

    fn count(&self, woken: usize, most: usize) {
        assert!(woken <= most, "{woken} woken instead of {most} at most");
        self.counted.add(woken as i64);
    }

    fn wake(&self, at: usize, count: usize, bitset: u32) {
        self.count(wake_bitset(self.word(at), count, bitset), count);
    }

    /// Changes the word at `at`, and back.
    fn blink(&self, at: usize, meanwhile: impl FnOnce()) {
        self.changers[at].come();
        self.word(at).fetch_or(2, Ordering::SeqCst);
        meanwhile();
        self.word(at).fetch_and(!2, Ordering::SeqCst);
        self.changers[at].leave();
    }

    /// What is said of the word's changers if it is 0.
    fn if_zero(&self, at: usize) -> Option<Seen> {
        let seen = self.changers[at].look();
        (self.peek(at) == 0).then_some(seen)
    }

    /// The word, after a step of the schedule.
    fn peek(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::SeqCst)
    }

    /// Whether the word has surely been 0 since `before`.
    fn was_zero(&self, at: usize, before: Option<Seen>) -> bool {
        before.is_some_and(|seen| self.changers[at].was_alone(seen, false))
    }

    fn act(&self, op: Op) {
        let over = passed();
        match op {
            Op::Wait { at, timed, bitset } => {
                let before = self.if_zero(at);
                match wait_bitset(self.word(at), 0, timed.then_some(&over), bitset) {
                    Waited::Woken => self.woken.add(1),
                    Waited::Mismatch => {
                        assert!(!self.was_zero(at, before), "the word was as expected");
                    }
                    Waited::TimedOut => assert!(timed, "timed out without a deadline"),
                }
            }
            Op::WaitAny { timed } => {
                let expected = [0, 1, 2].map(|at| Expected::new(self.word(at), 0));
                let before = [0, 1, 2].map(|at| self.if_zero(at));
                self.any(wait_any(&expected, timed.then_some(&over)), timed, before);
            }
            Op::Registered { timed, times } => {
                let expected = [0, 1, 2].map(|at| Expected::new(self.word(at), 0));
                let mut registration = Registration::new(expected.to_vec());
                for _ in 0..times {
                    let before = [0, 1, 2].map(|at| self.if_zero(at));
                    self.any(registration.wait(timed.then_some(&over)), timed, before);
                }
            }
            Op::Future { at, bitset, polls, awaits } => self.future(at, bitset, polls, awaits),
            Op::Wake { at, count, bitset } => self.wake(at, count, bitset),
            Op::Requeue { from, to, wake, relocate } => {
                let done = requeue(self.word(from), self.word(to), wake, relocate);
                assert!(done.moved <= relocate, "too many moved");
                self.count(done.woken, wake);
            }
            Op::CompareRequeue { from, expected, to, wake, relocate } => {
                let before = self.if_zero(from);
                let (from_word, to_word) = (self.word(from), self.word(to));
                match compare_requeue(from_word, expected, to_word, wake, relocate) {
                    Ok(done) => {
                        let was_zero = self.was_zero(from, before);
                        assert!(expected == 0 || !was_zero, "the word wasn't as expected");
                        assert!(done.moved <= relocate, "too many moved");
                        self.count(done.woken, wake);
                    }
                    Err(_) => {
                        let was_zero = self.was_zero(from, before);
                        assert!(expected != 0 || !was_zero, "the word was as expected");
                    }
                }
            }
            Op::ChangeAndWake { at, count, changed, count_at_changed, operand } => {
                self.changers[changed].come();
                let op = WakeOp {
                    operation: Operation::Or,
                    operand: operand << 2,
                    comparison: Comparison::Equal,
                    comparand: 0,
                };
                let both = wake_op(self.word(at), count, self.word(changed), count_at_changed, op);
                self.changers[changed].leave();
                self.count(both.woken, count);
                self.count(both.woken_at_changed, count_at_changed);
            }
            Op::Take { by } => self.take(by),
            Op::Give => {
                self.tokens.get().fetch_add(1, Ordering::SeqCst);
                self.count(wake_bitset(self.tokens.get(), 1, lot::ANY), 1);
            }
            Op::Peek { polls } => self.peek_at_tokens(polls),
            Op::Blink { at, wakes } => {
                self.blink(at, || {
                    if wakes {
                        self.wake(at, 1, lot::ANY);
                    }
                });
            }
        }
    }

    fn take(&self, by: By) {
        let word = self.tokens.get();
        let expected = [Expected::new(word, 0)];
        let mut registration =
            matches!(by, By::Registered).then(|| Registration::new(expected.to_vec()));
        loop {
            let seen = word.load(Ordering::SeqCst);
            if seen != 0 {
                let less =
                    word.compare_exchange(seen, seen - 1, Ordering::SeqCst, Ordering::SeqCst);
                if less.is_ok() {
                    return;
                }
                continue;
            }
            let woken = match (by, &mut registration) {
                (_, Some(registration)) => registration.wait(None) == AnyWaited::Woken(0),
                (By::Future, _) => block_on(wait_async_bitset(word, 0, lot::ANY)) == Waited::Woken,
                (By::Any, _) => wait_any(&expected, None) == AnyWaited::Woken(0),
                _ => wait_bitset(word, 0, None, lot::ANY) == Waited::Woken,
            };
            self.woken.add(woken.into());
        }
    }

    fn peek_at_tokens(&self, polls: usize) {
        let word = self.tokens.get();
        let woken = if polls == 0 {
            wait_bitset(word, 0, Some(&passed()), lot::ANY) == Waited::Woken
        } else {
            self.poll(word, polls)
        };
        if woken {
            self.woken.add(1);
            // It was for one that takes the token.
            self.count(wake_bitset(word, 1, lot::ANY), 1);
        }
    }

    /// Polls a future so many times, and drops it. Whether it was woken.
    fn poll(&self, word: &AtomicU32, polls: usize) -> bool {
        let future = wait_async_bitset(word, 0, lot::ANY);
        let mut future = pin!(Counted { future, of: self, done: false });
        let mut polled = Poll::Pending;
        for _ in 0..polls {
            if polled.is_pending() {
                thread::yield_now();
                polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
        }
        // So that a wake may come before the future is dropped.
        thread::yield_now();
        polled == Poll::Ready(Waited::Woken)
    }

    fn any(&self, ended: AnyWaited, timed: bool, before: [Option<Seen>; 3]) {
        match ended {
            AnyWaited::Woken(index) => {
                assert!(index < 3);
                self.woken.add(1);
            }
            AnyWaited::Mismatch(index) => {
                assert!(!self.was_zero(index, before[index]), "the word was as expected");
            }
            AnyWaited::TimedOut => assert!(timed, "timed out without a deadline"),
        }
    }

    fn future(&self, at: usize, bitset: u32, polls: usize, awaits: bool) {
        let before = self.if_zero(at);
        let future = wait_async_bitset(self.word(at), 0, bitset);
        let mut future = pin!(Counted { future, of: self, done: false });
        let mut ended = None;
        for _ in 0..polls {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(how) = polled {
                ended = Some(how);
                break;
            }
            thread::yield_now();
        }
        if ended.is_none() && awaits {
            ended = Some(block_on(future));
        }
        match ended {
            Some(Waited::Woken) => self.woken.add(1),
            Some(Waited::Mismatch) => {
                assert!(!self.was_zero(at, before), "the word was as expected");
            }
            Some(Waited::TimedOut) => panic!("a future has no deadline"),
            None => {}
        }
    }
}

/// A future that counts itself if it is dropped before it is done.
struct Counted<'w> {
    future: WaitFuture<'w, AtomicU32>,
    of: &'w World,
    done: bool,
}

impl Future for Counted<'_> {
    type Output = Waited;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Waited> {
        let polled = Pin::new(&mut self.future).poll(context);
        self.done |= polled.is_ready();
        polled
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.of.dropped.add(i64::from(!self.done));
    }
}
