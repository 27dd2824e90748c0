//! Looks for a program that two implementations run differently, and reduces it.

use super::Futex;
use super::generate::program;
use super::places::{At, WORDS};
use super::run::{Did, Outcome, Stage, WORKERS};
use super::step::{Program, Step};
use crate::last_words;
use crate::seeds::runner;
use proptest::strategy::{Strategy, ValueTree};
use std::fmt;
use std::mem;
use std::time::{Duration, Instant};

/// Shrinking stops after so many attempts.
const MOST_ATTEMPTS: usize = 2000;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Hunt {
    /// The first program's seed; the next one has the next.
    pub seed: u64,
    /// How many programs.
    pub programs: u64,
    /// What counts.
    pub wakes: Wakes,
}

/// How to judge a call that wakes one wait on many words by two of them: by a word that the wait
/// names twice, or by both words of a `FUTEX_WAKE_OP`. The kernel counts it twice and reports the
/// last of the words as woken; another implementation may spend the second wake on another waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakes {
    /// Both must do the same.
    AllCount,
    /// Anything may happen from there on, but each waiter must still be reachable by a wake.
    OneForEachWait,
}

/// What has been run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Programs.
    pub programs: u64,
    /// Their steps.
    pub steps: u64,
    /// Calls that slept.
    pub slept: u64,
    /// Calls that another thread's step ended.
    pub woken: u64,
    /// Programs that weren't compared to their end, for `Wakes::OneForEachWait`.
    pub cut: u64,
    /// Calls that failed, not counting those that slept first.
    pub failed: u64,
    /// The time it took.
    pub time: Duration,
}

