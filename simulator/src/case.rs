//! A cell of a grid: everything that determines a simulated run. The same case gives the same
//! figures and the same trace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What `program` does with its lock.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub enum Shape {
    /// All threads take turns at it.
    #[default]
    Mutex,
    /// It is the mutex of a barrier at which all threads meet.
    Barrier,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Case {
    /// A machine's name, or the path of its file.
    pub machine: String,
    pub workload: String,
    pub contestant: String,
    pub threads: usize,
    pub seed: u64,
    /// Work inside the lock and outside of it, in virtual nanoseconds.
    pub critical_ns: f64,
    pub other_ns: f64,
    /// How far a section's length is drawn from its mean, as a share of it.
    pub jitter: f64,
    /// Cache lines besides the lock's own that a critical section reads and writes.
    pub shared_lines: usize,
    /// `rwlock`: the share of writes.
    pub writes: f64,
    /// `semaphore`: its permits.
    pub permits: u32,
    /// `program`: what for.
    pub shape: Shape,
    /// `table`: each thread's words.
    pub words: usize,
    /// The first memory nodes of the machine, if not all; threads are bound to their processors.
    pub nodes: Option<usize>,
    /// Whether each thread is bound to a processor.
    pub pinned: bool,
    /// Virtual time that is measured, and before it.
    pub measured_us: f64,
    pub warmup_us: f64,
    /// The measurement ends early after so many simulated accesses: not those of threads that spin
    /// and were skipped ahead.
    pub accesses_max: u64,
    /// Whether all threads come to their end after the measurement, so that a wakeup that was lost
    /// shows; with more spinning threads than processors that may take long.
    pub drains: bool,
    /// furwock's constants that have another value than their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, u64>,
}

impl Case {
    /// A case with what most have in common.
    pub fn new(machine: &str, workload: &str, contestant: &str, threads: usize) -> Self {
        Case {
            machine: machine.to_owned(),
            workload: workload.to_owned(),
            contestant: contestant.to_owned(),
            threads,
            seed: 0,
            critical_ns: 0.0,
            other_ns: 0.0,
            jitter: 0.1,
            shared_lines: 0,
            writes: 0.0,
            permits: 1,
            shape: Shape::Mutex,
            words: 1024,
            nodes: None,
            pinned: false,
            measured_us: 5_000.0,
            warmup_us: 500.0,
            accesses_max: 5_000_000,
            drains: false,
            constants: BTreeMap::new(),
        }
    }

    /// The same sections with another contestant.
    pub fn with(&self, contestant: &str) -> Self {
        Case { contestant: contestant.to_owned(), ..self.clone() }
    }

    /// What a failure says beside the label.
    pub fn seed_and_constants(&self) -> String {
        let constant = |(name, value): (&String, &u64)| format!(", {name} {value}");
        format!("seed {}{}", self.seed, self.constants.iter().map(constant).collect::<String>())
    }

    /// What a table's row says of it.
    pub fn label(&self) -> String {
        let sections = format!("{}/{}", self.critical_ns, self.other_ns);
        match self.workload.as_str() {
            "mutex" => format!("{sections} x {}", self.threads),
            "rwlock" => format!("{}% {sections} x {}", self.writes * 100.0, self.threads),
            "semaphore" => format!("{}: {sections} x {}", self.permits, self.threads),
            "table" => format!("{} x {}", self.threads, self.words),
            _ => self.threads.to_string(),
        }
    }
}
