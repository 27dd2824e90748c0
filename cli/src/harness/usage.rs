//! Time and context switches that this process has used so far.

use std::time::Instant;

use super::report::{Figures, figures};

pub struct Usage {
    at: Instant,
    cpu_s: f64,
    system_s: f64,
    voluntary_switches: f64,
    involuntary_switches: f64,
}

/// What the process used since then.
pub struct Used {
    pub wall_s: f64,
    /// In the program and in the kernel; `system_s` is the kernel's part.
    pub cpu_s: f64,
    pub system_s: f64,
    pub voluntary_switches: f64,
    pub involuntary_switches: f64,
}

impl Used {
    /// The costs of one operation.
    pub fn per_operation(&self, operations: f64) -> Figures {
        figures([
            ("cpu_ns_per_op", self.cpu_s * 1e9 / operations),
            ("system_ns_per_op", self.system_s * 1e9 / operations),
            ("voluntary_per_op", self.voluntary_switches / operations),
            ("involuntary_per_op", self.involuntary_switches / operations),
        ])
    }
}

impl Usage {
    pub fn now() -> Self {
        // SAFETY: all-zero is a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: RUSAGE_SELF is a valid target and `usage` is ours to write.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        Usage {
            at: Instant::now(),
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            system_s: seconds(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as f64,
            involuntary_switches: usage.ru_nivcsw as f64,
        }
    }

    pub fn since(&self) -> Used {
        let now = Usage::now();
        Used {
            wall_s: (now.at - self.at).as_secs_f64(),
            cpu_s: now.cpu_s - self.cpu_s,
            system_s: now.system_s - self.system_s,
            voluntary_switches: now.voluntary_switches - self.voluntary_switches,
            involuntary_switches: now.involuntary_switches - self.involuntary_switches,
        }
    }
}

pub fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
