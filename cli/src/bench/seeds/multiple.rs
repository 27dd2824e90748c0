//! 5. Waiting on many words at once, 2020.

use super::super::benchmark::{Benchmark, Case};
use super::super::contestant::Contestant;
use super::super::workloads::many::{waitset_case, waitset_of_cases, waitv_case, waitv_of_cases};
use super::row::{Document, Measured, Place, Row, percent_less};
use crate::measuring::number::{self, with_unit};

pub const DOCUMENT: Document = Document {
    number: 5,
    year: 2020,
    title: "Waiting on many words, without descriptors",
    source: "André Almeida, \"Implement FUTEX_WAIT_MULTIPLE operation\", v3, 13 February 2020",
    text: &[
        "Games under Wine wait for any of many objects. With an eventfd for each, every wait and every wake \
         goes through the kernel, takes the lock of each descriptor, and descriptors run out; a condition \
         variable over the whole list wakes whoever isn't meant.",
        "The document reports processor time of two games (4 % and 1.5 % less than with eventfd) and calls of \
         spin locks (more than 80 % fewer in some applications). The games can't be run here; measured is what \
         they do: producers signal one of 64 events, consumers each wait for any of them all, and answer. The \
         games' gain is set beside the processor time of that, the spin locks' beside the time in the kernel.",
        "furwock needs no descriptor for any of it; eventfd one for each event, here 64 and the answers'.",
    ],
    benchmarks,
    rows,
};

const OURS: Contestant = Contestant::Furwock;
const CASES: [(u32, u32); 3] = [(1, 1), (4, 4), (16, 16)];
const EVENTS: u32 = 64;
const CPU: &str = "cpu_ns_per_op";
const IN_KERNEL: &str = "system_ns_per_op";

fn benchmarks() -> Vec<Benchmark> {
    // The kernel tells its own time from the program's by its ticks: that takes many of them.
    let longer = |mut case: Case| {
        case.parameters.push(("seconds", 0.5));
        case
    };
    let case = |(producers, consumers)| longer(waitset_case(producers, consumers, EVENTS));
    let cases = CASES.map(case);
    let waitset = Benchmark {
        able: const {
            &[
                Contestant::Furwock,
                Contestant::Glibc,
                Contestant::Kernel,
                Contestant::Std,
                Contestant::Eventfd,
            ]
        },
        ..waitset_of_cases(cases.into())
    };
    vec![waitset, waitv_of_cases([2, 64, 120, 1024].map(waitv_case).into())]
}

/// A published saving of so many percent, as a gain.
fn gain_of(percent: f64) -> f64 {
    1.0 / (1.0 - percent / 100.0)
}

fn rows(measured: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    let nanoseconds = |value: f64| with_unit(value / 1e9, number::Unit::Seconds);
    let mut row = |what: String,
                   published: &str,
                   percent: Option<f64>,
                   place: Place,
                   theirs: Contestant,
                   figure: &str| {
        let of = |contestant| measured.median(place, contestant, figure);
        let in_seconds = figure.starts_with("seconds");
        let said = |value: f64| {
            if in_seconds { with_unit(value, number::Unit::Seconds) } else { nanoseconds(value) }
        };
        let here = match (of(theirs), of(OURS)) {
            (Some(theirs), Some(ours)) => {
                format!("{} -> {} ({})", said(theirs), said(ours), percent_less(theirs, ours))
            }
            _ => "—".to_owned(),
        };
        let saved = measured.saving(place, (OURS, theirs), figure);
        let short = match figure {
            IN_KERNEL => {
                "spin lock calls can't be counted here, and time in the kernel isn't the same: what is left of it is \
                 the threads' own sleep and wake, which every way of waiting has"
            }
            _ => "the games themselves can't be run here",
        };
        rows.push(Row::new(what, published, percent.map(gain_of), here, saved, short));
    };
    let names = CASES.map(|(producers, consumers)| {
        let case = waitset_case(producers, consumers, EVENTS);
        (format!("{producers} to {consumers}"), case.name)
    });
    for (name, case) in &names {
        let place = Place { benchmark: "waitset", case };
        let what = format!("processor time over eventfd, {name}");
        row(what, "4 % less (Beat Saber)", Some(4.0), place, Contestant::Eventfd, CPU);
    }
    for (name, case) in &names {
        let place = Place { benchmark: "waitset", case };
        let what = format!("time in the kernel over eventfd, {name}");
        let published = "80 % fewer spin lock calls";
        row(what, published, Some(80.0), place, Contestant::Eventfd, IN_KERNEL);
    }
    for (name, case) in &names {
        let place = Place { benchmark: "waitset", case };
        for theirs in [Contestant::Kernel, Contestant::Glibc] {
            let how = match theirs {
                Contestant::Kernel => "futex_waitv",
                _ => "glibc, one condition variable",
            };
            row(format!("processor time over {how}, {name}"), "—", None, place, theirs, CPU);
        }
    }
    for words in ["2", "64", "1024"] {
        let place = Place { benchmark: "waitv", case: words };
        let what = format!("a turn of one waiter, {words} words, over eventfd");
        row(what, "—", None, place, Contestant::Eventfd, "seconds_per_op");
    }
    for words in ["2", "64", "120"] {
        let place = Place { benchmark: "waitv", case: words };
        let what = format!("a turn of one waiter, {words} words, over futex_waitv");
        row(what, "—", None, place, Contestant::Kernel, "seconds_per_op");
    }
    rows
}
