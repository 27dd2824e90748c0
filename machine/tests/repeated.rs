//! The same seed gives the same trace and the same addresses, in another process and whatever the
//! process did before.
//!
//! Has its own `main`, which executes itself without randomised addresses.

use machine::atomic::{AtomicU32, Ordering};
use machine::{Machine, Simulation, isolated, isolated_all, same_addresses, work_ns};
use std::process::Command;

#[global_allocator]
static HEAP: machine::Heap = machine::Heap;

static WORD: AtomicU32 = AtomicU32::new(0);

/// A trace's hash, and addresses in the heap and on stacks.
fn traced(seed: u64) -> Vec<u8> {
    let machine = Machine::named("bueso-8x10").unwrap_or_else(|bad| panic!("{bad}"));
    let run = Simulation::new(&machine, seed).run(|scope| {
        let threads: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        WORD.fetch_add(1, Ordering::Relaxed);
                        work_ns(500);
                    }
                    let on_the_stack = 0u8;
                    [(&raw const *Box::new(0u64)).addr(), (&raw const on_the_stack).addr()]
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let run = run.unwrap_or_else(|failure| panic!("{failure}"));
    format!("{:x} {:x?}", run.trace_hash, run.value).into()
}

fn main() {
    let are_same = same_addresses();
    if std::env::args().any(|argument| argument == "--trace") {
        let bytes = isolated(|| traced(5)).unwrap_or_else(|crash| panic!("{crash}"));
        let word = if are_same { (&raw const WORD).addr() } else { 0 };
        return println!("{} {word:x}", String::from_utf8_lossy(&bytes));
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

    // What this process allocates meanwhile makes no difference.
    let mut kept = Vec::new();
    let jobs = (0..8).map(|index| {
        kept.push(vec![index; 1 << (5 + index)]);
        move || traced(index / 2)
    });
    let results: Vec<_> = isolated_all(jobs, 2).into_iter().map(Result::unwrap).collect();
    for pair in 0..4 {
        assert_eq!(results[2 * pair], results[2 * pair + 1]);
        assert_ne!(results[2 * pair], results[(2 * pair + 2) % 8]);
    }
    assert_eq!(kept.len(), 8);

    let crash = isolated(|| panic!("as asked for")).unwrap_err();
    assert_eq!(crash.how, "it panicked");
    let crash = isolated(|| std::process::abort()).unwrap_err();
    assert_eq!(crash.how, format!("signal {}", libc::SIGABRT));
    let large = isolated(|| vec![7; 3_000_000]).unwrap();
    assert_eq!(large, vec![7; 3_000_000]);
    println!("ok");
}
