//! Descriptors that wait again and again: for a word, and for many.

mod common;
mod process;

use common::{Random, becomes_readable, bounded, eventually, join_all, kept, queued, waiting_at};
use furwock::futex::{
    AnyWaited, Expected, Registration, RegistrationFd, WaitFd, WaitFdError, Waited, requeue, wait,
    wait_fd, wake, wake_all,
};
use process::holds_in_a_child;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn is_mismatch(result: Result<(), WaitFdError>) -> bool {
    matches!(result, Err(WaitFdError::Mismatch))
}

fn is_readable(fd: &impl AsRawFd) -> bool {
    becomes_readable(fd.as_raw_fd(), 0)
}

#[test]
fn a_descriptor_waits_again_under_the_same_number() {
    let word = AtomicU32::new(0);
    let mut wait = wait_fd(&word, 0).unwrap();
    let fd = wait.as_raw_fd();
    for round in 0..3 {
        assert!(!is_readable(&wait) && !wait.is_woken());
        word.store(round + 1, Ordering::Relaxed);
        assert_eq!(wake(&word, 1), 1);
        assert!(is_readable(&wait) && wait.is_woken());
        assert!(is_mismatch(wait.rearm(&word, round)));
        assert!(!is_readable(&wait) && !wait.is_woken(), "it waits for nothing");
        assert_eq!(wake(&word, 1), 0);
        wait.rearm(&word, round + 1).unwrap();
        assert_eq!(wait.as_fd().as_raw_fd(), fd);
    }
    drop(wait);
    assert_eq!(wake(&word, 1), 0);
}

#[test]
fn a_descriptor_that_is_queued_still_keeps_its_place() {
    bounded(|| {
        let word = kept(AtomicU32::new(0));
        let mut first = wait_fd(word, 0).unwrap();
        let second = queued(word);
        first.rearm(word, 0).unwrap();
        assert_eq!(wake(word, 1), 1);
        assert!(first.is_woken());
        first.rearm(word, 0).unwrap();
        assert_eq!(wake(word, 1), 1);
        assert_eq!(second.join().unwrap(), Waited::Woken);
        assert!(!first.is_woken());
        word.store(1, Ordering::Relaxed);
        assert!(is_mismatch(first.rearm(word, 0)));
        assert_eq!(waiting_at(word), 0, "it has left");
        first.rearm(word, 1).unwrap();
        assert_eq!(waiting_at(word), 1);
    });
}

#[test]
fn a_requeued_descriptor_comes_back_as_it_is_rearmed() {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let mut wait = wait_fd(&words[0], 0).unwrap();
    assert_eq!(requeue(&words[0], &words[1], 0, 1).moved, 1);
    wait.rearm(&words[0], 0).unwrap();
    assert_eq!((wake(&words[1], 1), wake(&words[0], 1)), (0, 1));
    assert!(wait.is_woken());
}

#[test]
#[should_panic(expected = "not the word that it waits for")]
fn a_descriptor_is_not_rearmed_for_another_word() {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let mut wait = wait_fd(&words[0], 0).unwrap();
    let _ = wait.rearm(&words[1], 0);
}

/// What was sent is counted in the word: a receiver that polls and rearms sees all of it. Now and
/// then the sender goes on only once the receiver waits: a sender that is through before the
/// receiver has begun would show nothing.
#[test]
fn nothing_is_lost_between_a_wake_and_the_next_wait() {
    bounded(|| {
        const SENT: u32 = 20_000;
        const MEET_EVERY: u32 = 256;
        let sent = kept(AtomicU32::new(0));
        let receiver = thread::spawn(|| {
            let (mut seen, mut wakes) = (0, 0);
            let mut wait = loop {
                match wait_fd(sent, seen) {
                    Ok(wait) => break wait,
                    Err(_) => seen = sent.load(Ordering::Acquire),
                }
            };
            while seen != SENT {
                if wait.rearm(sent, seen).is_ok() {
                    assert!(becomes_readable(wait.as_raw_fd(), 20_000), "lost after {seen}");
                    assert!(wait.is_woken());
                    wakes += 1;
                }
                seen = sent.load(Ordering::Acquire);
            }
            wakes
        });
        for round in 1..=SENT {
            if round % MEET_EVERY == 0 {
                eventually("the receiver waits", || waiting_at(sent) == 1);
            }
            sent.store(round, Ordering::Release);
            wake(sent, 1);
            if round % 16 == 0 {
                thread::yield_now();
            }
        }
        // The first meeting may be with the wait that the receiver began with.
        assert!(receiver.join().unwrap() >= SENT / MEET_EVERY - 1);
    });
}

