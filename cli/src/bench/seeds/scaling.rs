//! 3. A wait-queue table that scales, 2014.

use super::super::benchmark::Benchmark;
use super::super::contestant::Contestant;
use super::super::workloads::words::{
    BY_THE_LAST, cpus, hash_case, hash_of_cases, wake_case, wake_of_cases,
};
use super::row::{Document, Measured, Place, Row};
use crate::measuring::number::{self, compact, with_unit};

pub const DOCUMENT: Document = Document {
    number: 3,
    year: 2014,
    title: "A table that scales, and wakes that take no lock",
    source: "Davidlohr Bueso, \"Futex Scaling in the Linux Kernel\", January 2014; 80 cores, 8 sockets",
    text: &[
        "256 buckets a CPU, each on cache lines of its own and spread over the NUMA nodes; no lock for a wake \
         that finds nobody; wakes after the lock is released; the word looked at before the lock is taken; and \
         the benchmarks to show it.",
        "Measured are those benchmarks: perf's futex hash with 1024 words a thread, in operations a second and \
         thread, and perf's futex wake, in time to wake all. The document compares the kernel's new table with \
         its old one; today's kernel has the new one and more, so a gain over it comes on top of the published \
         one. furwock looks at the word first; furwock-table takes the bucket's lock each time, as the \
         kernel does.",
        "Few processors can't show what eighty gain by not sharing a cache line. The rows with 32 and 512 threads \
         run on those that are here.",
    ],
    benchmarks,
    rows,
};

fn benchmarks() -> Vec<Benchmark> {
    vec![
        Benchmark {
            able: const {
                &[
                    Contestant::Furwock,
                    Contestant::FurwockTable,
                    Contestant::FurwockPreload,
                    Contestant::Kernel,
                    Contestant::ParkingLot,
                ]
            },
            ..hash_of_cases(vec![hash_case(4, 1024), hash_case(32, 1024), hash_case(512, 1024)])
        },
        Benchmark {
            figures: BY_THE_LAST,
            ..wake_of_cases(vec![wake_case(4, 1), wake_case(256, 1), wake_case(256, 256)])
        },
    ]
}

const HASH: &str = "ops_per_second_per_thread";

fn rows(measured: &Measured) -> Vec<Row> {
    let short = format!(
        "the kernel compared here has the larger table already; and the document's eighty cores contended for \
         it, where this machine has {} CPUs",
        cpus()
    );
    let mut rows = Vec::new();
    let kernel = Contestant::Kernel;
    for (what, case, published, gain) in [
        ("hash, 32 threads x 1024", "32 x 1024", "+78 %", Some(1.78)),
        ("hash, 512 threads x 1024", "512 x 1024", "+800 %", Some(9.0)),
        ("hash, 4 threads x 1024", "4 x 1024", "3.58M/s (its sample run)", None),
    ] {
        let place = Place { benchmark: "hash", case };
        for (who, name) in [
            (Contestant::FurwockTable, "with the table"),
            (Contestant::Furwock, "word first"),
            (Contestant::FurwockPreload, "preload"),
        ] {
            let of = |contestant| measured.median(place, contestant, HASH);
            let here = match (of(kernel), of(who)) {
                (Some(theirs), Some(ours)) => {
                    format!("{}/s -> {}/s", compact(theirs), compact(ours))
                }
                _ => "—".to_owned(),
            };
            let up = measured.speed_up(place, (who, kernel), HASH);
            rows.push(Row::new(format!("{what}: {name}"), published, gain, here, up, &short));
        }
    }
    for (what, case, published, figure) in [
        ("wake 4 threads, 1 at a time", "4, 1 at a time", "70.3 us (its sample run)", "wake_s"),
        ("wake 256 threads, 1 at a time", "256, 1 at a time", "—", "wake_s"),
        ("wake 256 threads at once: waker's CPU", "256, 256 at a time", "—", "waker_cpu_s"),
        ("wake 256 threads at once: last awake", "256, 256 at a time", "—", "awake_s"),
    ] {
        let place = Place { benchmark: "wake", case };
        let of = |contestant| measured.median(place, contestant, figure);
        let seconds = |value| with_unit(value, number::Unit::Seconds);
        let here = match (of(kernel), of(Contestant::Furwock)) {
            (Some(theirs), Some(ours)) => format!("{} -> {}", seconds(theirs), seconds(ours)),
            _ => "—".to_owned(),
        };
        let saved = measured.saving(place, (Contestant::Furwock, kernel), figure);
        rows.push(Row::new(what, published, None, here, saved, ""));
    }
    rows
}
