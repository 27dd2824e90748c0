//! Signals that ask for a look, and the terminal, which furwock keeps until the program reads it.

use std::io;
use std::mem;
use std::ptr;
use std::time::Duration;

const TAKEN: [i32; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD];

/// Signals that this process waits for instead of being ended by them.
pub struct Signals {
    set: libc::sigset_t,
    found: AsFound,
}

/// What the program is to inherit, as furwock did.
#[derive(Clone, Copy)]
pub struct AsFound {
    mask: libc::sigset_t,
    ignores_pipes: bool,
}

impl Signals {
    pub fn take() -> Self {
        // SAFETY: the sets are this function's, and the signals exist.
        unsafe {
            let (mut set, mut mask) = (mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&mut set);
            for signal in TAKEN {
                libc::sigaddset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut mask);
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGPIPE, ptr::null(), &mut action);
            let ignores_pipes = action.sa_sigaction == libc::SIG_IGN;
            Self { set, found: AsFound { mask, ignores_pipes } }
        }
    }

    pub fn found(&self) -> AsFound {
        self.found
    }

    /// One that comes within `time`.
    pub fn next(&self, time: Duration) -> Option<i32> {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: set and time are this function's.
        let signal = unsafe { libc::sigtimedwait(&self.set, ptr::null_mut(), &time) };
        (signal > 0).then_some(signal)
    }
}

impl AsFound {
    /// In the program's process, before it begins.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: both calls may be made between fork and exec.
        unsafe {
            if self.ignores_pipes {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
        Ok(())
    }
}

/// The terminal's foreground, which Ctrl-C goes to.
pub struct Terminal {
    program: i32,
}

impl Terminal {
    pub fn of(program: i32) -> Self {
        Self { program }
    }

    /// A program that reads the terminal from the background was stopped: it gets the foreground.
    pub fn lend_if_wanted(&mut self) {
        let mut information: libc::siginfo_t = unsafe_zeroed();
        let which = libc::WSTOPPED | libc::WNOHANG;
        // SAFETY: `information` is this function's.
        let stopped = unsafe {
            let done =
                libc::waitid(libc::P_PID, self.program as libc::id_t, &mut information, which);
            done == 0 && information.si_pid() == self.program
        };
        // SAFETY: it says that the program was stopped by this signal.
        let signal = if stopped { unsafe { information.si_status() } } else { 0 };
        if signal != libc::SIGTTIN && signal != libc::SIGTTOU {
            return;
        }
        // SAFETY: a process in the background that does this is stopped unless it ignores SIGTTOU.
        unsafe {
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            if libc::tcsetpgrp(0, self.program) == 0 || libc::tcsetpgrp(1, self.program) == 0 {
                libc::kill(-self.program, libc::SIGCONT);
            }
        }
    }
}

fn unsafe_zeroed() -> libc::siginfo_t {
    // SAFETY: plain numbers.
    unsafe { mem::zeroed() }
}