/// Descriptors that are rearmed and dropped at random while others wake: a thread that waits, too,
/// gets the wakes that they pass on, and all are accounted for.
#[test]
fn descriptors_that_are_rearmed_and_dropped_leave_no_waiter() {
    bounded(|| {
        let word = kept(AtomicU32::new(0));
        let stop = kept(AtomicBool::new(false));
        let users: Vec<_> = (1..=2)
            .map(|seed| {
                thread::spawn(move || {
                    let mut random = Random::seeded(seed);
                    let mut wait: Option<WaitFd<'static>> = None;
                    while !stop.load(Ordering::Relaxed) {
                        match random.below(4) {
                            0 => wait = None,
                            1 => _ = wait.as_mut().is_some_and(WaitFd::is_woken),
                            _ => match &mut wait {
                                Some(wait) => wait.rearm(word, 0).unwrap(),
                                None => wait = Some(wait_fd(word, 0).unwrap()),
                            },
                        }
                    }
                })
            })
            .collect();
        let last = thread::spawn(|| while wait(word, 0, None) != Waited::Mismatch {});
        let mut sent = 0;
        while sent < 20_000 {
            sent += wake(word, 1);
        }
        stop.store(true, Ordering::Relaxed);
        join_all(users);
        word.store(1, Ordering::Relaxed);
        wake_all(word);
        last.join().unwrap();
        assert_eq!(waiting_at(word), 0);
    });
}

fn all(words: &[AtomicU32]) -> Vec<Expected<'_>> {
    words.iter().map(|word| Expected::new(word, 0)).collect()
}

fn any_of(words: &[AtomicU32]) -> RegistrationFd<'_> {
    Registration::new(all(words)).into_fd().unwrap()
}

#[test]
fn a_registrations_descriptor_tells_which_word_was_woken() {
    let words = [(); 3].map(|()| AtomicU32::new(0));
    let mut any = any_of(&words);
    assert_eq!(wake(&words[0], 1), 0, "not armed yet");
    for round in 0..3 {
        assert_eq!(any.arm(), Ok(()));
        assert!(!is_readable(&any) && any.woken().is_none());
        words[round].store(1, Ordering::Relaxed);
        assert_eq!(wake(&words[round], 1), 1);
        assert_eq!(wake_all(&words[2 - round / 2]), 0, "it takes one wake");
        assert!(is_readable(&any));
        assert_eq!(any.woken(), Some(round));
        assert!(!is_readable(&any) && any.woken().is_none());
        assert_eq!(any.arm(), Err(AnyWaited::Mismatch(round)));
        assert_eq!(wake(&words[round], 1), 0, "it is not armed");
        any.expect(round, &words[round], 1);
    }
    assert_eq!(any.arm(), Ok(()));
    assert_eq!(any.arm(), Ok(()), "nothing has happened");
    assert_eq!(wake(&words[1], 1), 1);
    assert_eq!(any.arm(), Err(AnyWaited::Woken(1)));
    assert!(!is_readable(&any));
    drop(any);
    assert!(words.iter().all(|word| waiting_at(word) == 0));
}

#[test]
fn a_registrations_descriptor_passes_on_what_it_did_not_report() {
    bounded(|| {
        let words = kept([(); 2].map(|()| AtomicU32::new(0)));
        for reported in [false, true] {
            let mut any = any_of(words);
            assert_eq!(any.arm(), Ok(()));
            let waiter = queued(&words[1]);
            assert_eq!(wake(&words[1], 1), 1);
            if reported {
                assert_eq!(any.woken(), Some(1));
            }
            drop(any);
            assert_eq!(wake(&words[1], 1), usize::from(reported));
            assert_eq!(waiter.join().unwrap(), Waited::Woken);
        }
    });
}

/// A descriptor is in the middle of many threads that are woken at once, and looks late: the
/// threads behind it don't wait for that.
#[test]
fn threads_behind_a_descriptor_do_not_wait_for_its_owner() {
    bounded(|| {
        let words = kept([(); 1].map(|()| AtomicU32::new(0)));
        let mut threads: Vec<_> = (0..10).map(|_| queued(&words[0])).collect();
        let mut any = any_of(words);
        assert_eq!(any.arm(), Ok(()));
        threads.extend((0..10).map(|_| queued(&words[0])));
        assert_eq!(wake_all(&words[0]), 21);
        assert!(join_all(threads).into_iter().all(|waited| waited == Waited::Woken));
        assert_eq!(any.woken(), Some(0));
    });
}

#[test]
fn a_requeued_word_is_registered_anew() {
    let words = [(); 2].map(|()| AtomicU32::new(0));
    let other = AtomicU32::new(0);
    let mut any = any_of(&words);
    assert_eq!(any.arm(), Ok(()));
    assert_eq!(requeue(&words[0], &other, 0, 1).moved, 1);
    assert_eq!(any.arm(), Ok(()));
    assert_eq!((wake(&other, 1), wake(&words[0], 1)), (0, 1));
    assert_eq!(any.woken(), Some(0));
}

