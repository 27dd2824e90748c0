//! Runs cases in children, and judges how they ended.

use super::Case;
use super::ground::{Ground, both};
use crate::differential::Futex;
use std::fmt;
use std::io::Error;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Longer than all cases of a child take.
const LIMIT_SECONDS: u32 = 60;

/// A case that two implementations treat differently, or that ended the process.
#[derive(Debug)]
pub struct Failure {
    /// The call.
    pub case: Case,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The kernel returned the first, the other the second.
    Differs([Result<i64, i32>; 2]),
    /// They returned the same and left different values behind.
    StoresDiffer,
    /// The process died of this signal in the implementation of that name.
    Died(i32, &'static str),
}

/// What the child tells its parent, in memory that both have.
#[repr(C)]
struct Report {
    /// Cases that are done.
    done: AtomicUsize,
    /// Which implementation runs.
    side: AtomicUsize,
    /// Whether the case at `done` differs: 1 in what it returned, 2 in what it stored.
    differs: AtomicUsize,
    values: [AtomicI64; 2],
}

/// Runs `cases` on the kernel and on `other`; gives up after `most` failures.
pub fn check(other: &'static dyn Futex, cases: &[Case], most: usize) -> Vec<Failure> {
    let report = share();
    let mut failures = Vec::new();
    let mut next = 0;
    while next < cases.len() && failures.len() < most {
        let status = in_a_child(|| run(other, &cases[next..], report));
        next += report.done.load(Ordering::SeqCst);
        if let Some(what) = judge(status, other, report) {
            failures.push(Failure { case: cases[next].clone(), what });
            next += 1;
        }
    }
    failures
}

/// Runs cases up to the first that differs.
fn run(other: &'static dyn Futex, cases: &[Case], report: &Report) {
    report.done.store(0, Ordering::SeqCst);
    report.differs.store(0, Ordering::SeqCst);
    // SAFETY: no pointers. The signal ends the process.
    unsafe { libc::alarm(LIMIT_SECONDS) };
    let both = both(other);
    let ground = Ground::new(&both);
    for case in cases {
        let mut side = 0;
        let [first, second] = both.map(|user| {
            report.side.store(side, Ordering::SeqCst);
            side += 1;
            ground.reset();
            let result = case.perform(&ground, user);
            (result, ground.contents())
        });
        if first != second {
            for (value, (result, _)) in report.values.iter().zip([&first, &second]) {
                let negated = result.unwrap_or_else(|errno| -i64::from(errno));
                value.store(negated, Ordering::SeqCst);
            }
            let what = if first.0 == second.0 { 2 } else { 1 };
            report.differs.store(what, Ordering::SeqCst);
            return;
        }
        report.done.fetch_add(1, Ordering::SeqCst);
    }
}

fn judge(status: i32, other: &'static dyn Futex, report: &Report) -> Option<What> {
    if libc::WIFSIGNALED(status) {
        let name = both(other)[report.side.load(Ordering::SeqCst)].name();
        return Some(What::Died(libc::WTERMSIG(status), name));
    }
    assert_eq!(libc::WEXITSTATUS(status), 0, "a child that runs cases ends well");
    let value = |value: &AtomicI64| match value.load(Ordering::SeqCst) {
        errno @ -4095..0 => Err(-errno as i32),
        value => Ok(value),
    };
    match report.differs.load(Ordering::SeqCst) {
        0 => None,
        1 => Some(What::Differs(report.values.each_ref().map(value))),
        _ => Some(What::StoresDiffer),
    }
}

/// How `run` ended in a forked child, as waitpid(2) tells it.
fn in_a_child(run: impl FnOnce()) -> i32 {
    // SAFETY: the child allocates, which glibc makes possible, and uses nothing else that another
    // thread may have locked. It leaves without running what was to run at the parent's exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", Error::last_os_error());
    if child == 0 {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(ran.is_err())) };
    }
    let mut status = 0;
    // SAFETY: a child of this process that nothing else waits for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

fn share() -> &'static Report {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, large enough, zero, and never unmapped.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), size_of::<Report>(), access, kind, -1, 0);
        assert_ne!(page, libc::MAP_FAILED, "a page can be mapped");
        &*page.cast::<Report>()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |result: Result<i64, i32>| match result {
            Ok(value) => value.to_string(),
            Err(errno) => Error::from_raw_os_error(errno).to_string(),
        };
        match self.what {
            What::Differs([kernel, other]) => {
                write!(f, "the kernel returns {}, the other {}", shown(kernel), shown(other))?;
            }
            What::StoresDiffer => f.write_str("they leave different values behind")?,
            What::Died(libc::SIGALRM, name) => write!(f, "{name} doesn't return")?,
            What::Died(signal, name) => write!(f, "{name} dies of signal {signal}")?,
        }
        write!(f, ": {:?}", self.case)
    }
}
