//! `furwock bench pair`: what one thread pays for an uncontended lock and unlock.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::arguments::PairArguments;
use super::contention::minutes;
use super::contestant::Contestant;
use super::figure_table::failed;
use super::roster::{Absent, Roster};
use super::standing::{CaseSpeeds, Mean, Speeds, Standing};
use crate::failure::{Failure, STATUS_FAILED};
use crate::measuring::document::Document;
use crate::measuring::machine::Machine;
use crate::measuring::noise::NoiseFilter;
use crate::measuring::number::digits;
use crate::measuring::output::Output;
use crate::measuring::table::{Align, render as render_rows};
use crate::measuring::workload_run::{Run, Stop, Workloads};
use crate::measuring::{STATUS_INTERRUPTED, interrupt, progress_bar};
use crate::statistics::Spread;
use crate::workload::pair::{FLOOR, KINDS, figure};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Processes run again for noise, of each kind.
const RETRIES: usize = 5;
/// Slices of each implementation, where all are in one process. Fewer in a process have more of them,
/// so that every process lasts as long and sees as much of the machine's moods.
const SLICES: usize = 100;
/// What starting a process takes and looking for noise, and what an implementation adds.
const PROCESS: Duration = Duration::from_millis(30);
const IMPLEMENTATION: Duration = Duration::from_millis(60);

/// The contestants that one process measures together.
#[derive(Serialize)]
struct Group {
    contestants: Vec<Contestant>,
    runs: Vec<Run>,
    /// Not run again after one.
    failure: Option<String>,
    #[serde(skip)]
    retries_left: usize,
}

#[derive(Serialize)]
struct Results<'a> {
    benchmark: &'static str,
    interrupted: bool,
    noisy_rounds: &'a NoiseFilter,
    absent: &'a [Absent],
    groups: &'a [Group],
    /// By contestant, then by kind of pair or `floor`, as the contestant's own process saw it.
    nanoseconds: BTreeMap<&'static str, BTreeMap<&'static str, Option<Spread>>>,
    standings: Vec<Standing>,
    means: Vec<Mean>,
}

/// Returns the exit status.
pub fn run(arguments: &PairArguments) -> Result<i32, Failure> {
    let workloads = Workloads::new(TIMEOUT)?;
    let roster = Roster::of(&arguments.implementations, &workloads)?;
    let mut groups = groups(&roster.contestants);
    let rounds = arguments.rounds;
    let implementations = u32::try_from(roster.contestants.len()).unwrap_or(u32::MAX);
    let processes = u32::try_from(groups.len()).unwrap_or(u32::MAX);
    let round = (PROCESS + IMPLEMENTATION * implementations) * processes;
    anstream::eprintln!(
        "furwock: {implementations} implementations x {rounds} rounds: about {}",
        minutes(round * rounds)
    );

    interrupt::watch();
    let mut noise = NoiseFilter::new();
    let interrupted = collect(&workloads, &roster, &mut groups, rounds as usize, &mut noise)?;

    let output = Output { json: arguments.json.as_ref() };
    let machine = Machine::this();
    let speeds = speeds(&roster.contestants, &groups);
    output.text(&render(&machine, &roster, &groups, &speeds, &noise, rounds));
    let spreads = |contestant: &Contestant| {
        let of_kind = |kind| (kind, spread_of(&groups, *contestant, kind));
        let mut spreads: BTreeMap<_, _> = KINDS.map(of_kind).into();
        spreads.insert("floor", floor_of(&groups, *contestant));
        (contestant.name(), spreads)
    };
    let document = Results {
        benchmark: "pair",
        interrupted,
        noisy_rounds: &noise,
        absent: &roster.absent,
        groups: &groups,
        nanoseconds: roster.contestants.iter().map(spreads).collect(),
        standings: speeds.standings(),
        means: speeds.means(),
    };
    output.json(&Document::new(&machine, roster.preload_path(), document))?;
    Ok(match interrupted {
        true => STATUS_INTERRUPTED,
        false if groups.iter().any(|group| group.failure.is_some()) => STATUS_FAILED,
        false => 0,
    })
}

/// All in one process, but for the one that needs a process of its own.
fn groups(contestants: &[Contestant]) -> Vec<Group> {
    let preloaded = |contestant: &Contestant| *contestant == Contestant::FurwockPreload;
    let (apart, together): (Vec<_>, Vec<_>) = contestants.iter().copied().partition(preloaded);
    let group = |contestants: Vec<Contestant>| {
        let (runs, failure) = (Vec::new(), None);
        (!contestants.is_empty()).then_some(Group {
            contestants,
            runs,
            failure,
            retries_left: RETRIES,
        })
    };
    [together, apart].into_iter().filter_map(group).collect()
}

