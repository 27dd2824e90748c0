//! The terminal, which furwock keeps until the program reads it.

use std::mem;

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
