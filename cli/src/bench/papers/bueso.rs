//! Bueso 2014: a wait-queue table that scales.

use super::row::{Comparison, Measured, Row};
use super::{Author, Paper};
use crate::bench::benchmark::Benchmark;
use crate::bench::figure::Figure;
use crate::contestants::Contestant;
use crate::measuring::machine::cpus;
use crate::measuring::number::compact;
use crate::workloads::{hash, wake};

pub const PAPER: Paper = Paper {
    author: Author::Bueso,
    year: 2014,
    title: "a table that scales, and wakes that take no lock",
    source: "Davidlohr Bueso, \"Futex Scaling in the Linux Kernel\", January 2014; 80 cores, 8 \
             sockets",
    text: &[
        "256 buckets a CPU, each on cache lines of its own and spread over the NUMA nodes; no lock \
         for a wake that finds no waiter; wakes after the lock is released; the word looked at \
         before the lock is taken; and the benchmarks to show it.",
        "Measured are those benchmarks: perf's futex hash with 1024 words a thread, in operations \
         a second and thread, and perf's futex wake, in time to wake all. The paper compares the \
         kernel's new table with its old one; today's kernel has the new one and more, so a gain \
         over it comes on top of the published one. furwock looks at the word first; furwock-table \
         takes the bucket's lock each time, as the kernel does.",
        "Few processors can't show what eighty gain by not sharing a cache line. The rows with 32 \
         and 512 threads run on the processors of this machine.",
    ],
    benchmarks,
    rows,
};

fn benchmarks() -> Vec<Benchmark> {
    use Contestant::{Furwock, FurwockPreload, FurwockTable, Kernel, ParkingLot};
    let hash = [4, 32, 512].map(|threads| hash::case(threads, 1024));
    let wake = [wake::case(4, 1), wake::case(256, 1), wake::case(256, 256)];
    vec![
        Benchmark {
            able: vec![Furwock, FurwockTable, FurwockPreload, Kernel, ParkingLot],
            ..hash::benchmark(hash.into())
        },
        wake::benchmark(wake.into(), true),
    ]
}

fn rows(measured: &Measured) -> Vec<Row> {
    let short = format!(
        "the kernel compared here has the larger table already; and the paper's eighty cores \
         contended for it, where this machine has {} CPUs",
        cpus()
    );
    let mut rows = Vec::new();
    let theirs = Contestant::Kernel;
    for (what, case, published, gain) in [
        ("hash, 32 threads x 1024", "32 x 1024", "+78 %", Some(1.78)),
        ("hash, 512 threads x 1024", "512 x 1024", "+800 %", Some(9.0)),
        ("hash, 4 threads x 1024", "4 x 1024", "3.58M/s (its sample run)", None),
    ] {
        for (ours, name) in [
            (Contestant::FurwockTable, "with the table"),
            (Contestant::Furwock, "word first"),
            (Contestant::FurwockPreload, "preload"),
        ] {
            let at = Comparison { benchmark: "hash", case, ours, theirs, figure: hash::A_THREAD };
            let here = measured
                .here(at, |theirs, ours| format!("{}/s -> {}/s", compact(theirs), compact(ours)));
            let gained = measured.gain(at);
            rows.push(Row::new(format!("{what}: {name}"), published, gain, here, gained, &short));
        }
    }
    for (what, case, published, figure) in [
        ("wake 4 threads, 1 at a time", "4, 1 at a time", "70.3 us (its sample run)", "wake_s"),
        ("wake 256 threads, 1 at a time", "256, 1 at a time", "—", "wake_s"),
        ("wake 256 threads at once: waker's CPU", "256, 256 at a time", "—", "waker_cpu_s"),
        ("wake 256 threads at once: last awake", "256, 256 at a time", "—", "awake_s"),
    ] {
        let figure = Figure::time(figure, "");
        let ours = Contestant::Furwock;
        let at = Comparison { benchmark: "wake", case, ours, theirs, figure };
        rows.push(measured.row(what, published, None, at, ""));
    }
    rows
}
