//! The same seed gives the same trace in another process, and addresses are the same there.
//!
//! Has its own `main`, which executes itself without randomised addresses.

use machine::atomic::{AtomicU32, Ordering};
use machine::{Machine, Simulation, isolated, isolated_all, same_addresses, work_ns};
use std::process::Command;

static WORD: AtomicU32 = AtomicU32::new(0);

/// A trace in a child, the addresses of a static, of the heap and of a thread's stack.
fn traced(seed: u64) -> Vec<u8> {
    let machine = Machine::named("bueso-4x20").unwrap_or_else(|bad| panic!("{bad}"));
    let run = Simulation::new(&machine, seed).run(|scope| {
        let threads: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        WORD.fetch_add(1, Ordering::Relaxed);
                        work_ns(500);
                    }
                    (&raw const *Box::new(0u64)).addr() ^ (&raw const machine).addr()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    format!("{:x} {:x?} {:p}", run.trace_hash, run.value, &raw const WORD).into()
}

fn main() {
    same_addresses();
    if std::env::args().any(|argument| argument == "--trace") {
        let bytes = isolated(|| traced(5)).unwrap_or_else(|crash| panic!("{crash}"));
        return println!("{}", String::from_utf8_lossy(&bytes));
    }
    let other = |_| {
        let program = std::env::current_exe().expect("a program's own name");
        let mut command = Command::new(program);
        command.arg("--trace").env_remove("FURWOCK_MACHINE_EXECUTED");
        let output = command.output().expect("the program runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let traces = [0, 1, 2].map(other);
    assert!(traces[0].len() > 100, "{traces:?}");
    assert_eq!(traces[0], traces[1]);
    assert_eq!(traces[0], traces[2]);

    let jobs = (0..8u64).map(|index| move || traced(index / 2));
    let results: Vec<_> = isolated_all(jobs, 2).into_iter().map(Result::unwrap).collect();
    let hash = |index: usize| results[index].split(|&byte| byte == b' ').next().unwrap();
    for pair in 0..4 {
        assert_eq!(hash(2 * pair), hash(2 * pair + 1));
        assert_ne!(hash(2 * pair), hash((2 * pair + 2) % 8));
    }

    let crash = isolated(|| panic!("as asked for")).unwrap_err();
    assert_eq!(crash.how, "it panicked");
    let crash = isolated(|| std::process::abort()).unwrap_err();
    assert_eq!(crash.how, format!("signal {}", libc::SIGABRT));
    let large = isolated(|| vec![7; 3_000_000]).unwrap();
    assert_eq!(large, vec![7; 3_000_000]);
    println!("ok");
}
