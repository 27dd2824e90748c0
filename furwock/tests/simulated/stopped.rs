//! A processor that stops for a second at the worst of times: while its thread holds a lock, spins
//! for it, is about to sleep, hands it over, or wakes others. On several machines, for each
//! scenario.

use super::scenarios::{ALL, Call, Scenario, Step, calls};
use super::{MACHINES, simulation};
use machine::{At, Disturbance, isolated, isolated_all};
use std::collections::BTreeSet;

const SECOND_NS: u64 = 1_000_000_000;

/// The calls of a run that nothing disturbs: up to the disturbance, another run is the same.
fn calls_of(name: &str, scenario: Scenario) -> Vec<Call> {
    let said = isolated(|| {
        scenario(simulation(name, 1)).unwrap_or_else(|failure| panic!("{failure}"));
        let line = |call: Call| {
            let (first, last) = call.accesses.into_inner();
            format!("{} {} {first} {last}\n", u8::from(call.step == Step::Give), call.thread)
        };
        calls().into_iter().map(line).collect::<String>().into()
    });
    let said = String::from_utf8(said.unwrap_or_else(|crash| panic!("{crash}"))).expect("numbers");
    let call = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let step = if numbers[0] == 1 { Step::Give } else { Step::Take };
        Call { step, thread: numbers[1] as usize, accesses: numbers[2]..=numbers[3] }
    };
    said.lines().map(call).collect()
}

/// Where to stop in calls of one step: at the first access (of a release: the thread holds the
/// lock), in between and at the end. In the longest call, in which a waiter spins or a lock is
/// handed over under its bucket's lock, and in two others.
fn accesses(calls: &[Call], step: Step) -> BTreeSet<(usize, u64)> {
    let length = |call: &Call| call.accesses.end() + 1 - call.accesses.start();
    let mut all: Vec<&Call> =
        calls.iter().filter(|call| call.step == step && length(call) > 0).collect();
    all.sort_by_key(|call| length(call));
    let Some(last) = all.len().checked_sub(1) else { return BTreeSet::new() };
    let of = |call: &Call| {
        let (thread, first, last) = (call.thread, *call.accesses.start(), *call.accesses.end());
        let third = (last - first) / 3;
        [first, first + 1, first + third, first + 2 * third, last]
            .map(|access| (thread, access.min(last)))
    };
    [last, last / 2, last / 4].into_iter().flat_map(|at| of(all[at])).collect()
}

#[test]
fn every_scenario_outlives_a_processor_that_stops_for_a_second() {
    for name in MACHINES {
        for (scenario_name, scenario) in ALL {
            let calls = calls_of(name, scenario);
            let takes = accesses(&calls, Step::Take);
            let gives = accesses(&calls, Step::Give);
            assert!(takes.len() > 2, "{scenario_name} takes nothing on {name}");
            // (A barrier is opened by the last that waits.)
            assert!(gives.len() > 2 || scenario_name == "barrier", "{scenario_name} gives nothing");
            let places: Vec<(usize, u64)> = takes.into_iter().chain(gives).collect();
            let jobs = places.iter().map(|&(thread, access)| {
                let at = At::Thread { thread, access };
                let stop = Disturbance::Stop { at, for_ns: SECOND_NS };
                move || match scenario(simulation(name, 1).disturb(stop)) {
                    Ok(took) if took >= SECOND_NS => Vec::new(),
                    Ok(took) => format!("it took {took} ns: nothing stopped").into(),
                    Err(failure) => failure.to_string().into(),
                }
            });
            for (place, said) in places.iter().zip(isolated_all(jobs, 2)) {
                let said = said.unwrap_or_else(|crash| panic!("{crash}"));
                let said = String::from_utf8_lossy(&said);
                assert!(said.is_empty(), "{scenario_name} on {name}, stopped at {place:?}: {said}");
            }
        }
    }
}
