//! Parker: a token ends one park, from whichever thread and however early.

use furwock::{Deadline, Parker};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(10);

#[test]
fn a_token_is_kept_and_two_are_one() {
    let parker = Parker::default();
    parker.unparker().unpark();
    parker.unparker().unpark();
    parker.park();
    let began = Instant::now();
    assert!(!parker.park_for(SHORT));
    assert!(!parker.park_until(Instant::now() + SHORT));
    assert!(began.elapsed() >= 2 * SHORT);
    parker.unparker().unpark();
    assert!(parker.park_until(SystemTime::UNIX_EPOCH));
    assert!(!parker.park_until(Deadline::after(Duration::ZERO)));
    assert_eq!(format!("{parker:?} {:?}", parker.unparker()), "Parker { .. } Unparker { .. }");
}

/// Two threads that let each other go on, in turn.
#[test]
fn tokens_go_to_and_fro() {
    const ROUNDS: u32 = 20_000;
    let (here, there) = (Parker::new(), Parker::new());
    let (to_here, to_there) = (here.unparker().clone(), there.unparker().clone());
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        let turn = &turn;
        scope.spawn(move || {
            for round in 0..ROUNDS {
                assert!(there.park_for(LONG), "a token was lost");
                assert_eq!(turn.load(Ordering::Relaxed), 2 * round + 1);
                turn.store(2 * round + 2, Ordering::Relaxed);
                to_here.unpark();
            }
        });
        for round in 0..ROUNDS {
            turn.store(2 * round + 1, Ordering::Relaxed);
            to_there.unpark();
            here.park();
            assert_eq!(turn.load(Ordering::Relaxed), 2 * round + 2);
        }
    });
}

/// Many unparkers and a parker with deadlines: what each has done is seen, and no token is lost.
#[test]
fn tokens_meet_deadlines() {
    const THREADS: usize = 4;
    const EACH: u32 = 5_000;
    let parker = Parker::new();
    let done: [AtomicU32; THREADS] = Default::default();
    thread::scope(|scope| {
        for own in &done {
            let unparker = parker.unparker().clone();
            scope.spawn(move || {
                for _ in 0..EACH {
                    own.fetch_add(1, Ordering::Relaxed);
                    unparker.unpark();
                }
            });
        }
        let (began, timeouts) = (Instant::now(), Cell::new(0));
        while done.iter().any(|own| own.load(Ordering::Relaxed) < EACH) {
            let timeout = if timeouts.get() % 2 == 0 { Duration::from_micros(20) } else { LONG };
            if !parker.park_for(timeout) {
                assert!(timeout < LONG, "a token was lost");
            }
            timeouts.set(timeouts.get() + 1);
            assert!(began.elapsed() < LONG);
        }
    });
}
