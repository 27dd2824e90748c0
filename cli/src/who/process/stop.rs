//! A thread's registers, for which it is stopped for a moment.
//!
//! Only threads that run, or wait in a call that the kernel starts again without the program's
//! noticing: epoll_wait and others return EINTR after a stop (signal(7)).

use std::time::{Duration, Instant};

use super::task::Call;
use crate::who::stacks::registers::Registers;

/// How long a thread may take to stop. One that sleeps uninterruptibly doesn't.
const PATIENCE: Duration = Duration::from_millis(200);

/// Whether a stop changes nothing for a thread in this call.
pub fn is_harmless(call: &Call) -> bool {
    match call {
        Call::Running => true,
        // Without a timeout it is started again as it was.
        Call::In { number: libc::SYS_futex, arguments, .. } => arguments[3] == 0,
        Call::In { number, .. } => {
            [libc::SYS_wait4, libc::SYS_waitid, libc::SYS_ppoll].contains(number)
        }
        _ => false,
    }
}

/// What it had in its registers. A thread of this process's own waits for it, so that the kernel
/// lets go of a thread that doesn't stop as soon as that one ends.
pub fn registers(tid: i32) -> Option<Registers> {
    std::thread::Builder::new().spawn(move || stopped(tid)).ok()?.join().ok()?
}

fn stopped(tid: i32) -> Option<Registers> {
    let ask = |request, data: usize| {
        // SAFETY: these requests read and write no memory of this process.
        let done = unsafe { libc::ptrace(request, tid, 0_usize, data) };
        (done == 0).then_some(())
    };
    ask(libc::PTRACE_SEIZE, 0)?;
    ask(libc::PTRACE_INTERRUPT, 0)?;
    let end = Instant::now() + PATIENCE;
    let status = loop {
        let mut status = 0;
        // SAFETY: `status` is this function's.
        match unsafe { libc::waitpid(tid, &mut status, libc::__WALL | libc::WNOHANG) } {
            0 if Instant::now() < end => std::thread::sleep(Duration::from_micros(20)),
            id if id == tid && libc::WIFSTOPPED(status) => break status,
            _ => return None,
        }
    };
    let registers = Registers::of_stopped(tid);
    // A signal that came first is passed on.
    let is_event = status >> 16 != 0;
    let signal = if is_event { 0 } else { libc::WSTOPSIG(status) as usize };
    ask(libc::PTRACE_DETACH, signal)?;
    registers
}
