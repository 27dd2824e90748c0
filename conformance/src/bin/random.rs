//! `furwock-random [--seed S] [--programs N] [--seconds N] [--program TEXT] [--bound-ms N]
//! [--wrong FAULT]`: random programs of pthread calls, served by glibc, or by the preload if it is
//! beneath.

use furwock_conformance::random::{Fault, Hunt};
use furwock_conformance::seeds;
use std::env;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let Some(hunt) = parse(env::args().skip(1)) else {
        eprintln!(
            "usage: furwock-random [--seed S] [--programs N] [--seconds N] [--program TEXT] \
             [--bound-ms N] [--wrong FAULT]"
        );
        return ExitCode::from(2);
    };
    println!("seed {:#x}", hunt.seed);
    let failure = match hunt.run() {
        Ok(tally) => {
            println!("passed: {tally}");
            return ExitCode::SUCCESS;
        }
        Err(failure) => failure,
    };
    eprintln!("{failure}");
    if hunt.program.is_none() {
        match hunt.reduce(&failure) {
            Some(smaller) => eprintln!("A smaller program:\n{smaller}"),
            None => eprintln!("It didn't fail again by the same steps."),
        }
    }
    // Threads are stuck: nothing is to be run at the exit.
    // SAFETY: no pointers.
    unsafe { libc::_exit(1) }
}

fn parse(mut given: impl Iterator<Item = String>) -> Option<Hunt> {
    let mut hunt = Hunt {
        seed: seeds::seed("RANDOM_SEED"),
        programs: u64::MAX >> 1,
        time: Duration::from_secs(10),
        bound: Duration::from_secs(4),
        program: None,
        wrong: None,
    };
    while let Some(name) = given.next() {
        let value = given.next()?;
        let number = || match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        match name.as_str() {
            "--seed" => hunt.seed = number()?,
            "--programs" => (hunt.programs, hunt.time) = (number()?, Duration::MAX),
            "--seconds" => hunt.time = Duration::from_secs(number()?),
            "--bound-ms" => hunt.bound = Duration::from_millis(number()?),
            "--program" => (hunt.program, hunt.programs) = (Some(value), 1),
            "--wrong" => hunt.wrong = Some(Fault::named(&value)?),
            _ => return None,
        }
    }
    Some(hunt)
}
