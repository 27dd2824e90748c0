//! Two calls that find nothing to do: a wake without waiters, a wait for a value that has changed.

use super::{interleaved, kernel};
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

const CALLS: u32 = 200_000;

#[derive(Clone, Copy)]
enum Way {
    Words,
    ByNumber,
    Kernel,
}

const WAYS: [(Way, &str); 3] = [
    (Way::Words, "furwock::futex"),
    (Way::ByNumber, "furwock::linux::futex"),
    (Way::Kernel, "the kernel"),
];

fn by_number(word: &AtomicU32, op: i32, val: u32) -> Result<usize, i32> {
    let op = op | libc::FUTEX_PRIVATE_FLAG;
    let (no_timeout, no_word) = (std::ptr::null(), std::ptr::null_mut());
    // SAFETY: a live word, and nothing that writes.
    unsafe { furwock::linux::futex(word.as_ptr(), op, val, no_timeout, no_word, 0) }
}

fn nanoseconds_a_call(call: impl Fn(&AtomicU32)) -> f64 {
    let word = AtomicU32::new(1);
    let started = Instant::now();
    (0..CALLS).for_each(|_| call(black_box(&word)));
    started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

pub fn run() {
    let ways = WAYS.map(|(way, _)| way);
    let wake = interleaved(21, &ways, |way| match way {
        Way::Words => nanoseconds_a_call(|word| _ = black_box(furwock::futex::wake(word, 1))),
        Way::ByNumber => {
            nanoseconds_a_call(|word| _ = black_box(by_number(word, libc::FUTEX_WAKE, 1)))
        }
        Way::Kernel => {
            nanoseconds_a_call(|word| _ = kernel::futex(word, libc::FUTEX_WAKE, 1, 0, None))
        }
    });
    let wait = interleaved(21, &ways, |way| match way {
        Way::Words => nanoseconds_a_call(|word| _ = black_box(furwock::futex::wait(word, 0, None))),
        Way::ByNumber => {
            nanoseconds_a_call(|word| _ = black_box(by_number(word, libc::FUTEX_WAIT, 0)))
        }
        Way::Kernel => {
            nanoseconds_a_call(|word| _ = kernel::futex(word, libc::FUTEX_WAIT, 0, 0, None))
        }
    });
    println!("calls: nanoseconds each");
    println!("{:<24} {:>14} {:>16}", "", "no waiter", "wait, mismatch");
    for (row, (_, name)) in WAYS.iter().enumerate() {
        println!("{name:<24} {:>14.1} {:>16.1}", wake[row], wait[row]);
    }
}
