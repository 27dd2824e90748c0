//! lock-pi, after `perf bench futex lock-pi`: threads take turns at one mutex that inherits
//! priorities, or each at one of its own.
//!
//! perf's benchmark sleeps while it holds the lock. This one works, by the same loop as `mutex`, so
//! that the lock is measured.

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU32;

use clap::Args;
use furwock::PiMutex;
use rustix::thread::futex::{self, Flags};

use super::hash::A_THREAD;
use super::mutex::take_turns;
use super::{Workload, grid, number};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, PREEMPTIONS, SWITCHES};
use crate::bench::sections::Sections;
use crate::contestants::locks::{CMutex, Mutex, PthreadPi};
use crate::contestants::{Table, choose, names_of, table};
use crate::harness::contest::{self, Contender, Outcome, Plan, summarise};
use crate::harness::{Failed, Figures, Padded, Parameters, fail_now, spin};
use crate::values::threads;

/// Threads that contend for a mutex that inherits priorities
///
/// After `perf bench futex lock-pi`. The holder works where perf's sleeps, so that the lock is
/// measured.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of threads
    #[arg(short = 't', long, value_name = "LIST", value_delimiter = ',', value_parser = threads)]
    #[arg(default_value = "1,2,16")]
    threads: Vec<u32>,

    /// Microseconds of work inside/outside of the lock
    #[arg(long, value_name = "CS/NCS,...", value_delimiter = ',', value_parser = Sections::parse)]
    #[arg(default_value = "1/1,10/10")]
    sections: Vec<Sections>,

    /// A mutex for each thread, so that none is contended
    #[arg(short = 'M', long)]
    multi: bool,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        Benchmark {
            title: "Mutex with priority inheritance",
            case_key: "Cases: microseconds of work inside/outside of the lock x threads.",
            what: "Threads take one mutex that inherits priorities. The kernel does the waiting \
                   for all implementations, but not the taking of a free mutex. (The preload \
                   leaves such mutexes to glibc.)",
            figures: vec![
                A_THREAD,
                Figure::wait("wait_p99_s", "wait, 99th percentile").detail(),
                Figure::wait("wait_p999_s", "wait, 99.9th percentile"),
                Figure::wait("wait_max_s", "longest wait of a round"),
                CPU,
                SWITCHES,
                PREEMPTIONS,
            ],
            cases: grid(&self.sections, &self.threads, |sections, threads| {
                case(sections, threads, self.multi)
            }),
            able: names_of(TABLE),
            lacking: "priority inheritance",
            ..Benchmark::named("lock-pi")
        }
    }
}

fn case(sections: Sections, threads: u32, multi: bool) -> Case {
    let [cs, ncs, sample] = sections.parameters();
    let bound = sections.bound(threads, if multi { threads } else { 1 });
    Case {
        bound: Some(bound / f64::from(threads)),
        ..Case::new(
            format!("{sections} x {threads}"),
            [cs, ncs, ("threads", threads.into()), sample, ("multi", number(multi))],
            Place::new(format!("{sections} us inside/outside"), threads, "threads"),
        )
    }
}

struct FurwockPi<T>(Padded<PiMutex<T>>);

impl<T: Send + 'static> Mutex<T> for FurwockPi<T> {
    fn new(data: T) -> Self {
        FurwockPi(Padded(PiMutex::new(data)))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        match self.0.0.lock() {
            Ok(mut guard) => section(&mut guard),
            Err(error) => fail_now(format!("PiMutex: {error}")),
        }
    }
}

/// The kernel's operations, each lock and unlock a call, as perf does it.
struct KernelPi<T>(Padded<(AtomicU32, UnsafeCell<T>)>);

// SAFETY: the lock excludes.
unsafe impl<T: Send> Sync for KernelPi<T> {}

impl<T: Send + 'static> Mutex<T> for KernelPi<T> {
    fn new(data: T) -> Self {
        KernelPi(Padded((AtomicU32::new(0), UnsafeCell::new(data))))
    }

    #[inline]
    fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let (word, data) = &self.0.0;
        if let Err(error) = futex::lock_pi(word, Flags::PRIVATE, None) {
            fail_now(format!("FUTEX_LOCK_PI: {error}"));
        }
        // SAFETY: this thread holds the lock until the call below.
        let result = section(unsafe { &mut *data.get() });
        if let Err(error) = futex::unlock_pi(word, Flags::PRIVATE) {
            fail_now(format!("FUTEX_UNLOCK_PI: {error}"));
        }
        result
    }
}

type Measure = fn(Plan, bool) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &table!(measure:
    Furwock => FurwockPi<u64>,
    FurwockPreload | Glibc => CMutex<PthreadPi, u64>,
    Kernel => KernelPi<u64>,
);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let multi = given.flag("multi")?;
    let plan = Plan::take(&mut given)?;
    given.finish()?;
    Ok(choose(TABLE, plan.contestant)?(plan, multi)?)
}

fn measure<M: Mutex<u64>>(plan: Plan, multi: bool) -> Result<Figures, String> {
    let threads = plan.threads as f64;
    let mut figures = if multi {
        let Outcome { tallies, used, .. } = contest::run(plan, (), operate_alone::<M>);
        summarise(&tallies, &used)
    } else {
        take_turns(plan, M::new(0))?
    };
    figures.insert("ops_per_second_per_thread".to_owned(), figures["ops_per_second"] / threads);
    Ok(figures)
}

fn operate_alone<M: Mutex<u64>>(contender: &Contender<'_, ()>) -> u64 {
    let (plan, mutex) = (contender.plan(), M::new(0));
    let mut operations = 0;
    while contender.goes_on() {
        mutex.with(|counter| {
            spin(plan.critical_loops);
            *counter += 1;
        });
        spin(plan.other_loops);
        operations += 1;
        contender.note(operations);
    }
    operations
}
