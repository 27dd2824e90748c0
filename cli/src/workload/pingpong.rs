//! pingpong: pairs of threads wake each other in turn, by the lightest way that each implementation has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::histogram::Histogram;
use super::implementation::Implementation;
use super::parameters::{BadParameter, Parameters};
use super::pinning::stay_on_one_cpu;
use super::pthread::spawn;
use super::report::{Figures, figures};
use super::turns::{Turns, for_turns};
use super::usage::Usage;
use super::watchdog;

/// Where the players of a pair run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    SameCpu,
    DifferentCpus,
}

struct Game<T> {
    turns: T,
    over: AtomicBool,
    /// How often the turn was passed; whoever has the turn writes it.
    passed: AtomicU64,
    out_of_order: AtomicU64,
}

pub fn run(mut parameters: Parameters) -> Result<Result<Figures, String>, BadParameter> {
    let pairs = parameters.take_count("pairs", 1)?;
    let place = match parameters.take("place", 0u32)? {
        0 => Place::Anywhere,
        1 => Place::SameCpu,
        2 => Place::DifferentCpus,
        other => {
            return Err(BadParameter(format!(
                "place={other}: 0 anywhere, 1 same CPU, 2 different"
            )));
        }
    };
    let seconds = parameters.take_amount("seconds", 0.5)?;
    let limit_s = parameters.take_amount("watchdog", watchdog::DEFAULT_SECONDS)?;
    let implementation = Implementation::take(&mut parameters)?;
    parameters.finish()?;
    if let Some(reason) = implementation.absent() {
        return Ok(Err(reason));
    }
    Ok(for_turns!(implementation, measure(pairs, place, seconds, limit_s)))
}

fn measure<T: Turns>(
    pairs: usize,
    place: Place,
    seconds: f64,
    limit_s: f64,
) -> Result<Figures, String> {
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
    watchdog::start(limit_s, move || {
        figures([("turns", watched.iter().map(|game| game.passed.load(Relaxed) as f64).sum())])
    });
    let gate = Arc::new(Gate::new(2 * pairs));
    let players = games.iter().enumerate().flat_map(|game| [(game, 0), (game, 1)]);
    let players: Vec<_> = players
        .map(|((number, game), player)| {
            let (game, gate) = (Arc::clone(game), Arc::clone(&gate));
            spawn(0, move || {
                match place {
                    Place::Anywhere => {}
                    Place::SameCpu => stay_on_one_cpu(number),
                    Place::DifferentCpus => stay_on_one_cpu(number + player),
                }
                game.turns.enter(player);
                gate.pass();
                play(&game, player)
            })
        })
        .collect();
    gate.wait_for_all();
    let usage = Usage::now();
    games.iter().for_each(|game| game.turns.give_to(0));
    gate.open();
    std::thread::sleep(Duration::from_secs_f64(seconds));
    games.iter().for_each(|game| game.over.store(true, Relaxed));
    let mut waits = Histogram::new();
    players.into_iter().for_each(|player| waits.merge(&player.join()));
    let used = usage.since();

    let sum = |of: fn(&Game<T>) -> &AtomicU64| -> u64 {
        games.iter().map(|game| of(game).load(Relaxed)).sum()
    };
    let out_of_order = sum(|game| &game.out_of_order);
    if out_of_order > 0 {
        return Err(format!("{out_of_order} turns were out of order"));
    }
    let turns = sum(|game| &game.passed) as f64;
    let mut figures = figures([
        ("round_trips_per_second", turns / 2.0 / used.wall_s),
        ("seconds_per_round_trip", used.wall_s * pairs as f64 * 2.0 / turns),
        ("cpu_ns_per_op", used.cpu_s * 1e9 / turns),
        ("voluntary_per_op", used.voluntary_switches / turns),
    ]);
    figures.extend(super::contest::summarise_waits("", &waits));
    Ok(figures)
}

/// A player's life; returns how long its round trips took.
fn play<T: Turns>(game: &Game<T>, player: usize) -> Histogram {
    let mut waits = Histogram::new();
    loop {
        let start = Instant::now();
        game.turns.wait_for(player);
        let passed = game.passed.load(Relaxed);
        if passed % 2 != player as u64 {
            game.out_of_order.fetch_add(1, Relaxed);
        }
        game.passed.store(passed + 1, Relaxed);
        let over = game.over.load(Relaxed);
        // The other has to have a turn to see that it is over; who saw it first gives the last one.
        game.turns.give_to(1 - player);
        if over {
            return waits;
        }
        waits.record(start.elapsed().as_nanos() as u64);
    }
}
