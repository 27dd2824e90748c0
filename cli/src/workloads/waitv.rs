//! waitv: the case of `waitset` with one producer and one consumer, both on one CPU, where
//! furwock-preload gets futex_waitv calls by libc's `syscall`.

use clap::Args;

use super::Workload;
use super::waitset::{IN_KERNEL, Measure, Plan, TAIL, measure, unable};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, SWITCHES_EACH};
use crate::contestants::events::{FdEvents, WordEvents};
use crate::contestants::{Table, choose, names_of, table, words};
use crate::harness::{Failed, Figures, Parameters};
use crate::values::count;

/// One thread waits for any of many words; another changes one and wakes it
///
/// Both on one CPU, so that a turn costs a sleep and a wake.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of words
    #[arg(short = 'f', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "2,16,64,120,1024")]
    words: Vec<u32>,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        benchmark(self.words.iter().copied().map(case).collect())
    }
}

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Waiting for any of many words",
        draws: true,
        case_key: "Cases: words that are waited for.",
        what: "One thread waits for any of many words; another changes one, wakes it there, and \
               waits for its answer. Both run on one CPU. furwock keeps the words registered \
               between waits; futex_waitv, and poll(2) on eventfds, take all of them in each call.",
        figures: vec![
            Figure::time("seconds_per_op", "time a turn: a signal, a wake, an answer, a wake"),
            CPU,
            IN_KERNEL,
            SWITCHES_EACH,
            TAIL,
        ],
        cases,
        able: names_of(TABLE),
        lacking: "waits for any of many words",
        unable,
        ..Benchmark::named("waitv")
    }
}

pub fn case(words: u32) -> Case {
    Case::new(
        words.to_string(),
        [("words", words.into()), ("producers", 1.0), ("consumers", 1.0), ("one_cpu", 1.0)],
        Place::new("all", words, "words"),
    )
}

const TABLE: &Table<Measure> = &table!(measure:
    Furwock => WordEvents<words::Furwock>,
    FurwockPreload => WordEvents<words::LibcCall>,
    Kernel => WordEvents<words::Kernel>,
    Eventfd => FdEvents,
);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let plan = Plan::take(&mut given, 1)?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(plan)?)
}