/// Says whether it was interrupted.
fn collect(
    workloads: &Workloads,
    roster: &Roster,
    groups: &mut [Group],
    rounds: usize,
    noise: &mut NoiseFilter,
) -> Result<bool, Failure> {
    let bar = progress_bar(rounds * groups.len());
    let slices_in_all = SLICES * roster.contestants.len();
    for round in 0..rounds {
        // Who comes first alternates.
        groups.rotate_left(usize::from(round > 0 && groups.len() > 1));
        for group in groups.iter_mut() {
            while group.failure.is_none() {
                let names: Vec<&str> =
                    group.contestants.iter().map(|each| each.implementation().name()).collect();
                let ld_preload = roster.ld_preload(group.contestants[0]);
                let slices = slices_in_all / names.len();
                let parameters = [format!("impl={}", names.join(",")), format!("slices={slices}")];
                match workloads.run("pair", parameters, &ld_preload) {
                    Ok(run) if noise.accepts(&mut group.retries_left) => {
                        group.runs.push(run);
                        break;
                    }
                    Ok(_) => {}
                    Err(Stop::Failed(reason)) => group.failure = Some(reason),
                    Err(Stop::Interrupted) => return Ok(true),
                    Err(Stop::System(failure)) => return Err(failure),
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(false)
}

fn spread_of(groups: &[Group], contestant: Contestant, kind: &str) -> Option<Spread> {
    let group = groups.iter().find(|group| group.contestants.contains(&contestant))?;
    spread(group, &figure(kind, contestant.implementation().name()))
}

/// The floor that a contestant's own process saw.
fn floor_of(groups: &[Group], contestant: Contestant) -> Option<Spread> {
    spread(groups.iter().find(|group| group.contestants.contains(&contestant))?, FLOOR)
}

fn spread(group: &Group, figure: &str) -> Option<Spread> {
    let values = group.runs.iter().filter_map(|run| run.report.figures.get(figure).copied());
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| Spread::of(&values))
}

fn speeds<'a>(contestants: &'a [Contestant], groups: &[Group]) -> Speeds<'a> {
    let of_kind = |kind: &str| CaseSpeeds {
        case: kind.to_owned(),
        speeds: contestants
            .iter()
            .map(|contestant| Some(1.0 / spread_of(groups, *contestant, kind)?.median))
            .collect(),
    };
    Speeds { contestants, cases: KINDS.map(of_kind).into() }
}

fn render(
    machine: &Machine,
    roster: &Roster,
    groups: &[Group],
    speeds: &Speeds,
    noise: &NoiseFilter,
    rounds: u32,
) -> String {
    let mut rows = vec![
        ["nanoseconds", "floor", "mutex", "/floor", "read", "/floor", "write", "/floor"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for contestant in &roster.contestants {
        let mut row = vec![contestant.name().to_owned()];
        let floor = floor_of(groups, *contestant);
        row.push(floor.map_or("-".to_owned(), |floor| digits(floor.median)));
        for kind in KINDS {
            match spread_of(groups, *contestant, kind) {
                Some(spread) => row.extend([
                    format!("{} ±{:.0}", digits(spread.median), spread.percent()),
                    floor.map_or_else(String::new, |floor| digits(spread.median / floor.median)),
                ]),
                None if groups.iter().any(|group| {
                    group.failure.is_some() && group.contestants.contains(contestant)
                }) =>
                {
                    row.extend([failed(), String::new()]);
                }
                None => row.extend(["-".to_owned(), String::new()]),
            }
        }
        rows.push(row);
    }
    let mut align = vec![Align::Left];
    align.resize(8, Align::Right);
    let mut text = format!(
        "{machine}\nMedians of {rounds} rounds; ±: half their range, in percent. One thread, nobody \
         else wants the lock.\nfloor: a bare compare-and-exchange and an exchange, in the same \
         process.\n\n"
    );
    text += &render_rows(&align, &rows);
    text += &format!("\n{}\n", speeds.render());
    for group in groups {
        if let Some(reason) = &group.failure {
            let names: Vec<&str> = group.contestants.iter().map(|each| each.name()).collect();
            text += &format!("FAILED: {}: {reason}\n", names.join(", "));
        }
    }
    text += &roster.absences();
    let on_preload =
        groups.iter().filter(|group| group.contestants.contains(&Contestant::FurwockPreload));
    text += &roster.not_replaced(on_preload.flat_map(|group| &group.runs));
    if let Some(noise) = noise.summary("rounds") {
        text += &format!("{noise}\n");
    }
    text
}
