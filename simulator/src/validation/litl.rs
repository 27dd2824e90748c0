//! LiTL's figures on 64 cores. Each program is taken for threads that share one mutex,
//! streamcluster for threads that meet at PARSEC's barrier; the locks are interposed as LiTL does
//! it. The lengths of critical and other sections are fitted at one node alone; what the simulator
//! then says for more nodes is compared by rank.
//!
//! At one node several lengths may fit equally well, since a lock that is seldom contended tells
//! little. Then the prediction is the mean over those that do, each by its likelihood.

use std::collections::BTreeMap;

use super::fit::{Rates, best, distance, mixed};
use super::verdict;
use crate::case::{Case, Shape};
use crate::figures::spearman;
use crate::measuring::number::digits;
use crate::outcome::Outcome;
use crate::pool;
use crate::tables::{distinct, plain};

const DATA: &str = include_str!("../../data/mutexes-64-cores.csv");
const MACHINE: &str = "opteron-8x8";
const THREADS_PER_NODE: usize = 8;
/// On how many nodes there is something to predict.
const PREDICTED: [usize; 4] = [2, 4, 6, 8];

/// The file's names of locks, which are also the contestants' of the workload `program`.
const LOCKS: [&str; 13] = [
    "pthread",
    "pthreadadapt",
    "mutexee",
    "ttas",
    "ticket",
    "backoff",
    "mcs_spin",
    "mcs_stp",
    "clh_spin",
    "malth_spin",
    "malth_stp",
    "c-bo-mcs_spin",
    "hmcs",
];
/// The lock that can't be tried, which a barrier's mutex must. The data doesn't have it there,
/// either.
const WITHOUT_TRY: &str = "clh_spin";

/// The program that waits at a barrier.
const MEETS: &str = "streamcluster_ll";

/// Critical sections that are tried, in nanoseconds, how many cache lines they read and write
/// besides the lock's, and how many times as long the other sections are.
const CRITICAL_NS: [f64; 5] = [50.0, 150.0, 500.0, 1_500.0, 5_000.0];
const LINES: [usize; 2] = [0, 2];
const RATIOS: [f64; 7] = [0.1, 1.0, 3.0, 10.0, 20.0, 40.0, 80.0];
/// What taking and releasing a lock adds to a critical section, about.
const LOCK_NS: f64 = 150.0;
/// Work between two barriers on one node. More nodes share the same work.
const MEETING_NS: [f64; 7] = [2_000.0, 5_000.0, 10_000.0, 20_000.0, 40_000.0, 80_000.0, 160_000.0];
/// Fits that are taken into account for each program.
const FITS: usize = 3;
const JITTER: f64 = 0.5;
/// Long enough for threads to sleep and wake many times; where they spin, it ends after so many
/// looks at the lock.
const MEASURED_US: f64 = 10_000.0;
const MEASURED_MEETING_US: f64 = 50_000.0;
const WARMUP_US: f64 = 50.0;
const ACCESSES_MAX: u64 = 1_500_000;

/// Of the locks' throughputs, the greatest over the least, from which on a program counts as
/// contended.
const CONTENDED: f64 = 2.0;
const ASKED: f64 = 0.8;

/// Throughputs in the locks' order, for each program and number of nodes.
type Measured = BTreeMap<(String, usize), Rates>;

fn measured() -> Result<(Vec<String>, Measured), String> {
    let mut rates = Measured::new();
    let mut programs = Vec::new();
    for row in csv::Reader::from_reader(DATA.as_bytes()).records() {
        let row = row.map_err(|error| error.to_string())?;
        let bad = || format!("the data's row {row:?} makes no sense");
        let lock = LOCKS.iter().position(|name| *name == &row[2]).ok_or_else(bad)?;
        let (nodes, rate) =
            (row[1].parse().map_err(|_| bad())?, row[3].parse().map_err(|_| bad())?);
        programs.push(row[0].to_owned());
        let entry = rates.entry((row[0].to_owned(), nodes));
        entry.or_insert_with(|| vec![f64::NAN; LOCKS.len()])[lock] = rate;
    }
    Ok((distinct(programs.into_iter()), rates))
}

/// What a program does, on one node: lengths inside and outside of the lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sections {
    pub shape: Shape,
    pub critical_ns: f64,
    pub other_ns: f64,
    /// Cache lines that it reads and writes inside.
    pub lines: usize,
}

impl Sections {
    fn text(self) -> String {
        match self.shape {
            Shape::Mutex => format!("{}+{}/{}", self.critical_ns, self.lines, self.other_ns),
            Shape::Barrier => format!("barrier, {}", self.other_ns),
        }
    }
}

fn shape_of(program: &str) -> Shape {
    if program == MEETS { Shape::Barrier } else { Shape::Mutex }
}