/// A program that two implementations run differently.
#[derive(Debug)]
pub struct Disagreement {
    /// The seed that it grew from.
    pub seed: u64,
    /// The program.
    pub program: Program,
    outcomes: [(&'static str, Outcome); 2],
}

impl Hunt {
    /// Runs programs on both.
    ///
    /// # Errors
    /// The smallest program that could be found on which they disagree.
    pub fn run(
        &self,
        stage: &mut Stage,
        both: [&'static dyn Futex; 2],
    ) -> Result<Tally, Box<Disagreement>> {
        last_words::prepare();
        let start = Instant::now();
        let mut tally = Tally::default();
        let strategy = program();
        for seed in (self.seed..).take(self.programs as usize) {
            let mut tree =
                strategy.new_tree(&mut runner(seed)).expect("nothing is filtered for long");
            let program = tree.current();
            let outcomes = both.map(|one| run(stage, one, seed, &program));
            let agreement = self.wakes.compare(&program, &outcomes);
            tally.add(&program, &outcomes[0], agreement);
            if agreement == Agreement::No {
                let found = Disagreement::new(seed, program, both, outcomes);
                return Err(self.shrink(stage, both, &mut tree, found));
            }
        }
        tally.time = start.elapsed();
        Ok(tally)
    }

    fn shrink(
        &self,
        stage: &mut Stage,
        both: [&'static dyn Futex; 2],
        tree: &mut impl ValueTree<Value = Program>,
        mut found: Box<Disagreement>,
    ) -> Box<Disagreement> {
        let mut differ = true;
        for _ in 0..MOST_ATTEMPTS {
            if !(if differ { tree.simplify() } else { tree.complicate() }) {
                break;
            }
            let program = tree.current();
            let smaller = compare(self.wakes, stage, both, found.seed, program);
            differ = smaller.is_some();
            found = smaller.unwrap_or(found);
        }
        // A step that was needed beside others may have become superfluous, by itself or together
        // with another: a wait and what wakes it.
        loop {
            let smaller = without_some(&found.program)
                .find_map(|program| compare(self.wakes, stage, both, found.seed, program));
            match smaller {
                Some(smaller) => found = smaller,
                None => return found,
            }
        }
    }
}

/// The program without each of its steps, and then without any two.
fn without_some(program: &Program) -> impl Iterator<Item = Program> {
    let steps = program.len();
    let one = (0..steps).map(|step| (step, step));
    let two =
        (0..steps).flat_map(move |first| (first + 1..steps).map(move |second| (first, second)));
    one.chain(two).map(|(first, second)| {
        let kept = program.iter().enumerate().filter(|(step, _)| ![first, second].contains(step));
        kept.map(|(_, step)| step.clone()).collect()
    })
}

fn run(stage: &mut Stage, one: &'static dyn Futex, seed: u64, program: &Program) -> Outcome {
    last_words::begin(seed);
    let outcome = stage.run(one, program);
    last_words::end();
    outcome
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Yes,
    UpTo(usize),
    No,
}

impl Wakes {
    fn compare(self, program: &Program, outcomes: &[Outcome; 2]) -> Agreement {
        let [first, second] = outcomes;
        if first == second {
            return Agreement::Yes;
        }
        let cut = match self {
            Wakes::AllCount => None,
            Wakes::OneForEachWait => first_double(program, first),
        };
        match cut {
            Some(cut)
                if second.lines.get(..cut) == Some(&first.lines[..cut])
                    && second.forgotten == first.forgotten =>
            {
                Agreement::UpTo(cut)
            }
            _ => Agreement::No,
        }
    }
}

/// The first step that woke more waits than threads, or may have moved a waiter that it had woken
/// by another word.
fn first_double(program: &Program, outcome: &Outcome) -> Option<usize> {
    let mut words = [0; WORDS];
    let mut on_many = [false; WORKERS];
    program.iter().zip(&outcome.lines).position(|(step, line)| {
        let before = mem::replace(&mut words, line.words);
        match (step, line.did) {
            (_, Did::Waits(worker)) => {
                on_many[worker] = matches!(step, Step::Waitv(vector) if vector.waiters.len() > 1);
                false
            }
            (Step::Futex(call), Did::Returned(Ok(result))) => {
                let held = if let At::Word(word) = call.at { before[word] } else { 0 };
                let woken = call.woken(result, held);
                let woke_on_many = line.ended.iter().any(|(worker, _)| on_many[*worker]);
                woken > line.ended.len() as i64 || (result > woken && woke_on_many)
            }
            _ => false,
        }
    })
}

/// Runs one program on both, and says how they differ.
pub fn compare(
    wakes: Wakes,
    stage: &mut Stage,
    both: [&'static dyn Futex; 2],
    seed: u64,
    program: Program,
) -> Option<Box<Disagreement>> {
    let outcomes = both.map(|one| run(stage, one, seed, &program));
    let differ = wakes.compare(&program, &outcomes) == Agreement::No;
    differ.then(|| Disagreement::new(seed, program, both, outcomes))
}

impl Tally {
    fn add(&mut self, program: &Program, outcome: &Outcome, agreement: Agreement) {
        self.cut += u64::from(matches!(agreement, Agreement::UpTo(_)));
        self.programs += 1;
        self.steps += program.len() as u64;
        for line in outcome.lines.iter().take(program.len()) {
            self.slept += u64::from(matches!(line.did, Did::Waits(_)));
            self.failed += u64::from(matches!(line.did, Did::Returned(Err(_))));
            self.woken += line.ended.len() as u64;
        }
    }
}

impl Disagreement {
    fn new(
        seed: u64,
        program: Program,
        both: [&'static dyn Futex; 2],
        [first, second]: [Outcome; 2],
    ) -> Box<Self> {
        let outcomes = [(both[0].name(), first), (both[1].name(), second)];
        Box::new(Self { seed, program, outcomes })
    }
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {:#x}: a program that two implementations run differently", self.seed)?;
        let lines = self.outcomes.iter().map(|(_, outcome)| outcome.lines.len()).max();
        for number in 0..lines.unwrap_or(0) {
            match self.program.get(number) {
                Some(step) => writeln!(f, "  {number:2}. {step:?}")?,
                None => writeln!(f, "  at the end")?,
            }
            let seen = self.outcomes.each_ref().map(|(_, outcome)| outcome.lines.get(number));
            let same = seen[0] == seen[1];
            let marker = if same { ' ' } else { '!' };
            for ((name, _), line) in self.outcomes.iter().zip(seen).take(if same { 1 } else { 2 }) {
                let name = if same { "both" } else { name };
                match line {
                    Some(line) => writeln!(f, "    {marker} {name}: {line}")?,
                    None => writeln!(f, "    {marker} {name}: -")?,
                }
            }
        }
        for (name, outcome) in &self.outcomes {
            if !outcome.forgotten.is_empty() {
                writeln!(f, "    ! {name}: no wake reaches threads {:?}", outcome.forgotten)?;
            }
        }
        Ok(())
    }
}
