//! Simulations in processes of their own, at the same addresses each time.
//!
//! furwock keeps tables for as long as a process lives, and hashes addresses. So a simulation that
//! is to give the same trace again has to begin with the same memory: in a child that was forked
//! from a process without randomised addresses, which has simulated nothing itself.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// A child that ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// How it ended.
    pub how: String,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a simulation's process ended without a result: {}", self.how)
    }
}

impl std::error::Error for Crash {}

/// Sees to it that the process has the same addresses each time: executes the program again without
/// their randomisation, with the same arguments, unless that is off. To be called first in `main`.
///
/// Where the kernel refuses, the program goes on as it is: returns whether they are the same.
pub fn same_addresses() -> bool {
    const ASK: libc::c_ulong = 0xffff_ffff;
    const GUARD: &str = "FURWOCK_MACHINE_EXECUTED";
    // SAFETY: asks for this process's flags.
    let flags = unsafe { libc::personality(ASK) };
    if flags & libc::ADDR_NO_RANDOMIZE != 0 {
        return true;
    }
    if flags < 0 || std::env::var_os(GUARD).is_some() {
        return false;
    }
    // SAFETY: changes a flag of this process that counts at the next exec only.
    let result = unsafe { libc::personality((flags | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) };
    if result >= 0
        && let Ok(program) = std::env::current_exe()
    {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_default();
        // Returns only if it failed.
        _ = Command::new(program).arg0(name).args(arguments).env(GUARD, "1").exec();
    }
    false
}

/// Calls `job` in a forked child. Returns the bytes that it returns.
///
/// The child must not need the process's other threads.
pub fn isolated(job: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>, Crash> {
    Child::fork(job).and_then(Child::finish)
}

/// Calls each job in a forked child of its own, `workers` at a time. Returns their results in the
/// order of the jobs.
pub fn isolated_all<J: FnOnce() -> Vec<u8>>(
    jobs: impl IntoIterator<Item = J>,
    workers: usize,
) -> Vec<Result<Vec<u8>, Crash>> {
    let mut results = Vec::new();
    let mut running = VecDeque::new();
    let mut jobs = jobs.into_iter().fuse().enumerate();
    loop {
        while running.len() < workers.max(1)
            && let Some((index, job)) = jobs.next()
        {
            results.push(Err(Crash { how: "not run".to_owned() }));
            match Child::fork(job) {
                Ok(child) => running.push_back((index, child)),
                Err(crash) => results[index] = Err(crash),
            }
        }
        if running.is_empty() {
            return results;
        }
        let ready = wait_for_any(&mut running);
        let (index, child) = running.remove(ready).expect("one of those that run");
        results[index] = child.finish();
    }
}

/// Reads what children write until one has closed its pipe. Returns which.
fn wait_for_any(running: &mut VecDeque<(usize, Child)>) -> usize {
    loop {
        let mut pipes: Vec<_> = running
            .iter()
            .map(|(_, child)| libc::pollfd {
                fd: child.pipe.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the array is as long as it says, and the kernel writes to it only.
        unsafe { libc::poll(pipes.as_mut_ptr(), pipes.len() as libc::nfds_t, -1) };
        for (at, pipe) in pipes.iter().enumerate().filter(|(_, pipe)| pipe.revents != 0) {
            debug_assert_eq!(pipe.fd, running[at].1.pipe.as_raw_fd());
            if running[at].1.read_some() {
                return at;
            }
        }
    }
}

struct Child {
    process: libc::pid_t,
    pipe: File,
    read: Vec<u8>,
}

impl Child {
    fn fork(job: impl FnOnce() -> Vec<u8>) -> Result<Self, Crash> {
        let failed = || Crash { how: Error::last_os_error().to_string() };
        let mut pipe = [0; 2];
        // SAFETY: writes two descriptors, which are this function's from then on.
        let (from, mut to) = unsafe {
            if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(failed());
            }
            (File::from_raw_fd(pipe[0]), File::from_raw_fd(pipe[1]))
        };
        // SAFETY: the child runs the job, writes its result, and leaves without the parent's
        // cleaning up.
        match unsafe { libc::fork() } {
            0 => {
                let result = catch_unwind(AssertUnwindSafe(job));
                let ended = match result {
                    Ok(bytes) => i32::from(to.write_all(&bytes).is_err()),
                    Err(_) => 101,
                };
                // SAFETY: no arguments but the code.
                unsafe { libc::_exit(ended) }
            }
            process if process > 0 => Ok(Self { process, pipe: from, read: Vec::new() }),
            _ => Err(failed()),
        }
    }

    /// Whether the child has closed its end.
    fn read_some(&mut self) -> bool {
        let mut bytes = [0; 1 << 16];
        let read = self.pipe.read(&mut bytes).unwrap_or(0);
        self.read.extend_from_slice(&bytes[..read]);
        read == 0
    }

    fn finish(mut self) -> Result<Vec<u8>, Crash> {
        while !self.read_some() {}
        let mut status = 0;
        // SAFETY: a child of this process, which nothing else waits for.
        unsafe { libc::waitpid(self.process, &mut status, 0) };
        if libc::WIFSIGNALED(status) {
            return Err(Crash { how: format!("signal {}", libc::WTERMSIG(status)) });
        }
        match libc::WEXITSTATUS(status) {
            0 => Ok(self.read),
            101 => Err(Crash { how: "it panicked".to_owned() }),
            code => Err(Crash { how: format!("code {code}") }),
        }
    }
}
