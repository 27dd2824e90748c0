//! Looks at all threads of a stuck process for a while, and reports what it saw.

use super::judge::{Cause, Fault, cause, verdict};
use super::task::{Call, GROUP, Look, PARENT, call_name, stat_fields};
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often to look, and how long to wait in between: a second in all.
const LOOKS: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// How long gdb may take: it reads the symbols of all libraries.
const GDB_SECONDS: &str = "20";

/// Lines of a thread's stack.
const FRAMES: &str = "24";

/// What is stuck.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A process, those that it started, and its process group.
    Process(u32),
    /// These threads of a process, and the older processes that it started.
    Threads {
        /// The process.
        pid: u32,
        /// Its threads.
        tids: Vec<u32>,
        /// Younger processes can't be what the threads wait for.
        children_older_than: Duration,
    },
    /// This process without the calling thread, and the processes that it started.
    Own,
}

/// What was seen.
#[derive(Debug)]
pub struct Examination {
    threads: Vec<Seen>,
    window_ns: u64,
}

#[derive(Debug)]
struct Seen {
    pid: u32,
    tid: u32,
    looks: Vec<Look>,
}

/// Looks for about a second.
pub fn examine(subject: &Subject) -> Examination {
    let start = Instant::now();
    let mut threads: Vec<_> = subject
        .threads()
        .into_iter()
        .map(|(pid, tid)| Seen { pid, tid, looks: Vec::new() })
        .collect();
    for look in 0..LOOKS {
        if look != 0 {
            thread::sleep(PAUSE);
        }
        for thread in &mut threads {
            thread.looks.extend(Look::at(thread.pid, thread.tid));
        }
    }
    Examination { threads, window_ns: start.elapsed().as_nanos() as u64 }
}

impl Subject {
    fn threads(&self) -> Vec<(u32, u32)> {
        let of = |pid: u32| threads_of(pid).into_iter().map(move |tid| (pid, tid));
        match self {
            Subject::Process(pid) => family(*pid).into_iter().chain([*pid]).flat_map(of).collect(),
            Subject::Threads { pid, tids, children_older_than } => {
                let old = |pid: &u32| {
                    Look::at(*pid, *pid).is_some_and(|look| look.age > *children_older_than)
                };
                let own = tids.iter().map(|tid| (*pid, *tid));
                own.chain(family(*pid).into_iter().filter(old).flat_map(of)).collect()
            }
            Subject::Own => {
                let pid = std::process::id();
                // SAFETY: no arguments.
                let own = unsafe { libc::gettid() } as u32;
                let all = family(pid).into_iter().chain([pid]).flat_map(of);
                all.filter(|(_, tid)| *tid != own).collect()
            }
        }
    }
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn threads_of(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

/// The processes that `pid` started, directly or not, and those of the process group that it leads.
fn family(pid: u32) -> Vec<u32> {
    let field = |fields: &[&str], at: usize| fields.get(at)?.parse::<u32>().ok();
    let all = numbers_in("/proc").into_iter().filter_map(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let fields = stat_fields(&stat)?;
        Some((process, field(&fields, PARENT)?, field(&fields, GROUP)?))
    });
    let all: Vec<_> = all.filter(|(process, ..)| *process != pid).collect();
    let mut found: Vec<u32> = Vec::new();
    loop {
        let before = found.len();
        for (process, parent, group) in &all {
            let belongs = *parent == pid || *group == pid || found.contains(parent);
            if belongs && !found.contains(process) {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

impl Examination {
    fn causes(&self) -> impl Iterator<Item = Cause> {
        self.threads.iter().map(|thread| cause(&thread.looks, self.window_ns))
    }

    /// What is at fault.
    pub fn fault(&self) -> Fault {
        verdict(self.causes())
    }

    /// What holds each thread up.
    pub fn kept(&self) -> Vec<(u32, Cause)> {
        self.threads.iter().map(|thread| thread.tid).zip(self.causes()).collect()
    }

    /// A line for each thread that has not ended, and its stack in the kernel where that is
    /// readable.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for (thread, cause) in self.threads.iter().zip(self.causes()) {
            if cause != Cause::Ended {
                thread.describe(cause, &mut text);
            }
        }
        text
    }

    /// The user's stacks from gdb, if it is installed. It stops the processes for a moment.
    pub fn user_stacks(&self) -> String {
        let mut pids: Vec<_> = self.threads.iter().map(|thread| thread.pid).collect();
        pids.dedup();
        let others = pids.into_iter().filter(|pid| *pid != std::process::id());
        others.map(|pid| gdb(pid).unwrap_or_default()).collect()
    }
}

impl Seen {
    fn describe(&self, cause: Cause, text: &mut String) {
        let (Some(first), Some(last)) = (self.looks.first(), self.looks.last()) else { return };
        let states: String = self.looks.iter().map(|look| look.state).collect();
        let call = match last.call {
            Call::Running => "running".to_owned(),
            Call::In { number, .. } => call_name(number),
            Call::Fault { .. } => "page fault".to_owned(),
            Call::Unknown => "?".to_owned(),
        };
        let ms = |ns: u64| ns as f64 / 1e6;
        let _ = writeln!(
            text,
            "  {}/{}: {cause}; state {} ({states}), wchan {}, {call}; {:.1} s old, ran {:.1} ms \
             (+{:.1}), waited {:.1} ms (+{:.1}), {} switches (+{})",
            self.pid,
            self.tid,
            last.state,
            last.wchan,
            last.age.as_secs_f64(),
            ms(last.run_ns),
            ms(last.run_ns.saturating_sub(first.run_ns)),
            ms(last.wait_ns),
            ms(last.wait_ns.saturating_sub(first.wait_ns)),
            last.switches,
            last.switches.saturating_sub(first.switches),
        );
        if let Some(at) = last.instruction().and_then(|at| place(self.pid, at)) {
            let _ = writeln!(text, "    user: {at}");
        }
        let stack = format!("/proc/{}/task/{}/stack", self.pid, self.tid);
        for line in fs::read_to_string(stack).unwrap_or_default().lines() {
            let _ = writeln!(text, "    kernel: {line}");
        }
    }
}

/// The file and the offset in it that `address` of a process is mapped from.
fn place(pid: u32, address: u64) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (from, to) = (hex(from)?, hex(to)?);
        if !(from..to).contains(&address) {
            return None;
        }
        let offset = hex(fields.nth(1)?)?;
        let file = fields.nth(2).unwrap_or("(no file)");
        Some(format!("{file}+{:#x}", address - from + offset))
    })
}

/// Frames of Rust's runtime, which are left out.
const RUNTIME: [&str; 3] = [" in std::", " in core::", " in alloc::"];

fn gdb(pid: u32) -> Option<String> {
    let mut gdb = Command::new("timeout");
    let backtrace = format!("thread apply all -s backtrace {FRAMES}");
    gdb.args(["-k", "2", GDB_SECONDS, "gdb", "-nx", "-batch", "-p"]).arg(pid.to_string());
    gdb.args(["-ex", "set debuginfod enabled off", "-ex", &backtrace]);
    let run =
        gdb.env_remove("LD_PRELOAD").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let says = String::from_utf8_lossy(&run.stdout);
    let frames = says.lines().filter(|line| line.starts_with('#') || line.starts_with("Thread"));
    let frames = frames.filter(|line| !RUNTIME.iter().any(|name| line.contains(name)));
    let mut text = String::new();
    frames.for_each(|line| _ = writeln!(text, "    {line}"));
    (!text.is_empty()).then(|| format!("  stacks of process {pid}:\n{text}"))
}
