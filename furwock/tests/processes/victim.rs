//! A process that is single-stepped through what it does with a lock, and killed on the way.

use crate::process::{BOUND, fork, kill, reap};
use std::time::{Duration, Instant};

/// A process that its parent single-steps.
pub struct Victim {
    pub id: libc::pid_t,
    /// A step has been asked for and hasn't ended.
    stepping: bool,
}

#[derive(PartialEq)]
pub enum Step {
    Done,
    Asleep,
    Ended,
}

impl Victim {
    /// Runs `work` up to where it calls its argument.
    pub fn new(work: impl FnOnce(&dyn Fn())) -> Self {
        let id = fork(|| {
            // SAFETY: no memory is involved.
            work(&|| unsafe {
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::raise(libc::SIGSTOP);
            });
        });
        let mut status = 0;
        // SAFETY: writes one int. The child stops or dies, without waiting for anything.
        assert_eq!(unsafe { libc::waitpid(id, &mut status, 0) }, id);
        assert!(libc::WIFSTOPPED(status), "the victim ended early: {status}");
        Self { id, stepping: false }
    }

    /// One instruction.
    pub fn step(&mut self) -> Step {
        if !self.stepping {
            // SAFETY: a stopped child of ours; no memory is involved.
            let result = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.id, 0, 0) };
            assert_eq!(result, 0, "single-stepping is forbidden here");
            self.stepping = true;
        }
        let started = Instant::now();
        let mut polls = 0;
        loop {
            let mut status = 0;
            // SAFETY: writes one int.
            match unsafe { libc::waitpid(self.id, &mut status, libc::WNOHANG) } {
                0 if polls > 50 && is_asleep(self.id) => return Step::Asleep,
                0 => {
                    polls += 1;
                    assert!(started.elapsed() < BOUND, "a step without end");
                    // SAFETY: no arguments.
                    unsafe { libc::sched_yield() };
                }
                _ if libc::WIFSTOPPED(status) => {
                    self.stepping = false;
                    return Step::Done;
                }
                _ => {
                    assert_eq!(status, 0, "the victim failed");
                    return Step::Ended;
                }
            }
        }
    }

    pub fn until_asleep(&mut self) {
        while self.step() != Step::Asleep {}
    }

    /// A victim that holds a lock, and is about to release it.
    pub fn releasing<G>(lock: impl FnOnce() -> G) -> Self {
        Self::new(|stop| {
            let guard = lock();
            stop();
            drop(guard);
        })
    }

    pub fn dies(self) {
        kill(self.id);
        reap(self.id);
    }

    /// Makes `count` steps. `false` if it ended before.
    pub fn goes(&mut self, count: usize) -> bool {
        for _ in 0..count {
            match self.step() {
                Step::Done => {}
                // It will get the lock that it waits for; the wait counts as a step.
                Step::Asleep => std::thread::sleep(Duration::from_micros(50)),
                Step::Ended => return false,
            }
        }
        true
    }
}

/// Whether a process sleeps in a system call; a process at a breakpoint does not.
pub fn is_asleep(id: libc::pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}
