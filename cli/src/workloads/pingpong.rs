//! pingpong: pairs of threads wake each other in turn, by each implementation's cheapest means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::{Workload, grid};
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, Figure, SWITCHES_EACH};
use crate::contestants::turns::{Turns, turns};
use crate::contestants::{Table, choose, names_of};
use crate::harness::watchdog;
use crate::harness::{Failed, Figures, Gate, Parameters, Waits, figures, spawn, stay_on_one_cpu};
use crate::measuring::machine::cpus;
use crate::values::count;

/// Two threads wake each other in turn, by each implementation's cheapest means
///
/// furwock, kernel: a word. glibc, furwock-preload: a semaphore each. std: park and unpark.
/// parking_lot: parking_lot_core. event-listener: an event each. eventfd: read and write. Others: a
/// mutex and a condition variable.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of pairs of threads
    #[arg(short = 'n', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "1,8")]
    pairs: Vec<u32>,

    /// Where the two threads of a pair run
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "same,different")]
    place: Vec<Where>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Where {
    /// Where the kernel puts them
    Anywhere,
    /// Both on one CPU
    Same,
    /// On two CPUs
    Different,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        Benchmark {
            title: "Ping-pong",
            case_key: "Cases: where the two threads of a pair run x pairs.",
            what: "The two threads of a pair wake each other in turn.",
            figures: vec![
                Figure::time("seconds_per_round_trip", "time from a turn to the next"),
                CPU,
                SWITCHES_EACH,
                Figure::wait("wait_p99_s", "from turn to turn, 99th percentile").detail(),
                Figure::wait("wait_p999_s", "from turn to turn, 99.9th percentile"),
                Figure::wait("wait_max_s", "from turn to turn, the longest of a round"),
            ],
            cases: grid(&self.place, &self.pairs, case),
            able: names_of(TABLE),
            lacking: "way to wake a thread",
            unable: |case, _| {
                let needs_two = case.parameter("place") == Some(f64::from(Where::Different as u8));
                (needs_two && cpus() < 2).then(|| "there is one CPU".to_owned())
            },
            ..Benchmark::named("pingpong")
        }
    }
}

fn case(place: Where, pairs: u32) -> Case {
    let name = match place {
        Where::Anywhere => "anywhere",
        Where::Same => "same CPU",
        Where::Different => "two CPUs",
    };
    Case::new(
        format!("{name} x {pairs}"),
        [("pairs", pairs.into()), ("place", f64::from(place as u8))],
        Place::new(name, pairs, "pairs"),
    )
}

struct Game<T> {
    turns: T,
    over: AtomicBool,
    /// How often the turn was passed; the player that has the turn writes it.
    passed: AtomicU64,
    out_of_order: AtomicU64,
}

type Measure = fn(usize, Where, f64) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &turns!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let pairs = given.count("pairs", 1)?;
    let place = given.take("place", Where::Anywhere as usize)?;
    let place = Where::value_variants().get(place).copied();
    let place = place.ok_or_else(|| Failed::Parameter("place: 0, 1 or 2".to_owned()))?;
    let seconds = given.amount("seconds", 0.5)?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(pairs, place, seconds)?)
}

fn measure<T: Turns>(pairs: usize, place: Where, seconds: f64) -> Result<Figures, String> {
    let games: Vec<Arc<Game<T>>> = (0..pairs)
        .map(|_| {
            Arc::new(Game {
                turns: T::new(),
                over: AtomicBool::new(false),
                passed: AtomicU64::new(0),
                out_of_order: AtomicU64::new(0),
            })
        })
        .collect();
    let watched: Vec<_> = games.iter().map(Arc::clone).collect();
    watchdog::report(move || {
        figures([("turns", watched.iter().map(|game| game.passed.load(Relaxed) as f64).sum())])
    });
    let gate = Arc::new(Gate::new(2 * pairs));
    let players = games.iter().enumerate().flat_map(|game| [(game, 0), (game, 1)]);
    let players: Vec<_> = players
        .map(|((number, game), player)| {
            let (game, gate) = (Arc::clone(game), Arc::clone(&gate));
            spawn(0, move || {
                match place {
                    Where::Anywhere => {}
                    Where::Same => stay_on_one_cpu(number),
                    Where::Different => stay_on_one_cpu(number + player),
                }
                game.turns.enter(player);
                gate.pass();
                play(&game, player)
            })
        })
        .collect();
    gate.wait_for_all();
    games.iter().for_each(|game| game.turns.give_to(0));
    let usage = gate.start();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    games.iter().for_each(|game| game.over.store(true, Relaxed));
    let mut waits = Waits::default();
    players.into_iter().for_each(|player| waits.add(&player.join()));
    let used = usage.since();

    let sum = |of: fn(&Game<T>) -> &AtomicU64| -> u64 {
        games.iter().map(|game| of(game).load(Relaxed)).sum()
    };
    let out_of_order = sum(|game| &game.out_of_order);
    if out_of_order > 0 {
        return Err(format!("{out_of_order} turns were out of order"));
    }
    let turns = sum(|game| &game.passed) as f64;
    let mut all = used.per_operation(turns);
    all.extend(figures([
        ("round_trips_per_second", turns / 2.0 / used.wall_s),
        ("seconds_per_round_trip", used.wall_s * pairs as f64 * 2.0 / turns),
    ]));
    all.extend(waits.figures(""));
    Ok(all)
}

/// One player; returns how long its round trips took.
fn play<T: Turns>(game: &Game<T>, player: usize) -> Waits {
    let mut waits = Waits::default();
    loop {
        let start = Instant::now();
        game.turns.wait_for(player);
        let passed = game.passed.load(Relaxed);
        if passed % 2 != player as u64 {
            game.out_of_order.fetch_add(1, Relaxed);
        }
        game.passed.store(passed + 1, Relaxed);
        let over = game.over.load(Relaxed);
        // The other player needs a turn to see that it is over.
        game.turns.give_to(1 - player);
        if over {
            return waits;
        }
        waits.record(start);
    }
}
