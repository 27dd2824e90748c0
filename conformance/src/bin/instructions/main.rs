//! Makes the uncontended operations one after the other, for callgrind to count their instructions.
//! `conformance/tests/instructions.rs` runs it.
//!
//! usage: furwock-instructions NAMES crate
//!        furwock-instructions NAMES library|preload FILE
//!
//! For each operation there are four calls of `furwock_counted`: of the code around the operation,
//! and of the operation with that code, each with `TIMES` repetitions and with twice as many. The
//! operations' names go to the file NAMES in the same order.

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

/// Enough for a lock to learn how it is used, for example that it is mostly read.
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
    let mut listed = String::new();
    for operation in &operations {
        let result = go_through(operation);
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

/// In a process of one thread glibc uses no locked instructions, and furwock may do the same. So a
/// second thread sleeps until the process ends.
fn keep_company() {
    thread::spawn(|| {
        loop {
            // SAFETY: no arguments. It sleeps in the kernel, in no queue of furwock's.
            unsafe { libc::pause() };
        }
    });
}

fn go_through(operation: &Operation) -> c_int {
    [operation.around(), operation.run()].into_iter().fold(0, |result, call| {
        result
            | repeat(call, WARM_UP)
            | furwock_counted(call, TIMES)
            | furwock_counted(call, 2 * TIMES)
    })
}

/// What callgrind counts: it gets this name.
#[unsafe(no_mangle)]
#[inline(never)]
fn furwock_counted(call: &dyn Fn() -> c_int, times: u64) -> c_int {
    repeat(call, times)
}

#[inline(never)]
fn repeat(call: &dyn Fn() -> c_int, times: u64) -> c_int {
    (0..times).fold(0, |result, _| result | call())
}
