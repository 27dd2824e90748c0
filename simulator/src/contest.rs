//! Simulated threads that contend for a given virtual time, and what is counted meanwhile. All run
//! on one thread of the host, so that what they count with needs no atomics and costs no time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::case::Case;
use crate::die::Die;
use crate::figures::Figures;
use crate::harness::waits::Waits;
use crate::stage::{self, Statistics};
use crate::statistics::jain;

/// What all threads of a run share beside the lock.
pub struct Contest<S> {
    case: Case,
    pub shared: S,
    operations: Box<[Cell<u64>]>,
    waits: RefCell<Vec<(&'static str, Waits)>>,
    /// The machine's statistics when the measurement began and ended, and when that was.
    begin: Cell<Option<(u64, Statistics)>>,
    /// The accesses that the host had made when it began.
    made: Cell<u64>,
    end: Cell<Option<(u64, Statistics)>>,
    faults: Cell<u64>,
    gate: Gate,
}

/// Lets all threads begin together: spawning them takes time, and the first would spin meanwhile.
struct Gate {
    opens_ns: u64,
    /// How many have passed it, and when the last did.
    passed: Cell<usize>,
    passed_ns: Cell<u64>,
}

impl Gate {
    /// More than it takes to spawn a thread.
    const EACH_NS: u64 = 40_000;
    /// How often a thread looks whether it is open.
    const LOOK_NS: u64 = 5_000;

    fn new(threads: usize) -> Self {
        let opens_ns = threads as u64 * Self::EACH_NS;
        Gate { opens_ns, passed: Cell::new(0), passed_ns: Cell::new(0) }
    }

    /// Works until it opens, so that the scheduler gives each thread a processor of its own while
    /// there are any.
    fn pass(&self) {
        while stage::time_ns() < self.opens_ns {
            machine::work_ns((self.opens_ns - stage::time_ns()).min(Self::LOOK_NS));
        }
        self.passed.set(self.passed.get() + 1);
        self.passed_ns.set(stage::time_ns());
    }

    /// For how long all threads have been on their way, if they are.
    fn since_all_passed(&self, threads: usize) -> Option<u64> {
        (self.passed.get() == threads).then(|| stage::time_ns() - self.passed_ns.get())
    }
}

/// A thread's place in the contest.
pub struct Seat<S> {
    contest: Rc<Contest<S>>,
    pub index: usize,
    die: Die,
}

impl<S> Seat<S> {
    pub fn case(&self) -> &Case {
        &self.contest.case
    }

    pub fn shared(&self) -> &S {
        &self.contest.shared
    }

    /// Whether the thread should go on; also begins and ends the measurement.
    pub fn goes_on(&self) -> bool {
        // The loop's own instructions: without them a call that costs nothing would never end.
        machine::work_ns(1);
        let contest = &*self.contest;
        if contest.end.get().is_some() {
            return false;
        }
        let now = stage::time_ns();
        let Some((began, _)) = contest.begin.get() else {
            let warm = contest.gate.since_all_passed(contest.case.threads);
            if warm.is_some_and(|ns| ns as f64 >= contest.case.warmup_us * 1e3) {
                contest.begin.set(Some((now, stage::statistics())));
                contest.made.set(stage::accesses_made());
            }
            return true;
        };
        let is_over = (now - began) as f64 >= contest.case.measured_us * 1e3
            || contest.spent() >= contest.case.accesses_max;
        if is_over {
            contest.end.set(Some((now, stage::statistics())));
            if !contest.case.drains {
                stage::stop();
            }
        }
        !is_over
    }

    fn measures(&self) -> bool {
        self.contest.begin.get().is_some() && self.contest.end.get().is_none()
    }

    /// Runs `wait`, and counts how long it took. The name goes before the figures' names.
    pub fn waits(&self, name: &'static str, wait: impl FnOnce()) {
        let start = stage::time_ns();
        wait();
        if !self.measures() {
            return;
        }
        let ns = stage::time_ns() - start;
        let mut all = self.contest.waits.borrow_mut();
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, waits)) => waits.record_ns(ns),
            None => {
                let mut waits = Waits::default();
                waits.record_ns(ns);
                all.push((name, waits));
            }
        }
    }

    /// Works for so long, more or less as the case has it.
    pub fn work(&mut self, mean_ns: f64) {
        let jitter = self.contest.case.jitter;
        let drawn = 1.0 + jitter * (self.die.share() * 2.0 - 1.0);
        let ns = (mean_ns * drawn).round() as u64;
        if ns > 0 {
            machine::work_ns(ns);
        }
    }

    /// Works for a time that says nothing of when it ends: exponentially distributed.
    pub fn work_as_comes(&mut self, mean_ns: f64) {
        let ns = (-mean_ns * (1.0 - self.die.share()).ln()).round() as u64;
        if ns > 0 {
            machine::work_ns(ns);
        }
    }

    /// The case's draw of a write.
    pub fn writes(&mut self) -> bool {
        self.die.share() < self.contest.case.writes
    }

    pub fn did_one(&self) {
        if self.measures() {
            let own = &self.contest.operations[self.index];
            own.set(own.get() + 1);
        }
    }

    /// What must not happen did.
    pub fn faulted(&self) {
        self.contest.faults.set(self.contest.faults.get() + 1);
    }
}

/// Runs `operate` in all threads. Fails if the machine found a deadlock, or a thread a fault.
pub fn run<S: 'static>(
    case: &Case,
    shared: S,
    operate: fn(&mut Seat<S>),
) -> Result<(Figures, Rc<Contest<S>>), String> {
    let contest = Rc::new(Contest {
        case: case.clone(),
        shared,
        operations: (0..case.threads).map(|_| Cell::new(0)).collect(),
        waits: RefCell::default(),
        begin: Cell::new(None),
        made: Cell::new(0),
        end: Cell::new(None),
        faults: Cell::new(0),
        gate: Gate::new(case.threads),
    });
    let body = |index: usize| {
        let contest = Rc::clone(&contest);
        let die = Die::new(case.seed, index as u64);
        move || {
            contest.gate.pass();
            operate(&mut Seat { contest, index, die });
        }
    };
    let mut figures = stage::run(case, (0..case.threads).map(body))?;
    if contest.faults.get() > 0 {
        return Err(format!("it did not exclude: {} faults", contest.faults.get()));
    }
    figures.extend(contest.figures()?);
    Ok((figures, contest))
}

impl<S> Contest<S> {
    /// What the measurement has cost the host.
    fn spent(&self) -> u64 {
        stage::accesses_made() - self.made.get()
    }

    fn figures(&self) -> Result<Figures, String> {
        let (Some((began, before)), Some((ended, after))) = (self.begin.get(), self.end.get())
        else {
            return Err("the measurement did not come to its end".to_owned());
        };
        let each: Vec<f64> = self.operations.iter().map(|count| count.get() as f64).collect();
        let operations: f64 = each.iter().sum();
        let seconds = (ended - began) as f64 / 1e9;
        let mean = operations / each.len() as f64;
        let least = each.iter().copied().fold(f64::INFINITY, f64::min);
        let mut figures = Figures::from(
            [
                ("ops_per_second", operations / seconds),
                ("operations", operations),
                ("measured_s", seconds),
                ("jain", jain(&each)),
                ("min_over_mean", if mean > 0.0 { least / mean } else { 0.0 }),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        figures.extend(stage::costs(&(after - before), operations));
        for (name, waits) in &*self.waits.borrow() {
            figures.extend(waits.figures(name));
        }
        Ok(figures)
    }
}
