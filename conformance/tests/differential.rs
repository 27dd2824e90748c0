//! furwock's futex(2) and futex_waitv(2) against the kernel's, on random programs.
//!
//! `DIFFERENTIAL_PROGRAMS` sets how many, `DIFFERENTIAL_SEED` the first seed. A failure prints the
//! seed of its program, which runs again with that seed and one program.

use furwock_conformance::differential::{
    Fault, Futex, Hunt, Kernel, Library, Stage, SystemCall, Wakes, Wrong, compare, pinned,
};
use furwock_conformance::seeds::{number, seed};

/// furwock counts wakes as the kernel does. (`Wakes::OneForEachWait` is for implementations that
/// spend each wake on another wait.)
const WAKES: Wakes = Wakes::AllCount;

const PROGRAMS: u64 = 40_000;

fn hunt(programs: u64) -> Hunt {
    Hunt { seed: seed("DIFFERENTIAL_SEED"), programs, wakes: WAKES }
}

fn programs() -> u64 {
    number("DIFFERENTIAL_PROGRAMS").unwrap_or(PROGRAMS)
}

fn agree(both: [&'static dyn Futex; 2], hunt: Hunt) {
    println!("{hunt:?}");
    match hunt.run(&mut Stage::new(), both) {
        Ok(tally) => println!("{tally:?}"),
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn the_kernel_agrees_with_itself() {
    agree([&Kernel, &Kernel], hunt(2000));
}

#[test]
fn furwock_agrees_with_the_kernel_as_a_system_call() {
    agree([&Kernel, &SystemCall], hunt(programs()));
}

#[test]
fn furwock_agrees_with_the_kernel_as_a_library() {
    agree([&Kernel, &Library], hunt(programs()));
}

#[test]
fn pinned_programs_run_alike() {
    let mut stage = Stage::new();
    let others: [&'static dyn Futex; 3] = [&Kernel, &SystemCall, &Library];
    let found: Vec<_> = pinned()
        .into_iter()
        .flat_map(|(about, program)| others.map(|other| (about, program.clone(), other)))
        .filter_map(|(about, program, other)| {
            let found = compare(Wakes::AllCount, &mut stage, [&Kernel, other], 0, program)?;
            Some(format!("{about}: {found}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_fault_is_found_and_made_small() {
    let mut stage = Stage::new();
    for fault in Fault::ALL {
        let wrong: &'static Wrong = Box::leak(Box::new(Wrong(fault)));
        let found = hunt(5000).run(&mut stage, [&Kernel, wrong]);
        let found = found.expect_err(&format!("{fault:?} is not found"));
        println!("{fault:?}: {found}");
        assert!(found.program.len() <= 5, "{fault:?} takes too long to tell: {found}");
    }
}
