//! The sizes of gains in two papers: Molnar's requeueing (2003, 4 processors) and Bueso's larger
//! hash table (2014, 80 cores).

use super::verdict;
use crate::case::Case;
use crate::measuring::number::times;
use crate::outcome::Outcome;
use crate::pool;
use crate::tables::plain;
use crate::workloads;

/// A gain that was published, and what stands for it here.
struct Gain {
    what: &'static str,
    published: f64,
    /// The same case before and after.
    before: Case,
    after: &'static str,
    /// Why it can't come out so, if that is known.
    reason: &'static str,
}

/// A gain counts as reproduced if it is at least this share of the published one, and at most its
/// inverse.
const NEAR: f64 = 0.5;

const BUESO: &str = "bueso-8x10";
const PROCESSORS: usize = 160;

fn gains(seed: u64) -> Vec<Gain> {
    let broadcast = |threads| Case {
        seed,
        measured_us: 200_000.0,
        accesses_max: 3_000_000,
        ..Case::new("molnar-4", "broadcast", "glibc", threads)
    };
    // "1024 * 32 futexes": each of 32 threads has 1024, as `perf bench futex hash` has by default.
    // The kernel's bucket locks are held with preemption off, so that of 512 threads no more than
    // there are processors contend at a time: here these have the words of all.
    let table = |threads: usize| {
        let running = threads.min(PROCESSORS);
        Case {
            seed,
            words: 1024 * threads / running,
            pinned: true,
            // Once through all words before that, so that their lines are where they stay.
            warmup_us: 6_000.0,
            measured_us: 2_000.0,
            accesses_max: 6_000_000,
            ..Case::new(BUESO, "table", "kernel-256", running)
        }
    };
    vec![
        Gain {
            what: "Molnar: cond-perf, 200 threads",
            published: 237.407 / 0.040,
            before: broadcast(200),
            after: "requeue",
            reason: "over two seconds for each broadcast is no property of locks: a scheduler of \
                     2003 and its balancing did that",
        },
        Gain {
            what: "Molnar: cond-perf, 100 threads, 1000 rounds",
            published: 0.530 / 0.550,
            before: broadcast(100),
            after: "requeue",
            reason: "",
        },
        Gain {
            what: "Bueso: hash, 32 threads, 1024 futexes each",
            published: 1.78,
            before: table(32),
            after: "kernel-256-each-cpu",
            reason: "",
        },
        Gain {
            what: "Bueso: hash, 512 threads, 1024 futexes each",
            published: 9.0,
            before: table(512),
            after: "kernel-256-each-cpu",
            reason: "",
        },
    ]
}

/// Whether gains, by their place in the table, keep within the bounds that they are known to reach.
pub fn keeps(bounds: &[(usize, f64, f64)], seed: u64, jobs: usize) -> Result<bool, String> {
    let gains = gains(seed);
    let cases: Vec<Case> = bounds
        .iter()
        .map(|(index, ..)| &gains[*index])
        .flat_map(|gain| [gain.before.clone(), gain.before.with(gain.after)])
        .collect();
    let outcomes = pool::run(&cases, jobs);
    let mut rows = Vec::new();
    let mut holds = outcomes.iter().all(|outcome| outcome.failure.is_none());
    for ((index, least, most), pair) in bounds.iter().zip(outcomes.chunks(2)) {
        let found = pair[1].rate() / pair[0].rate();
        let keeps = (*least..=*most).contains(&found);
        holds &= keeps;
        rows.push(vec![
            gains[*index].what.to_owned(),
            format!("{} to {}", times(*least), times(*most)),
            times(found),
            verdict(keeps).to_owned(),
        ]);
    }
    println!("{}", plain(1, 1, ["gains of papers", "bounds", "simulated", ""], rows));
    print!("{}", crate::tables::failures(&outcomes));
    Ok(holds)
}

/// Prints the gains; true if all whose size could come out did.
pub fn compare(seed: u64, jobs: usize) -> Result<bool, String> {
    let gains = gains(seed);
    let ours = |gain: &Gain| -> Result<Option<Case>, String> {
        let known = workloads::contestants(&gain.before.workload)?;
        Ok(known.contains(&"furwock").then(|| gain.before.with("furwock")))
    };
    let mut cases = Vec::new();
    for gain in &gains {
        cases.extend([gain.before.clone(), gain.before.with(gain.after)]);
        cases.extend(ours(gain)?);
    }
    let outcomes = pool::run(&cases, jobs);
    let rate = |case: &Case| {
        let found = outcomes.iter().find(|outcome| outcome.case == *case);
        found.map_or(f64::NAN, Outcome::rate)
    };
    let mut rows = Vec::new();
    let mut holds = true;
    for gain in &gains {
        let before = rate(&gain.before);
        let simulated = rate(&gain.before.with(gain.after)) / before;
        let near = (NEAR..=1.0 / NEAR).contains(&(simulated / gain.published));
        holds &= near || !gain.reason.is_empty();
        let furwock = ours(gain)?.map_or("-".to_owned(), |case| times(rate(&case) / before));
        let verdict = match (near, gain.reason) {
            (true, _) => verdict(true).to_owned(),
            (false, "") => verdict(false).to_owned(),
            (false, reason) => format!("not matched: {reason}"),
        };
        rows.push(vec![
            gain.what.to_owned(),
            times(gain.published),
            times(simulated),
            furwock,
            verdict,
        ]);
    }
    let header = ["", "published", "simulated", "furwock", ""];
    println!("Gains that papers report, and their sizes here\n\n{}", plain(1, 1, header, rows));
    print!("{}", crate::tables::failures(&outcomes));
    Ok(holds)
}
