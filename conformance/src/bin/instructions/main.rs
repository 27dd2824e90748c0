//! Goes through what nobody contends for, one operation after the other, for callgrind to count the
//! instructions of. `conformance/tests/instructions.rs` runs it.
//!
//! usage: furwock-instructions NAMES crate
//!        furwock-instructions NAMES library|preload FILE
//!
//! Each operation is warmed up, and then run in two calls of `furwock_counted`, of `TIMES` and of twice
//! as many repetitions. The operations' names go to the file NAMES in the same order. The first one
//! does nothing: what it costs is the loop around it.

mod c_library;
mod loaded;
mod operation;
mod preload;
mod rust;

use furwock_conformance::instructions::TIMES;
use operation::Operation;
use std::env;
use std::ffi::{OsString, c_int};
use std::fs;
use std::process::ExitCode;
use std::thread;

/// Enough for what a lock learns from how it is used, as that it is mostly read.
const WARM_UP: u64 = 1000;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (names, operations) = match &arguments[..] {
        [names, face] if face == "crate" => (names, rust::operations()),
        [names, face, file] if face == "library" => (names, c_library::operations(file)),
        [names, face, file] if face == "preload" => (names, preload::operations(file)),
        _ => {
            eprintln!("usage: furwock-instructions NAMES crate | library FILE | preload FILE");
            return ExitCode::from(2);
        }
    };
    keep_company();
    let nothing = [Operation::new("nothing", || 0)];
    let mut listed = String::new();
    for operation in nothing.iter().chain(&operations) {
        let mut result = repeat(operation, WARM_UP);
        result |= furwock_counted(operation, TIMES);
        result |= furwock_counted(operation, 2 * TIMES);
        if result != 0 {
            eprintln!("{}: returned {result}: it isn't what was to be counted", operation.name());
            return ExitCode::FAILURE;
        }
        listed += operation.name();
        listed += "\n";
    }
    if let Err(error) = fs::write(names, listed) {
        eprintln!("{}: {error}", names.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// glibc does without locked instructions in a process of one thread, and furwock may. This isn't one:
/// a second thread sleeps until the process ends.
fn keep_company() {
    thread::spawn(|| {
        loop {
            // SAFETY: no arguments. It sleeps in the kernel, in no queue of furwock's.
            unsafe { libc::pause() };
        }
    });
}

/// What callgrind counts: it is told this name.
#[unsafe(no_mangle)]
#[inline(never)]
fn furwock_counted(operation: &Operation, times: u64) -> c_int {
    repeat(operation, times)
}

#[inline(never)]
fn repeat(operation: &Operation, times: u64) -> c_int {
    (0..times).fold(0, |result, _| result | operation.run())
}
