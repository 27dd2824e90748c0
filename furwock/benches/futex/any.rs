//! Waiting on many words, compared with futex_waitv(2) and with poll(2) over eventfds: one thread
//! produces at one word after another, the other waits on all of them and consumes.
//!
//! - *ready*: the event has happened before the wait;
//! - *sleep*: it hasn't; both threads share a processor, so that each turn is a sleep and a wake.
//!
//! Nanoseconds a turn, production included.

use super::{interleaved, kernel};
use furwock::futex::{self, AnyWaited, Expected, Registration};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Once,
    Registered,
    Waitv,
    Poll,
}

const MOST_WAITV: usize = 128;

/// What is waited on: words, each with its eventfd.
struct Sources {
    words: Vec<AtomicU32>,
    fds: Vec<i32>,
    /// How many turns have been consumed; the producer waits for it.
    consumed: AtomicU32,
}

impl Sources {
    fn new(count: usize, way: Way) -> Self {
        let fds = if way == Way::Poll { count } else { 0 };
        Self {
            words: (0..count).map(|_| AtomicU32::new(0)).collect(),
            // SAFETY: makes descriptors.
            fds: (0..fds).map(|_| unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) }).collect(),
            consumed: AtomicU32::new(0),
        }
    }

    fn produce(&self, way: Way, at: usize) {
        match way {
            Way::Poll => {
                let one = 1u64;
                // SAFETY: eight bytes.
                unsafe { libc::write(self.fds[at], (&raw const one).cast(), 8) };
            }
            Way::Waitv => {
                self.words[at].store(1, Ordering::Release);
                kernel::futex(&self.words[at], libc::FUTEX_WAKE, 1, 0, None);
            }
            Way::Once | Way::Registered => {
                self.words[at].store(1, Ordering::Release);
                futex::wake(&self.words[at], 1);
            }
        }
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        // SAFETY: descriptors of its own.
        self.fds.iter().for_each(|&fd| _ = unsafe { libc::close(fd) });
    }
}

/// Waits for sources and takes what they have.
enum Consumer<'s> {
    Once(&'s Sources, Vec<Expected<'s>>),
    Registered(&'s Sources, Registration<'s>),
    Waitv(&'s Sources, Vec<kernel::Waitv>),
    Poll(Vec<libc::pollfd>),
}

impl<'s> Consumer<'s> {
    fn new(way: Way, sources: &'s Sources) -> Self {
        let expected = || sources.words.iter().map(|word| Expected::new(word, 0)).collect();
        match way {
            Way::Once => Self::Once(sources, expected()),
            Way::Registered => Self::Registered(sources, Registration::new(expected())),
            Way::Waitv => {
                let words = sources.words.iter().map(|word| kernel::Waitv::new(word, 0));
                Self::Waitv(sources, words.collect())
            }
            Way::Poll => {
                let entry = |&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                Self::Poll(sources.fds.iter().map(entry).collect())
            }
        }
    }

    fn consume(&mut self) {
        let take = |sources: &Sources, at: usize| sources.words[at].swap(0, Ordering::Acquire) == 1;
        match self {
            Self::Once(sources, expected) => loop {
                match futex::wait_any(expected, None) {
                    AnyWaited::Woken(at) | AnyWaited::Mismatch(at) if take(sources, at) => return,
                    _ => {}
                }
            },
            Self::Registered(sources, registration) => loop {
                match registration.wait(None) {
                    AnyWaited::Woken(at) | AnyWaited::Mismatch(at) if take(sources, at) => return,
                    _ => {}
                }
            },
            // The kernel doesn't say which word differs: they have to be searched.
            Self::Waitv(sources, words) => loop {
                match usize::try_from(kernel::waitv(words)) {
                    Ok(at) if take(sources, at) => return,
                    _ => {
                        let full = |word: &AtomicU32| word.load(Ordering::Relaxed) != 0;
                        let at = sources.words.iter().position(full);
                        if at.is_some_and(|at| take(sources, at)) {
                            return;
                        }
                    }
                }
            },
            Self::Poll(entries) => {
                // SAFETY: the entries' own number.
                unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as u64, -1) };
                let ready = entries.iter().find(|entry| entry.revents != 0).expect("one is ready");
                let mut count = 0u64;
                // SAFETY: eight bytes.
                unsafe { libc::read(ready.fd, (&raw mut count).cast(), 8) };
            }
        }
    }
}

type Test = fn(Way, usize) -> f64;

/// Where turn number `turn` produces.
fn place(turn: usize, count: usize) -> usize {
    turn.wrapping_mul(7919) % count
}

fn ready(way: Way, count: usize) -> f64 {
    const TURNS: usize = 2000;
    let sources = Sources::new(count, way);
    let mut consumer = Consumer::new(way, &sources);
    let started = Instant::now();
    for turn in 0..TURNS {
        sources.produce(way, place(turn, count));
        consumer.consume();
    }
    started.elapsed().as_secs_f64() * 1e9 / TURNS as f64
}

fn sleep(way: Way, count: usize) -> f64 {
    const TURNS: u32 = 2000;
    let sources = Sources::new(count, way);
    thread::scope(|scope| {
        scope.spawn(|| {
            kernel::pin(0);
            let mut consumer = Consumer::new(way, &sources);
            for turn in 1..=TURNS {
                consumer.consume();
                sources.consumed.store(turn, Ordering::Release);
                kernel::futex(&sources.consumed, libc::FUTEX_WAKE, 1, 0, None);
            }
        });
        let producer = scope.spawn(|| {
            kernel::pin(0);
            let started = Instant::now();
            for turn in 0..TURNS {
                sources.produce(way, place(turn as usize, count));
                while sources.consumed.load(Ordering::Acquire) == turn {
                    kernel::futex(&sources.consumed, libc::FUTEX_WAIT, turn, 0, None);
                }
            }
            started.elapsed().as_secs_f64() * 1e9 / f64::from(TURNS)
        });
        producer.join().expect("the producer ends")
    })
}

pub fn run() {
    println!("any: nanoseconds a turn");
    println!(
        "{:>7} {:>6} {:>12} {:>12} {:>12} {:>12} {:>24}",
        "", "words", "once", "registered", "futex_waitv", "poll", "registered: x waitv, poll"
    );
    for (name, test) in [("ready", ready as Test), ("sleep", sleep)] {
        for count in [2, 16, 64, 128, 1024] {
            let mut ways = vec![Way::Once, Way::Registered, Way::Poll];
            if count <= MOST_WAITV {
                ways.push(Way::Waitv);
            }
            let turns = interleaved(9, &ways, |way| test(way, count));
            let waitv = turns.get(3);
            let ratio = |other: f64| format!("{:.1}", other / turns[1]);
            println!(
                "{name:>7} {count:>6} {:>12.0} {:>12.0} {:>12} {:>12.0} {:>24}",
                turns[0],
                turns[1],
                waitv.map_or("-".into(), |turn| format!("{turn:.0}")),
                turns[2],
                format!("{}, {}", waitv.map_or("-".into(), |turn| ratio(*turn)), ratio(turns[2])),
            );
        }
    }
}