/// One loop for words and a pipe, by epoll: it hears of all that is sent.
#[test]
fn one_loop_serves_words_and_a_pipe() {
    bounded(|| {
        const SENT: u32 = 5_000;
        let words = kept([(); 4].map(|()| AtomicU32::new(0)));
        let mut pipe = [0; 2];
        // SAFETY: writes two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        // SAFETY: makes a descriptor.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        let mut any = any_of(words);
        for (number, fd) in [any.as_raw_fd(), pipe[0]].into_iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
            // SAFETY: reads one event.
            assert_eq!(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) }, 0);
        }
        let senders: Vec<_> = words
            .iter()
            .map(|word| {
                thread::spawn(|| {
                    for round in 1..=SENT {
                        // Some of what is sent is waited for.
                        if round % 256 == 1 {
                            eventually("it waits", || waiting_at(word) == 1);
                        }
                        word.store(round, Ordering::Release);
                        wake(word, 1);
                        if round % 64 == 0 {
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        let writer = thread::spawn(move || {
            for _ in 0..100 {
                // SAFETY: reads one byte.
                assert_eq!(unsafe { libc::write(pipe[1], [0_u8].as_ptr().cast(), 1) }, 1);
                thread::yield_now();
            }
        });
        let (mut seen, mut bytes, mut woken) = ([0; 4], 0, 0);
        while seen != [SENT; 4] || bytes != 100 {
            for (index, word) in words.iter().enumerate() {
                seen[index] = word.load(Ordering::Acquire);
                any.expect(index, word, seen[index]);
            }
            if any.arm().is_err() {
                continue;
            }
            if seen == [SENT; 4] && bytes == 100 {
                break;
            }
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            // SAFETY: writes one event.
            let events = unsafe { libc::epoll_wait(epoll, &mut event, 1, 20_000) };
            assert_eq!(events, 1, "lost: {seen:?}, {bytes} bytes");
            if { event.u64 } == 0 {
                assert!(any.woken().is_some());
                woken += 1;
            } else {
                let mut byte = 0_u8;
                // SAFETY: writes one byte.
                bytes += unsafe { libc::read(pipe[0], (&raw mut byte).cast(), 1) };
            }
        }
        assert!(woken > 0);
        join_all(senders);
        writer.join().unwrap();
        // SAFETY: made above.
        [epoll, pipe[0], pipe[1]].into_iter().for_each(|fd| _ = unsafe { libc::close(fd) });
    });
}

/// Wakes at two words and drops at random moments: each wake is reported once, or goes to the
/// thread that waits behind.
#[test]
fn registrations_that_are_dropped_leave_no_waiter() {
    bounded(|| {
        let words = kept([(); 2].map(|()| AtomicU32::new(0)));
        let stop = kept(AtomicBool::new(false));
        let reported = kept(AtomicUsize::new(0));
        let users: Vec<_> = (1..=2)
            .map(|seed| {
                thread::spawn(move || {
                    let mut random = Random::seeded(seed);
                    let mut any = any_of(words);
                    while !stop.load(Ordering::Relaxed) {
                        match random.below(4) {
                            0 => any = any_of(words),
                            1 => {
                                _ = any.arm().inspect_err(|_| {
                                    reported.fetch_add(1, Ordering::Relaxed);
                                })
                            }
                            _ => {
                                if any.woken().is_some() {
                                    reported.fetch_add(1, Ordering::Relaxed);
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let last = thread::spawn(|| while wait(&words[0], 0, None) != Waited::Mismatch {});
        let mut sent = 0;
        while sent < 20_000 {
            sent += wake(&words[0], 1) + wake(&words[1], 1);
        }
        stop.store(true, Ordering::Relaxed);
        join_all(users);
        words[0].store(1, Ordering::Relaxed);
        eventually("the last one leaves", || {
            wake_all(&words[0]);
            last.is_finished()
        });
        last.join().unwrap();
        assert!(reported.load(Ordering::Relaxed) <= sent);
        assert!(words.iter().all(|word| waiting_at(word) == 0));
    });
}

#[test]
fn a_child_has_descriptors_of_its_own() {
    bounded(|| {
        let word = AtomicU64::new(0);
        let words = [(); 2].map(|()| AtomicU32::new(0));
        let mut wait = wait_fd(&word, 0).unwrap();
        let mut any = any_of(&words);
        assert_eq!(any.arm(), Ok(()));
        holds_in_a_child(|| {
            wait.rearm(&word, 0).unwrap();
            assert_eq!(any.arm(), Ok(()));
            let woken = wake(&word, 1) + wake(&words[1], 1);
            woken == 2 && wait.is_woken() && is_readable(&wait) && any.woken() == Some(1)
        });
        thread::sleep(Duration::from_millis(1));
        assert!(!is_readable(&wait) && !is_readable(&any), "the child's wakes are its own");
        assert_eq!((wake(&word, 1), wake(&words[0], 1)), (1, 1));
        assert!(is_readable(&wait) && is_readable(&any));
    });
}
