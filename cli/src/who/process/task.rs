//! One look at a thread: what it does, and a count by which a second look tells whether it has run.

use std::fs;

use super::access;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub tid: i32,
    pub name: String,
    /// As ps shows it: R, S, D, T, Z.
    pub state: char,
    pub call: Call,
    /// How often it was put on a processor.
    pub runs: Option<u64>,
}

/// The system call that a thread is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// It runs.
    Running,
    /// The kernel doesn't say.
    Unknown,
    /// It sleeps in the kernel, but in no call (a page fault).
    Elsewhere,
    In {
        number: i64,
        arguments: [u64; 6],
        stack: u64,
        code: u64,
    },
}

impl Task {
    /// None if the thread has ended.
    pub fn look(pid: i32, tid: i32) -> Option<Self> {
        let file = |name| fs::read(format!("/proc/{pid}/task/{tid}/{name}"));
        let stat = file("stat").ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let state = stat[close + 1..].trim_start().chars().next()?;
        let call = file("syscall").map_or(Call::Unknown, |line| {
            Call::parse(&String::from_utf8_lossy(&line)).unwrap_or(Call::Unknown)
        });
        let call = call.before_restart(|| file("wchan").ok());
        let runs = || {
            let line = file("schedstat").ok()?;
            String::from_utf8_lossy(&line).split_whitespace().nth(2)?.parse().ok()
        };
        let switches = || {
            let status = file("status").ok()?;
            let status = String::from_utf8_lossy(&status);
            access::number(&status, "voluntary_ctxt_switches").map(|count| count as u64)
        };
        Some(Self {
            tid,
            name: stat[open + 1..close].to_owned(),
            state,
            call,
            runs: runs().or_else(switches),
        })
    }

    /// Whether it slept from `earlier` to this look.
    pub fn has_slept_since(&self, earlier: &Self) -> bool {
        self.state == 'S' && self.runs.is_some() && self == earlier
    }
}

impl Call {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let number = match words.next()? {
            "running" => return Some(Self::Running),
            "-1" => return Some(Self::Elsewhere),
            number => number.parse().ok()?,
        };
        let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let arguments = [next()?, next()?, next()?, next()?, next()?, next()?];
        Some(Self::In { number, arguments, stack: next()?, code: next()? })
    }

    /// The call that restart_syscall(2) goes on with after a stop, a signal or a debugger, by the
    /// kernel's function that the thread sleeps in: the arguments are still the first call's.
    fn before_restart(self, sleeps_in: impl FnOnce() -> Option<Vec<u8>>) -> Self {
        let Self::In { number: libc::SYS_restart_syscall, arguments, stack, code } = self else {
            return self;
        };
        let function = sleeps_in().unwrap_or_default();
        let function = String::from_utf8_lossy(&function);
        let number = match &*function {
            name if name.contains("nanosleep") => libc::SYS_clock_nanosleep,
            name if name.contains("futex") => libc::SYS_futex,
            #[cfg(target_arch = "x86_64")]
            name if name.contains("poll") => libc::SYS_poll,
            _ => libc::SYS_restart_syscall,
        };
        Self::In { number, arguments, stack, code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_line_of_a_call() {
        let call = Call::parse("202 0x55 0x80 0x2 0x0 0x0 0x0 0x7ffc 0x7f12\n").unwrap();
        let arguments = [0x55, 0x80, 2, 0, 0, 0];
        assert_eq!(call, Call::In { number: 202, arguments, stack: 0x7ffc, code: 0x7f12 });
        assert_eq!(Call::parse("running\n"), Some(Call::Running));
        assert_eq!(Call::parse("-1 0x7ffc 0x7f12\n"), Some(Call::Elsewhere));
        assert_eq!(Call::parse("202 0x55\n"), None);
    }

    #[test]
    fn a_call_that_was_interrupted_is_known_by_where_it_sleeps() {
        let [number, arguments] = [libc::SYS_restart_syscall, 7];
        let call =
            |number| Call::In { number, arguments: [arguments as u64; 6], stack: 1, code: 2 };
        let slept_in = |name: &str| call(number).before_restart(|| Some(name.into()));
        assert_eq!(slept_in("hrtimer_nanosleep"), call(libc::SYS_clock_nanosleep));
        assert_eq!(slept_in("futex_wait_queue"), call(libc::SYS_futex));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(slept_in("poll_schedule_timeout.constprop.0"), call(libc::SYS_poll));
        assert_eq!(slept_in("0"), call(number), "the kernel doesn't say");
        let other = call(libc::SYS_read).before_restart(|| panic!("it isn't asked"));
        assert_eq!(other, call(libc::SYS_read));
    }
}
