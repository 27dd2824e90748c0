//! table: the cost of wait queues with more waiters than there can be threads. Waiters are futures
//! (furwock) or listeners (event-listener).
//!
//! Again and again one is woken and another begins to wait; then some in the middle give up; then
//! all are woken at once. All wait on one word, or each on its own word.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use event_listener::{Event, EventListener, IntoNotification};
use furwock::futex::{self, WaitFuture};

use crate::contestants::{Contestant, Table, choose, names_of, table};
use crate::harness::{Failed, Figures, Parameters, Random, figures};
use crate::statistics::median;

/// Turns that are timed together, and how often.
const TURNS: usize = 200;
const SAMPLES: usize = 15;

struct Plan {
    waiters: usize,
    /// Each on a word of its own?
    apart: bool,
}

/// A place where many wait.
trait Place {
    type Waiter;

    fn words(count: usize) -> Self;
    fn wait_at(&self, word: usize) -> Self::Waiter;
    /// Returns how many were woken.
    fn wake(&self, word: usize, count: usize) -> usize;
    /// Is the waiter woken, and has left the queue?
    fn is_woken(waiter: &mut Self::Waiter) -> bool;
}

/// Counts how often futures were woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Count(AtomicUsize::new(0))))
}

/// Words that live as long as the process: futures borrow them.
struct Words {
    words: &'static [AtomicU32],
    waker: Waker,
}

struct Awaited {
    future: Pin<Box<WaitFuture<'static, AtomicU32>>>,
    waker: Waker,
}

impl Place for Words {
    type Waiter = Awaited;

    fn words(count: usize) -> Self {
        let words: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        Words { words: Vec::leak(words), waker: waker() }
    }

    fn wait_at(&self, word: usize) -> Awaited {
        let future = Box::pin(futex::wait_async(&self.words[word], 0));
        let mut waiter = Awaited { future, waker: self.waker.clone() };
        // The first poll queues it.
        assert!(!Self::is_woken(&mut waiter), "nothing was woken yet");
        waiter
    }

    fn wake(&self, word: usize, count: usize) -> usize {
        futex::wake(&self.words[word], count)
    }

    fn is_woken(waiter: &mut Awaited) -> bool {
        let mut context = Context::from_waker(&waiter.waker);
        matches!(waiter.future.as_mut().poll(&mut context), Poll::Ready(_))
    }
}

/// An event has no table: each word is an event of its own.
struct Events {
    events: Vec<Event>,
    waker: Waker,
}

impl Place for Events {
    type Waiter = (EventListener, Waker);

    fn words(count: usize) -> Self {
        Events { events: (0..count).map(|_| Event::new()).collect(), waker: waker() }
    }

    fn wait_at(&self, word: usize) -> (EventListener, Waker) {
        let mut waiter = (self.events[word].listen(), self.waker.clone());
        // It is in the queue already; the first poll leaves the waker there, as a task's does.
        assert!(!Self::is_woken(&mut waiter), "nothing was woken yet");
        waiter
    }

    fn wake(&self, word: usize, count: usize) -> usize {
        self.events[word].notify(count.additional())
    }

    fn is_woken((listener, waker): &mut (EventListener, Waker)) -> bool {
        let mut context = Context::from_waker(waker);
        Pin::new(listener).poll(&mut context).is_ready()
    }
}

type Measure = fn(&Plan) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &table!(measure: Furwock => Words, EventListener => Events);

pub fn able() -> Vec<Contestant> {
    names_of(TABLE)
}

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan { waiters: given.count("waiters", 1000)?, apart: given.flag("apart")? };
    given.amount("seconds", 0.0)?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(&plan)?)
}

fn measure<P: Place>(plan: &Plan) -> Result<Figures, String> {
    let words = if plan.apart { plan.waiters } else { 1 };
    let place = P::words(words);
    let word_of = |number: usize| number % words;
    let before = resident_bytes();
    let start = Instant::now();
    let mut waiting: VecDeque<(usize, P::Waiter)> =
        (0..plan.waiters).map(|number| (word_of(number), place.wait_at(word_of(number)))).collect();
    let arriving = start.elapsed().as_secs_f64() / plan.waiters as f64;
    let bytes = (resident_bytes() - before).max(0.0) / plan.waiters as f64;

    let turn = sampled(|| {
        let (word, mut waiter) = waiting.pop_front().expect("as many come as go");
        let woken = place.wake(word, 1);
        if woken != 1 || !P::is_woken(&mut waiter) {
            return Err(format!("a wake of one woke {woken}, or not the first to come"));
        }
        drop(waiter);
        waiting.push_back((word, place.wait_at(word)));
        Ok(())
    })?;

    let mut random = Random::new(1, 0, 0.5);
    let giving_up = sampled(|| {
        let at = random.below(waiting.len());
        let word = waiting[at].0;
        // Another comes, and then the one in the middle leaves.
        let fresh = place.wait_at(word);
        drop(std::mem::replace(&mut waiting[at].1, fresh));
        Ok(())
    })?;

    let start = Instant::now();
    let woken: usize = (0..words).map(|word| place.wake(word, usize::MAX)).sum();
    let waking_all = start.elapsed().as_secs_f64() / plan.waiters as f64;
    if woken != plan.waiters {
        return Err(format!("waking all of {} woke {woken}", plan.waiters));
    }
    if let Some(at) = waiting.iter_mut().position(|(_, waiter)| !P::is_woken(waiter)) {
        return Err(format!("a waiter at word {} was not woken with all", waiting[at].0));
    }
    Ok(figures([
        ("turn_s", turn),
        ("arrive_s", arriving),
        ("give_up_s", giving_up),
        ("wake_all_s", waking_all),
        ("bytes_per_waiter", bytes),
    ]))
}

/// The median time of a turn: `TURNS` of them are timed together, `SAMPLES` times.
fn sampled(mut turn: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let mut samples = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        (0..TURNS).try_for_each(|_| turn())?;
        samples.push(start.elapsed().as_secs_f64() / TURNS as f64);
    }
    Ok(median(&samples))
}

/// What this process has in memory.
pub fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.unwrap_or(0.0) * rustix::param::page_size() as f64
}