fn candidates() -> Vec<Sections> {
    let of = |(critical_ns, lines): (f64, usize)| {
        RATIOS.map(|ratio| Sections {
            shape: Shape::Mutex,
            critical_ns,
            other_ns: (critical_ns + LOCK_NS) * ratio,
            lines,
        })
    };
    let meeting =
        |other_ns| Sections { shape: Shape::Barrier, critical_ns: 0.0, other_ns, lines: 0 };
    let inside = CRITICAL_NS.into_iter().flat_map(|critical| LINES.map(|lines| (critical, lines)));
    inside.flat_map(of).chain(MEETING_NS.map(meeting)).collect()
}

fn cases(nodes: usize, sections: Sections, seed: u64) -> impl Iterator<Item = Option<Case>> {
    let threads = nodes * THREADS_PER_NODE;
    let meets = sections.shape == Shape::Barrier;
    let row = Case {
        shape: sections.shape,
        critical_ns: sections.critical_ns,
        other_ns: if meets { sections.other_ns / nodes as f64 } else { sections.other_ns },
        seed,
        nodes: Some(nodes),
        shared_lines: sections.lines,
        jitter: JITTER,
        measured_us: if meets { MEASURED_MEETING_US } else { MEASURED_US },
        warmup_us: WARMUP_US,
        accesses_max: ACCESSES_MAX,
        ..Case::new(MACHINE, "program", "", threads)
    };
    LOCKS.into_iter().map(move |lock| (!meets || lock != WITHOUT_TRY).then(|| row.with(lock)))
}

/// Simulates all locks with each of the sections.
fn simulate(
    nodes: usize,
    sections: &[Sections],
    seed: u64,
    jobs: usize,
) -> Result<Vec<Rates>, String> {
    let cases: Vec<Option<Case>> =
        sections.iter().flat_map(|sections| cases(nodes, *sections, seed)).collect();
    let known: Vec<Case> = cases.iter().flatten().cloned().collect();
    let outcomes = pool::run(&known, jobs);
    if let Some(failed) = outcomes.iter().find(|outcome| outcome.failure.is_some()) {
        return Err(crate::tables::failures(std::slice::from_ref(failed)));
    }
    let mut rates = outcomes.iter().map(Outcome::rate);
    let mut next = |case: &Option<Case>| match case {
        Some(_) => rates.next().expect("all were run"),
        None => f64::NAN,
    };
    Ok(cases.chunks(LOCKS.len()).map(|all| all.iter().map(&mut next).collect()).collect())
}

/// A cell that the model predicts well today, with the sections that were fitted, and the
/// correlation that it must keep.
pub struct Floor {
    pub program: &'static str,
    pub nodes: usize,
    pub sections: Sections,
    pub least: f64,
}

/// Whether the cells keep what they are known to reach.
pub fn keeps(floors: &[Floor], seed: u64, jobs: usize) -> Result<bool, String> {
    let (_, measured) = measured()?;
    let mut rows = Vec::new();
    let mut holds = true;
    for Floor { program, nodes, sections, least } in floors {
        let simulated = simulate(*nodes, &[*sections], seed, jobs)?;
        let found = correlation(&measured[&((*program).to_owned(), *nodes)], &simulated[0]);
        holds &= found >= *least;
        rows.push(vec![
            format!("{program}, {nodes} nodes"),
            sections.text(),
            digits(*least),
            digits(found),
            verdict(found >= *least).to_owned(),
        ]);
    }
    let header = ["LiTL's 64 cores", "sections, ns", "at least", "correlation", ""];
    println!("{}", plain(1, 1, header, rows));
    Ok(holds)
}

