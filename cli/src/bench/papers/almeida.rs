//! Almeida 2020: waiting on many words at once.

use super::row::{Comparison, Measured, Row, percent_less};
use super::{Author, Paper};
use crate::bench::benchmark::{Benchmark, Case};
use crate::bench::figure::{CPU, Figure};
use crate::contestants::Contestant::{self, Eventfd, Furwock, Glibc, Kernel, Std};
use crate::workloads::waitset::IN_KERNEL;
use crate::workloads::{waitset, waitv};

pub const PAPER: Paper = Paper {
    author: Author::Almeida,
    year: 2020,
    title: "waiting on many words, without descriptors",
    source: "André Almeida, \"Implement FUTEX_WAIT_MULTIPLE operation\", v3, 13 February 2020",
    text: &[
        "Games under Wine wait for any of many objects. With an eventfd for each, every wait and \
         every wake goes through the kernel, takes the lock of each descriptor, and descriptors \
         run out; a condition variable over the whole list wakes threads that wait for other \
         objects.",
        "The paper reports processor time of two games (4 % and 1.5 % less than with eventfd) and \
         calls of spin locks (more than 80 % fewer in some applications). The games can't be run \
         here; measured is what they do: producers signal one of 64 events, consumers each wait \
         for any of them all, and answer. The games' gain is compared with the processor time of \
         that, the spin locks' with the time in the kernel.",
        "furwock needs no descriptor for any of it; eventfd one for each event, here 64 and the \
         answers'.",
    ],
    benchmarks,
    rows,
};

const THREADS: [(u32, u32); 3] = [(1, 1), (4, 4), (16, 16)];

fn case(threads: (u32, u32)) -> Case {
    const EVENTS: u32 = 64;
    let mut case = waitset::case(threads, EVENTS);
    // The kernel tells its own time from the program's by its ticks: that takes many of them.
    case.parameters.push(("seconds", 0.5));
    case
}

fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark {
            able: vec![Furwock, Glibc, Kernel, Std, Eventfd],
            ..waitset::benchmark(THREADS.map(case).into())
        },
        waitv::benchmark([2, 64, 120, 1024].map(waitv::case).into()),
    ]
}

/// A published saving of so many percent, as a gain.
fn gain_of(percent: f64) -> f64 {
    1.0 / (1.0 - percent / 100.0)
}

fn rows(measured: &Measured) -> Vec<Row> {
    const NO_GAMES: &str = "the games themselves can't be run here";
    const NO_SPIN_LOCKS: &str = "spin lock calls can't be counted here, and time in the kernel \
                                 isn't the same: what is left of it is the threads' own sleep and \
                                 wake, which every way of waiting has";
    const A_TURN: Figure = Figure::time("seconds_per_op", "");
    let row = |what: String,
               published: &str,
               percent: Option<f64>,
               (benchmark, case): (&str, &str),
               theirs: Contestant,
               figure: Figure,
               short: &str| {
        let at = Comparison { benchmark, case, ours: Furwock, theirs, figure };
        let here = measured.here(at, |theirs, ours| {
            let less = percent_less(theirs, ours);
            format!("{} -> {} ({less})", figure.text(theirs), figure.text(ours))
        });
        Row::new(what, published, percent.map(gain_of), here, measured.gain(at), short)
    };
    let mut rows = Vec::new();
    let cases =
        THREADS.map(|threads| (format!("{} to {}", threads.0, threads.1), case(threads).name));
    for (name, case) in &cases {
        let (what, published) =
            (format!("processor time over eventfd, {name}"), "4 % less (Beat Saber)");
        rows.push(row(what, published, Some(4.0), ("waitset", case), Eventfd, CPU, NO_GAMES));
    }
    for (name, case) in &cases {
        let what = format!("time in the kernel over eventfd, {name}");
        let (published, percent) = ("80 % fewer spin lock calls", Some(80.0));
        let at = ("waitset", case.as_str());
        rows.push(row(what, published, percent, at, Eventfd, IN_KERNEL, NO_SPIN_LOCKS));
    }
    for (name, case) in &cases {
        for (theirs, how) in [(Kernel, "futex_waitv"), (Glibc, "glibc, one condition variable")] {
            let what = format!("processor time over {how}, {name}");
            rows.push(row(what, "—", None, ("waitset", case), theirs, CPU, NO_GAMES));
        }
    }
    let of_turns =
        [(Eventfd, "eventfd", ["2", "64", "1024"]), (Kernel, "futex_waitv", ["2", "64", "120"])];
    for (theirs, how, words) in of_turns {
        for words in words {
            let what = format!("a turn of one waiter, {words} words, over {how}");
            rows.push(row(what, "—", None, ("waitv", words), theirs, A_TURN, NO_GAMES));
        }
    }
    rows
}
