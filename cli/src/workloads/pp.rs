//! pp, ping-pong after the test of Molnar's requeue patch (2003): in each game two threads pass a
//! turn to one another by a mutex and a condition variable, and all games are played at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;

use super::Workload;
use super::cond::ALL;
use crate::bench::benchmark::{Benchmark, Case, Place};
use crate::bench::figure::{CPU, PREEMPTIONS_EACH, SWITCHES_EACH};
use crate::contestants::locks::{Condvar, Monitor, Monitors, Mutex, monitors};
use crate::contestants::{Table, choose, names_of};
use crate::harness::watchdog;
use crate::harness::{Failed, Figures, Gate, Parameters, figures, spawn};
use crate::values::count;

/// pp: pairs of threads pass a turn to one another by a mutex and a condition variable
///
/// The test of Molnar's requeue patch (2003), with its options.
#[derive(Args)]
pub struct Arguments {
    /// Numbers of games, of two threads each
    #[arg(short = 'n', long, value_name = "LIST", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "1,128,1024")]
    games: Vec<u32>,

    /// Turns of each player [default: as many as take a fraction of a second]
    #[arg(short = 'i', long, value_name = "N", value_parser = count)]
    iterations: Option<u32>,

    /// Bytes of each thread's stack
    #[arg(short = 'S', long, value_name = "BYTES", default_value = "32768", value_parser = count)]
    stack: u32,
}

impl Workload for Arguments {
    fn benchmark(&self) -> Benchmark {
        /// Turns in all, by default.
        const TURNS: u32 = 100_000;
        let case = |games: &u32| {
            let iterations = self.iterations.unwrap_or((TURNS / 2 / games).max(10));
            case(*games, iterations, self.stack)
        };
        benchmark(self.games.iter().map(case).collect())
    }
}

pub fn benchmark(cases: Vec<Case>) -> Benchmark {
    Benchmark {
        title: "Condition variable: ping-pong",
        counts_turns: true,
        case_key: "Cases: games of two threads x turns of each player.",
        what: "In each game two threads pass a turn to one another by a mutex and a condition \
               variable; all games are played at the same time.",
        figures: vec![ALL, CPU, SWITCHES_EACH, PREEMPTIONS_EACH],
        cases,
        able: names_of(TABLE),
        lacking: "condition variables",
        ..Benchmark::named("pp")
    }
}

pub fn case(games: u32, iterations: u32, stack: u32) -> Case {
    Case::new(
        format!("{games} x {iterations}"),
        [("games", games.into()), ("iterations", iterations.into()), ("stack", stack.into())],
        Place::new("all", games, "games"),
    )
}

const PLAYERS: u64 = 2;

struct Game<F: Monitors> {
    state: F::Monitor<State>,
    turn_passed: F::Condvar,
}

struct State {
    /// The player that has the turn: 0 or 1.
    turn: u64,
    turns_played: u64,
    /// Turns that were not the very next after the other player's last.
    out_of_order: u64,
}

type Measure = fn(usize, u64, usize) -> Result<Figures, String>;
const TABLE: &Table<Measure> = &monitors!(measure);

pub fn run(mut given: Parameters) -> Result<Figures, Failed> {
    let games = given.count("games", 128)?;
    let iterations = given.count("iterations", 1000)? as u64;
    let stack_bytes = given.count("stack", 32768)?;
    let contestant = given.contestant()?;
    given.finish()?;
    Ok(choose(TABLE, contestant)?(games, iterations, stack_bytes)?)
}

fn measure<F: Monitors>(
    games: usize,
    iterations: u64,
    stack_bytes: usize,
) -> Result<Figures, String> {
    let games_over = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&games_over);
    watchdog::report(move || figures([("players_finished", watched.load(Relaxed) as f64)]));
    let games: Vec<_> = (0..games).map(|_| Arc::new(new_game::<F>())).collect();
    let gate = Arc::new(Gate::new(games.len() * PLAYERS as usize));
    let players = games.iter().flat_map(|game| (0..PLAYERS).map(move |player| (game, player)));
    let players: Vec<_> = players
        .map(|(game, player)| {
            let (game, gate, over) = (Arc::clone(game), Arc::clone(&gate), games_over.clone());
            spawn(stack_bytes, move || {
                gate.pass();
                play(&game, player, iterations);
                over.fetch_add(1, Relaxed);
            })
        })
        .collect();

    let usage = gate.start();
    players.into_iter().for_each(|thread| thread.join());
    let used = usage.since();

    games.iter().try_for_each(|game| check(&game.state.lock(), iterations))?;
    let turns = (games.len() as u64 * PLAYERS * iterations) as f64;
    let mut all = used.per_operation(turns);
    all.extend(figures([("seconds", used.wall_s), ("turns_per_second", turns / used.wall_s)]));
    Ok(all)
}

fn new_game<F: Monitors>() -> Game<F> {
    let state = State { turn: 0, turns_played: 0, out_of_order: 0 };
    Game { state: F::Monitor::new(state), turn_passed: F::Condvar::new() }
}

fn play<F: Monitors>(game: &Game<F>, player: u64, iterations: u64) {
    for iteration in 0..iterations {
        let mut state = game.state.lock();
        while state.turn != player {
            state = F::Monitor::wait(state, &game.turn_passed);
        }
        let in_order = state.turns_played == PLAYERS * iteration + player;
        state.out_of_order += u64::from(!in_order);
        state.turns_played += 1;
        state.turn = 1 - player;
        game.turn_passed.signal();
    }
}

fn check(state: &State, iterations: u64) -> Result<(), String> {
    let expected = PLAYERS * iterations;
    match (state.turns_played, state.out_of_order) {
        (played, 0) if played == expected => Ok(()),
        (played, 0) => Err(format!("a game of {expected} turns had {played}")),
        (_, count) => Err(format!("{count} turns of a game were out of order")),
    }
}

#[cfg(test)]
mod tests {
    use super::{State, check};

    #[test]
    fn rejects_lost_and_doubled_turns() {
        let state = |turns_played, out_of_order| State { turn: 0, turns_played, out_of_order };
        assert!(check(&state(6, 0), 3).is_ok());
        assert!(check(&state(5, 0), 3).is_err());
        assert!(check(&state(6, 1), 3).is_err());
    }
}
