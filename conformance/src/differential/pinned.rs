//! Programs that once told two implementations apart, or that chance seldom finds.

use super::places::At;
use super::step::{Call, Entry, Program, Step, Time, Value, Vector};
use super::{PRIVATE_U32, generate};

/// The programs, each with its subject.
pub fn pinned() -> [(&'static str, Program); 3] {
    let expiring =
        |to| vec![wait(At::Word(0), Time::Soon), requeue(At::Word(0), to), Step::Expire, wake(to)];
    [
        (
            "some of many words are moved to null, another is woken",
            vec![
                wait_many(&[0, 1, 2]),
                requeue(At::Word(0), At::Null),
                requeue(At::Word(2), At::Null),
                wake(At::Word(1)),
                // A node that the first wait left behind must not be found by the next.
                wait_many(&[3]),
                wake(At::Null),
            ],
        ),
        ("a deadline passes after a move to null", expiring(At::Null)),
        ("a deadline passes after a move", expiring(At::Word(1))),
    ]
}

fn wait(at: At, timeout: Time) -> Step {
    Step::Futex(Call { at, value: Value::Held, timeout, ..generate::call(libc::FUTEX_WAIT) })
}

fn wait_many(words: &[usize]) -> Step {
    let entry = |word: &usize| Entry {
        at: At::Word(*word),
        value: Value::Held,
        high: 0,
        flags: PRIVATE_U32,
        reserved: 0,
    };
    Step::Waitv(Vector {
        waiters: words.iter().map(entry).collect(),
        flags: 0,
        timeout: Time::Never,
        clock: libc::CLOCK_MONOTONIC,
    })
}

fn requeue(at: At, to: At) -> Step {
    Step::Futex(Call { at, value2: 1, to, ..generate::call(libc::FUTEX_REQUEUE) })
}

fn wake(at: At) -> Step {
    Step::Futex(Call { at, value: Value::Is(1), ..generate::call(libc::FUTEX_WAKE) })
}
