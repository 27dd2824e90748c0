//! The rules: what holds a thread up, and what that points to.

use super::task::{Call, Look};
use std::fmt;

/// What holds a thread up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has ended.
    Ended,
    /// It is stopped or traced.
    Stopped,
    /// It is runnable, and gets hardly any time on a processor.
    Starved,
    /// It runs now, but had no processor for more than half of its life.
    Late,
    /// It sleeps in the kernel, uninterruptibly, and not on a futex.
    InKernel,
    /// It sleeps on a futex, perhaps again and again.
    InFutex,
    /// It runs.
    Runs,
    /// It sleeps for moments, and looks in between.
    Naps,
    /// It waits for a process to end.
    ForChild,
    /// It sleeps in another call.
    Elsewhere,
}

/// What is at fault when there is no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine: the wait may go on.
    Machine,
    /// furwock: a wakeup was lost, or a lock is broken.
    Furwock,
    /// The program waits for something that isn't furwock's.
    Program,
}

impl Cause {
    /// What is at fault if this holds a thread up; `None` if that depends on other threads.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Cause::Stopped | Cause::Starved | Cause::Late | Cause::InKernel => Some(Fault::Machine),
            Cause::InFutex | Cause::Runs => Some(Fault::Furwock),
            Cause::Elsewhere => Some(Fault::Program),
            Cause::Ended | Cause::ForChild | Cause::Naps => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Ended => "has ended",
            Cause::Stopped => "is stopped",
            Cause::Starved => "is runnable and gets no processor",
            Cause::Late => "runs, but had no processor for most of its life",
            Cause::InKernel => "sleeps in the kernel, uninterruptibly",
            Cause::InFutex => "sleeps in a futex wait",
            Cause::Runs => "runs without progress",
            Cause::Naps => "looks again and again, and sleeps in between",
            Cause::ForChild => "waits for a process",
            Cause::Elsewhere => "sleeps, not in a futex wait",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Machine => "the machine's",
            Fault::Furwock => "furwock's",
            Fault::Program => "the program's",
        })
    }
}

/// A runnable thread makes progress if it runs for more than this part of the time.
const LEAST_SHARE: u64 = 4;

/// What holds a thread up, by several looks within `window_ns`.
pub fn cause(looks: &[Look], window_ns: u64) -> Cause {
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else { return Cause::Ended };
    let ran = last.run_ns.saturating_sub(first.run_ns);
    if ran > window_ns / LEAST_SHARE {
        let alive = last.age.as_nanos() as u64;
        return if last.wait_ns > alive / 2 { Cause::Late } else { Cause::Runs };
    }
    let woke = last.switches.saturating_sub(first.switches) >= looks.len() as u64 / 2;
    let cause = most_frequent(looks.iter().map(seen));
    let naps = looks.iter().any(is_for_time) && cause == Cause::Elsewhere;
    if naps && woke { Cause::Naps } else { cause }
}

fn is_for_time(look: &Look) -> bool {
    let naps = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep];
    matches!(look.call, Call::In { number, .. } if naps.contains(&number))
}

/// What holds a thread up at one moment, if it doesn't run for long.
fn seen(look: &Look) -> Cause {
    match look.state {
        'Z' | 'X' => Cause::Ended,
        'T' | 't' => Cause::Stopped,
        'R' => Cause::Starved,
        _ if look.is_in_futex() => Cause::InFutex,
        // vfork's parent sleeps uninterruptibly, too, until its child has called execve or ended.
        _ if is_for_child(look) => Cause::ForChild,
        'D' => Cause::InKernel,
        _ if look.call == Call::Unknown && look.wchan.len() < 2 => Cause::InFutex,
        _ => Cause::Elsewhere,
    }
}

fn is_for_child(look: &Look) -> bool {
    let waits = [libc::SYS_wait4, libc::SYS_waitid];
    let forks = [
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
        libc::SYS_clone,
        libc::SYS_clone3,
    ];
    match look.call {
        Call::In { number, .. } if waits.contains(&number) => true,
        Call::In { number, .. } if forks.contains(&number) => {
            look.wchan.contains("vfork") || look.wchan.contains("kernel_clone")
        }
        _ => false,
    }
}

/// The cause that was seen most often; of equals the one seen last.
fn most_frequent(causes: impl Iterator<Item = Cause>) -> Cause {
    let mut counted: Vec<(Cause, usize)> = Vec::new();
    for cause in causes {
        let count =
            counted.iter().position(|(other, _)| *other == cause).map(|at| counted.remove(at));
        counted.push((cause, count.map_or(0, |(_, count)| count) + 1));
    }
    counted.into_iter().max_by_key(|(_, count)| *count).map_or(Cause::Ended, |(cause, _)| cause)
}

/// What is at fault if these hold up all threads. A thread that naps and looks waits for the
/// others, or for a word that a lock of furwock's never changes.
pub fn verdict(causes: impl IntoIterator<Item = Cause>) -> Fault {
    let causes: Vec<_> = causes.into_iter().collect();
    let faults: Vec<_> = causes.iter().filter_map(|cause| cause.fault()).collect();
    let order = [Fault::Machine, Fault::Furwock, Fault::Program];
    let found = order.into_iter().find(|fault| faults.contains(fault));
    found.unwrap_or(if causes.contains(&Cause::Naps) { Fault::Furwock } else { Fault::Program })
}