/// Prints the fits and the correlations; true if they are as high as is asked in all programs and
/// numbers of nodes that are contended.
pub fn compare(seed: u64, jobs: usize) -> Result<bool, String> {
    let (programs, measured) = measured()?;
    let candidates = candidates();
    let at_one_node = simulate(1, &candidates, seed, jobs)?;
    let fits: Vec<Vec<(usize, f64)>> = programs
        .iter()
        .map(|program| {
            // What has another shape doesn't explain it.
            let of_shape = |(sections, rates): (&Sections, &Rates)| {
                let fits = sections.shape == shape_of(program);
                if fits { rates.clone() } else { vec![f64::NAN; LOCKS.len()] }
            };
            let at_one_node: Vec<Rates> =
                candidates.iter().zip(&at_one_node).map(of_shape).collect();
            best(&measured[&(program.clone(), 1)], &at_one_node, FITS)
        })
        .collect();
    let used: Vec<usize> = distinct(fits.iter().flatten().map(|(index, _)| *index));
    let sections: Vec<Sections> = used.iter().map(|index| candidates[*index]).collect();
    let mut predicted = BTreeMap::new();
    for nodes in PREDICTED {
        predicted.insert(nodes, simulate(nodes, &sections, seed, jobs)?);
    }

    println!("LiTL's 64 cores: sections fitted at one node, by rank on more\n");
    let mut rows = Vec::new();
    let mut contended = Vec::new();
    for (program, fit) in programs.iter().zip(&fits) {
        let sections = candidates[fit[0].0];
        let error = distance(&measured[&(program.clone(), 1)], &at_one_node[fit[0].0]);
        let mut row = vec![program.clone(), sections.text(), format!("{:.0} %", error * 100.0)];
        for nodes in PREDICTED {
            let Some(rates) = measured.get(&(program.clone(), nodes)) else {
                row.push("-".to_owned());
                continue;
            };
            let place = |index: usize| used.iter().position(|each| *each == index);
            let simulated = mixed(fit, |index| {
                predicted[&nodes][place(index).expect("it was simulated")].clone()
            });
            let correlation = correlation(rates, &simulated);
            let is_contended = spread(rates) >= CONTENDED;
            if is_contended {
                contended.push(correlation);
            }
            let mark = if is_contended { "" } else { " (free)" };
            row.push(format!("{}{mark}", digits(correlation)));
        }
        rows.push(row);
    }
    let high = contended.iter().filter(|each| **each >= ASKED).count();
    let holds = high == contended.len();
    println!("{}", plain(1, 0, header(), rows));
    println!(
        "Rank correlation of at least {ASKED} in {high} of {} contended cells (greatest over least \
         at least {CONTENDED}): {}\n",
        contended.len(),
        verdict(holds)
    );
    shares(&programs, &measured, &fits, &used, &predicted);
    Ok(holds)
}

fn header() -> Vec<String> {
    let fixed = ["program", "sections, ns + lines", "off at 1 node"].map(str::to_owned);
    fixed.into_iter().chain(PREDICTED.map(|nodes| format!("{nodes} nodes"))).collect()
}

fn known(rates: &[f64]) -> impl Iterator<Item = f64> {
    rates.iter().copied().filter(|rate| rate.is_finite())
}

fn spread(rates: &[f64]) -> f64 {
    known(rates).fold(0.0, f64::max) / known(rates).fold(f64::INFINITY, f64::min)
}

fn correlation(measured: &[f64], simulated: &[f64]) -> f64 {
    let both = || measured.iter().zip(simulated).filter(|(rate, _)| rate.is_finite());
    let (ones, others): (Vec<f64>, Vec<f64>) = both().map(|(one, other)| (*one, *other)).unzip();
    spearman(&ones, &others).unwrap_or_default()
}

/// What each lock keeps of the best lock's throughput at 8 nodes (or as many as there are), the
/// geometric mean over contended programs: measured and simulated.
fn shares(
    programs: &[String],
    measured: &Measured,
    fits: &[Vec<(usize, f64)>],
    used: &[usize],
    predicted: &BTreeMap<usize, Vec<Rates>>,
) {
    let nodes = PREDICTED[PREDICTED.len() - 1];
    let mut logs = vec![[0.0; 2]; LOCKS.len()];
    let mut counts = vec![0.0; LOCKS.len()];
    for (program, fit) in programs.iter().zip(fits) {
        let Some(rates) = measured.get(&(program.clone(), nodes)) else { continue };
        if spread(rates) < CONTENDED {
            continue;
        }
        let simulated = mixed(fit, |index| {
            let place = used.iter().position(|each| *each == index).expect("it was simulated");
            predicted[&nodes][place].clone()
        });
        let best = [known(rates).fold(0.0, f64::max), known(&simulated).fold(0.0, f64::max)];
        for lock in (0..LOCKS.len()).filter(|lock| rates[*lock].is_finite()) {
            counts[lock] += 1.0;
            logs[lock][0] += (rates[lock] / best[0]).ln();
            logs[lock][1] += (simulated[lock] / best[1]).ln();
        }
    }
    let mut rows = Vec::new();
    for (lock, name) in LOCKS.iter().enumerate() {
        let share = |side: usize| digits((logs[lock][side] / counts[lock]).exp());
        rows.push(vec![(*name).to_owned(), share(0), share(1)]);
    }
    println!("Share of the best lock's throughput at {nodes} nodes, over contended programs\n");
    println!("{}", plain(1, 0, ["lock", "measured", "simulated"], rows));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let (programs, measured) = measured().unwrap();
        assert_eq!(programs.len(), 9);
        let radiosity = &measured[&("radiosity_ll".to_owned(), 8)];
        assert!(radiosity.iter().all(|rate| rate.is_finite()));
        // hmcs is the best there, and spin-then-park the worst.
        assert_eq!(spread(radiosity), radiosity[12] / radiosity[7]);
    }
}
