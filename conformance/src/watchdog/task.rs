//! What /proc says of one thread.

use std::fs;
use std::time::Duration;

/// Where a thread is, as far as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// On a processor, or about to be.
    Running,
    /// In this system call, which it made at this instruction.
    In {
        /// The call's number.
        number: i64,
        /// The instruction after it.
        at: u64,
    },
    /// Blocked outside of a call: a page fault at this instruction.
    Fault {
        /// The instruction.
        at: u64,
    },
    /// The kernel doesn't say.
    Unknown,
}

/// One look at a thread.
#[derive(Clone, Debug)]
pub struct Look {
    /// The letter of /proc: R, S, D, T, t, Z, X, I.
    pub state: char,
    /// The kernel's function that it sleeps in; "0" for none.
    pub wchan: String,
    /// The call that it is in.
    pub call: Call,
    /// Time on a processor since it began.
    pub run_ns: u64,
    /// Time for which it was runnable without one, not counting the current wait.
    pub wait_ns: u64,
    /// How often it left a processor.
    pub switches: u64,
    /// Time since it began.
    pub age: Duration,
}

impl Look {
    /// Looks at thread `tid` of process `pid`; `None` if it has ended.
    pub fn at(pid: u32, tid: u32) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).ok();
        let stat = read("stat")?;
        let fields = stat_fields(&stat)?;
        let mut times = read("schedstat").unwrap_or_default();
        times.truncate(times.trim_end().len());
        let mut times = times.split(' ').map(|number| number.parse().unwrap_or(0));
        let (run_ns, wait_ns) = (times.next().unwrap_or(0), times.next().unwrap_or(0));
        Some(Self {
            state: fields.first()?.chars().next()?,
            wchan: read("wchan").unwrap_or_default(),
            call: read("syscall").map_or(Call::Unknown, |text| parse_call(&text)),
            run_ns,
            wait_ns,
            switches: switches(&read("status").unwrap_or_default()),
            age: age(fields.get(STARTED)?.parse().ok()?),
        })
    }

    /// Whether it sleeps on a futex.
    pub fn is_in_futex(&self) -> bool {
        match self.call {
            Call::In { number, .. } => FUTEX_CALLS.contains(&number),
            Call::Running | Call::Fault { .. } => false,
            Call::Unknown => self.wchan.contains("futex"),
        }
    }

    /// The user's instruction, if the kernel says.
    pub fn instruction(&self) -> Option<u64> {
        match self.call {
            Call::In { at, .. } | Call::Fault { at } => Some(at),
            Call::Running | Call::Unknown => None,
        }
    }
}

/// futex, futex_waitv, futex_wake, futex_wait, futex_requeue.
const FUTEX_CALLS: [i64; 5] = [libc::SYS_futex, libc::SYS_futex_waitv, 454, 455, 456];

/// Fields of `stat`, counted from the state, which is the first behind the name.
pub const PARENT: usize = 1;
/// See `PARENT`.
pub const GROUP: usize = 2;
const STARTED: usize = 19;

/// The fields after the name, which may contain anything.
pub fn stat_fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(") ")?.1.split_whitespace().collect())
}

fn parse_call(text: &str) -> Call {
    let fields: Vec<_> = text.split_whitespace().collect();
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let at = fields.last().and_then(|at| hex(at)).unwrap_or(0);
    match fields.first().map(|first| (*first, first.parse::<i64>())) {
        Some(("running", _)) => Call::Running,
        Some((_, Ok(-1))) => Call::Fault { at },
        Some((_, Ok(number))) => Call::In { number, at },
        _ => Call::Unknown,
    }
}

fn switches(status: &str) -> u64 {
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    counts.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum()
}

fn age(started_ticks: u64) -> Duration {
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    // SAFETY: all zeroes is a timespec.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: writes one timespec. The clock that `stat` counts by.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    let now = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
    Duration::from_secs_f64((now - started_ticks as f64 / per_second).max(0.0))
}

/// The name of a system call that threads are found to sleep in.
pub fn call_name(number: i64) -> String {
    let name = match number {
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => "poll",
        libc::SYS_ppoll => "ppoll",
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => "epoll_wait",
        libc::SYS_mmap => "mmap",
        libc::SYS_munmap => "munmap",
        libc::SYS_mprotect => "mprotect",
        libc::SYS_madvise => "madvise",
        libc::SYS_nanosleep => "nanosleep",
        libc::SYS_clock_nanosleep => "clock_nanosleep",
        libc::SYS_sched_yield => "sched_yield",
        libc::SYS_clone => "clone",
        libc::SYS_clone3 => "clone3",
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork => "vfork",
        libc::SYS_execve => "execve",
        libc::SYS_exit => "exit",
        libc::SYS_exit_group => "exit_group",
        libc::SYS_wait4 => "wait4",
        libc::SYS_waitid => "waitid",
        libc::SYS_futex => "futex",
        libc::SYS_futex_waitv => "futex_waitv",
        454 => "futex_wake",
        455 => "futex_wait",
        456 => "futex_requeue",
        libc::SYS_process_vm_readv => "process_vm_readv",
        _ => return format!("system call {number}"),
    };
    name.to_owned()
}
