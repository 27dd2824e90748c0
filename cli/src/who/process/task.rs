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
}
