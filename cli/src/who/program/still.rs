//! Which processes have threads that have been blocked on locks for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use crate::who::locks::is_in_futex;
use crate::who::process::task::Task;

pub struct Still {
    after: Duration,
    processes: BTreeMap<i32, Seen>,
}

#[derive(Default)]
struct Seen {
    threads: BTreeMap<i32, (Task, Instant)>,
    /// Those that were blocked for long enough at the last look.
    looked_at: BTreeSet<i32>,
    is_whole: bool,
}

impl Still {
    pub fn new(after: Duration) -> Self {
        Self { after, processes: BTreeMap::new() }
    }

    /// Processes in which more threads have been blocked for long than were before.
    pub fn processes(&mut self, pids: &[i32]) -> Vec<i32> {
        self.processes.retain(|pid, _| pids.contains(pid));
        let mut found = Vec::new();
        for pid in pids {
            let seen = self.processes.entry(*pid).or_default();
            if seen.note(tasks(*pid), self.after) {
                found.push(*pid);
            }
        }
        found
    }

    /// Whether all of its threads are.
    pub fn is_whole(&self, pid: i32) -> bool {
        self.processes.get(&pid).is_some_and(|seen| seen.is_whole)
    }
}

impl Seen {
    fn note(&mut self, tasks: Vec<Task>, after: Duration) -> bool {
        let (now, count) = (Instant::now(), tasks.len());
        let mut threads = BTreeMap::new();
        for task in tasks.into_iter().filter(|task| is_in_futex(&task.call)) {
            let since = match self.threads.get(&task.tid) {
                Some((before, since)) if task.has_slept_since(before) => *since,
                _ => now,
            };
            threads.insert(task.tid, (task, since));
        }
        self.threads = threads;
        let long = self.threads.iter().filter(|(_, (_, since))| now - *since >= after);
        let long: BTreeSet<i32> = long.map(|(tid, _)| *tid).collect();
        // A look may run a thread: that isn't progress, and it is counted anew.
        let is_more = !long.is_subset(&self.looked_at);
        let was_whole = self.is_whole;
        self.is_whole = !long.is_empty() && long.len() == count;
        if is_more || (self.is_whole && !was_whole) {
            self.looked_at = long;
            return true;
        }
        false
    }
}

fn tasks(pid: i32) -> Vec<Task> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let ids = folder.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|tid| Task::look(pid, tid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::process::task::Call;

    fn task(tid: i32, runs: u64, number: i64) -> Task {
        let call = Call::In { number, arguments: [0; 6], stack: 8, code: 8 };
        Task { tid, name: "t".to_owned(), state: 'S', call, runs: Some(runs) }
    }

    #[test]
    fn threads_that_run_between_looks_arent_blocked() {
        let (futex, read) = (libc::SYS_futex, libc::SYS_read);
        let mut seen = Seen::default();
        let wait = Duration::from_millis(30);
        let pause = || std::thread::sleep(Duration::from_millis(40));
        assert!(!seen.note(vec![task(1, 5, futex), task(2, 1, read)], wait));
        pause();
        assert!(!seen.note(vec![task(1, 6, futex), task(2, 1, read)], wait), "it ran");
        pause();
        assert!(seen.note(vec![task(1, 6, futex), task(2, 1, read)], wait));
        assert!(!seen.is_whole, "one reads");
        assert!(!seen.note(vec![task(1, 6, futex), task(2, 1, read)], wait), "told once");
        assert!(!seen.note(vec![task(1, 6, futex), task(2, 2, futex)], wait));
        pause();
        assert!(seen.note(vec![task(1, 6, futex), task(2, 2, futex)], wait) && seen.is_whole);
    }
}
