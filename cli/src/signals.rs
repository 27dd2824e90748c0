//! Signals that furwock waits for instead of being ended by them, while a program runs beneath it.

use std::io;
use std::mem;
use std::ptr;
use std::time::Duration;

use rustix::process::Pid;

/// Signals that this process waits for.
pub struct Signals {
    set: libc::sigset_t,
    found: AsFound,
}

#[derive(Clone, Copy)]
pub struct Signal {
    pub number: i32,
    /// The kernel sent it: the terminal's go to the whole group.
    pub is_kernels: bool,
    about: libc::siginfo_t,
}

impl Signal {
    /// Sends it to a child that hasn't been waited for: one that was queued (`sigqueue`) with its
    /// value and its sender, as far as the child has room for more of them.
    pub fn pass_on_to(&self, child: Pid) {
        let pid = child.as_raw_nonzero().get();
        // SAFETY: sends a signal, and reads what came with it.
        unsafe {
            let about = &raw const self.about;
            let is_queued = self.about.si_code == libc::SI_QUEUE
                && libc::syscall(libc::SYS_rt_sigqueueinfo, pid, self.number, about) == 0;
            if !is_queued {
                libc::kill(pid, self.number);
            }
        }
    }
}

/// What the program is to inherit, as furwock did.
#[derive(Clone, Copy)]
pub struct AsFound {
    mask: libc::sigset_t,
    ignores_pipes: bool,
    ignores_children: bool,
}

impl Signals {
    pub fn take(taken: impl IntoIterator<Item = i32>) -> Self {
        // SAFETY: the sets are this function's, and the signals exist.
        unsafe {
            let (mut set, mut mask) = (mem::zeroed(), mem::zeroed());
            libc::sigemptyset(&mut set);
            for signal in taken {
                libc::sigaddset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut mask);
            let ignores = |signal| {
                let mut action: libc::sigaction = mem::zeroed();
                libc::sigaction(signal, ptr::null(), &mut action);
                action.sa_sigaction == libc::SIG_IGN
            };
            let ignores_pipes = ignores(libc::SIGPIPE);
            let ignores_children = ignores(libc::SIGCHLD);
            // Children of a process that ignores this can't be waited for.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            // The program's end and status matter more than a reader of what this process says.
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            Self { set, found: AsFound { mask, ignores_pipes, ignores_children } }
        }
    }

    pub fn found(&self) -> AsFound {
        self.found
    }

    /// One that comes within `time`.
    pub fn next(&self, time: Duration) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: plain numbers.
        let mut about: libc::siginfo_t = unsafe { mem::zeroed() };
        // SAFETY: set, information and time are this function's.
        let number = unsafe { libc::sigtimedwait(&self.set, &mut about, &time) };
        // Those of processes have codes of 0 and below.
        (number > 0).then_some(Signal { number, is_kernels: about.si_code > 0, about })
    }
}

impl AsFound {
    /// In the program's process, before it begins.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: the calls may be made between fork and exec.
        unsafe {
            let pipes = if self.ignores_pipes { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::signal(libc::SIGPIPE, pipes);
            if self.ignores_children {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
        Ok(())
    }
}
